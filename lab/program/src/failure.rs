//! The failures of what only this program does: experiments, and the lab for hypervisors.

use std::process::ExitCode;

use paceline_app::failure::{CommandError, OwnFailure};

/// Why the program does not end with status 0, besides what every program of a model can say.
#[derive(Debug)]
pub enum LabFailure {
    /// There is no experiment of that name; with the names that are most like it.
    UnknownExperiment(String, Vec<&'static str>),
    /// The lab for hypervisors cannot continue.
    #[cfg(target_os = "linux")]
    Xen(paceline_xen_lab::LabError),
}

impl From<LabFailure> for CommandError {
    fn from(failure: LabFailure) -> Self {
        Self::Other(Box::new(failure))
    }
}

impl OwnFailure for LabFailure {
    fn problem(&self) -> String {
        match self {
            Self::UnknownExperiment(name, near) => {
                let near = near.join(", ");
                format!(
                    "there is no experiment {name:?}; did you mean one of {near}? All: paceline reproduce --list"
                )
            }
            #[cfg(target_os = "linux")]
            Self::Xen(error) => error.to_string(),
        }
    }

    fn status(&self) -> ExitCode {
        match self {
            Self::UnknownExperiment(..) => ExitCode::from(2),
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
