//! The last lists of a few runs, to which later instants are appended.
//!
//! Several, since a model that sends with several constant delays makes as many ascending sequences.
//! Invariants: the latest is first; a list is the last one of its run, and forgotten when it is taken; places
//! without one are behind all others.

use super::lists::{Instant, NONE};

/// How many runs can go on.
const RUNS: usize = 4;

#[derive(Debug)]
pub(super) struct Tails([(Instant, u32); RUNS]);

impl Default for Tails {
    fn default() -> Self {
        Self([(0, NONE); RUNS])
    }
}

impl Tails {
    /// `list`, at `at`, is the last one of its run from now on: of the run that ends latest before `at`,
    /// whose last list is given out, or of a new one, if need be in place of the run that ends latest of
    /// all. Gives out no list in that case.
    #[inline(always)]
    pub(super) fn place(&mut self, at: Instant, list: u32) -> u32 {
        for tail in &mut self.0 {
            if tail.0 < at || tail.1 == NONE {
                return std::mem::replace(tail, (at, list)).1;
            }
        }
        self.0.rotate_left(1);
        self.0[RUNS - 1] = (at, list);
        NONE
    }

    #[inline(always)]
    pub(super) fn forget(&mut self, list: u32) {
        if let Some(place) = self.0.iter().position(|tail| tail.1 == list) {
            self.0[place..].rotate_left(1);
            self.0[RUNS - 1] = (0, NONE);
        }
    }
}
