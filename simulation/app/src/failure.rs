//! The failures of the program: how each is reported, and with which exit status.

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use paceline_engine::RunError;
use paceline_engine::determinism::DeterminismError;
use paceline_kernel::EventError;
use paceline_report::TraceError;
use paceline_scenario::ScenarioError;

use crate::settings::RunSettings;
use crate::{executable, signals, text};

/// Why the program does not end with status 0.
#[derive(Debug)]
pub enum CommandError {
    /// A mistake in the scenario, or in a file it names.
    Scenario(ScenarioError),
    /// A bad option.
    Option(String),
    /// A mistake in a file that an argument names and that is no scenario.
    Input(String),
    /// The engine could not start or finish; with the checkpoint from which it can be resumed, if there is
    /// one.
    Run(Box<RunError>, Option<PathBuf>),
    /// The same, where it comes from a key of the scenario; with that key's place.
    RunKey(Box<RunError>, ScenarioError),
    /// Some of several replications have failed: the seed of each, in ascending order, and why. The others
    /// have ended.
    Replications(Vec<(u64, CommandError)>),
    /// Runs of a study have failed, or their rows could not be kept; the others are in its journal.
    Study(String),
    /// A checkpoint cannot be resumed.
    Resume(String),
    /// Another process says what has gone wrong.
    #[cfg(target_os = "linux")]
    Silent,
    /// The processes of a run do not find each other.
    #[cfg(target_os = "linux")]
    Together(String),
    /// One was lost before the run began, or did not come; with the checkpoint from which it was to be
    /// resumed, if there is one.
    #[cfg(target_os = "linux")]
    LostAtStart(String, Option<PathBuf>),
    /// A run in progress cannot be reached.
    Ctl(String),
    /// The model's results do not add up.
    Results(String),
    /// Two runs of a scenario differ.
    Different(PathBuf, Box<DeterminismError>),
    /// A scenario was changed between two readings.
    Changed(PathBuf),
    /// A file or folder cannot be written.
    Write(PathBuf, io::Error),
    /// Standard output cannot be written.
    Print(io::Error),
    /// Signals to end cannot be watched for.
    Signals(io::Error),
    /// A failure of what only this program does.
    Other(Box<dyn OwnFailure>),
    /// A signal has ended it, after the summary of what was done until then.
    Interrupted,
}

/// A failure of what not all programs do.
pub trait OwnFailure: fmt::Debug + Send {
    /// What went wrong, in words.
    fn problem(&self) -> String;

    /// The exit status.
    fn status(&self) -> ExitCode;

    /// Whether it is a failure at all, and not just a reason why nothing was done.
    fn is_error(&self) -> bool {
        true
    }
}

impl From<ScenarioError> for CommandError {
    fn from(error: ScenarioError) -> Self {
        Self::Scenario(error)
    }
}

impl From<RunError> for CommandError {
    fn from(error: RunError) -> Self {
        Self::Run(error.into(), None)
    }
}

impl From<TraceError> for CommandError {
    fn from(error: TraceError) -> Self {
        Self::Write(error.path, error.reason)
    }
}

impl CommandError {
    /// The same at the key of `[run]` that it comes from, where it comes from one.
    pub(crate) fn at_key_of(self, settings: &RunSettings) -> Self {
        match self {
            Self::Run(error, checkpoint) => match settings.refused(&error) {
                Some(place) => Self::RunKey(error, place),
                None => Self::Run(error, checkpoint),
            },
            other => other,
        }
    }

    /// Says on stderr what went wrong: a mistake in a scenario with an excerpt where people look, in one line
    /// elsewhere.
    pub fn print(&self) {
        match self {
            Self::Scenario(error) | Self::RunKey(_, error) if io::stderr().is_terminal() => draw(error),
            #[cfg(target_os = "linux")]
            Self::Silent => {}
            Self::Interrupted => {}
            Self::Print(reason) if reason.kind() == io::ErrorKind::BrokenPipe => {}
            Self::Other(failure) if !failure.is_error() => say(format_args!("{}", failure.problem())),
            Self::Replications(failures) => {
                for (seed, failure) in failures {
                    say(format_args!("error: the replication with seed {seed}: {}", failure.problem()));
                }
            }
            other => say(format_args!("error: {}", other.problem())),
        }
    }

    /// What went wrong, in words.
    pub fn problem(&self) -> String {
        match self {
            Self::Scenario(error) | Self::RunKey(_, error) => error.one_line(),
            Self::Run(error, checkpoint) => of_run(error, checkpoint.as_deref()),
            Self::Option(problem)
            | Self::Input(problem)
            | Self::Study(problem)
            | Self::Resume(problem)
            | Self::Ctl(problem) => problem.clone(),
            Self::Replications(failures) => {
                let of_one = |(seed, failure): &(u64, Self)| format!("seed {seed}: {}", failure.problem());
                failures.iter().map(of_one).collect::<Vec<_>>().join("; ")
            }
            #[cfg(target_os = "linux")]
            Self::Silent => "another process says what".to_owned(),
            #[cfg(target_os = "linux")]
            Self::Together(problem) | Self::LostAtStart(problem, None) => problem.clone(),
            #[cfg(target_os = "linux")]
            Self::LostAtStart(problem, Some(path)) => after_loss(problem, path),
            Self::Results(problem) => format!("the results do not add up: {problem}"),
            Self::Different(path, different) => {
                let (path, before) = (path.display(), text::count(different.events));
                format!("two runs of {path} differ after {before} events that are the same: {different}")
            }
            Self::Changed(path) => format!("{} was changed while it was read", path.display()),
            Self::Write(path, reason) => format!("cannot write {}: {reason}", path.display()),
            Self::Print(reason) => format!("cannot write to standard output: {reason}"),
            Self::Other(failure) => failure.problem(),
            Self::Signals(reason) => format!("cannot watch for signals: {reason}"),
            Self::Interrupted => "interrupted".to_owned(),
        }
    }

