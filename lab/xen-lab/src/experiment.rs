//! Experiments whose runs are boots of the hypervisor, judged by what they printed.
//!
//! Invariant: a boot's key names everything on which its output depends, so that boots with the same key are
//! run once, however many experiments need them.
//!
//! To add an experiment, write it as `experiments/smoke.rs` is, and name it in `experiments.rs`.

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
