//! Looking at a run from outside, stopping it, and changing its number of threads.
//!
//! Workers ask [`Monitor::halt`] between two batches, and count committed events by [`Monitor::advance`]. To
//! stop or pause a run by what it has committed, add the rule to `halt`. Batches in hand are finished, so
//! where the run stops depends on threads; only [`Run::run_event`](crate::Run::run_event) stops after an
//! exact event. Each process of a run counts its own events; if one halts, all do.
//!
//! Invariant: a pause that was asked for is granted only once something was committed since the last one, so
//! that a run goes on however often it is asked.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use paceline_kernel::{AtWork, LpId, Time};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::workers::cores::Leader;

/// The most worker threads a run may have.
pub const MOST_THREADS: u32 = 4096;

/// A number of worker threads that no run may have.
#[derive(Clone, Copy, PartialEq, Eq, Error)]
#[error("a run on {threads} threads; allowed: a whole number from 1 to {MOST_THREADS}")]
pub struct ThreadsError {
    /// The number that was asked for.
    pub threads: u32,
}

paceline_kernel::debug_tells!(ThreadsError);

/// A handle on a run: progress to read, and a way to end it early. Clones share the same run.
///
/// ```
/// use paceline_engine::Monitor;
/// let monitor = Monitor::new();
/// assert!(monitor.set_threads(2).is_ok() && monitor.set_threads(0).is_err());
/// monitor.stop(); // from a signal handler, another thread, ...
/// assert!(monitor.stopped());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Monitor(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    pause: AtomicBool,
    /// The owner of the run wants it back.
    wanted_back: AtomicBool,
    /// A pause is granted when this many events have been committed in all, and not since the last pause.
    pause_events: AtomicU64,
    /// Or once the run is beyond this time: guests that send nothing have no events.
    pause_ticks: AtomicU64,
    /// Worker threads asked for; zero where the number was not set.
    wanted: AtomicU32,
    threads: AtomicU32,
    events: AtomicU64,
    time_ticks: AtomicU64,
    /// What the federates are at.
    at_work: Mutex<Vec<Arc<AtWork>>>,
    /// The worker threads of the leg.
    workers: Mutex<Vec<Leader>>,
}

/// Why a board is to stop working before the run is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Halt {
    /// To end the run.
    Stop,
    /// To continue in another leg.
    Pause,
}

impl Monitor {
    /// A handle for one run.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks the run to end after the batches in hand. Several processes end it together; where one has been
    /// asked, the others follow in the next round. It cannot be taken back.
    pub fn stop(&self) {
        self.0.stop.store(true, Ordering::Relaxed);
    }

    /// Whether the run was asked to end.
    pub fn stopped(&self) -> bool {
        self.0.stop.load(Ordering::Relaxed)
    }

    /// Asks the run to continue with `threads` worker threads, from 1 to [`MOST_THREADS`], after the batches
    /// in hand. The result of the run stays. Sequential runs stay on one thread. An error if the number is
    /// out of range.
    pub fn set_threads(&self, threads: u32) -> Result<(), ThreadsError> {
        if !(1..=MOST_THREADS).contains(&threads) {
            return Err(ThreadsError { threads });
        }
        // The number before the pause, in one order with `take_wanted`, which forgets the pause before it
        // reads the number: either it gets this one, or the pause stands.
        self.0.wanted.store(threads, Ordering::SeqCst);
        self.pause();
        Ok(())
    }

    /// Asks the run to come back to its owner after the batches in hand:
    /// [`Run::run_until`](crate::Run::run_until) then gives [`Reached::Paused`](crate::Reached::Paused), and
    /// goes on with the next call. A leg runs one event at least before it ends. Runs of several processes do
    /// not come back.
    pub fn ask_back(&self) {
        self.0.wanted_back.store(true, Ordering::SeqCst);
        // After the reason for it: whoever sees the pause finds why.
        self.pause();
    }

    /// Worker threads of the run at the moment; zero before it starts.
    pub fn threads(&self) -> u32 {
        self.0.threads.load(Ordering::Relaxed)
    }

    /// Events that this process has committed so far.
    pub fn events(&self) -> u64 {
        self.0.events.load(Ordering::Relaxed)
    }

    /// The simulated time that every federate has reached.
    pub fn time(&self) -> Time {
        Time::ticks(self.0.time_ticks.load(Ordering::Relaxed))
    }

