//! A machine in its place in a run: its clock as simulated time, its card's address, what it pings, and what
//! becomes of the run if it fails.
//!
//! `scenario/start.rs` puts guests into their places at time zero, `scenario/resume.rs` those of a
//! checkpoint; the seat of the machine (`seat.rs`) then sees it through here alone.
//!
//! A machine's clock begins wherever it was saved, and may go slower or faster than simulated time. A frame
//! reaches it at the first nanosecond of its clock that is not before the frame's time.
//!
//! Invariant: what is seen here depends on frames and their times alone, not on how time was cut into grants.
//! So the end of a grant dates nothing that the machine wrote: only the machine itself can.

mod keep;

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::echoes::Echoes;
use super::machine::{Bell, Frame, Machine, MachineError, MachineState, Saved, Stopped};
use crate::guest::GuestError;
pub use keep::{Kept, Parts, SwitchedOff};

/// How a machine's clock follows from simulated time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clock {
    /// The clock when simulated time is zero, in nanoseconds.
    pub origin_ns: u64,
    /// How many seconds of the clock pass in a simulated second: this number divided by `under`.
    pub over: u32,
    /// See `over`.
    pub under: u32,
}

impl Clock {
    /// The first nanosecond of the clock that is not before simulated time `time_ns`.
    #[must_use]
    pub fn machine_ns(&self, time_ns: u64) -> u64 {
        self.origin_ns.saturating_add(ratio(time_ns, self.over, self.under, u128::div_ceil))
    }

    /// The first nanosecond of simulated time that is not before the clock's `machine_ns`.
    #[must_use]
    pub fn simulated_ns(&self, machine_ns: u64) -> u64 {
        ratio(machine_ns.saturating_sub(self.origin_ns), self.under, self.over, u128::div_ceil)
    }

    /// What the machine does before this nanosecond of its clock, it does before simulated time `until_ns`.
    fn end_ns(&self, until_ns: u64) -> u64 {
        let last = until_ns.checked_sub(1);
        let passed = last.map_or(0, |last| ratio(last, self.over, self.under, |a, b| a / b) + 1);
        self.origin_ns.saturating_add(passed)
    }
}

fn ratio(ns: u64, over: u32, under: u32, divide: fn(u128, u128) -> u128) -> u64 {
    let ns = divide(u128::from(ns) * u128::from(over), u128::from(under));
    // The greatest number stands for never.
    u64::try_from(ns).unwrap_or(u64::MAX - 1)
}

/// What is seen of a machine while it runs, and after it.
#[derive(Debug, Default)]
pub struct Seen {
    /// How far it has come, in nanoseconds of simulated time.
    pub reached_ns: AtomicU64,
    /// Whether it runs.
    pub is_running: AtomicBool,
    /// Frames that did not arrive, since its card does not take them so long.
    pub too_long: AtomicU64,
    /// Frames that arrived and were lost, since too many waited for its card's driver.
    pub dropped: AtomicU64,
    /// What it pinged.
    pub echoes: Mutex<Echoes>,
}

/// The machines that failed, in words, and what is done at the first of them.
#[derive(Clone)]
pub struct Failures {
    all: Arc<Mutex<Vec<String>>>,
    stop: Arc<dyn Fn() + Send + Sync>,
}

impl Failures {
    /// None yet. `stop` is called at each.
    pub fn new(stop: impl Fn() + Send + Sync + 'static) -> Self {
        Self { all: Arc::default(), stop: Arc::new(stop) }
    }

    /// The first failure.
    #[must_use]
    pub fn first(&self) -> Option<String> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner).first().cloned()
    }

    fn add(&self, failure: String) {
        self.all.lock().unwrap_or_else(PoisonError::into_inner).push(failure);
        (self.stop)();
    }
}

impl fmt::Debug for Failures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Failures").field(&self.all).finish()
    }
}

