//! What a pacer is, and how the best permitted one is found.
//!
//! Life of a pacer: its own `start` makes the page and takes what permission it needs, or refuses with a reason and
//! nothing left behind; [`Pacer::prepare`] before the command starts; [`Pacer::tick`] every [`Pacer::period`] until the command
//! has ended, in a thread of its own; [`Pacer::stop`], which restores the normal scheduler.

use std::io;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::sched_ext;
use crate::settings::{PaceSettings, PolicyChoice};

/// One way to let the threads furthest behind run first.
pub trait Pacer: Send {
    /// What it is called: "sched-ext", "governor (real-time)", "governor (nice)".
    fn name(&self) -> &'static str;

    /// The page that the command's threads publish on, a file or a pinned map: the value of `PACELINE_LVT`.
    fn page(&self) -> &Path;

    /// How often [`Pacer::tick`] is to be called.
    fn period(&self) -> Duration;

    /// Changes the command before it is started, such as by what its first process does before it executes the program.
    fn prepare(&self, _command: &mut Command) -> Result<(), PaceError> {
        Ok(())
    }

    /// Does what is due. After an error the pacer is stopped, and the command goes on under the normal scheduler.
    fn tick(&mut self) -> Result<(), PaceError>;

    /// What it has counted so far, by name.
    fn statistics(&mut self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    /// Restores the normal scheduler and removes the page. Dropping a pacer does the same, without a word.
    fn stop(self: Box<Self>) -> Result<(), PaceError>;
}

/// Why a policy cannot be taken here.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{policy}: {reason}")]
pub struct Refusal {
    /// The policy's name, as [`Pacer::name`] says it.
    pub policy: &'static str,
    /// What is missing, in a few words.
    pub reason: String,
}

/// What [`start`] has found.
pub struct Started {
    /// The pacer; none if none was asked for, or all are refused under [`PolicyChoice::Auto`].
    pub pacer: Option<Box<dyn Pacer>>,
    /// Why better ones were not taken, the best first.
    pub refusals: Vec<Refusal>,
}

/// Why pacing cannot start or go on.
#[derive(Debug, thiserror::Error)]
pub enum PaceError {
    /// The policy that was asked for cannot be taken.
    #[error("the policy that was asked for cannot be taken here: {}", list(.0))]
    Refused(Vec<Refusal>),
    /// A call of the system failed.
    #[error("{what}: {reason}")]
    System {
        /// What was being done.
        what: &'static str,
        /// What the system said.
        reason: io::Error,
    },
    /// The kernel has put an end to the policy.
    #[error("the kernel has ended the policy: {0}")]
    Ejected(String),
}

fn list(refusals: &[Refusal]) -> String {
    refusals.iter().map(Refusal::to_string).collect::<Vec<_>>().join("; ")
}

/// A policy that may be taken, or says why not.
type Candidate = fn(&PaceSettings) -> Result<Box<dyn Pacer>, Refusal>;

/// Starts the best policy that `settings` allow and the system permits.
pub fn start(settings: &PaceSettings) -> Result<Started, PaceError> {
    let candidates: &[Candidate] = match settings.policy {
        PolicyChoice::Auto => &[sched_ext::start],
        PolicyChoice::SchedExt => &[sched_ext::start],
        PolicyChoice::Governor => &[],
        PolicyChoice::None => &[],
    };
    choose(settings, candidates)
}

/// The first of `candidates` that does not refuse.
fn choose(settings: &PaceSettings, candidates: &[Candidate]) -> Result<Started, PaceError> {
    let mut refusals = Vec::new();
    for candidate in candidates {
        match candidate(settings) {
            Ok(pacer) => return Ok(Started { pacer: Some(pacer), refusals }),
            Err(refusal) => refusals.push(refusal),
        }
    }
    match settings.policy {
        PolicyChoice::Auto | PolicyChoice::None => Ok(Started { pacer: None, refusals }),
        PolicyChoice::SchedExt | PolicyChoice::Governor => Err(PaceError::Refused(refusals)),
    }
}
