//! What rollbacks came to: counts that explain how well running ahead pays.
//!
//! To add a counter, add it in `join` too, and show it in `simulation/app/src/summary/rollbacks.rs`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::LpId;

/// How many rollbacks undid how many events: place `n` counts those of 2^n to 2^(n+1) - 1 events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Depths(pub [u64; 32]);

/// Counts of one federate, or of all of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Rollbacks {
    /// Events handled, coast-forward apart, whether they were rolled back later or not.
    pub processed: u64,
    /// Those of them that were final at once.
    pub safe: u64,
    /// Rollbacks because of a message into an LP's past.
    pub primary: u64,
    /// Rollbacks because of a message cancelled after it was handled.
    pub secondary: u64,
    /// Events handled that were taken back.
    pub undone: u64,
    /// Events handled once more only to come back to a state.
    pub coasted: u64,
    /// Anti-messages to other federates.
    pub antis: u64,
    /// Messages cancelled before they were handled, from this federate or another.
    pub annihilated: u64,
    /// Messages that lazy cancellation left alone, rightly.
    pub confirmed: u64,
    /// Copies of states that were made, to come back to.
    pub copied: u64,
    /// The most copies kept at one time.
    pub most_copies: u64,
    /// Copies kept, added up over all batches ahead: divided by `batches`, the mean.
    pub kept_copies: u64,
    /// Batches that were run ahead.
    pub batches: u64,
    /// The most bytes that were kept for rollbacks at one time; of several federates, the sum of each one's
    /// most.
    pub most_log_bytes: u64,
    /// Times that something was committed out of the log.
    pub commits: u64,
    /// Batches, and LPs' parts of batches, that were looked at for that: the work of fossil collection.
    pub commit_visits: u64,
    /// LPs' parts of batches that rollbacks looked at.
    pub rollback_visits: u64,
    /// Times that everything was rolled back, to make room or for a checkpoint.
    pub retreats: u64,
    /// Events undone by one rollback.
    pub depths: Depths,
    /// Events taken back, by LP that had handled them.
    pub by_lp: BTreeMap<LpId, u64>,
}

impl Rollbacks {
    /// Adds those of a later part of the run.
    pub fn then(&mut self, later: &Self) {
        let most_copies = self.most_copies.max(later.most_copies);
        let most_log_bytes = self.most_log_bytes.max(later.most_log_bytes);
        self.join(later);
        (self.most_copies, self.most_log_bytes) = (most_copies, most_log_bytes);
    }

    /// Adds those of another federate.
    pub fn join(&mut self, other: &Self) {
        macro_rules! add {
            ($($count:ident)*) => { $(self.$count += other.$count;)* };
        }
        add! {
            processed safe primary secondary undone coasted antis annihilated confirmed copied most_copies
            kept_copies batches most_log_bytes commits commit_visits rollback_visits retreats
        }
        self.depths.0.iter_mut().zip(other.depths.0).for_each(|(count, other)| *count += other);
        for (lp, undone) in &other.by_lp {
            *self.by_lp.entry(*lp).or_default() += undone;
        }
    }

    /// Events committed of those handled; 1 where none was handled.
    pub fn efficiency(&self) -> f64 {
        if self.processed == 0 { 1.0 } else { (self.processed - self.undone) as f64 / self.processed as f64 }
    }

    /// The share of the handled events that were final at once, so that no state was saved for them; 1 where
    /// none was handled.
    pub fn safe_share(&self) -> f64 {
        if self.processed == 0 { 1.0 } else { self.safe as f64 / self.processed as f64 }
    }

    /// Copies of states that a federate keeps while it runs ahead, on average.
    pub fn mean_copies(&self) -> f64 {
        if self.batches == 0 { 0.0 } else { self.kept_copies as f64 / self.batches as f64 }
    }

    /// The `count` LPs with the most events undone, the worst first.
    pub fn worst(&self, count: usize) -> Vec<(LpId, u64)> {
        let mut all: Vec<_> = self.by_lp.iter().map(|(lp, undone)| (*lp, *undone)).collect();
        all.sort_by_key(|(lp, undone)| (std::cmp::Reverse(*undone), *lp));
        all.truncate(count);
        all
    }

    pub(super) fn note_batch(&mut self, ran: u64, copied: u64) {
        self.processed += ran;
        self.copied += copied;
    }

    /// After a batch ahead the log has so many copies of states and bytes.
    pub(super) fn note_log(&mut self, copies: usize, bytes: usize) {
        self.most_log_bytes = self.most_log_bytes.max(bytes as u64);
        self.most_copies = self.most_copies.max(copies as u64);
        self.kept_copies += copies as u64;
        self.batches += 1;
    }

    pub(super) fn note_rollback(&mut self, lp: LpId, undone: u64) {
        self.undone += undone;
        self.depths.0[undone.max(1).ilog2().min(31) as usize] += 1;
        *self.by_lp.entry(lp).or_default() += undone;
    }
}