/// A machine in its place. One that fails falls silent, so that the run can end with all that was until then.
pub struct Placed {
    machine: Box<dyn Machine>,
    clock: Clock,
    /// By card: its Ethernet address.
    macs: Vec<[u8; 6]>,
    seen: Arc<Seen>,
    failures: Failures,
    /// Where it stands, by its own clock.
    machine_ns: u64,
    /// When it does something next, by its own clock.
    next_ns: Option<u64>,
    /// The end of its last grant, in simulated time.
    until_ns: u64,
    /// Frames for it by its own clock, which it has not been granted time for.
    held: VecDeque<Frame>,
    /// An answer that needs no machine.
    ready: Option<Stopped>,
    /// Readable at any time: the sign of an answer that is ready.
    always: (UnixStream, UnixStream),
    is_failed: bool,
    /// Frames that were too long for it before it was saved, if it goes on from there, and those that it
    /// lost.
    too_long_before: u64,
    dropped_before: u64,
    /// What its state fits.
    parts: Arc<Parts>,
}

impl Placed {
    /// A machine that stands where `first` says, at simulated time zero. `parts` are what its state fits.
    ///
    /// # Errors
    ///
    /// The system has no more sockets.
    pub fn new(
        machine: Box<dyn Machine>,
        first: Stopped,
        (clock, macs): (Clock, Vec<[u8; 6]>),
        (seen, failures): (Arc<Seen>, Failures),
        parts: Arc<Parts>,
    ) -> io::Result<Self> {
        let mut always = UnixStream::pair()?;
        always.0.write_all(&[1])?;
        let Stopped { time_ns: machine_ns, next_ns, .. } = first;
        let mut placed = Self {
            machine,
            clock,
            macs,
            seen,
            failures,
            machine_ns,
            next_ns,
            until_ns: 0,
            held: VecDeque::new(),
            ready: None,
            always,
            is_failed: false,
            too_long_before: 0,
            dropped_before: 0,
            parts,
        };
        placed.ready = Some(placed.standing(Vec::new()));
        Ok(placed)
    }

    fn standing(&self, frames: Vec<Frame>) -> Stopped {
        let held = self.held.front().map(|frame| frame.time_ns);
        let next_ns = self.next_ns.into_iter().chain(held).min();
        let next_ns = next_ns.map(|next| self.clock.simulated_ns(next).max(self.until_ns));
        Stopped { time_ns: self.until_ns, frames, next_ns, state: MachineState::Standing }
    }

    /// It is silent from here on, and the run ends.
    fn fail(&mut self, error: MachineError) -> Stopped {
        let failure = self.in_simulated_time(error).to_string();
        self.failures.add(failure);
        self.is_failed = true;
        let time_ns = self.clock.simulated_ns(self.machine_ns);
        Stopped { time_ns, frames: Vec::new(), next_ns: None, state: MachineState::ShutDown }
    }

    fn in_simulated_time(&self, error: MachineError) -> MachineError {
        match error.downcast::<GuestError>() {
            Ok(error) => error.at_times(|ns| self.clock.simulated_ns(ns)).into(),
            Err(error) => error,
        }
    }

    /// What a state is that a machine must not come to.
    fn failure(&self, state: MachineState, ns: u64) -> Option<MachineError> {
        let how = match state {
            MachineState::Standing | MachineState::ShutDown => return None,
            MachineState::Reset => "has reset itself",
            MachineState::Crashed => "has crashed: its kernel has reported a panic",
        };
        let (name, ns) = (self.machine.name(), self.clock.simulated_ns(ns));
        let time = format!("{}.{:09} s", ns / 1_000_000_000, ns % 1_000_000_000);
        Some(format!("guest {name} {how} after {time} of virtual time").into())
    }
}

impl Machine for Placed {
    fn name(&self) -> &str {
        self.machine.name()
    }

