//! What the engine refuses once it begins, at the key of `[run]` that it comes from.
//!
//! [`RunSettings::check`] finds most mistakes before anything runs. What is left needs what only a run knows:
//! how far the one to be resumed has come, how many processes there are, what the system gives. Each such
//! error of the engine that a scenario can cause is in [`RunSettings::refused`]; tests of the program cause
//! those that nothing refuses before a run begins.

use paceline_engine::{PeersErrorKind, Protocol, RunError};
use paceline_kernel::RuleErrorKind;
use paceline_scenario::ScenarioError;

use super::{RunSettings, threads_allowed};

impl RunSettings {
    /// The mistake at the key that an error of the engine comes from; nothing where it comes from no key of
    /// `[run]`, such as a rule that the model broke.
    pub fn refused(&self, error: &RunError) -> Option<ScenarioError> {
        let (key, allowed) = self.key_of(error)?;
        // Some errors say themselves what is allowed, for programs that call the engine.
        let error = error.to_string();
        let problem = format!("`{key}` in [run]: {}", error.split("; allowed:").next().unwrap_or_default());
        Some(self.section.refuse(key, problem, allowed))
    }

    fn key_of(&self, error: &RunError) -> Option<(&'static str, String)> {
        Some(match error {
            RunError::Horizon { latest, .. } => ("until", format!("a time up to \"{latest}\"")),
            RunError::PastHorizon { reached, .. } => ("until", format!("a time after \"{reached}\"")),
            // Without a horizon, events go on for ever, or until the clock cannot hold their times.
            RunError::Rule(error) if error.kind == RuleErrorKind::BeyondClock && self.until.is_none() => {
                ("until", "the simulated time at which the run ends, such as \"10d\"".to_owned())
            }
            RunError::NoLookahead { .. } => (
                "protocol",
                "\"auto\", \"sequential\", \"optimistic\", or a model with a lookahead above zero".to_owned(),
            ),
            RunError::TooManyFederates { lps, .. } => {
                ("federates", format!("a whole number from 1 to {lps}"))
            }
            RunError::Partition(_) => {
                ("federates", "federates to which the model deals each of its LPs once".to_owned())
            }
            // Where the key is not there, the processes are too many, which an option says.
            RunError::Peers(error) => match error.kind {
                PeersErrorKind::Idle { ranks, .. } if self.federates.is_some() => {
                    ("federates", format!("at least {ranks}, one for each process"))
                }
                PeersErrorKind::Unsupported(_) if self.protocol == Protocol::Sequential => {
                    ("protocol", "any other protocol, or one process".to_owned())
                }
                _ => return None,
            },
            RunError::Step { lookahead, .. } => {
                ("step", format!("a duration above zero, at most \"{lookahead}\""))
            }
            RunError::NoUndo => ("state_saving", "\"copy\", \"periodic\"".to_owned()),
            RunError::Memory { needed, .. } => {
                ("memory", format!("at least {needed} bytes, or more federates"))
            }
            RunError::Optimistic { lps, .. } => {
                ("optimistic", format!("a share from 0 to 1, or ranges within \"0..{lps}\""))
            }
            RunError::TooManyThreads(_) => ("threads", threads_allowed()),
            RunError::Threads(_) => {
                ("threads", "as many threads as the system lets this process have".to_owned())
            }
            RunError::Checkpoint(_) => (
                "checkpoint",
                "a folder in which you may make files, such as that of --out, and no run.checkpoint for none"
                    .to_owned(),
            ),
            _ => return None,
        })
    }
}
