//! Which event a federate is handling, for others to look at: who wants to know where a model hangs.
//!
//! Invariant: what is read is a hint. It costs a plain store each time that an LP begins, and orders nothing.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::{LpId, Time};

/// Stands for no LP: numbers of LPs are less.
const NOBODY: u32 = u32::MAX;

/// Which event a federate is handling, or was the last to handle. Shared with those who look.
#[derive(Debug)]
pub struct AtWork {
    lp: AtomicU32,
    at_ticks: AtomicU64,
}

impl Default for AtWork {
    fn default() -> Self {
        Self { lp: AtomicU32::new(NOBODY), at_ticks: AtomicU64::new(0) }
    }
}

impl AtWork {
    /// The LP at work, and the time of its event; in a batch, the time of the batch's first event, which no
    /// event of it is before. None between two batches. LP and time are two words: they may be of different
    /// events.
    pub fn event(&self) -> Option<(LpId, Time)> {
        let lp = self.lp.load(Ordering::Relaxed);
        (lp != NOBODY).then(|| (LpId(lp), Time::ticks(self.at_ticks.load(Ordering::Relaxed))))
    }

    /// From now on events are at `at` or later.
    #[inline(always)]
    pub(crate) fn reach(&self, at: Time) {
        self.at_ticks.store(at.as_ticks(), Ordering::Relaxed);
    }

    /// The LP begins.
    #[inline(always)]
    pub(crate) fn enter(&self, lp: LpId) {
        self.lp.store(lp.0, Ordering::Relaxed);
    }

    /// No LP is at work.
    #[inline(always)]
    pub(crate) fn rest(&self) {
        self.lp.store(NOBODY, Ordering::Relaxed);
    }
}
