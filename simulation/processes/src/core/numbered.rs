//! Things by number, most of which are over long before the last one begins.
//!
//! Numbers are given in order, or nearly so, and never again; the memory of what is over is. Things stand in
//! chunks of a few, which are found at once. A chunk of which little is left goes, and the rest of it stands
//! in a map: so what is kept is at most some times the things that are there. Invariants: a chunk that is
//! there holds something, and so does the first place of the list of chunks; a thing is in its chunk or in
//! the map, never in both.

use std::collections::BTreeMap;
use std::fmt;

/// Things in a chunk.
const SIZE: usize = 16;
/// With so many things left, a chunk goes.
const FEW: u32 = SIZE as u32 / 4;
/// So many places of chunks that are over may stand at the front, or half of all.
const FRONT: usize = 1024;

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
    /// The number of the first place of the first chunk in the list.
    first: u32,
    chunks: Vec<Option<Box<Chunk<T>>>>,
    /// How many chunks at the front of the list are over.
    gone: usize,
    /// What is left of chunks that have gone; nothing while it is lent.
    rest: BTreeMap<u32, Option<T>>,
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
        let chunks = self.chunks.iter().map(|chunk| chunk.as_deref().map(copy).map(Box::new)).collect();
        let (rest, spare) = (self.rest.clone(), None);
        Self { first: self.first, chunks, gone: self.gone, rest, spare }
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
        Self { first, chunks: Vec::new(), gone: 0, rest: BTreeMap::new(), spare: None }
    }

    /// The chunk that a number is in, and its place there.
    #[inline]
    fn place(&self, number: u32) -> (usize, usize) {
        let place = number.wrapping_sub(self.first) as usize;
        (place / SIZE, place % SIZE)
    }

    /// Where the thing of a number stands in its chunk, if that is there.
    #[inline]
    fn slot(&mut self, number: u32) -> Option<&mut Option<T>> {
        let (chunk, place) = self.place(number);
        Some(&mut self.chunks.get_mut(chunk)?.as_mut()?.things[place])
    }

    /// The thing of this number, if it is there.
    #[inline]
    pub fn get(&self, number: u32) -> Option<&T> {
        let (chunk, place) = self.place(number);
        match self.chunks.get(chunk) {
            Some(Some(chunk)) if chunk.things[place].is_some() => chunk.things[place].as_ref(),
            _ if self.rest.is_empty() => None,
            _ => self.rest.get(&number)?.as_ref(),
        }
    }

    /// The thing of this number, if it is there.
    #[inline]
    pub fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        let (chunk, place) = self.place(number);
        match self.chunks.get_mut(chunk) {
            Some(Some(chunk)) if chunk.things[place].is_some() => chunk.things[place].as_mut(),
            _ if self.rest.is_empty() => None,
            _ => self.rest.get_mut(&number)?.as_mut(),
        }
    }

    /// Puts a thing where there is none. Panics where there is one, or if the number is below those of all
    /// that are there and was given out of order by far.
    pub fn put(&mut self, number: u32, thing: T) {
        assert!(number >= self.first, "numbers are given in order; here they begin at {}", self.first);
        let (mut place, within) = self.place(number);
        if self.chunks.len() <= place {
            let last = self.chunks.len().checked_sub(1);
            self.chunks.resize_with(place + 1, || None);
            // Of the one before, too, little may be left.
            last.into_iter().for_each(|last| self.dissolve(last));
            (place, _) = self.place(number);
        }
        self.gone = self.gone.min(place);
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
        let (place, _) = self.place(number);
        let Some(thing) = self.slot(number).and_then(Option::take) else {
            return self.rest.remove(&number)?;
        };
        let slot = &mut self.chunks[place];
        let chunk = slot.as_mut()?;
        chunk.count -= 1;
        if chunk.count == 0 {
            self.spare = slot.take();
            self.trim();
        } else if place + 1 < self.chunks.len() {
            self.dissolve(place);
        }
        Some(thing)
    }

    /// Where a chunk before the last has little left, that goes into the map, unless some of it is lent.
    fn dissolve(&mut self, place: usize) {
        let slot = &mut self.chunks[place];
        let Some(chunk) = slot.as_ref().filter(|chunk| chunk.count <= FEW) else { return };
        let is_whole = chunk.things.iter().flatten().count() == chunk.count as usize;
        if let Some(mut chunk) = is_whole.then(|| slot.take()).flatten() {
            let first = self.first + (place * SIZE) as u32;
            let left = (first..).zip(&mut chunk.things);
            self.rest.extend(left.filter_map(|(number, thing)| Some((number, Some(thing.take()?)))));
            chunk.count = 0;
            self.spare = Some(chunk);
            self.trim();
        }
    }

    /// Forgets the places of chunks that are over at the front, when they are many.
    fn trim(&mut self) {
        // The last chunk stays, as the next number may be in it.
        while self.gone + 1 < self.chunks.len() && self.chunks[self.gone].is_none() {
            self.gone += 1;
        }
        if self.gone > FRONT && self.gone > self.chunks.len() / 2 {
            self.chunks.drain(..self.gone);
            self.first += (self.gone * SIZE) as u32;
            self.gone = 0;
        }
    }

    /// Takes a thing out that comes back soon ([`Self::put_back`]).
    pub fn lend(&mut self, number: u32) -> Option<T> {
        if let Some(thing) = self.slot(number).and_then(Option::take) {
            return Some(thing);
        }
        self.rest.get_mut(&number)?.take()
    }

    /// Puts back what was lent. Panics where it was not.
    pub fn put_back(&mut self, number: u32, thing: T) {
        let lent =
            if self.rest.contains_key(&number) { self.rest.get_mut(&number) } else { self.slot(number) };
        *lent.filter(|slot| slot.is_none()).expect("it was lent") = Some(thing);
    }

    /// All that are there, by number.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        let chunks = self.chunks.iter().enumerate();
        let chunks = chunks.filter_map(|(place, chunk)| Some((place, chunk.as_ref()?)));
        let chunks = chunks.flat_map(move |(place, chunk)| {
            let things = chunk.things.iter().enumerate();
            things.filter_map(move |(within, thing)| {
                Some((self.first + (place * SIZE + within) as u32, thing.as_ref()?))
            })
        });
        let rest = self.rest.iter().filter_map(|(number, thing)| Some((*number, thing.as_ref()?)));
        let (mut chunks, mut rest) = (chunks.peekable(), rest.peekable());
        std::iter::from_fn(move || match (chunks.peek(), rest.peek()) {
            (Some((one, _)), Some((other, _))) if other < one => rest.next(),
            (None, _) => rest.next(),
            _ => chunks.next(),
        })
    }
}

