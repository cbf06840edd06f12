//! What an experiment consists of: boots of the hypervisor, and a judgement of what they printed.
//!
//! Invariant: a boot's key says everything that decides what it prints, so that boots with one key are run once however many
//! experiments want them.

use paceline_report::Finding;

use crate::boot::Boot;
use crate::transcript::{Results, TranscriptError};

/// How experiments are run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Setup {
    /// Fewer sizes and repetitions: the same claims in a fraction of the time.
    pub quick: bool,
}

/// Says what the boots of a plan show.
pub type Judge = Box<dyn FnOnce(&Results) -> Result<Finding, TranscriptError> + Send>;

/// An experiment that is ready to run.
pub struct Plan {
    /// Its boots.
    pub boots: Vec<Boot>,
    /// What they show: name, title and wall time of the finding are filled in afterwards.
    pub judge: Judge,
}

/// Something to be shown with the schedulers in a real hypervisor.
#[derive(Clone, Copy, Debug)]
pub struct Experiment {
    /// Its name.
    pub name: &'static str,
    /// What it shows, in one line.
    pub title: &'static str,
    /// Plans its boots.
    pub plan: fn(&Setup) -> Plan,
}

impl std::fmt::Debug for Plan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Plan").field("boots", &self.boots).finish_non_exhaustive()
    }
}
