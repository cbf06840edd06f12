//! The processes that rank 0 starts: more of this program here, and by ssh on other hosts.
//!
//! Invariants: each that was started is waited for; one that does not end by itself within the limit is
//! killed. None outlives this process, whatever ends that ([`lifeline`]).

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::lifeline;
use crate::args::together::{Host, Role, TogetherArguments};
use crate::executable;
use crate::failure::CommandError;

/// A process that was started.
struct Worker {
    child: Child,
    what: String,
    /// Its standard input, by whose end it knows that this process has ended.
    _lifeline: Option<ChildStdin>,
}

/// The processes started by this one. Dropping it waits for them, and kills those that outstay the limit.
pub struct Workers {
    started: Vec<Worker>,
    /// How long they may take to end after the run has: as long as they may take to notice that.
    linger: Duration,
}

impl Workers {
    /// Starts as many processes `here`, and those on `hosts`; they join at `address`.
    pub fn start(
        address: SocketAddr,
        here: u32,
        hosts: &[Host],
        words: &[u8],
        arguments: &TogetherArguments,
    ) -> Result<Self, CommandError> {
        let mut workers = Self { started: Vec::new(), linger: arguments.reach.silence };
        let program = std::env::current_exe()
            .map_err(|error| CommandError::Together(format!("the path of this program: {error}")))?;
        let link = clap::ValueEnum::to_possible_value(&arguments.reach.link)
            .map_or(String::new(), |link| link.get_name().to_owned());
        let silence = format!("{}ms", arguments.reach.silence.as_millis());
        let within = format!("{}ms", arguments.reach.within.as_millis());
        let options = ["--link", &link, "--silence", &silence, "--within", &within];
        for _ in 0..here {
            let mut command = Command::new(&program);
            command.arg("join").arg(address.to_string()).args(["--secret", "-"]).args(options);
            workers.spawn(command, words, "a process of this program")?;
        }
        for host in hosts {
            for _ in 0..host.processes {
                let mut command = Command::new("ssh");
                command.args(["-o", "BatchMode=yes", "--", &host.name, &executable::name(), "join"]);
                command.arg(address.to_string()).args(["--secret", "-"]).args(options);
                workers.spawn(command, words, &format!("ssh to {}", host.name))?;
            }
        }
        Ok(workers)
    }

    fn spawn(&mut self, mut command: Command, words: &[u8], what: &str) -> Result<(), CommandError> {
        let failed = |error: std::io::Error| CommandError::Together(format!("cannot start {what}: {error}"));
        // The first one reports what all of them see.
        let role = if self.started.is_empty() { Role::Speaks } else { Role::Silent };
        let role = clap::ValueEnum::to_possible_value(&role).expect("none of them is skipped");
        command.args(["--lifeline", role.get_name()]).stdin(Stdio::piped()).stdout(Stdio::null());
        let mut child = command.spawn().map_err(failed)?;
        let mut input = child.stdin.take();
        let written = input.as_mut().map(|input| lifeline::write_secret(input, words));
        self.started.push(Worker { child, what: what.to_owned(), _lifeline: input });
        match written {
            // It has ended already: whoever waits for it to join finds that.
            Some(Err(error)) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
            written => written.transpose().map(drop).map_err(failed),
        }
    }

    /// For each of them, what becomes readable when it ends, and what it is.
    pub fn ends(&self) -> impl Iterator<Item = (OwnedFd, String)> {
        self.started.iter().filter_map(|worker| Some((end_of(&worker.child)?, worker.what.clone())))
    }

    /// How many there are.
    pub fn len(&self) -> u32 {
        self.started.len() as u32
    }

    /// Ends all of them at once: one that is stopped would not notice that the run is over, and hold up this
    /// process.
    pub fn kill(&mut self) {
        for Worker { child, .. } in &mut self.started {
            // One that has ended is not there any more.
            let _ = child.kill();
        }
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        let by = Instant::now() + self.linger;
        for Worker { child, .. } in &mut self.started {
            wait_until(child, by);
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// What becomes readable when a process ends.
fn end_of(child: &Child) -> Option<OwnedFd> {
    pidfd_open(Pid::from_raw(child.id() as i32)?, PidfdFlags::empty()).ok()
}

fn wait_until(child: &Child, by: Instant) {
    // Without pidfds its end cannot be waited for: it is killed at once.
    let Some(ended) = end_of(child) else { return };
    let left = by.saturating_duration_since(Instant::now());
    let timeout = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
    let _ = poll(&mut [PollFd::new(&ended, PollFlags::IN)], Some(&timeout));
}
