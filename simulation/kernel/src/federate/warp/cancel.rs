//! Events in the queue that were taken back by their sender: they stay there until they come out, and are
//! dropped then. Those that their receiver has cancelled are in `withdrawn.rs`.
//!
//! Taking an event out of the middle of a queue would make every queue slower; this costs a look at a counter
//! per event. Invariant: everything in here is in the queue, or about to be put there, once for each time it
//! is in here.

use std::collections::BTreeMap;
use std::hash::Hash;

use crate::digest::same_payload;
use crate::outbox::Receipt;
use crate::{Event, Key, LpId};

/// Kinds of events that are distinguished before the exact look: as many as so many bits have values.
const KIND_BITS: u32 = 10;

#[derive(Debug)]
pub(in crate::federate) struct Cancelled<E> {
    /// How many of each kind are in here; none before the first comes.
    kinds: Vec<u32>,
    /// The payloads by place and destination, one for each message.
    waiting: BTreeMap<(Key, LpId), Vec<E>>,
    len: usize,
}

impl<E> Default for Cancelled<E> {
    fn default() -> Self {
        Self { kinds: Vec::new(), waiting: BTreeMap::new(), len: 0 }
    }
}

impl<E: Clone + Hash + PartialEq> Cancelled<E> {
    pub fn len(&self) -> usize {
        self.len
    }

    /// The event is to be dropped when it comes.
    pub fn insert(&mut self, receipt: &Receipt<E>) {
        if self.kinds.is_empty() {
            self.kinds = vec![0; 1 << KIND_BITS];
        }
        self.kinds[kind(receipt)] += 1;
        self.waiting.entry((receipt.key(), receipt.to())).or_default().push(receipt.payload.clone());
        self.len += 1;
    }

    /// Whether this event, which is out of the queue, was taken back.
    #[inline(always)]
    pub fn takes(&mut self, event: &Event<E>) -> bool {
        self.len > 0 && self.kinds[kind(event)] > 0 && self.looks_up(event)
    }

    #[inline(never)]
    fn looks_up(&mut self, event: &Event<E>) -> bool {
        let name = (event.key(), event.to());
        let Some(payloads) = self.waiting.get_mut(&name) else { return false };
        let same = |other: &E| same_payload(other, &event.payload);
        let Some(found) = payloads.iter().position(same) else { return false };
        payloads.swap_remove(found);
        self.kinds[kind(event)] -= 1;
        self.len -= 1;
        if payloads.is_empty() {
            self.waiting.remove(&name);
        }
        true
    }
}

/// The kind of an event: a hash of its time and the lower 32 bits of its tie, which with fixed ties are those
/// of its number at its sender. Of most kinds there is nothing in here, and no search is needed.
#[inline(always)]
fn kind<E>(event: &Event<E>) -> usize {
    let (time, _, tie_and_lp) = event.identity();
    // Fibonacci hashing: the upper bits of the product.
    let product = (time ^ tie_and_lp >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (product >> (u64::BITS - KIND_BITS)) as usize
}
