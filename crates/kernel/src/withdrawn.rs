//! Events that their own LP has cancelled: they stay in the queue until they come up in their order, and are passed over then.
//!
//! Taking an event out of the middle of a queue would make every queue slower, and none has to know of this. Each LP has a set
//! of the events that it has cancelled, which costs a pointer where there are none. With each event the set holds its *cause*, the
//! event in which it was cancelled. So a rollback needs no copy of the set: what was cancelled from there on goes out of it, and
//! what was passed over from there on, and was cancelled before, comes back into it.
//!
//! Invariant: everything in a set is pending to the LP, and comes after its cause.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Key, Time};

/// Which event it is that an LP has scheduled for itself: what [`Context::schedule`](crate::Context::schedule) gives out, for
/// [`Context::cancel`](crate::Context::cancel). It may be kept in a state for as long as the model likes, also once the event has
/// happened. It means nothing to any other LP, and nothing in a run of another model, seed or order of ties.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct EventId(Key);

impl EventId {
    /// Of an event that was refused.
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

/// What an LP has cancelled and has not come to yet.
#[derive(Clone, Debug, Default)]
pub(crate) struct Withdrawn(Option<Box<Causes>>);

#[derive(Clone, Debug, Default)]
struct Causes {
    /// By what was cancelled.
    of: BTreeMap<Key, Cause>,
}

impl Withdrawn {
    pub fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |causes| causes.of.len())
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn contains(&self, key: Key) -> bool {
        self.0.as_ref().is_some_and(|causes| causes.of.contains_key(&key))
    }

    /// The events, in the total order.
    pub fn keys(&self) -> impl Iterator<Item = Key> {
        self.causes().map(|(key, _)| key)
    }

    fn causes(&self) -> impl Iterator<Item = (Key, Cause)> {
        self.0.iter().flat_map(|causes| &causes.of).map(|(key, cause)| (*key, *cause))
    }

    /// What was cancelled in the event `cause`.
    pub fn caused_by(&self, cause: Cause) -> impl Iterator<Item = Key> {
        self.causes().filter(move |(_, other)| *other == cause).map(|(key, _)| key)
    }

    /// Cancels a pending event. Says whether it was not cancelled already.
    pub fn insert(&mut self, key: Key, cause: Cause) -> bool {
        let of = &mut self.0.get_or_insert_default().of;
        if of.contains_key(&key) {
            return false;
        }
        of.insert(key, cause);
        true
    }

    /// The LP has come to the event of this order: takes it out, if it is in here.
    #[inline(always)]
    pub fn pass_over(&mut self, key: Key) -> Option<Cause> {
        let of = &mut self.0.as_mut()?.of;
        if *of.first_key_value()?.0 > key { None } else { of.remove(&key) }
    }

    /// Takes back what was cancelled from `key` on.
    pub fn take_back(&mut self, key: Key) {
        if let Some(causes) = &mut self.0 {
            causes.of.retain(|_, cause| cause.is_none_or(|cause| cause < key));
        }
    }
}

impl Hash for Withdrawn {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        hasher.write_usize(self.len());
        self.causes().for_each(|entry| entry.hash(hasher));
    }
}

impl Serialize for Withdrawn {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.causes().collect::<Vec<_>>().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Withdrawn {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let of: BTreeMap<Key, Cause> = Vec::deserialize(deserializer)?.into_iter().collect();
        Ok(Self((!of.is_empty()).then(|| Box::new(Causes { of }))))
    }
}
