//! `paceline lvt relay`: carries what a virtual machine's guest publishes to the host's page, until the
//! machine ends.
//!
//! Sleeps by waiting for the end of QEMU's process, so it ends with it at once. The slots of the VCPU threads
//! are free again when it ends by itself or by a signal that asks it to.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use paceline_app::failure::CommandError;
use paceline_app::signals;
use paceline_lvt::{ENV, Page, Relay};
use paceline_pace::{RunError, run_as_usual, run_before_paced};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, BorrowedFd};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::arguments::RelayArguments;
use crate::failure::Special;

/// From one look at the guest's memory to the next.
const INTERVALS: std::ops::RangeInclusive<Duration> = Duration::from_micros(100)..=Duration::from_secs(1);
/// For so long QEMU is given time to make the guest's memory and its threads: others may be paced already,
/// and leave it little.
const START: Duration = Duration::from_secs(20);
/// How often it is looked whether it has.
const START_LOOK: Duration = Duration::from_millis(20);
/// How often it is looked whether the pacer is still there.
const PACER_LOOK: Duration = Duration::from_millis(250);

pub fn relay(arguments: &RelayArguments) -> Result<(), CommandError> {
    let RelayArguments { guest, qemu, interval } = arguments;
    if !INTERVALS.contains(interval) {
        let problem = format!("--interval {interval:?}; allowed: 100us to 1s, such as 1ms");
        return Err(CommandError::Option(problem));
    }
    let host = || Page::from_env().map_err(|error| CommandError::Option(error.to_string()));
    host()?.ok_or_else(no_host_page)?;
    let process = Pid::from_raw(qemu.cast_signed()).expect("a process id is not 0");
    let process = pidfd_open(process, PidfdFlags::empty()).map_err(|errno| {
        CommandError::Option(format!("--qemu {qemu}: cannot watch process {qemu}: {errno}"))
    })?;
    let stop = Arc::new(AtomicBool::new(false));
    let signalled = Arc::clone(&stop);
    signals::on_each(move |_| signalled.store(true, Ordering::Relaxed)).map_err(CommandError::Signals)?;
    let is_over = |wait| -> Result<bool, CommandError> {
        Ok(stop.load(Ordering::Relaxed) || has_ended(process.as_fd(), wait)?)
    };
    // Where paced threads take all cores, it would look too seldom otherwise. Where this is not permitted,
    // those are not before it.
    let mut before_paced = run_before_paced().is_ok();
    let start = Instant::now();
    let mut relay = loop {
        match Relay::start(host()?.ok_or_else(no_host_page)?, guest, *qemu) {
            Ok(relay) => break relay,
            Err(error) if start.elapsed() >= START => return Err(CommandError::Option(error.to_string())),
            Err(_) if is_over(START_LOOK)? => return Ok(()),
            Err(_) => {}
        }
    };
    eprintln!("paceline: guest memory {}, {} virtual CPUs", relay.guest().display(), relay.vcpus());
    let mut looked = Instant::now();
    loop {
        relay.carry(Instant::now()).map_err(Special::Lvt)?;
        if before_paced && looked.elapsed() >= PACER_LOOK {
            looked = Instant::now();
            // The page vanishes with the pacer. Nobody is paced then, whatever ended it, and the relay needs
            // no priority.
            before_paced = has_page() || run_as_usual().is_err();
        }
        if is_over(*interval)? {
            return Ok(());
        }
    }
}

/// Whether the host's page, which the variable names, is still there.
pub fn has_page() -> bool {
    std::env::var_os(ENV).is_some_and(|path| Path::new(&path).exists())
}

fn no_host_page() -> CommandError {
    CommandError::Option(format!(
        "there is no page to carry to: the variable {ENV} names it for what is started by `paceline pace`"
    ))
}

/// Waits for the end of a process; `false` if it has not come within this time.
fn has_ended(process: BorrowedFd<'_>, wait: Duration) -> Result<bool, CommandError> {
    let wait = Timespec::try_from(wait).expect("the interval is short");
    match poll(&mut [PollFd::from_borrowed_fd(process, PollFlags::IN)], Some(&wait)) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Ok(false),
        Err(errno) => {
            Err(Special::Pace(RunError::System { what: "waiting for QEMU's end", reason: errno.into() })
                .into())
        }
    }
}
