//! The lists used lately, by their instants: the paper's cached pointer, for as many lists as there are, up
//! to 1024.
//!
//! A table without probing: an instant has one place, and the last one there is remembered. Two instants that
//! take turns at one place get new lists each time, until there are so many that the table grows. What it
//! says may be out of date; who asks checks that it is still a list of that instant. Only looked up, never
//! iterated, so its layout cannot influence a result.

use super::lists::{Instant, NONE};

/// Places at the start and at the most.
const LEAST: usize = 64;
const MOST: usize = 1 << 10;

#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    time: u64,
    list: u32,
}

#[derive(Debug)]
pub(super) struct Recent(Vec<Entry>);

const EMPTY: Entry = Entry { time: 0, list: NONE };

impl Default for Recent {
    fn default() -> Self {
        Self(vec![EMPTY; LEAST])
    }
}

impl Recent {
    #[inline(always)]
    pub(super) fn entry(&mut self, at: Instant) -> &mut Entry {
        // Multiplicative hashing (Knuth, 1998, section 6.4) of time and depth.
        let hash = ((at >> 16) as u64).wrapping_add(at as u64 & 0xffff).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let place = (hash >> (64 - self.0.len().ilog2())) as usize;
        &mut self.0[place]
    }

    /// Grows with the number of lists.
    #[inline(always)]
    pub(super) fn fit(&mut self, lists: usize) {
        if lists > self.0.len() && self.0.len() < MOST {
            self.0 = vec![EMPTY; 2 * self.0.len()];
        }
    }
}

impl Entry {
    /// The list of `at`, if it was used lately; it may have been taken since, and another one put in its
    /// place.
    #[inline(always)]
    pub(super) fn get(self, at: Instant) -> Option<u32> {
        (self.time == (at >> 16) as u64).then_some(self.list)
    }

    #[inline(always)]
    pub(super) fn set(&mut self, at: Instant, list: u32) {
        *self = Self { time: (at >> 16) as u64, list };
    }
}
