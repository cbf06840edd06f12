//! The failures of what only this program does: models of processes, simulated machines, experiments, LVT pages, pacing, the lab.

use std::process::ExitCode;

use paceline_app::failure::{Failure, OwnFailure};
use paceline_experiments::scenario::OutcomeError;
use paceline_machine::MachineError;

/// Why the program does not end with status 0, besides what every program of a model can say.
#[derive(Debug)]
pub enum Special {
    /// A run of processes cannot continue.
    Processes(Box<paceline_processes::RunError>),
    /// A rank of an MPI trace cannot continue.
    Rank(paceline_models::mpi_trace::RankFailure),
    /// An LVT page cannot be read any more.
    #[cfg(target_os = "linux")]
    Lvt(paceline_lvt::Error),
    /// There is no experiment of that name; with the names that are most like it.
    UnknownExperiment(String, Vec<&'static str>),
    /// A simulated machine cannot continue under the policy of this name.
    Machine(&'static str, OutcomeError),
    /// A simulation came to different results under different policies.
    Disagree(String),
    /// A command cannot be run, or cannot be paced by the requested policy.
    #[cfg(target_os = "linux")]
    Pace(paceline_pace::RunError),
    /// The lab for hypervisors cannot continue.
    #[cfg(target_os = "linux")]
    Xen(paceline_xen_lab::LabError),
}

impl From<Special> for Failure {
    fn from(failure: Special) -> Self {
        Self::Other(Box::new(failure))
    }
}

impl OwnFailure for Special {
    fn problem(&self) -> String {
        match self {
            Self::Processes(error) => error.to_string(),
            Self::Rank(failed) => failed.to_string(),
            #[cfg(target_os = "linux")]
            Self::Lvt(error) => error.to_string(),
            Self::UnknownExperiment(name, near) => {
                let near = near.join(", ");
                format!(
                    "there is no experiment {name:?}; did you mean one of {near}? All: paceline reproduce --list"
                )
            }
            Self::Machine(policy, error) => format!("under {policy}: {error}"),
            Self::Disagree(digests) => {
                format!("the results depend on the policy, which they must not: {digests}")
            }
            #[cfg(target_os = "linux")]
            Self::Pace(error) => error.to_string(),
            #[cfg(target_os = "linux")]
            Self::Xen(error) => error.to_string(),
        }
    }

    fn status(&self) -> ExitCode {
        match self {
            Self::UnknownExperiment(..) => ExitCode::from(2),
            Self::Machine(_, OutcomeError::Machine(error)) if is_of_the_spec(error) => ExitCode::from(2),
            Self::Processes(_) | Self::Rank(_) | Self::Machine(..) | Self::Disagree(_) => ExitCode::from(1),
            #[cfg(target_os = "linux")]
            Self::Lvt(_) => ExitCode::from(1),
            // As shells and other programs that run a command do.
            #[cfg(target_os = "linux")]
            Self::Pace(error) => ExitCode::from(match error {
                paceline_pace::RunError::NotFound { .. } => 127,
                paceline_pace::RunError::NotExecutable { .. } => 126,
                _ => 1,
            }),
            #[cfg(target_os = "linux")]
            Self::Xen(paceline_xen_lab::LabError::Skipped(_)) => ExitCode::from(77),
            #[cfg(target_os = "linux")]
            Self::Xen(error) => ExitCode::from(if error.is_mistake() { 2 } else { 1 }),
        }
    }

    fn is_error(&self) -> bool {
        #[cfg(target_os = "linux")]
        if matches!(self, Self::Xen(paceline_xen_lab::LabError::Skipped(_))) {
            return false;
        }
        true
    }
}

/// Whether a machine was refused before anything ran.
fn is_of_the_spec(error: &MachineError) -> bool {
    matches!(error, MachineError::BadSpec { .. } | MachineError::Policy { .. })
}
