//! Events of the flow-level network, in the order of time.
//!
//! Invariant: at one time changes of links come before what happens to transfers, and each kind in the order of numbers.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use super::Aspect;

/// Something that happens at a time, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Event {
    pub at: f64,
    pub what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum What {
    /// A link's profile has its change of this number.
    Change { link: u32, aspect: Aspect, change: u32 },
    /// A transfer's latency is over, or its bytes are there; out of date when its stamp is another by now.
    Transfer { number: u32, stamp: u32 },
}

impl Eq for Event {}

impl Ord for Event {
    fn cmp(&self, other: &Self) -> Ordering {
        self.at.total_cmp(&other.at).then(self.what.cmp(&other.what))
    }
}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The events to come.
#[derive(Clone, Debug, Default)]
pub(super) struct Events(BinaryHeap<Reverse<Event>>);

impl Events {
    pub(super) fn push(&mut self, event: Event) {
        self.0.push(Reverse(event));
    }

    pub(super) fn first(&self) -> Option<Event> {
        self.0.peek().map(|Reverse(event)| *event)
    }

    /// The first event if it is at this time.
    pub(super) fn pop_at(&mut self, at: f64) -> Option<Event> {
        self.first().filter(|event| event.at <= at)?;
        self.0.pop().map(|Reverse(event)| event)
    }
}