    fn grant(&mut self, until_ns: u64, frames: &[Frame]) -> Result<(), MachineError> {
        let mut echoes = self.seen.echoes.lock().unwrap_or_else(PoisonError::into_inner);
        for frame in frames {
            echoes.arrived(frame.time_ns, &frame.bytes);
            let mut frame = Frame { time_ns: self.clock.machine_ns(frame.time_ns), ..frame.clone() };
            // The card takes what is for its own address, and for groups.
            if let Some(to) = frame.bytes.get_mut(..6).filter(|to| to[0] & 1 == 0) {
                to.copy_from_slice(&self.macs[frame.card]);
            }
            self.held.push_back(frame);
        }
        drop(echoes);
        self.until_ns = until_ns;
        let until = self.clock.end_ns(until_ns);
        if until <= self.machine_ns {
            // A slower machine's clock has no tick in this time.
            self.ready = Some(self.standing(Vec::new()));
            return Ok(());
        }
        let count = self.held.partition_point(|frame| frame.time_ns < until);
        let frames: Vec<Frame> = self.held.drain(..count).collect();
        self.seen.is_running.store(true, Ordering::Relaxed);
        if let Err(error) = self.machine.grant(until, &frames) {
            self.ready = Some(self.fail(error));
        }
        Ok(())
    }

    fn read(&mut self) -> Result<Option<Stopped>, MachineError> {
        if let Some(stopped) = self.ready.take() {
            return Ok(Some(stopped));
        }
        let Stopped { time_ns, mut frames, next_ns, state } = match self.machine.read() {
            Ok(None) => return Ok(None),
            Ok(Some(stopped)) => stopped,
            Err(error) => return Ok(Some(self.fail(error))),
        };
        (self.machine_ns, self.next_ns) = (time_ns, next_ns);
        let mut echoes = self.seen.echoes.lock().unwrap_or_else(PoisonError::into_inner);
        for frame in &mut frames {
            frame.time_ns = self.clock.simulated_ns(frame.time_ns);
            echoes.left(frame.time_ns, &frame.bytes);
        }
        drop(echoes);
        self.seen.is_running.store(false, Ordering::Relaxed);
        self.seen.too_long.store(self.too_long(), Ordering::Relaxed);
        self.seen.dropped.store(self.dropped(), Ordering::Relaxed);
        self.seen.reached_ns.store(self.until_ns, Ordering::Relaxed);
        if let Some(error) = self.failure(state, time_ns) {
            // What it sent before is on its way like all else.
            return Ok(Some(Stopped { frames, ..self.fail(error) }));
        }
        Ok(Some(match state {
            MachineState::Standing => self.standing(frames),
            _ => Stopped { time_ns: self.clock.simulated_ns(time_ns), frames, next_ns: None, state },
        }))
    }

    fn fd(&self) -> BorrowedFd<'_> {
        if self.ready.is_some() { self.always.1.as_fd() } else { self.machine.fd() }
    }

    fn has_bell(&self) -> bool {
        self.machine.has_bell()
    }

    fn bell(&mut self) -> Option<Bell<'_>> {
        if self.ready.is_some() { None } else { self.machine.bell() }
    }

    fn save(&mut self, file: &Path) -> Result<Saved, MachineError> {
        self.write_state(file)
    }

    fn too_long(&self) -> u64 {
        self.too_long_before + self.machine.too_long()
    }

    fn dropped(&self) -> u64 {
        self.dropped_before + self.machine.dropped()
    }

    fn deadline(&self) -> Option<Instant> {
        self.machine.deadline().filter(|_| self.ready.is_none())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_of_any_rate_keep_the_order_of_frames_and_grants() {
        for (over, under) in [(1, 1), (2, 1), (1, 2), (10, 3), (3, 10), (7, 7), (1, 1000)] {
            let clock = Clock { origin_ns: 5_000, over, under };
            assert_eq!((clock.machine_ns(0), clock.simulated_ns(5_000)), (5_000, 0));
            for time in 0..3_000 {
                // A frame does not come before its time, and the machine's answer not before the frame.
                let arrival = clock.machine_ns(time);
                assert!(
                    u128::from(arrival - 5_000) * u128::from(under) >= u128::from(time) * u128::from(over)
                );
                assert!(clock.simulated_ns(arrival) >= time);
                // What happens before a grant's end is before its simulated end, and all of that.
                let end = clock.end_ns(time);
                assert!(end == 5_000 || clock.simulated_ns(end - 1) < time, "{clock:?} {time}");
                assert!(clock.simulated_ns(end) >= time, "{clock:?} {time}");
            }
        }
    }
}
