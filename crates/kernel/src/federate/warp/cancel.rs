//! Events in the queue that were taken back by their sender: they stay there until they come out, and are dropped then.
//!
//! Taking an event out of the middle of a queue would make every queue slower; this costs a look at a counter per event.
//! Invariant: everything in here is in the queue, or about to be put there, once for each time it is in here.

use std::collections::BTreeMap;
use std::hash::Hash;

use crate::digest::hash_of;
use crate::outbox::Receipt;
use crate::{Event, Key, LpId};

/// Kinds of events that are told apart before the exact look.
const KINDS: usize = 1 << 10;

#[derive(Debug, Default)]
pub(in crate::federate) struct Cancelled {
    /// How many of each kind are in here; none before the first comes.
    kinds: Vec<u32>,
    waiting: BTreeMap<(Key, LpId, u64), u32>,
    len: usize,
}

impl Cancelled {
    pub fn len(&self) -> usize {
        self.len
    }

    /// The event is to be dropped when it comes.
    pub fn insert(&mut self, receipt: &Receipt) {
        if self.kinds.is_empty() {
            self.kinds = vec![0; KINDS];
        }
        self.kinds[kind(receipt)] += 1;
        *self.waiting.entry((receipt.key(), receipt.to(), receipt.payload)).or_default() += 1;
        self.len += 1;
    }

    /// Whether this event, which is out of the queue, was taken back.
    #[inline(always)]
    pub fn takes<E: Hash>(&mut self, event: &Event<E>) -> bool {
        self.len > 0 && self.kinds[kind(event)] > 0 && self.looks_up(event)
    }

    #[inline(never)]
    fn looks_up<E: Hash>(&mut self, event: &Event<E>) -> bool {
        let name = (event.key(), event.to(), hash_of(&event.payload));
        let Some(times) = self.waiting.get_mut(&name) else { return false };
        *times -= 1;
        self.kinds[kind(event)] -= 1;
        self.len -= 1;
        if *times == 0 {
            self.waiting.remove(&name);
        }
        true
    }
}

/// The kind of an event: some bits of its time and sender.
#[inline(always)]
fn kind<E>(event: &Event<E>) -> usize {
    let (time, _, tie_and_lp) = event.identity();
    ((time ^ tie_and_lp >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54) as usize % KINDS
}
