//! The events of a run, or of a part of it, while no federate has them.
//!
//! Invariant: everything that is `cancelled` is one of the `events`, and for the LP that has cancelled it.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::withdrawn::Entry;
use crate::{Event, Key, LpId};

/// Events waiting, in any order.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Waiting<E> {
    pub events: Vec<Event<E>>,
    pub cancelled: Vec<Entry>,
}

impl<E> Default for Waiting<E> {
    fn default() -> Self {
        Self { events: Vec::new(), cancelled: Vec::new() }
    }
}

impl<E> Waiting<E> {
    /// Adds those of another part.
    pub fn join(&mut self, other: Self) {
        self.events.extend(other.events);
        self.cancelled.extend(other.cancelled);
    }

    /// Whether all of them are for LPs that are `right`: always, unless they were read from somewhere.
    pub fn all_are(&self, right: impl Fn(LpId) -> bool) -> bool {
        self.events.iter().all(|event| right(event.to())) && self.cancelled.iter().all(|(lp, ..)| right(*lp))
    }

    /// The events that are to happen: those that no LP has cancelled.
    pub fn live(&self) -> impl Iterator<Item = &Event<E>> {
        let cancelled: BTreeSet<Key> = self.cancelled.iter().map(|(_, key, _)| *key).collect();
        self.events.iter().filter(move |event| !cancelled.contains(&event.key()))
    }
}
