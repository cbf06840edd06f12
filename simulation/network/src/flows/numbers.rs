//! The slots of transfers by their numbers: a hash table for consecutive numbers.
//!
//! A number's place is given by its low bits, or is the next free place, so consecutive numbers are
//! neighbours (linear probing). Invariants: at most half of the places are taken; there is no free place
//! between a number and the place of its low bits; nothing depends on the order of places.

/// The slot that marks a free place.
const FREE: u32 = u32::MAX;

/// Slots by numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Numbers {
    /// Numbers and slots; the length is zero or a power of two.
    places: Vec<(u32, u32)>,
    taken: usize,
}

impl Numbers {
    /// The place of a number, or the free place where it would be inserted.
    fn place(&self, number: u32) -> usize {
        let mask = self.places.len() - 1;
        let mut place = number as usize & mask;
        while self.places[place].1 != FREE && self.places[place].0 != number {
            place = (place + 1) & mask;
        }
        place
    }

    pub(super) fn insert(&mut self, number: u32, slot: u32) {
        if self.taken * 2 >= self.places.len() {
            let size = (self.places.len() * 2).max(16);
            for (number, slot) in std::mem::replace(&mut self.places, vec![(0, FREE); size]) {
                if slot != FREE {
                    let place = self.place(number);
                    self.places[place] = (number, slot);
                }
            }
        }
        let place = self.place(number);
        self.places[place] = (number, slot);
        self.taken += 1;
    }

    pub(super) fn get(&self, number: u32) -> Option<u32> {
        let places = (!self.places.is_empty()).then(|| self.places[self.place(number)].1);
        places.filter(|slot| *slot != FREE)
    }

    /// Removes a number, which must be there.
    pub(super) fn remove(&mut self, number: u32) {
        let mask = self.places.len() - 1;
        let mut hole = self.place(number);
        let mut next = hole;
        // Move numbers forward that were pushed past the place that is now free.
        loop {
            next = (next + 1) & mask;
            let (number, slot) = self.places[next];
            if slot == FREE {
                break;
            }
            let home = number as usize & mask;
            if (next.wrapping_sub(home) & mask) >= (next.wrapping_sub(hole) & mask) {
                self.places[hole] = self.places[next];
                hole = next;
            }
        }
        self.places[hole] = (0, FREE);
        self.taken -= 1;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn slots_are_those_of_an_ordered_map(acts in prop::collection::vec((0u32..64, any::<bool>()), 1..300)) {
            let (mut numbers, mut map) = (Numbers::default(), BTreeMap::new());
            for (time, (number, near)) in acts.into_iter().enumerate() {
                // Numbers with equal low bits are pushed on to places of other numbers.
                let number = if near { number } else { number * 64 };
                match map.remove(&number) {
                    Some(_) => numbers.remove(number),
                    None => {
                        numbers.insert(number, time as u32);
                        map.insert(number, time as u32);
                    }
                }
                for number in (0..64).flat_map(|number| [number, number * 64]) {
                    prop_assert_eq!(numbers.get(number), map.get(&number).copied());
                }
            }
        }
    }
}
