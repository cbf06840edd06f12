//! Runs tied to real time: simulated time advances as fast as real time, times a factor, and events may come
//! from other threads meanwhile.
//!
//! Invariants: nothing happens before it is due by the clock; what is late happens all the same, in its
//! order; a run that waits notices within [`LOOK`] that it is to stop, and at once that an event has come.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use paceline_kernel::{LpId, Model, Time};

use super::clock::Tie;
use super::course::Course;
use crate::watch::monitor::Halt;
use crate::{Monitor, RunError, SendError, Simulation};

/// How often a run that waits looks whether it is to stop: [`Monitor::stop`] may be called by a signal
/// handler, and wakes nobody.
const LOOK: Duration = Duration::from_millis(10);

/// Events on their way into a run.
type Waiting<E> = Vec<(LpId, Option<Time>, E)>;

/// Where events from other threads wait for the run.
#[derive(Debug)]
pub(super) struct Entrance<E> {
    waiting: Mutex<Waiting<E>>,
    changed: Condvar,
}

impl<E> Default for Entrance<E> {
    fn default() -> Self {
        Self { waiting: Mutex::default(), changed: Condvar::new() }
    }
}

impl<E> Entrance<E> {
    fn waiting(&self) -> MutexGuard<'_, Waiting<E>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn take(&self) -> Waiting<E> {
        std::mem::take(&mut *self.waiting())
    }

    /// Waits until `due`. Says whether it did: an event has come else, or the run is to stop.
    fn wait(&self, due: Option<Instant>, monitor: &Monitor) -> bool {
        let mut waiting = self.waiting();
        loop {
            let left = due.map_or(LOOK, |due| due.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return true;
            }
            if !waiting.is_empty() || monitor.stopped() || monitor.is_wanted_back() {
                return false;
            }
            let woken = self.changed.wait_timeout(waiting, left.min(LOOK));
            waiting = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// A handle to send events into a run from any thread, see [`Run::sender`](crate::Run::sender). Clones are
/// handles of the same run.
#[derive(Debug)]
pub struct Sender<E> {
    entrance: Arc<Entrance<E>>,
    lps: u32,
}

impl<E> Clone for Sender<E> {
    fn clone(&self) -> Self {
        Self { entrance: Arc::clone(&self.entrance), lps: self.lps }
    }
}

impl<E> Sender<E> {
    pub(super) fn new(entrance: &Arc<Entrance<E>>, lps: u32) -> Self {
        Self { entrance: Arc::clone(entrance), lps }
    }

    /// Sends an event: it happens to `lp` at `at`, or, without a time or where that is over, as soon as it
    /// can. Errors: there is no such LP.
    pub fn send(&self, lp: LpId, at: Option<Time>, event: E) -> Result<(), SendError> {
        if lp.0 >= self.lps {
            return Err(SendError::UnknownLp { lp, lps: self.lps });
        }
        if at == Some(Time::MAX) {
            return Err(SendError::BeyondClock { lp });
        }
        self.entrance.waiting().push((lp, at, event));
        self.entrance.changed.notify_all();
        Ok(())
    }
}

impl<M: Model> Course<M> {
    /// Takes in what has come from other threads.
    pub(super) fn admit(&mut self, entrance: &Entrance<M::Event>) {
        for (lp, at, event) in entrance.take() {
            let earliest = self.tie.map_or(self.earliest(), |tie| self.earliest().max(tie.present()));
            let time = at.unwrap_or(earliest);
            // Late by the clock alone is no reason: what the run has not come to happens when it should.
            let moved = time < self.earliest();
            self.lateness.moved += u64::from(moved);
            let time = if moved { earliest } else { time };
            // At the end of time there is nothing that it could change.
            if time < Time::MAX {
                self.send(lp, time, event);
            }
        }
    }

    /// As [`Course::run`], not faster than real time times `factor`.
    pub(super) fn run_in_real_time(
        &mut self,
        simulation: &Simulation<M>,
        until: Time,
        factor: f64,
        entrance: &Entrance<M::Event>,
    ) -> Result<Option<Halt>, RunError> {
        let simulated = self.time;
        let tie = *self.tie.get_or_insert_with(|| Tie { factor, real: Instant::now(), simulated });
        loop {
            self.admit(entrance);
            let next = self.lvt().min(until);
            // Nothing will ever be due, and no horizon is to be waited for: the run ends, whoever may still
            // send.
            if next == Time::MAX {
                return self.run(simulation, until);
            }
            let (due, start) = (tie.due(next), Instant::now());
            let in_time = entrance.wait(due, &simulation.monitor);
            // Waiting is what such a run does with its time.
            self.sums.wall += start.elapsed();
            if simulation.monitor.stopped() {
                // With events left, a leg stops the run and writes the checkpoint; without any, this does.
                if self.lvt() < until {
                    return self.run(simulation, until);
                }
                self.checkpoint(simulation)?;
                return Ok(Some(Halt::Stop));
            }
            // It has not begun what is not due: there is no leg to end.
            if self.peers.is_none() && !in_time && simulation.monitor.take_wanted_back() {
                return Ok(Some(Halt::Pause));
            }
            if !in_time {
                continue;
            }
            // There is no event to be late for.
            if next == until {
                return self.run(simulation, until);
            }
            let late = due.map_or(Duration::ZERO, |due| due.elapsed());
            self.lateness.looks += 1;
            self.lateness.most = self.lateness.most.max(late);
            self.lateness.last = late;
            // All that is due by now in one leg; at least the event that was waited for, however the clock
            // rounds.
            let bound = tie.present().max(next.saturating_add(Time::TICK)).min(until);
            let halt = self.run(simulation, bound)?;
            if halt.is_some() || bound == until {
                return Ok(halt);
            }
        }
    }
}
