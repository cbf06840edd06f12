//! Experiments whose runs are boots of the hypervisor, judged by what they printed.
//!
//! Invariant: a boot's key says everything that decides what it prints, so that boots with one key are run once however many
//! experiments want them.

use paceline_experiments::batch::{self, Backend, Run};

use crate::boot::Boot;
use crate::transcript::{Results, TranscriptError};

/// Experiments with the schedulers in a real hypervisor.
#[derive(Clone, Copy, Debug)]
pub struct XenLab;

impl Backend for XenLab {
    type Cell = Boot;
    type Results = Results;
    type Error = TranscriptError;
}

impl Run for Boot {
    fn key(&self) -> &str {
        &self.key
    }
}

/// An experiment that is ready to run.
pub type Plan = batch::Plan<XenLab>;

/// Something to be shown with the schedulers in a real hypervisor.
pub type Experiment = batch::Experiment<XenLab>;
