//! How a process notices that the one that started it is gone: its standard input ends.
//!
//! Rank 0 writes the secret there, and keeps the other end open as long as it lives. So whatever ends it, at
//! whatever moment, those that it has started end too, on other hosts as well, where ssh passes the end on.
//! They need no connection to it for that, and no time limit.
//!
//! One of them reports what all of them see: that rank 0 is gone, or silent. Invariant: that is reported once
//! in a run.

use std::io::{BufRead, ErrorKind, Read, Write};
use std::process::ChildStdin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::Builder;
use std::time::{Duration, Instant};

use paceline_engine::{PeersErrorKind, RunError};
use paceline_transport::{HandshakeError, PeerErrorKind, RendezvousError};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::args::together::Role;
use crate::failure::CommandError;

/// How long the end of rank 0's connections may be ahead of the end of the input.
const PATIENCE: Duration = Duration::from_millis(500);

/// The most bytes of a secret.
const SECRET_BYTES: usize = 1 << 12;

/// The watch on the process that has started this one.
#[derive(Debug)]
pub struct Lifeline {
    role: Role,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    has_ended: Mutex<bool>,
    changed: Condvar,
    /// Whether the reason why this process ends has been reported.
    is_reported: AtomicBool,
}

/// Hands the secret to a process that reads it by [`Lifeline::open`].
pub fn write_secret(to: &mut ChildStdin, words: &[u8]) -> std::io::Result<()> {
    to.write_all(&[format!("{}\n", words.len()).as_bytes(), words].concat())
}

impl Lifeline {
    /// Reads the secret from standard input, for which it waits `within` this time, and watches for the end
    /// of that. Nothing follows the secret there.
    pub fn open(role: Role, within: Duration) -> Result<(Self, Vec<u8>), CommandError> {
        // Rank 0 may be killed while this process is stopped: being continued, it notices.
        let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::CONT));
        let lifeline = Self { role, shared: Arc::default() };
        // Rank 0 may be stopped before it has written anything.
        if !has_come(within) {
            let problem = format!("process 0 of the run has said nothing within {within:?}");
            return Err(lifeline.only_one(CommandError::Together(problem)));
        }
        let Some(words) = read_secret(&mut std::io::stdin().lock()) else {
            lifeline.shared.end(role);
        };
        let shared = Arc::clone(&lifeline.shared);
        let watch = move || {
            wait_for_end(&mut std::io::stdin().lock());
            shared.end(role)
        };
        let watching = Builder::new().name("paceline-lifeline".into()).spawn(watch);
        watching
            .map_err(|error| CommandError::Together(format!("the watch on the first process: {error}")))?;
        Ok((lifeline, words))
    }

    /// What to report of a meeting that has failed: nothing that rank 0 reports, if it lives.
    pub fn of_meeting(&self, error: &RendezvousError) -> CommandError {
        match error {
            RendezvousError::Refused(_) => self.unless_it_ends(CommandError::Silent),
            RendezvousError::Connect { error: HandshakeError::Ended | HandshakeError::Io(_), .. } => {
                self.unless_it_ends(CommandError::Silent)
            }
            RendezvousError::Connect { error: HandshakeError::TimedOut, .. }
            | RendezvousError::Peer { .. } => self.only_one(CommandError::Together(error.to_string())),
            // Only this process knows it.
            other => CommandError::Together(other.to_string()),
        }
    }

    /// What to report of a run that has ended like this.
    pub fn of_run(&self, ran: Result<(), CommandError>) -> Result<(), CommandError> {
        let ran = match ran {
            Err(failure) => match gone(&failure) {
                Some(true) => {
                    let failure = self.only_one(failure);
                    Err(self.unless_it_ends(failure))
                }
                Some(false) => Err(self.only_one(failure)),
                None => Err(failure),
            },
            ran => ran,
        };
        // Whatever the end of the input means from now on, it has been reported, or is about to be.
        self.shared.is_reported.store(true, Ordering::SeqCst);
        ran
    }

    /// What to report of something that all processes see.
    fn only_one(&self, failure: CommandError) -> CommandError {
        if self.role == Role::Speaks { failure } else { CommandError::Silent }
    }

    /// The failure, unless rank 0 has gone: then this process ends here.
    fn unless_it_ends(&self, failure: CommandError) -> CommandError {
        let has_ended = self.shared.has_ended.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.shared.changed.wait_timeout_while(has_ended, PATIENCE, |has_ended| !*has_ended);
        if *waited.unwrap_or_else(PoisonError::into_inner).0 {
            self.shared.end(self.role);
        }
        failure
    }
}

impl Shared {
    /// The input has ended: ends this process.
    fn end(&self, role: Role) -> ! {
        *self.has_ended.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
        if !self.is_reported.swap(true, Ordering::SeqCst) && role == Role::Speaks {
            // If standard error is closed, only the exit status is left.
            let _ = std::io::stderr().write_all(b"error: process 0 of the run is lost: it is gone\n");
        }
        std::process::exit(1)
    }
}

/// Whether a run has ended because rank 0 is lost, and then whether that is gone; it may also have been
/// stopped.
fn gone(failure: &CommandError) -> Option<bool> {
    let CommandError::Run(error, _) = failure else { return None };
    let RunError::Peers(error) = &**error else { return None };
    match &error.kind {
        PeersErrorKind::Lost(kind) if error.rank == 0 => Some(*kind == PeerErrorKind::Gone),
        _ => None,
    }
}

/// Whether something comes by standard input, or that ends, within this time.
fn has_come(within: Duration) -> bool {
    let by = Instant::now() + within;
    loop {
        let left = by.saturating_duration_since(Instant::now());
        let timeout = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
        match poll(&mut [PollFd::new(&std::io::stdin(), PollFlags::IN)], Some(&timeout)) {
            Err(Errno::INTR) => {}
            // What cannot be asked is read.
            found => return found != Ok(0),
        }
    }
}

/// The secret, as [`write_secret`] writes it; nothing if the input ends before that.
fn read_secret(input: &mut impl BufRead) -> Option<Vec<u8>> {
    let mut line = String::new();
    input.take(8).read_line(&mut line).ok()?;
    let bytes = line.strip_suffix('\n')?.parse().ok().filter(|bytes| *bytes <= SECRET_BYTES)?;
    let mut words = vec![0; bytes];
    input.read_exact(&mut words).ok()?;
    Some(words)
}

/// Reads to the end.
fn wait_for_end(input: &mut impl Read) {
    loop {
        match input.read(&mut [0; 64]) {
            Ok(0) => return,
            Err(error) if error.kind() != ErrorKind::Interrupted => return,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::read_secret;

    #[test]
    fn a_secret_is_read_whole_or_not_at_all() {
        let whole = b"20\nwords\nof 20 bytes...and more";
        assert_eq!(read_secret(&mut &whole[..]).as_deref(), Some(&b"words\nof 20 bytes..."[..]));
        let cut: [&[u8]; 8] =
            [b"", b"2", b"20\n", b"20\nwords", b"\n", b"-1\nx", b"4097\nx", b"99999999999999\n"];
        assert!(cut.iter().all(|bytes| read_secret(&mut &bytes[..]).is_none()));
    }
}