    /// The LPs that are handling an event, each with a time before which that event is not: for who wants to
    /// know what a run is at, or where it hangs.
    pub fn at_work(&self) -> Vec<(LpId, Time)> {
        let federates = self.0.at_work.lock().unwrap_or_else(PoisonError::into_inner);
        federates.iter().filter_map(|federate| federate.event()).collect()
    }

    /// These are the federates from now on.
    pub(crate) fn attend(&self, federates: impl Iterator<Item = Arc<AtWork>>) {
        *self.0.at_work.lock().unwrap_or_else(PoisonError::into_inner) = federates.collect();
    }

    /// No event before `time` is left, and `events` more were committed. The time never falls: a call that
    /// knows nothing of it says zero.
    pub(crate) fn advance(&self, time: Time, events: u64) {
        self.0.time_ticks.fetch_max(time.as_ticks(), Ordering::Relaxed);
        self.0.events.fetch_add(events, Ordering::Relaxed);
    }

    /// A leg has ended, and so many events are committed in all: what ran ahead may have been found final
    /// only then, by nobody who counts.
    pub(crate) fn settle(&self, events: u64) {
        self.0.events.fetch_max(events, Ordering::Relaxed);
    }

    /// Asks the run to end its leg.
    pub(crate) fn pause(&self) {
        self.0.pause.store(true, Ordering::SeqCst);
    }

    /// What the boards look at between two batches: whether to stop working, and why.
    pub(crate) fn halt(&self) -> Option<Halt> {
        // A pause needs a leg that has run something: those that come faster than legs begin would stop the
        // run for good. A stop needs nothing, and is never taken back.
        if self.stopped() {
            Some(Halt::Stop)
        } else if self.0.pause.load(Ordering::Relaxed) && self.has_moved() {
            Some(Halt::Pause)
        } else {
            None
        }
    }

    /// Whether the leg has come so far that the run goes on even if every leg ends there.
    fn has_moved(&self) -> bool {
        self.events() >= self.0.pause_events.load(Ordering::Relaxed)
            || self.time().as_ticks() > self.0.pause_ticks.load(Ordering::Relaxed)
    }

    /// A leg begins. It is not paused before it has had `least` events, or without that, one event or some
    /// simulated time. Requests made before this are fulfilled by now.
    pub(crate) fn begin_leg(&self, threads: u32, least: Option<u64>) {
        self.0.threads.store(threads, Ordering::Relaxed);
        self.workers().clear();
        self.0.pause_events.store(self.events() + least.unwrap_or(1), Ordering::Relaxed);
        // Where events are counted, as in tests, time is not to end the leg earlier.
        let ticks = least.map_or(self.time().as_ticks(), |_| u64::MAX);
        self.0.pause_ticks.store(ticks, Ordering::Relaxed);
    }

    /// The worker threads of the leg, for each to put itself down.
    pub(crate) fn workers(&self) -> MutexGuard<'_, Vec<Leader>> {
        self.0.workers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of threads asked for; forgets that a pause was asked for, which is to be done first.
    pub(crate) fn take_wanted(&self) -> Option<u32> {
        self.0.pause.store(false, Ordering::SeqCst);
        Some(self.0.wanted.load(Ordering::SeqCst)).filter(|threads| *threads > 0)
    }

    /// Whether the owner of the run wants it back.
    pub(crate) fn is_wanted_back(&self) -> bool {
        self.0.wanted_back.load(Ordering::SeqCst)
    }

    /// The same; forgets it.
    pub(crate) fn take_wanted_back(&self) -> bool {
        self.0.wanted_back.swap(false, Ordering::SeqCst)
    }

    pub(crate) fn has_wanted(&self) -> bool {
        self.0.wanted.load(Ordering::Relaxed) > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_is_granted_once_the_leg_has_come_further() {
        for (least, time, events, granted) in [
            (None, 7, 0, false),
            (None, 8, 0, true),
            (None, 7, 1, true),
            (Some(5), 8, 4, false),
            (Some(5), 7, 5, true),
        ] {
            let monitor = Monitor::new();
            monitor.advance(Time::nanos(7), 3);
            monitor.begin_leg(1, least);
            monitor.pause();
            monitor.advance(Time::nanos(time), events);
            let expected = granted.then_some(Halt::Pause);
            assert_eq!(monitor.halt(), expected, "{least:?}, {time} ns, {events} events");
        }
    }
}
