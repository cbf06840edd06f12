//! What a process says in a round, and what all of them come to.
//!
//! Invariant: bringing contributions together gives the same in any order.

use paceline_kernel::Time;
use serde::{Deserialize, Serialize};

use crate::watch::monitor::Halt;

/// Messages sent to other processes and received from them, since the run began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Counts {
    /// Events: sent, received.
    pub(crate) events: (u64, u64),
    /// Promises and requests: sent, received.
    pub(crate) others: (u64, u64),
}

impl Counts {
    /// Whether as many events were received as sent.
    pub(crate) fn events_are_even(&self) -> bool {
        self.events.0 == self.events.1
    }

    /// Whether as many promises and requests were received as sent.
    pub(crate) fn others_are_even(&self) -> bool {
        self.others.0 == self.others.1
    }
}

/// What a process says in a round, or what several of them say together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Contribution {
    /// Nothing that it has still to run, and nothing that it has sent since its last contribution, is before
    /// this.
    pub(crate) least: Time,
    /// It asks all to halt.
    pub(crate) halt: Option<Halt>,
    /// Of its federates that have anything to do, and of those in other processes that it has sent anything
    /// to, the least time: where windows differ by federate. In the order of federates.
    pub(crate) next: Vec<(u32, Time)>,
    /// Under null messages: it has nothing to run and nothing to promise.
    pub(crate) passive: bool,
    /// Under null messages: it has no events.
    pub(crate) empty: bool,
    pub(crate) counts: Counts,
    /// By process, in the order of ranks, those with none left out: how many messages have been sent to it
    /// since the last contribution.
    pub(crate) sent: Vec<(u32, u64)>,
    /// By process, in the order of ranks: whatever else the owners of the run have to agree on, in the
    /// postcard format.
    pub(crate) extra: Vec<(u32, Vec<u8>)>,
    /// The extra is for the process of rank 0 only.
    pub(crate) gathers: bool,
    /// Those that have not contributed are asked to do so; otherwise they will by themselves.
    pub(crate) asks: bool,
    /// Which process has `least`.
    pub(crate) slowest: u32,
}

impl Default for Contribution {
    /// Of a process that has nothing to say.
    fn default() -> Self {
        Self {
            least: Time::MAX,
            halt: None,
            next: Vec::new(),
            passive: true,
            empty: true,
            counts: Counts::default(),
            sent: Vec::new(),
            extra: Vec::new(),
            gathers: false,
            asks: false,
            slowest: u32::MAX,
        }
    }
}

impl Contribution {
    /// Adds what another process, or several, have said.
    pub(super) fn join(&mut self, other: Self) {
        (self.least, self.slowest) = (self.least, self.slowest).min((other.least, other.slowest));
        // A stop ends the run, and a pause does not: it wins.
        self.halt = match (self.halt, other.halt) {
            (Some(Halt::Stop), _) | (_, Some(Halt::Stop)) => Some(Halt::Stop),
            (one, other) => one.or(other),
        };
        merge(&mut self.next, other.next, |least, time| *least = time.min(*least));
        merge(&mut self.sent, other.sent, |sum, more| *sum = sum.saturating_add(more));
        merge(&mut self.extra, other.extra, |_, _| {});
        self.passive &= other.passive;
        self.empty &= other.empty;
        let add = |sum: &mut (u64, u64), more: (u64, u64)| {
            *sum = (sum.0.saturating_add(more.0), sum.1.saturating_add(more.1));
        };
        add(&mut self.counts.events, other.counts.events);
        add(&mut self.counts.others, other.counts.others);
        self.gathers |= other.gathers;
        self.asks |= other.asks;
    }

    pub(super) fn sent_to(&self, rank: u32) -> u64 {
        self.sent.binary_search_by_key(&rank, |(to, _)| *to).map_or(0, |at| self.sent[at].1)
    }
}

/// Merges two lists that are ordered by their keys; `both` joins what both have.
fn merge<T>(list: &mut Vec<(u32, T)>, other: Vec<(u32, T)>, both: impl Fn(&mut T, T)) {
    // The common case, in which nothing is merged and nothing copied.
    if list.is_empty() {
        *list = other;
        return;
    }
    if other.is_empty() {
        return;
    }
    let mut merged: Vec<(u32, T)> = Vec::with_capacity(list.len() + other.len());
    let mut other = other.into_iter().peekable();
    for (key, value) in list.drain(..) {
        while let Some(before) = other.next_if(|(next, _)| *next < key) {
            merged.push(before);
        }
        merged.push((key, value));
        while let Some((_, more)) = other.next_if(|(next, _)| *next == key) {
            both(&mut merged.last_mut().expect("it was pushed").1, more);
        }
    }
    merged.extend(other);
    *list = merged;
}
