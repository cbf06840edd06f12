//! The requests that a rank has begun and not completed.
//!
//! Invariant: of several that fit, the oldest is taken, as MPI orders messages of equal ends and tag.

use std::collections::{BTreeMap, VecDeque};

use paceline_processes::Mailbox;

use super::Ends;

/// The open requests of a rank, by their ends. `T` is what is known of a request.
#[derive(Debug)]
pub(super) struct Requests<T> {
    begun: u64,
    /// With the how manieth each is.
    open: BTreeMap<Ends, VecDeque<(u64, T)>>,
}

impl<T> Default for Requests<T> {
    fn default() -> Self {
        Self { begun: 0, open: BTreeMap::new() }
    }
}

impl<T> Requests<T> {
    pub(super) fn begin(&mut self, ends: Ends, request: T) {
        self.open.entry(ends).or_default().push_back((self.begun, request));
        self.begun += 1;
    }

    /// The key of the oldest request that a wait or a test for `ends` means: of the same ends; if there is
    /// none, a receive that had left open who sends, or with which tag.
    fn oldest(&self, ends: Ends) -> Option<Ends> {
        let (from, to, tag) = ends;
        if self.open.contains_key(&ends) {
            return Some(ends);
        }
        let any = Mailbox::ANY;
        let left_open = [(any, to, tag), (from, to, any), (any, to, any)].into_iter();
        let first =
            |key: Ends| self.open.get(&key).and_then(|queue| queue.front()).map(|(begun, _)| (*begun, key));
        left_open.filter_map(first).min().map(|(_, key)| key)
    }

    /// Takes out the oldest request of these ends.
    pub(super) fn take(&mut self, ends: Ends) -> Option<T> {
        let key = self.oldest(ends)?;
        let queue = self.open.get_mut(&key)?;
        let taken = queue.pop_front();
        if queue.is_empty() {
            self.open.remove(&key);
        }
        taken.map(|(_, request)| request)
    }

    /// The oldest request of these ends, which stays.
    pub(super) fn get(&self, ends: Ends) -> Option<&T> {
        self.open.get(&self.oldest(ends)?)?.front().map(|(_, request)| request)
    }

    /// The ends of the only request that is open; `Err` with their number where there is none, or several.
    pub(super) fn only(&self) -> Result<Ends, usize> {
        match (self.open.len(), self.open.first_key_value()) {
            (1, Some((ends, queue))) if queue.len() == 1 => Ok(*ends),
            _ => Err(self.open.values().map(VecDeque::len).sum()),
        }
    }

    /// Takes out all, the oldest first.
    pub(super) fn take_all(&mut self) -> Vec<T> {
        let mut all: Vec<(u64, T)> = std::mem::take(&mut self.open).into_values().flatten().collect();
        all.sort_unstable_by_key(|(begun, _)| *begun);
        all.into_iter().map(|(_, request)| request).collect()
    }
}
