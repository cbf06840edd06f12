//! The failures of what only this program does: simulated machines, guests, LVT pages, pacing, starting the
//! lab.

use std::process::ExitCode;

use paceline_app::failure::{CommandError, OwnFailure};
use paceline_machine::MachineError;
use paceline_machine_scenarios::OutcomeError;

/// The name of the lab's program, and of its package.
pub const LAB: &str = "paceline-lab";

/// Why the program does not end with status 0, besides what every program of a model can say.
#[derive(Debug)]
pub enum Special {
    /// An LVT page cannot be read any more.
    #[cfg(target_os = "linux")]
    Lvt(paceline_lvt::Error),
    /// A simulated machine cannot continue under the policy of this name.
    Machine(&'static str, OutcomeError),
    /// The emulator of guests is not there, or cannot start one.
    #[cfg(target_os = "linux")]
    NoGuest(String),
    /// A guest has failed, and the run has ended with what was until then.
    #[cfg(target_os = "linux")]
    Guest(String),
    /// A simulation came to different results under different policies.
    Disagree(String),
    /// A command cannot be run, or cannot be paced by the requested policy.
    #[cfg(target_os = "linux")]
    Pace(paceline_pace::RunError),
    /// The run-time infrastructure cannot be served.
    Rti(String),
    /// The lab's program, which carries out this command, is not there.
    NoLab(String),
}

impl From<Special> for CommandError {
    fn from(failure: Special) -> Self {
        Self::Other(Box::new(failure))
    }
}

impl OwnFailure for Special {
    fn problem(&self) -> String {
        match self {
            #[cfg(target_os = "linux")]
            Self::Lvt(error) => error.to_string(),
            #[cfg(target_os = "linux")]
            Self::NoGuest(problem) | Self::Guest(problem) => problem.clone(),
            Self::Machine(policy, error) => format!("under {policy}: {error}"),
            Self::Disagree(digests) => {
                format!("the results depend on the policy, which they must not: {digests}")
            }
            #[cfg(target_os = "linux")]
            Self::Pace(error) => error.to_string(),
            Self::Rti(problem) => problem.clone(),
            Self::NoLab(command) => format!(
                "`paceline {command}` is a command of the program {LAB}, which is neither beside this one nor in PATH; build it \
                 beside this one: cargo build --release -p {LAB}"
            ),
        }
    }

    fn status(&self) -> ExitCode {
        match self {
            Self::NoLab(_) => ExitCode::from(2),
            #[cfg(target_os = "linux")]
            Self::NoGuest(_) => ExitCode::from(2),
            #[cfg(target_os = "linux")]
            Self::Guest(_) => ExitCode::from(1),
            Self::Machine(_, OutcomeError::Machine(error)) if is_of_the_spec(error) => ExitCode::from(2),
            Self::Machine(..) | Self::Disagree(_) | Self::Rti(_) => ExitCode::from(1),
            #[cfg(target_os = "linux")]
            Self::Lvt(_) => ExitCode::from(1),
            // As shells and other programs that run a command do.
            #[cfg(target_os = "linux")]
            Self::Pace(error) => ExitCode::from(match error {
                paceline_pace::RunError::NotFound { .. } => 127,
                paceline_pace::RunError::NotExecutable { .. } => 126,
                _ => 1,
            }),
        }
    }
}

/// Whether a machine was refused before anything ran.
fn is_of_the_spec(error: &MachineError) -> bool {
    matches!(error, MachineError::BadSpec { .. } | MachineError::Policy { .. })
}
