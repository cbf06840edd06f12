//! Times of what is done, in pieces: a copy of a host copies pointers, and the last piece when it is written.
//!
//! Invariant: all pieces but the last one are full.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// How many times a piece holds.
const PIECE: usize = 64;

/// A list of times that only grows, in picoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Log {
    pieces: Vec<Arc<Vec<u64>>>,
}

impl Log {
    /// Adds a time.
    pub(crate) fn push(&mut self, ps: u64) {
        match self.pieces.last_mut().filter(|piece| piece.len() < PIECE) {
            Some(piece) => Arc::make_mut(piece).push(ps),
            None => self.pieces.push(Arc::new(vec![ps])),
        }
    }

    /// The times, in the order in which they came.
    pub fn iter(&self) -> impl Iterator<Item = u64> {
        self.pieces.iter().flat_map(|piece| piece.iter().copied())
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.pieces.iter().map(|piece| piece.len()).sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// The heap memory of a copy, in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.pieces.len() * size_of::<Arc<Vec<u64>>>()
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn a_copy_does_not_change_with_the_log() {
        let mut log = Log::default();
        (0..PIECE as u64 + 3).for_each(|ps| log.push(ps));
        let copy = log.clone();
        log.push(1_000);
        assert_eq!(copy.iter().collect::<Vec<_>>(), (0..PIECE as u64 + 3).collect::<Vec<_>>());
        assert_eq!((log.len(), log.iter().last()), (PIECE + 4, Some(1_000)));
    }
}