    /// The exit status.
    pub fn status(&self) -> ExitCode {
        match self {
            // The reader of the output has closed it, as in `paceline list | head -1`.
            Self::Print(reason) if reason.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
            Self::Run(error, _) | Self::RunKey(error, _) => match &**error {
                RunError::Peers(error) if error.is_mistake() => ExitCode::from(2),
                RunError::Rule(_)
                | RunError::Event(_)
                | RunError::Panic(_)
                | RunError::Threads(_)
                | RunError::Peers(_)
                | RunError::Checkpoint(_) => ExitCode::from(1),
                _ => ExitCode::from(2),
            },
            Self::Scenario(_) | Self::Option(_) | Self::Input(_) | Self::Resume(_) => ExitCode::from(2),
            Self::Other(failure) => failure.status(),
            Self::Different(..) | Self::Changed(_) => ExitCode::from(1),
            #[cfg(target_os = "linux")]
            Self::Silent | Self::Together(_) | Self::LostAtStart(..) => ExitCode::from(1),
            Self::Replications(failures) => {
                failures.first().map_or(ExitCode::from(1), |(_, failure)| failure.status())
            }
            Self::Interrupted => ExitCode::from(signals::status()),
            Self::Results(_)
            | Self::Study(_)
            | Self::Ctl(_)
            | Self::Write(..)
            | Self::Print(_)
            | Self::Signals(_) => ExitCode::from(1),
        }
    }
}

/// What ended a run, and how to resume it where that makes sense.
fn of_run(error: &RunError, checkpoint: Option<&Path>) -> String {
    let problem = match error {
        RunError::Event(EventError { kind, lp, at, event }) => {
            format!("{lp} at {at}, handling {event}: {kind}{}", backtrace(kind.backtrace()))
        }
        // What another process says of its model, in one line.
        RunError::Peers(error) => error.to_string().replace("\nin LP ", "; in LP "),
        RunError::Panic(panic) => format!("{panic}{}", backtrace(panic.note.backtrace.as_deref())),
        other => other.to_string(),
    };
    let program = executable::name();
    match (error, checkpoint) {
        (RunError::Peers(error), Some(path)) if error.is_lost() => after_loss(&problem, path),
        (RunError::Rule(_) | RunError::Event(_) | RunError::Panic(_), Some(path)) => {
            let path = path.display();
            format!(
                "{problem}\nThe checkpoint {path} from before the failure still exists; once the cause is fixed, \
                 `{program} resume {path}` continues from it"
            )
        }
        _ => problem,
    }
}

/// A backtrace below what it belongs to, where there is one.
fn backtrace(trace: Option<&str>) -> String {
    trace.map_or(String::new(), |trace| format!("\n{}", trace.trim_end()))
}

/// How a run is resumed that has lost a process.
fn after_loss(problem: &str, checkpoint: &Path) -> String {
    let (path, program) = (checkpoint.display(), executable::name());
    format!(
        "{problem}\nThe checkpoint {path} is complete; `{program} resume {path}` continues from it, with any number of processes"
    )
}

/// The mistake in an excerpt of its file.
fn draw(error: &ScenarioError) {
    let mut picture = String::new();
    match miette::GraphicalReportHandler::new().render_report(&mut picture, error) {
        Ok(()) => eprint!("{picture}"),
        Err(_) => say(format_args!("error: {}", error.one_line())),
    }
}

/// Writes a line to standard error at once: several processes of a run may do so at the same time.
fn say(what: std::fmt::Arguments<'_>) {
    // If standard error is closed, only the exit status is left.
    let _ = io::stderr().write_all(format!("{what}\n").as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_kernel::{EventErrorKind, LpId, PanicNote, Time};

    #[test]
    fn a_panic_of_the_model_is_reported_with_lp_time_event_and_checkpoint() {
        let kind = EventErrorKind::Panic(PanicNote::saying("no such lane"));
        let trouble = EventError { kind, lp: LpId(7), at: Time::secs(3), event: "Arrive(5)".into() };
        let error = RunError::Event(trouble);
        let problem = of_run(&error, None);
        assert_eq!(problem, "LP 7 at 3s, handling Arrive(5): the model panicked: no such lane");
        let with = of_run(&error, Some("out/city.checkpoint".as_ref()));
        assert!(with.starts_with(&problem) && with.contains(" resume out/city.checkpoint`"), "{with}");
        let other = of_run(&RunError::NoUndo, Some("out/city.checkpoint".as_ref()));
        assert!(!other.contains("checkpoint"), "it is no failure of the run: {other}");
        assert_eq!(CommandError::from(error).status(), ExitCode::from(1));
    }
}
