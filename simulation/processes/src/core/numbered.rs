//! Things by number, most of which are over long before the last one begins.
//!
//! Numbers are given in order and never again; the memory of what is over is. Things stand in chunks of a
//! few, each of which is there while one of its things is: so what is kept is at most as many times the
//! things that are there as a chunk is long, and, for every number ever given, half a byte. Invariant: a
//! chunk that is there holds something.

use std::fmt;

/// Things in a chunk.
const SIZE: usize = 16;

struct Chunk<T> {
    count: u32,
    things: [Option<T>; SIZE],
}

/// A map from numbers that are given in ascending order, which forgets those whose things were taken out.
///
/// ```
/// use paceline_processes::core::Numbered;
///
/// let mut things = Numbered::default();
/// things.put(5, "five");
/// assert_eq!((things.get(5), things.get(4)), (Some(&"five"), None));
/// assert_eq!((things.take(5), things.take(5)), (Some("five"), None));
/// ```
pub struct Numbered<T> {
    first: u32,
    chunks: Vec<Option<Box<Chunk<T>>>>,
    /// An empty one, for whatever begins next.
    spare: Option<Box<Chunk<T>>>,
}

impl<T> Default for Numbered<T> {
    fn default() -> Self {
        Self::from(0)
    }
}

impl<T: Clone> Clone for Numbered<T> {
    fn clone(&self) -> Self {
        let copy = |chunk: &Chunk<T>| Chunk { count: chunk.count, things: chunk.things.clone() };
        let chunks = self.chunks.iter().map(|chunk| chunk.as_deref().map(copy).map(Box::new));
        Self { first: self.first, chunks: chunks.collect(), spare: None }
    }
}

impl<T: fmt::Debug> fmt::Debug for Numbered<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<T> Numbered<T> {
    /// Nothing yet; numbers begin at `first`.
    pub fn from(first: u32) -> Self {
        Self { first, chunks: Vec::new(), spare: None }
    }

    /// The chunk that a number is in, and its place there.
    #[inline]
    fn place(&self, number: u32) -> (usize, usize) {
        let place = number.wrapping_sub(self.first) as usize;
        (place / SIZE, place % SIZE)
    }

    /// The thing of this number, if it is there.
    #[inline]
    pub fn get(&self, number: u32) -> Option<&T> {
        let (chunk, place) = self.place(number);
        self.chunks.get(chunk)?.as_ref()?.things[place].as_ref()
    }

    /// The thing of this number, if it is there.
    #[inline]
    pub fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        let (chunk, place) = self.place(number);
        self.chunks.get_mut(chunk)?.as_mut()?.things[place].as_mut()
    }

    /// Puts a thing where there is none. Panics where there is one, or if the number is below the first.
    pub fn put(&mut self, number: u32, thing: T) {
        assert!(number >= self.first, "numbers begin at {}", self.first);
        let (place, within) = self.place(number);
        if self.chunks.len() <= place {
            self.chunks.resize_with(place + 1, || None);
        }
        let spare = &mut self.spare;
        let chunk = self.chunks[place].get_or_insert_with(|| {
            spare.take().unwrap_or_else(|| Box::new(Chunk { count: 0, things: [const { None }; SIZE] }))
        });
        assert!(chunk.things[within].is_none(), "there is one thing of a number");
        chunk.things[within] = Some(thing);
        chunk.count += 1;
    }

    /// Takes a thing out, if it is there.
    pub fn take(&mut self, number: u32) -> Option<T> {
        let (place, within) = self.place(number);
        let slot = self.chunks.get_mut(place)?;
        let chunk = slot.as_mut()?;
        let thing = chunk.things[within].take()?;
        chunk.count -= 1;
        if chunk.count == 0 {
            self.spare = slot.take();
        }
        Some(thing)
    }

    /// Takes a thing out that comes back soon ([`Self::put_back`]).
    pub fn lend(&mut self, number: u32) -> Option<T> {
        let (chunk, place) = self.place(number);
        self.chunks.get_mut(chunk)?.as_mut()?.things[place].take()
    }

    /// Puts back what was lent. Panics where it was not.
    pub fn put_back(&mut self, number: u32, thing: T) {
        let (chunk, place) = self.place(number);
        let chunk = self.chunks.get_mut(chunk).and_then(|chunk| chunk.as_mut());
        let lent = chunk.and_then(|chunk| chunk.things.get_mut(place)).filter(|slot| slot.is_none());
        *lent.expect("it was lent") = Some(thing);
    }

    /// All that are there, by number.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        let chunks = self.chunks.iter().enumerate();
        let chunks = chunks.filter_map(|(place, chunk)| Some((place, chunk.as_ref()?)));
        chunks.flat_map(move |(place, chunk)| {
            let things = chunk.things.iter().enumerate();
            things.filter_map(move |(within, thing)| {
                Some((self.first + (place * SIZE + within) as u32, thing.as_ref()?))
            })
        })
    }
}

#[cfg(test)]
mod test {
    use std::collections::BTreeMap;

    use paceline_kernel::Rng;

    use super::*;

    #[test]
    fn it_is_a_map_and_keeps_no_more_than_what_is_there() {
        let first = u32::MAX - 40_000;
        let (mut rng, mut things, mut expected) = (Rng::new(5, 1), Numbered::from(first), BTreeMap::new());
        for number in first..u32::MAX {
            things.put(number, number);
            expected.insert(number, number);
            while expected.len() > 50 {
                let (number, _) = expected.iter().nth(rng.below(50) as usize).unwrap();
                let number = *number;
                assert_eq!((things.take(number), things.take(number)), (expected.remove(&number), None));
                assert!(things.get(number).is_none() && things.get_mut(number).is_none());
            }
            let lent = things.lend(number);
            lent.into_iter().for_each(|thing| things.put_back(number, thing));
            assert_eq!(things.get(number).copied(), expected.get(&number).copied());
        }
        assert!(things.iter().eq(expected.iter().map(|(number, thing)| (*number, thing))));
        assert_eq!((things.get(0), things.get(u32::MAX)), (None, None), "numbers that were never given");
        let kept = things.chunks.iter().flatten().count();
        assert!(kept <= expected.len(), "{kept} chunks for {}", expected.len());
        assert!(things.clone().iter().eq(things.iter()));
    }
}
