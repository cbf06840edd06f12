//! A heap in which each slot has at most one entry, which can be changed and taken out: for times that are
//! planned anew before they come. A heap without that would soon hold mostly entries that are void.
//!
//! Invariants: `places` says of every slot where its entry is, or [`NOWHERE`]; no entry is less than its
//! parent.

/// Children of a node: fewer levels than with two, and their comparisons do not wait for each other.
const CHILDREN: usize = 4;
/// The place of a slot without an entry.
const NOWHERE: u32 = u32::MAX;

/// An entry of an [`IndexedHeap`].
pub trait Slotted: Copy + Ord {
    /// The slot that it is for. Slots are small numbers: the heap keeps a place for each up to the largest.
    fn slot(self) -> u32;
}

/// The entries of slots, the least first.
///
/// ```
/// use paceline_kernel::{IndexedHeap, Slotted};
///
/// #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
/// struct Alarm {
///     at_ns: u64,
///     of: u32,
/// }
///
/// impl Slotted for Alarm {
///     fn slot(self) -> u32 {
///         self.of
///     }
/// }
///
/// let mut alarms = IndexedHeap::default();
/// alarms.set(Alarm { at_ns: 5, of: 0 });
/// alarms.set(Alarm { at_ns: 3, of: 1 });
/// alarms.set(Alarm { at_ns: 9, of: 1 });
/// assert_eq!(alarms.first(), Some(Alarm { at_ns: 5, of: 0 }));
/// alarms.remove(0);
/// assert_eq!(alarms.first(), Some(Alarm { at_ns: 9, of: 1 }));
/// ```
#[derive(Clone, Debug)]
pub struct IndexedHeap<T> {
    /// Children of place `n` are at `n * CHILDREN + 1` and behind.
    heap: Vec<T>,
    /// By slot: the place in `heap`.
    places: Vec<u32>,
}

impl<T> Default for IndexedHeap<T> {
    fn default() -> Self {
        Self { heap: Vec::new(), places: Vec::new() }
    }
}

impl<T: Slotted> IndexedHeap<T> {
    /// `entry` is that of its slot from now on.
    pub fn set(&mut self, entry: T) {
        let slot = entry.slot() as usize;
        if self.places.len() <= slot {
            self.places.resize(slot + 1, NOWHERE);
        }
        match self.places[slot] {
            NOWHERE => {
                self.heap.push(entry);
                self.rise(self.heap.len() - 1, entry);
            }
            place => self.settle(place as usize, entry),
        }
    }

    /// Takes the entry of `slot` out, if there is one.
    pub fn remove(&mut self, slot: u32) {
        let Some(place) = self.places.get_mut(slot as usize) else { return };
        let place = std::mem::replace(place, NOWHERE);
        if place == NOWHERE {
            return;
        }
        let last = self.heap.pop().expect("an entry that has a place is in the heap");
        // The last entry fills the gap; it may belong above or below it, as it comes from another branch.
        // Where the gap was the last place, nothing is left to fill.
        if (place as usize) < self.heap.len() {
            self.settle(place as usize, last);
        }
    }

    /// The least entry, by the order of entries; none where no slot has one.
    pub fn first(&self) -> Option<T> {
        self.heap.first().copied()
    }

    /// How many slots have an entry.
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Whether no slot has one.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    /// Puts `entry` at `place`, or above or below it where it belongs.
    fn settle(&mut self, place: usize, entry: T) {
        if place > 0 && entry < self.heap[(place - 1) / CHILDREN] {
            self.rise(place, entry);
        } else {
            self.sink(place, entry);
        }
    }

    fn rise(&mut self, mut place: usize, entry: T) {
        while place > 0 {
            let parent = (place - 1) / CHILDREN;
            if self.heap[parent] <= entry {
                break;
            }
            self.put(place, self.heap[parent]);
            place = parent;
        }
        self.put(place, entry);
    }

    fn sink(&mut self, mut place: usize, entry: T) {
        while let Some((child, least)) = self.least_child(place) {
            if entry <= least {
                break;
            }
            self.put(place, least);
            place = child;
        }
        self.put(place, entry);
    }

    /// The least of the children of `place`, and where it is. It is kept by value: by reference, both sides
    /// of each comparison come from memory.
    fn least_child(&self, place: usize) -> Option<(usize, T)> {
        let first = place * CHILDREN + 1;
        let children = self.heap.get(first..(first + CHILDREN).min(self.heap.len()))?;
        let (mut at, mut least) = (0, *children.first()?);
        for (number, child) in children.iter().enumerate().skip(1) {
            if *child < least {
                (at, least) = (number, *child);
            }
        }
        Some((first + at, least))
    }

    fn put(&mut self, place: usize, entry: T) {
        self.heap[place] = entry;
        self.places[entry.slot() as usize] = place as u32;
    }
}

#[cfg(test)]
mod test {
    use std::collections::BTreeMap;

    use super::*;
    use crate::Rng;

    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    struct Entry(u64, u32);

    impl Slotted for Entry {
        fn slot(self) -> u32 {
            self.1
        }
    }

    #[test]
    fn the_first_is_the_least_of_a_map_whatever_is_set_and_removed() {
        for seed in 0..50 {
            let mut rng = Rng::new(seed, 0);
            let (mut heap, mut map) = (IndexedHeap::default(), BTreeMap::new());
            for _ in 0..1_000 {
                let slot = rng.below(40) as u32;
                if rng.chance(0.6) {
                    let entry = Entry(rng.below(30), slot);
                    heap.set(entry);
                    map.insert(slot, entry);
                } else {
                    let slot = if rng.chance(0.5) { heap.first().map_or(slot, Slotted::slot) } else { slot };
                    heap.remove(slot);
                    map.remove(&slot);
                }
                assert_eq!(heap.first(), map.values().min().copied(), "seed {seed}");
                assert_eq!((heap.len(), heap.is_empty()), (map.len(), map.is_empty()), "seed {seed}");
            }
        }
    }
}
