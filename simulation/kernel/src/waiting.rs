//! The events of a run, or of a part of it, while no federate has them.
//!
//! Invariant: everything that is `withdrawn` is one of the `events`, and for the LP that has cancelled it.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::withdrawn::Entry;
use crate::{Event, Key, LpId};

/// Events waiting, in any order.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Waiting<E> {
    pub events: Vec<Event<E>>,
    /// Those that their own LPs have cancelled.
    pub withdrawn: Vec<Entry>,
}

impl<E> Default for Waiting<E> {
    fn default() -> Self {
        Self { events: Vec::new(), withdrawn: Vec::new() }
    }
}

impl<E> Waiting<E> {
    /// Adds those of another part.
    pub fn join(&mut self, other: Self) {
        self.events.extend(other.events);
        self.withdrawn.extend(other.withdrawn);
    }

    /// Whether all of them are for LPs that are `right`: always, unless they were read from somewhere.
    pub fn all_are(&self, right: impl Fn(LpId) -> bool) -> bool {
        self.events.iter().all(|event| right(event.to())) && self.withdrawn.iter().all(|(lp, ..)| right(*lp))
    }

    /// The events that are to happen: those that no LP has cancelled.
    pub fn live(&self) -> impl Iterator<Item = &Event<E>> {
        let withdrawn: BTreeSet<Key> = self.withdrawn.iter().map(|(_, key, _)| *key).collect();
        self.events.iter().filter(move |event| !withdrawn.contains(&event.key()))
    }
}
