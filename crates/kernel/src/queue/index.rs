//! Finds the heap node of an instant: an open-addressing hash table with linear probing.
//!
//! Only looked up, never iterated, so its layout cannot influence a result. Removal shifts the entries behind back, so
//! there are no tombstones. Invariant: at most half of the slots are taken.

use crate::rng::mix;

/// A time in nanoseconds and a depth.
pub(super) type Instant = (u64, u16);

const EMPTY: u32 = u32::MAX;

#[derive(Debug)]
pub(super) struct Index {
    slots: Vec<(Instant, u32)>,
    len: usize,
}

impl Index {
    pub(super) fn new() -> Self {
        Self { slots: vec![((0, 0), EMPTY); 16], len: 0 }
    }

    fn home(&self, at: Instant) -> usize {
        mix(at.0, u64::from(at.1)) as usize & (self.slots.len() - 1)
    }

    /// The slot that holds `at`, or the empty one where it belongs.
    fn slot(&self, at: Instant) -> usize {
        let mut slot = self.home(at);
        while self.slots[slot].1 != EMPTY && self.slots[slot].0 != at {
            slot = (slot + 1) & (self.slots.len() - 1);
        }
        slot
    }

    pub(super) fn get(&self, at: Instant) -> Option<u32> {
        let node = self.slots[self.slot(at)].1;
        (node != EMPTY).then_some(node)
    }

    pub(super) fn insert(&mut self, at: Instant, node: u32) {
        if (self.len + 1) * 2 > self.slots.len() {
            let doubled = vec![((0, 0), EMPTY); self.slots.len() * 2];
            let old = std::mem::replace(&mut self.slots, doubled);
            for (at, node) in old.into_iter().filter(|(_, node)| *node != EMPTY) {
                let slot = self.slot(at);
                self.slots[slot] = (at, node);
            }
        }
        let slot = self.slot(at);
        self.slots[slot] = (at, node);
        self.len += 1;
    }

    pub(super) fn remove(&mut self, at: Instant) {
        let mask = self.slots.len() - 1;
        let mut hole = self.slot(at);
        assert!(self.slots[hole].1 != EMPTY, "every heap node is in the index");
        self.len -= 1;
        let mut next = (hole + 1) & mask;
        while self.slots[next].1 != EMPTY {
            // An entry may move back into the hole unless its home lies behind the hole.
            let home = self.home(self.slots[next].0);
            if (next.wrapping_sub(home) & mask) >= (next.wrapping_sub(hole) & mask) {
                self.slots[hole] = self.slots[next];
                hole = next;
            }
            next = (next + 1) & mask;
        }
        self.slots[hole].1 = EMPTY;
    }
}