#[cfg(test)]
mod test {
    use paceline_kernel::Rng;

    use super::*;

    /// Gives numbers, in order but for some, and takes things out as `stays` says: how many may be there at
    /// a time, and whether a number is never taken out. Returns the numbers that are left.
    fn check(seed: u64, most: usize, stays: impl Fn(u32) -> bool) -> (Numbered<u32>, BTreeMap<u32, u32>) {
        let first = u32::MAX - 40_000;
        let (mut rng, mut things, mut expected) = (Rng::new(seed, 1), Numbered::from(first), BTreeMap::new());
        let mut open: Vec<u32> = Vec::new();
        for number in first..u32::MAX {
            // The next one comes first, now and then.
            let number = if number < u32::MAX - 1 && number % 1000 < 2 { number ^ 1 } else { number };
            things.put(number, number);
            expected.insert(number, number);
            open.extend((!stays(number)).then_some(number));
            while open.len() > most {
                let number = open.swap_remove(rng.below(open.len() as u64) as usize);
                assert_eq!((things.take(number), things.take(number)), (expected.remove(&number), None));
                assert!(things.get(number).is_none() && things.get_mut(number).is_none());
            }
            let some = rng.below(u64::from(number - first) + 1) as u32 + first;
            let lent = things.lend(some);
            assert_eq!(lent, expected.get(&some).copied());
            lent.into_iter().for_each(|thing| things.put_back(some, thing));
            assert_eq!(things.get(some).copied(), expected.get(&some).copied());
        }
        (things, expected)
    }

    #[test]
    fn it_is_a_map_and_keeps_no_more_than_what_is_there() {
        for (seed, most, one_in) in
            [(5, 50, u32::MAX), (6, 5000, u32::MAX), (7, 50, 8), (8, 0, 40), (9, 9, 3)]
        {
            let (things, expected) = check(seed, most, |number| number % one_in == 0);
            assert!(things.iter().eq(expected.iter().map(|(number, thing)| (*number, thing))));
            assert!(things.clone().iter().eq(things.iter()));
            assert_eq!((things.get(0), things.get(u32::MAX)), (None, None), "numbers that were never given");
            let chunks: Vec<_> = things.chunks.iter().flatten().collect();
            assert!(chunks.iter().all(|chunk| chunk.count > 0));
            let sparse = chunks.iter().filter(|chunk| chunk.count <= FEW).count();
            assert!(sparse <= 2, "{sparse} chunks of which little is left, for one in {one_in}");
            assert!(chunks.len() + things.rest.len() <= expected.len());
            if one_in != 3 {
                assert!(things.chunks.len() <= 2 * (FRONT + expected.len()), "{}", things.chunks.len());
            }
        }
    }

    #[test]
    fn what_is_lent_comes_back_when_the_rest_of_its_chunk_has_gone() {
        let mut things = Numbered::default();
        (0..40).for_each(|number| things.put(number, number));
        let lent = things.lend(3).unwrap();
        (0..16)
            .filter(|number| *number != 3)
            .for_each(|number| assert_eq!(things.take(number), Some(number)));
        things.put_back(3, lent);
        assert_eq!((things.get(3).copied(), things.take(3), things.take(3)), (Some(3), Some(3), None));
        (17..32).for_each(|number| assert_eq!(things.take(number), Some(number)));
        assert_eq!((things.rest.len(), things.lend(16)), (1, Some(16)));
        things.put_back(16, 16);
        assert_eq!(things.take(16), Some(16));
    }
}
