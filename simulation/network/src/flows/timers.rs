//! The next time at which something happens to each transfer: a solution gives many flows new rates, and thus
//! new ends.
//!
//! Invariants: a transfer has at most one time; at equal times the transfer with the lowest number is first.
//! Times are not negative, so their bit patterns sort like the times.

use paceline_kernel::{IndexedHeap, Slotted};

/// The bits of a time, then the number and the slot of a transfer, packed into one number that sorts
/// accordingly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Timer(u128);

impl Timer {
    fn new(at: f64, number: u32, slot: u32) -> Self {
        // Adding 0 makes -0 a 0.
        let bits = u128::from((at + 0.0).to_bits());
        Self(bits << 64 | u128::from(number) << 32 | u128::from(slot))
    }

    fn at(self) -> f64 {
        f64::from_bits((self.0 >> 64) as u64)
    }
}

impl Slotted for Timer {
    fn slot(self) -> u32 {
        self.0 as u32
    }
}

/// The pending times of transfers.
#[derive(Clone, Debug, Default)]
pub(super) struct Timers(IndexedHeap<Timer>);

impl Timers {
    /// Sets the time of the transfer in a slot; replaces an earlier one.
    pub(super) fn set(&mut self, slot: u32, number: u32, at: f64) {
        self.0.set(Timer::new(at, number, slot));
    }

    pub(super) fn remove(&mut self, slot: u32) {
        self.0.remove(slot);
    }

    pub(super) fn first(&self) -> Option<f64> {
        self.0.first().map(Timer::at)
    }

    /// Removes the first timer if its time is not after `at`, and returns its slot.
    pub(super) fn pop_at(&mut self, at: f64) -> Option<u32> {
        let first = self.0.first().filter(|timer| timer.at() <= at)?.slot();
        self.remove(first);
        Some(first)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_first_is_that_of_an_ordered_map(
            acts in prop::collection::vec((0u32..12, 0u32..8, 0u8..4), 1..200),
        ) {
            let (mut timers, mut map) = (Timers::default(), BTreeMap::new());
            for (slot, tenths, act) in acts {
                // Numbers in another order than slots.
                let (number, at) = (100 - slot, f64::from(tenths) / 10.0);
                let first = map.iter().map(|(slot, at)| (*at, 100 - slot, *slot)).min_by(|a: &(f64, u32, u32), b| {
                    a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))
                });
                prop_assert_eq!(timers.first(), first.map(|(at, ..)| at));
                match act {
                    0 => {
                        let due = first.filter(|(first, ..)| *first <= at).map(|(.., slot)| slot);
                        prop_assert_eq!(timers.pop_at(at), due);
                        due.and_then(|slot| map.remove(&slot));
                    }
                    1 if map.remove(&slot).is_some() => timers.remove(slot),
                    _ => {
                        timers.set(slot, number, at);
                        map.insert(slot, at);
                    }
                }
            }
        }
    }
}
