//! What an experiment of NSX assumes that the paper does not state: as everywhere here, or one assumption
//! otherwise.
//!
//! Invariant: a variant differs from the experiment in what its name says, for all schedulers alike.

use paceline_machine::Wait;
use paceline_machine::guests::rounds::Pacing;

use crate::prelude::*;

named! {
    pub enum Variant {
        /// A barrier after each round; polling; one tick a turn; ticks of NSX half a tick apart; DOM0 with
        /// work of its own.
        Usual = "as everywhere here",
        Closed = "rank 0 waits for rank 2 only, no barrier",
        Free = "rank 0 waits for nobody",
        Blocking = "MPI blocks instead of polling",
        ThreeTicks = "a turn under CSX is three ticks",
        Together = "NSX ticks on both PCPUs at once",
        NoChores = "DOM0 has no work of its own",
        ShortChores = "that work takes a fifth as long each time",
        LongChores = "that work takes twice as long each time",
        OftenChores = "that work comes twice as often",
    }
}

impl Variant {
    pub const fn pacing(self) -> Pacing {
        match self {
            Self::Closed => Pacing::Closed,
            Self::Free => Pacing::Free,
            _ => Pacing::Barrier,
        }
    }

    pub const fn wait(self) -> Wait {
        if matches!(self, Self::Blocking) { Wait::Block } else { Wait::Poll }
    }

    /// Ticks in a turn of the credit scheduler.
    pub const fn credit_ticks(self) -> u64 {
        if matches!(self, Self::ThreeTicks) { 3 } else { 1 }
    }

    /// The constants for DOM0's own work; none if it has no such work.
    pub fn chores(self, calibration: &Calibration) -> Option<Calibration> {
        match self {
            Self::NoChores => None,
            Self::ShortChores => Some(calibration.scaled("nsx.dom0_work", 1, 5)),
            Self::LongChores => Some(calibration.scaled("nsx.dom0_work", 2, 1)),
            Self::OftenChores => Some(calibration.scaled("nsx.dom0_gap", 1, 2)),
            _ => Some(calibration.clone()),
        }
    }
}
