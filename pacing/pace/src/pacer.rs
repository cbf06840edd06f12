//! What a pacer is, and why there may be none.
//!
//! Life of a pacer: its own `start` makes the page and gets the permissions it needs, or refuses with a
//! reason and leaves nothing behind; [`Pacer::prepare`] before the command starts; [`Pacer::tick`] every
//! [`Pacer::period`] until the command has ended, in a thread of its own; [`Pacer::stop`], which restores the
//! normal scheduler.
//!
//! `run.rs` calls all of it, and hands on what is counted when the command has ended.
//!
//! To add a way to pace, implement [`Pacer`] and name it in [`crate::start()`].

use std::io;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use rustix::thread::clock_nanosleep_relative;
use rustix::time::{ClockId, Timespec};

/// One way to let the threads furthest behind run first.
pub trait Pacer: Send {
    /// Its name: "sched-ext", "governor (real-time)", "governor (nice)".
    fn name(&self) -> &'static str;

    /// The page that the command's threads publish on, a file or a pinned map: the value of `PACELINE_LVT`.
    fn page(&self) -> &Path;

    /// How often [`Pacer::tick`] is to be called.
    fn period(&self) -> Duration;

    /// Changes the command before it is started, for example what its first process does before it executes
    /// the program.
    fn prepare(&self, _command: &mut Command) -> Result<(), PaceError> {
        Ok(())
    }

    /// Does the work that is due. After an error the pacer is stopped, and the command continues under the
    /// normal scheduler.
    fn tick(&mut self) -> Result<(), PaceError>;

    /// Waits for `limit` at most, or less if there is something to decide at once.
    fn rest(&mut self, limit: Duration) {
        rest_for(limit);
    }

    /// The notes for the user since the last call, a line each.
    fn notes(&mut self) -> Vec<String> {
        Vec::new()
    }

    /// What it has counted so far, by name.
    fn statistics(&mut self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    /// Restores the normal scheduler and removes the page. Dropping a pacer does the same, but reports no
    /// error.
    fn stop(self: Box<Self>) -> Result<(), PaceError>;
}

/// Sleeps for `time`. A signal may end the sleep early.
pub fn rest_for(time: Duration) {
    if let Ok(time) = Timespec::try_from(time) {
        let _ = clock_nanosleep_relative(ClockId::Monotonic, &time);
    }
}

/// Why a policy cannot be taken here. Another policy may be available, and a command runs without one.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{policy}: {reason}")]
pub struct UnavailableError {
    /// The policy's name, as [`Pacer::name`] says it.
    pub policy: &'static str,
    /// What is missing, in a few words.
    pub reason: String,
}

/// Why pacing cannot start or continue. A command that runs goes on under the normal scheduler.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the text of an error says what its fields are")]
pub enum PaceError {
    /// The requested policy is not available.
    #[error("the requested policy is not available here: {}", list(.0))]
    Refused(Vec<UnavailableError>),
    /// A call of the system failed.
    #[error("{what}: {reason}")]
    System { what: &'static str, reason: io::Error },
    /// The page has been destroyed.
    #[error("{0}")]
    Page(String),
    /// The kernel has put an end to the policy.
    #[error("the kernel has ended the policy: {0}")]
    Ejected(String),
}

fn list(refusals: &[UnavailableError]) -> String {
    refusals.iter().map(UnavailableError::to_string).collect::<Vec<_>>().join("; ")
}
