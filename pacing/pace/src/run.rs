//! Runs a command under a pacer until it ends.
//!
//! The pacer works in a thread of its own; the calling thread waits for signals. Signals that ask a program
//! to end or to do something are passed on to the command, except those from the terminal, which sends them
//! to the command as well. Orphans of the command become our children while it runs, so that they are known
//! to belong to it.
//!
//! Invariant: when [`run`] returns, the pacer has been stopped.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Builder;
use std::time::Instant;

use paceline_lvt::ENV;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, kill_process, set_child_subreaper, wait as wait_any};
use signal_hook::consts::{SIGCHLD, SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::WithOrigin;
use signal_hook::low_level::siginfo::{Cause, Origin};

use crate::pacer::{PaceError, Pacer, rest_for};

/// The signals that are passed on to the command.
const PASSED_ON: [i32; 7] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGCONT];

/// How a command has ended.
#[derive(Debug)]
pub struct Ended {
    /// The command's own status.
    pub status: ExitStatus,
    /// The error that ended pacing before the command ended.
    pub pace_error: Option<PaceError>,
    /// What the pacer has counted, by name.
    pub statistics: Vec<(&'static str, u64)>,
}

impl Ended {
    /// The exit status as shells give it: 128 and the number of the signal for a command that a signal has
    /// ended.
    pub fn code(&self) -> u8 {
        let code = self.status.code().or_else(|| self.status.signal().map(|signal| 128 + signal));
        code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
    }
}

/// Why a command was not run, or could not be run to its end. What was started is not ended by it.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the text of an error says what its fields are")]
pub enum RunError {
    /// There is no such program.
    #[error("{program}: there is no such program")]
    NotFound { program: String },
    /// It cannot be executed.
    #[error("{program}: cannot be executed: {reason}")]
    NotExecutable { program: String, reason: io::Error },
    /// Waiting for signals or children, or starting a thread, has failed.
    #[error("{what}: {reason}")]
    System { what: &'static str, reason: io::Error },
    /// The pacer cannot prepare the command.
    #[error(transparent)]
    Pace(#[from] PaceError),
}

/// A report about pacing while a command runs.
#[derive(Debug)]
pub enum PaceNotice<'a> {
    /// Pacing has ended before the command, which continues without it.
    Stopped(&'a PaceError),
    /// Something of interest to the user, in a line.
    Note(&'a str),
}

/// Runs `command`, paced by `pacer` if there is one, until it ends. `notify` is called at once with what
/// there is to say about pacing.
///
/// # Errors
///
/// If the command cannot be started, or its end cannot be waited for.
pub fn run(
    mut command: Command,
    pacer: Option<Box<dyn Pacer>>,
    notify: impl Fn(PaceNotice<'_>) + Sync,
) -> Result<Ended, RunError> {
    let error = |what| move |reason: io::Error| RunError::System { what, reason };
    // Before the command, so that none of its signals is missed.
    let watched = PASSED_ON.iter().chain([&SIGCHLD]);
    let signals = SignalsInfo::<WithOrigin>::new(watched).map_err(error("watching for signals"))?;
    // So that children of the command that outlive it are reaped here too.
    set_child_subreaper(Pid::from_raw(1)).map_err(|errno| error("keeping orphans")(errno.into()))?;
    match &pacer {
        Some(pacer) => {
            command.env(ENV, pacer.page());
            pacer.prepare(&mut command)?;
        }
        None => {
            command.env_remove(ENV);
        }
    }
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let pace = |pacer: Box<dyn Pacer>| {
            let (result, statistics) = keep_pace(pacer, &over, |note| notify(PaceNotice::Note(note)));
            (result.inspect_err(|error| notify(PaceNotice::Stopped(error))), statistics)
        };
        let thread = pacer.map(|pacer| {
            Builder::new().name("paceline-pace".into()).spawn_scoped(scope, move || pace(pacer))
        });
        let thread = thread.transpose().map_err(error("starting a thread"))?;
        // The pacer already works, so that the new process gets CPU time until it executes its program.
        let ended = match command.spawn() {
            Ok(child) => wait(&child, signals).map_err(error("waiting for the command")),
            Err(reason) => Err(not_started(&command, reason)),
        };
        // Only after the command has ended: its threads are paced to the end.
        over.store(true, Ordering::Relaxed);
        let result =
            thread.map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        let (result, statistics) = result.unwrap_or((Ok(()), Vec::new()));
        Ok(Ended { status: ended?, pace_error: result.err(), statistics })
    })
}

fn not_started(command: &Command, reason: io::Error) -> RunError {
    let program = command.get_program().to_string_lossy().into_owned();
    match reason.kind() {
        io::ErrorKind::NotFound => RunError::NotFound { program },
        _ => RunError::NotExecutable { program, reason },
    }
}

/// Passes signals on until the child has ended.
fn wait(child: &Child, mut signals: SignalsInfo<WithOrigin>) -> io::Result<ExitStatus> {
    let pid = Pid::from_raw(child.id().cast_signed()).expect("a child has a process id");
    loop {
        for origin in signals.wait() {
            if origin.signal != SIGCHLD && !is_the_terminals(&origin, pid) {
                let signal = Signal::from_named_raw(origin.signal).expect("those watched for have names");
                // A child that has ended meanwhile needs no signal.
                let _ = kill_process(pid, signal);
            }
        }
        if let Some(status) = reap(pid)? {
            return Ok(status);
        }
    }
}

/// Whether a signal must not be passed on: the terminal sends its signals to the child as well, and a signal
/// from the child itself is not meant for the child.
fn is_the_terminals(origin: &Origin, child: Pid) -> bool {
    let from_child =
        origin.process.as_ref().is_some_and(|process| process.pid == child.as_raw_nonzero().get());
    matches!(origin.cause, Cause::Kernel) || from_child
}

/// Reaps all children that have ended; returns the status of `child` if it is one of them.
fn reap(child: Pid) -> io::Result<Option<ExitStatus>> {
    let mut ended = None;
    loop {
        // Including those in process groups of their own.
        match wait_any(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) if pid == child => ended = Some(ExitStatus::from_raw(status.as_raw())),
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Ok(None) | Err(Errno::CHILD) => return Ok(ended),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Calls the pacer once per period until the command has ended, or less often if it would need more than a
/// quarter of a core. Returns its counters.
fn keep_pace(
    mut pacer: Box<dyn Pacer>,
    over: &AtomicBool,
    noted: impl Fn(&str),
) -> (Result<(), PaceError>, Vec<(&'static str, u64)>) {
    while !over.load(Ordering::Relaxed) {
        let start = Instant::now();
        if let Err(error) = pacer.tick() {
            // Dropping the pacer restores the normal scheduler; the command continues.
            return (Err(error), pacer.statistics());
        }
        pacer.notes().iter().for_each(|note| noted(note));
        let took = start.elapsed();
        // A tick that took long is followed by a rest three times as long: at most a quarter of a core.
        rest_for(3 * took);
        pacer.rest(pacer.period().saturating_sub(4 * took));
    }
    let statistics = pacer.statistics();
    (pacer.stop(), statistics)
}
