//! What a pacer is, and how the best permitted one is found.
//!
//! Life of a pacer: its own `start` makes the page and gets the permissions it needs, or refuses with a
//! reason and leaves nothing behind; [`Pacer::prepare`] before the command starts; [`Pacer::tick`] every
//! [`Pacer::period`] until the command has ended, in a thread of its own; [`Pacer::stop`], which restores the
//! normal scheduler.
//!
//! To add a way to pace, implement [`Pacer`] and name it in [`start`].

use std::io;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use rustix::thread::clock_nanosleep_relative;
use rustix::time::{ClockId, Timespec};

use crate::governor;
use crate::sched_ext;
use crate::settings::{PaceSettings, PolicyChoice};

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

/// The result of [`start`].
pub struct Started {
    /// The pacer; none if none was asked for, or all are refused under [`PolicyChoice::Auto`].
    pub pacer: Option<Box<dyn Pacer>>,
    /// Why better ones were not taken, the best first.
    pub refusals: Vec<UnavailableError>,
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

/// Starts a policy, or says why it cannot.
type Candidate = fn(&PaceSettings) -> Result<Box<dyn Pacer>, UnavailableError>;

/// Starts the best policy that `settings` allow and the system permits.
pub fn start(settings: &PaceSettings) -> Result<Started, PaceError> {
    let candidates: &[Candidate] = match settings.policy {
        PolicyChoice::Auto => &[sched_ext::start, governor::start_real_time, governor::start_nice],
        PolicyChoice::SchedExt => &[sched_ext::start],
        PolicyChoice::Governor => &[governor::start_real_time, governor::start_nice],
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

#[cfg(test)]
mod tests {
    use super::*;

    struct Willing;

    impl Pacer for Willing {
        fn name(&self) -> &'static str {
            "willing"
        }
        fn page(&self) -> &Path {
            Path::new("/nowhere")
        }
        fn period(&self) -> Duration {
            Duration::from_millis(1)
        }
        fn tick(&mut self) -> Result<(), PaceError> {
            Ok(())
        }
        fn stop(self: Box<Self>) -> Result<(), PaceError> {
            Ok(())
        }
    }

    const WILLING: Candidate = |_| Ok(Box::new(Willing));
    const FIRST: Candidate = |_| Err(UnavailableError { policy: "first", reason: "no".into() });
    const SECOND: Candidate = |_| Err(UnavailableError { policy: "second", reason: "neither".into() });

    #[test]
    fn the_first_that_does_not_refuse_is_taken_and_the_better_ones_say_why_not() {
        let settings = PaceSettings::default();
        let started = choose(&settings, &[FIRST, SECOND, WILLING]).expect("one of them is willing");
        assert_eq!(started.pacer.expect("one of them is willing").name(), "willing");
        let reasons: Vec<_> = started.refusals.iter().map(ToString::to_string).collect();
        assert_eq!(reasons, ["first: no", "second: neither"]);
        let best = choose(&settings, &[WILLING, FIRST]).expect("one of them is willing");
        assert!(best.refusals.is_empty() && best.pacer.is_some());
    }

    #[test]
    fn where_all_refuse_auto_does_without_and_a_policy_by_name_is_an_error() {
        let auto = PaceSettings::default();
        let started = choose(&auto, &[FIRST, SECOND]).expect("auto takes none");
        assert!(started.pacer.is_none() && started.refusals.len() == 2);
        for policy in [PolicyChoice::SchedExt, PolicyChoice::Governor] {
            let error = choose(&PaceSettings { policy, ..auto }, &[FIRST]).err().expect("it was asked for");
            assert!(error.to_string().contains("first: no"), "{error}");
        }
    }
}
