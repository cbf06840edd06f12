//! Events that their own LP has cancelled: they stay in the queue until they come up in their order, and are
//! passed over then.
//!
//! Such events are *withdrawn*. Messages that are cancelled under Time Warp, as their senders are rolled
//! back, are another thing, and kept apart (`federate/warp/cancel.rs`).
//!
//! Taking an event out of the middle of a queue would make every queue slower, and none has to know of this.
//! Each LP has a set of the events that it has cancelled. The sets of a federate are in a table beside its
//! LPs, so that those of models that do not cancel are no larger for it. With each event the set holds its
//! *cause*, the event in which it was cancelled. So a rollback needs no copy of the set: what was cancelled
//! from there on goes out of it, and what was passed over from there on, and was cancelled before, comes back
//! into it.
//!
//! Invariant: everything in a set is pending to the LP, and comes after its cause.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Key, LpId, Model, Time};

/// Which event it is that an LP has scheduled for itself: what
/// [`Context::schedule`](crate::Context::schedule) gives out, for
/// [`Context::cancel`](crate::Context::cancel). It may be kept in a state for as long as the model likes,
/// also once the event has happened. It means nothing to any other LP, and nothing in a run of another model,
/// seed or order of ties.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct EventId(Key);

impl EventId {
    /// Of an event that was refused. It may equal the id of the first message of LP 0; what the model does
    /// with it ends with the run, or is rolled back.
    pub(crate) const NONE: Self = Self(Key::least(Time::ZERO));

    #[inline(always)]
    pub(crate) const fn new(key: Key) -> Self {
        Self(key)
    }

    pub(crate) const fn key(self) -> Key {
        self.0
    }

    /// When the event happens, or would have happened.
    pub const fn time(self) -> Time {
        self.0.time()
    }
}

/// The event in which something was done; none for what `init` did.
pub(crate) type Cause = Option<Key>;

/// An LP has cancelled this event of its own, in that one: an entry of a set as it travels.
pub(crate) type Entry = (LpId, Key, Cause);

/// The sets of a federate.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sets(Vec<Withdrawn>);

impl Sets {
    /// Empty ones of so many LPs; none at all where the model does not cancel.
    pub fn new<M: Model>(lps: usize) -> Self {
        Self(if M::CANCELS { vec![Withdrawn::default(); lps] } else { Vec::new() })
    }

    /// The set of an LP by its local number, in a model that cancels.
    #[inline(always)]
    pub fn of<M: Model>(&mut self, local: usize) -> Option<&mut Withdrawn> {
        if M::CANCELS { self.0.get_mut(local) } else { None }
    }

    /// The set of an LP by its local number, for reading.
    pub fn at(&self, local: usize) -> Option<&Withdrawn> {
        self.0.get(local)
    }

    /// By local number, where there are any.
    pub fn iter(&self) -> impl Iterator<Item = &Withdrawn> {
        self.0.iter()
    }
}

/// What an LP has cancelled and has not come to yet.
#[derive(Clone, Debug, Default, Hash)]
pub(crate) struct Withdrawn {
    /// By cancelled event: the event in which the LP cancelled it.
    causes: BTreeMap<Key, Cause>,
}

impl Withdrawn {
    pub fn len(&self) -> usize {
        self.causes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.causes.is_empty()
    }

    pub fn contains(&self, key: Key) -> bool {
        self.causes.contains_key(&key)
    }

    /// The events, in the total order.
    pub fn keys(&self) -> impl Iterator<Item = Key> {
        self.causes.keys().copied()
    }

    /// The events with their causes, in the total order.
    pub fn causes(&self) -> impl Iterator<Item = (Key, Cause)> {
        self.causes.iter().map(|(key, cause)| (*key, *cause))
    }

    /// What was cancelled in the event `cause`.
    pub fn caused_by(&self, cause: Cause) -> impl Iterator<Item = Key> {
        self.causes().filter(move |(_, other)| *other == cause).map(|(key, _)| key)
    }

    /// Cancels a pending event. Says whether it was not cancelled already.
    pub fn insert(&mut self, key: Key, cause: Cause) -> bool {
        let vacant = !self.contains(key);
        if vacant {
            self.causes.insert(key, cause);
        }
        vacant
    }

    /// The LP has come to the event of this order: takes it out, if it is in here.
    #[inline(always)]
    pub fn pass_over(&mut self, key: Key) -> Option<Cause> {
        // LPs come to events in order: as a rule the first entry shows that this event is not in the set.
        let (first, _) = self.causes.first_key_value()?;
        if *first > key { None } else { self.causes.remove(&key) }
    }

    /// Takes back what was cancelled from `key` on. What `init` cancelled stays: it is never rolled back.
    pub fn take_back(&mut self, key: Key) {
        self.causes.retain(|_, cause| cause.is_none_or(|cause| cause < key));
    }
}
