//! `paceline ctl`: asks a running run how far it is, pauses and steps it, changes its speed and its number of
//! threads, and asks one of processes why a process waits.
//!
//! Every run listens on a socket of its own, `PID.sock` in a folder that only its user may enter (see
//! [`Control`]). A request is a line, and so is the answer, which starts with `ok` or `error`. A socket
//! without a listener was left by a run that was killed, and is removed.
//!
//! Invariant: where several runs are in progress, one is changed only if its process is named.

#[cfg(unix)]
mod control;
#[cfg(unix)]
pub mod folder;

#[cfg(unix)]
pub use control::Control;

use crate::args::{CtlCommand, WhichRun};
use crate::failure::CommandError;
use crate::stdout;

/// Carries out a command.
#[cfg(unix)]
pub fn ctl(command: &CtlCommand) -> Result<(), CommandError> {
    let (request, WhichRun { pid }) = match command {
        CtlCommand::Status { run } => ("status".to_owned(), run),
        CtlCommand::Threads { threads, run } => (format!("threads {threads}"), run),
        CtlCommand::Why { process, run } => (format!("why {process}"), run),
        CtlCommand::Step { run, .. } => ("step".to_owned(), run),
        CtlCommand::Go { run } => ("go".to_owned(), run),
        CtlCommand::Pause { run } => ("pause".to_owned(), run),
        CtlCommand::Window { run } => ("window".to_owned(), run),
        CtlCommand::Pace { factor, run } => (format!("pace {factor}"), run),
        CtlCommand::Set { set, to, at, run } => {
            let words = ["set".to_owned()].into_iter().chain(set.clone()).chain(to.clone());
            let at = at.iter().map(|at| format!("at {at}"));
            (words.chain(at).collect::<Vec<_>>().join(" "), run)
        }
        CtlCommand::Checkpoint { run } => ("checkpoint".to_owned(), run),
        CtlCommand::Stop { run } => ("stop".to_owned(), run),
    };
    let times = if let CtlCommand::Step { steps, .. } = command { *steps } else { 1 };
    let runs =
        folder::runs().map_err(|reason| CommandError::Ctl(format!("cannot look for runs: {reason}")))?;
    let chosen = match (pid, &runs[..]) {
        (Some(pid), _) => runs.iter().find(|run| run.pid == *pid).ok_or_else(|| {
            CommandError::Ctl(format!("process {pid} is not a run of paceline; allowed: {}", list(&runs)))
        })?,
        (None, [run]) => run,
        (None, []) => return Err(CommandError::Ctl("no run of paceline is in progress".into())),
        (None, _) => {
            let lines: String = runs.iter().map(|run| format!("{}\n", line(run))).collect();
            if matches!(command, CtlCommand::Status { .. }) {
                return stdout::print(&lines);
            }
            return Err(CommandError::Ctl(format!(
                "{} runs are in progress, and none of them was changed; choose one by --pid:\n{}",
                runs.len(),
                lines.trim_end()
            )));
        }
    };
    (0..times).try_for_each(|_| ask(chosen, &request))
}

/// Sends a request to a run, and prints its answer.
#[cfg(unix)]
fn ask(run: &folder::Run, request: &str) -> Result<(), CommandError> {
    match folder::ask(&run.socket, request) {
        Ok(answer) => match answer.split_once(' ') {
            Some(("ok", said)) => stdout::print(&format!("{said}\n")),
            Some((_, said)) => Err(CommandError::Ctl(said.to_owned())),
            None => Err(CommandError::Ctl(format!("process {} has ended", run.pid))),
        },
        Err(reason) => Err(CommandError::Ctl(format!("process {} does not answer: {reason}", run.pid))),
    }
}

/// A run, and how far it has come.
#[cfg(unix)]
fn line(run: &folder::Run) -> String {
    let answer = run.scenario.as_ref().and_then(|_| folder::ask(&run.socket, "status").ok());
    let said = answer.as_deref().and_then(|answer| answer.strip_prefix("ok "));
    match said {
        Some(said) => format!("{:>8}  {said}", run.pid),
        None => format!("{:>8}  {}: does not answer", run.pid, run.name()),
    }
}

/// The runs in a line.
#[cfg(unix)]
fn list(runs: &[folder::Run]) -> String {
    let name = |run: &folder::Run| format!("{} ({})", run.pid, run.name());
    if runs.is_empty() {
        "none is in progress".into()
    } else {
        runs.iter().map(name).collect::<Vec<_>>().join(", ")
    }
}

/// There are no sockets of this kind here.
#[cfg(not(unix))]
pub fn ctl(_command: &CtlCommand) -> Result<(), CommandError> {
    Err(CommandError::Ctl("runs can be controlled on Unix only".into()))
}

/// Runs do not listen here.
#[cfg(not(unix))]
#[derive(Debug)]
pub struct Control;

#[cfg(not(unix))]
impl Control {
    /// Opens nothing: only Unix has the sockets.
    pub(crate) fn open(_: &str, _: crate::steer::Watched) -> std::io::Result<Self> {
        Ok(Self)
    }
}

impl Control {
    /// Listens for requests to a run, and warns where that cannot be: the run goes on all the same.
    pub(crate) fn of_run(scenario: &str, watched: &crate::steer::Watched) -> Option<Self> {
        let opened = Self::open(scenario, watched.clone());
        opened
            .map_err(|reason| {
                let name = crate::executable::name();
                crate::progress::warn(&format!("`{name} ctl` cannot reach this run: {reason}"));
            })
            .ok()
    }
}
