//! What moving LPs came to, for the report of a run.
//!
//! Invariant: where a run has several processes, all say the same, but for the time that each stood still.

use std::time::Duration;

/// What moving LPs came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Balancing {
    /// Looks taken, cheap ones too.
    pub looks: u64,
    /// Looks after which LPs moved.
    pub moves: u64,
    /// Moves that did not make the run faster and were taken back.
    pub undone: u64,
    /// LPs moved, each as often as it was, apart from going back.
    pub moved: u64,
    /// Of those, the LPs that moved to another process.
    pub migrated: u64,
    /// How many times the mean the largest federate's load was before the first move.
    pub imbalance_before: f64,
    /// The same since the last move.
    pub imbalance_after: f64,
    /// Of the messages seen at the first look, the share between federates; none where messages were not
    /// looked at.
    pub remote_before: Option<f64>,
    /// The same after the last look, by what had been seen until then.
    pub remote_after: Option<f64>,
    /// Of the messages seen at the first look, the share between processes; none where messages were not
    /// looked at.
    pub apart_before: Option<f64>,
    /// The same after the last look, by what had been seen until then.
    pub apart_after: Option<f64>,
    /// Time that the run stood still for looks and moves.
    pub wall: Duration,
}

impl Balancing {
    /// Before the first look.
    pub(super) const NONE: Self = Self {
        looks: 0,
        moves: 0,
        undone: 0,
        moved: 0,
        migrated: 0,
        imbalance_before: 1.0,
        imbalance_after: 1.0,
        remote_before: None,
        remote_after: None,
        apart_before: None,
        apart_after: None,
        wall: Duration::ZERO,
    };
}
