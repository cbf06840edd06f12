//! Programs that the lab starts.
//!
//! Invariants: each has a process group of its own, which is killed when the lab is asked to stop, when a
//! limit has passed and when the lab unwinds; and it is killed by the kernel when the lab dies. Nothing is
//! read from the terminal.

use std::io::{BufRead, BufReader, PipeReader, pipe};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::error::{LabError, io};

/// How often the lab checks, while a program prints nothing, whether to stop it.
const LOOK: Duration = Duration::from_millis(100);

/// How many printed lines may wait to be processed.
const LINES_WAITING_MAX: usize = 1024;

/// How many lines of output of a failed program are reported.
const LINES_KEPT: usize = 15;

/// A request to stop, which can be made anywhere, even in a signal handler.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Asks to stop.
    pub fn ask(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether a stop was requested.
    pub fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// An error if a stop was requested.
    pub(crate) fn check(&self) -> Result<(), LabError> {
        if self.is_asked() { Err(LabError::Stopped) } else { Ok(()) }
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// By itself, or by a signal.
    Exited(ExitStatus),
    /// It was killed because its limit had passed.
    Overdue,
}

/// A program that runs; killed with its group when this goes out of scope.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        if let (Ok(None), Some(group)) = (self.0.try_wait(), Pid::from_raw(self.0.id() as i32)) {
            // It may just have ended: then there is nothing left to kill.
            let _ = kill_process_group(group, Signal::KILL);
            let _ = self.0.wait();
        }
    }
}

/// A command that dies with the lab.
pub(crate) fn command(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL"]).arg(program);
    command
}

/// Runs a program and passes on each line that it prints, on either stream, until it ends, a stop is
/// requested, or `limit` has passed.
pub(crate) fn follow(
    mut command: Command,
    limit: Option<Duration>,
    stop: &Stop,
    mut line: impl FnMut(&str),
) -> Result<Ended, LabError> {
    stop.check()?;
    let program = Path::new(command.get_program()).to_path_buf();
    let (reader, writer) = pipe().map_err(io("make a pipe for", &program))?;
    let second = writer.try_clone().map_err(io("make a pipe for", &program))?;
    command.stdin(Stdio::null()).stdout(writer).stderr(second).process_group(0);
    let mut running = Running(command.spawn().map_err(io("start", &program))?);
    // The writing ends in it must be closed, or the pipe never ends.
    drop(command);
    let lines = lines(reader);
    let end = limit.map(|limit| Instant::now() + limit);
    loop {
        match lines.recv_timeout(LOOK) {
            Ok(text) => line(&text),
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {}
        }
        stop.check()?;
        if end.is_some_and(|end| Instant::now() >= end) {
            return Ok(Ended::Overdue);
        }
    }
    running.0.wait().map(Ended::Exited).map_err(io("wait for", &program))
}

/// The lines that come out of a pipe, without their ends.
fn lines(reader: PipeReader) -> Receiver<String> {
    let (sender, receiver) = sync_channel(LINES_WAITING_MAX);
    thread::spawn(move || {
        let (mut reader, mut bytes) = (BufReader::new(reader), Vec::new());
        while reader.read_until(b'\n', &mut bytes).is_ok_and(|count| count > 0) {
            let text = String::from_utf8_lossy(&bytes).trim_end_matches(['\n', '\r']).to_owned();
            bytes.clear();
            if sender.send(text).is_err() {
                return;
            }
        }
    });
    receiver
}

/// Runs a program to its end and returns what it printed; it has failed if its status is not 0.
pub(crate) fn run(what: &str, command: Command, stop: &Stop) -> Result<Vec<String>, LabError> {
    let mut printed = Vec::new();
    match follow(command, None, stop, |line| printed.push(line.to_owned()))? {
        Ended::Exited(status) if status.success() => Ok(printed),
        Ended::Exited(status) => {
            let printed = printed[printed.len().saturating_sub(LINES_KEPT)..].join("\n");
            Err(LabError::Command { what: what.into(), status: status_text(status), printed })
        }
        Ended::Overdue => unreachable!("there is no limit"),
    }
}

/// How a program ended, in words.
pub(crate) fn status_text(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("status {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "unknown status".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut shell = command("sh");
        shell.args(["-c", script]);
        shell
    }

    #[test]
    fn both_streams_are_read_and_a_failure_is_reported_with_their_end() {
        let stop = Stop::default();
        assert_eq!(run("it", shell("echo one; echo two >&2"), &stop).expect("it succeeds"), ["one", "two"]);
        let failed = run("it", shell("seq 1 100; exit 3"), &stop).expect_err("it fails").to_string();
        assert!(
            failed.contains("status 3") && failed.ends_with("\n100") && !failed.contains("\n85"),
            "{failed}"
        );
    }

    #[test]
    fn who_is_asked_to_stop_or_overdue_leaves_no_process_of_the_group_behind() {
        for by_limit in [true, false] {
            let stop = Stop::default();
            let mut pids = Vec::new();
            let limit = by_limit.then_some(Duration::from_millis(300));
            let ended = follow(shell("sleep 1000 & echo $!; echo $$; wait"), limit, &stop, |line| {
                pids.push(line.parse::<i32>().expect("a process id"));
                if pids.len() == 2 && !by_limit {
                    stop.ask();
                }
            });
            assert_eq!(by_limit, matches!(ended, Ok(Ended::Overdue)));
            assert_eq!(!by_limit, matches!(ended, Err(LabError::Stopped)));
            assert_eq!(pids.len(), 2);
            for pid in pids {
                let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
                let gone = state.is_empty() || state.contains(") Z ");
                // A killed process may take a moment to be gone.
                assert!(gone || killed_soon(pid), "{pid} is left: {state}");
            }
        }
    }

    fn killed_soon(pid: i32) -> bool {
        let end = Instant::now() + Duration::from_secs(10);
        while Instant::now() < end {
            let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            if state.is_empty() || state.contains(") Z ") {
                return true;
            }
            thread::yield_now();
        }
        false
    }
}
