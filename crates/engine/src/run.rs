//! From settings to a report.
use paceline_kernel::Model;

use crate::{Report, RunError, Simulation};

pub(crate) fn run<M: Model>(simulation: Simulation<M>) -> Result<(Report<M::Output>, M), RunError> {
    let _ = simulation.model;
    Err(RunError::Threads("the engine is being written".into()))
}
