//! What comes of a leg, whatever its protocol: the federates, why it ended, and counts.

use paceline_kernel::{EventError, Model, Rollbacks, Time};

use crate::RunError;
use crate::watch::monitor::Halt;
use crate::workers::seat::Federates;

/// How work on a board went.
pub(crate) struct Outcome<M: Model> {
    /// All federates of the leg; after an error perhaps none, and then the run cannot continue.
    pub(crate) federates: Federates<M>,
    /// Why it ended before the run was over.
    pub(crate) halt: Option<Halt>,
    /// Windows or time steps opened in this leg.
    pub(crate) windows: u64,
    pub(crate) null_messages: u64,
    /// What the model did wrong.
    pub(crate) trouble: Option<EventError>,
    pub(crate) rollbacks: Option<Box<Rollbacks>>,
    pub(crate) gvt_rounds: u64,
    /// Minima of two floors taken for GVT.
    pub(crate) gvt_steps: u64,
    /// Simulated time from GVT to the front, added up over the rounds.
    pub(crate) gvt_lag_ticks: u128,
    /// Of the moving window, where there was one.
    pub(crate) width: Option<Time>,
    /// What an outside federate did wrong.
    pub(crate) error: Option<RunError>,
}

impl<M: Model> Default for Outcome<M> {
    fn default() -> Self {
        Self {
            federates: Vec::new(),
            halt: None,
            windows: 0,
            null_messages: 0,
            trouble: None,
            rollbacks: None,
            gvt_rounds: 0,
            gvt_steps: 0,
            gvt_lag_ticks: 0,
            width: None,
            error: None,
        }
    }
}
