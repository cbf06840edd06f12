//! What every board has, whatever its protocol: the model, where workers wait, the state that they share, and
//! how work on it ends.
//!
//! Invariant: once the work is over, nobody takes a federate any more, and every worker that waits is woken.

use std::sync::Arc;

use paceline_kernel::{Model, Partition, Time};

use crate::outside::{Answer, Answers, Start};
use crate::peers::Peers;
use crate::sync::{Apart, Mutex, MutexGuard, lock};
use crate::watch::monitor::Halt;
use crate::workers::idle::Idle;
use crate::workers::pool::Turn;
use crate::{Monitor, RunError, Simulation};

/// How work on a board ends.
#[derive(Debug, Default)]
pub(crate) struct Ending {
    pub(crate) over: bool,
    /// Why it ended before the run was over.
    pub(crate) halt: Option<Halt>,
    /// What ended it: the first of several.
    pub(crate) error: Option<RunError>,
}

impl Ending {
    /// It is over; `halt` says why, where the run is not. The first to say so is right.
    pub(crate) fn end(&mut self, halt: Option<Halt>) {
        if !self.over {
            (self.over, self.halt) = (true, halt);
        }
    }
}

/// What workers share of a protocol.
pub(crate) trait Ends {
    fn ending(&mut self) -> &mut Ending;

    /// From now on there is nothing to take.
    fn clear(&mut self);
}

/// What boards have in common; `S` is the state of the protocol.
pub(crate) struct Scaffold<'a, M: Model, S> {
    pub(crate) model: &'a M,
    pub(crate) partition: &'a Partition,
    pub(crate) until: Time,
    pub(crate) monitor: &'a Monitor,
    /// More workers than this are not woken: those beyond the cores of the process would only take turns on
    /// them.
    pub(crate) useful: u32,
    pub(crate) state: Apart<Mutex<S>>,
    pub(crate) idle: Arc<Idle>,
    /// Of outside federates, if there are any.
    pub(crate) answers: Option<Arc<Answers<M>>>,
    pub(crate) peers: Option<&'a Peers<M>>,
}

impl<'a, M: Model, S: Ends> Scaffold<'a, M, S> {
    pub(crate) fn new(
        simulation: &'a Simulation<M>,
        partition: &'a Partition,
        until: Time,
        start: Start<'a, M>,
        state: S,
        idle: Arc<Idle>,
        answers: Option<Arc<Answers<M>>>,
    ) -> Self {
        let Simulation { model, monitor, .. } = simulation;
        let Start { workers, peers, .. } = start;
        let useful = workers.min(crate::workers::cores::available());
        let state = Apart(Mutex::new(state));
        Self { model, partition, until, monitor, useful, state, idle, answers, peers }
    }

    /// The other processes, if `federate` is run by one of them.
    pub(crate) fn elsewhere(&self, federate: u32) -> Option<&'a Peers<M>> {
        self.peers.filter(|peers| !peers.owns(federate))
    }

    /// The next answer of an outside federate, and whose it is.
    pub(crate) fn answer(&self) -> Option<(u32, Answer<M>)> {
        self.answers.as_ref().and_then(|answers| answers.take())
    }

    /// Ends the work if somebody has asked for that. Several processes end it together: each says in a round
    /// that it was asked, and a leg ends where the round does, so that no process waits for one that has
    /// left.
    pub(crate) fn obey(&self, state: &mut S) {
        if self.peers.is_none()
            && !state.ending().over
            && let Some(halt) = self.monitor.halt()
        {
            self.end(state, Some(halt));
        }
    }

    /// Ends the work; `halt` says why, where the run is not over.
    pub(crate) fn end(&self, state: &mut S, halt: Option<Halt>) {
        state.ending().end(halt);
        state.clear();
        self.idle.wake_all();
    }

    /// Ends the work because of an error, in all processes. The outcome of the leg has the error.
    pub(crate) fn fail(&self, error: RunError) {
        // Before the lock is taken: sending may wait for room.
        self.send_failure(&error);
        let mut state = lock(&self.state);
        state.ending().error.get_or_insert(error);
        self.end(&mut state, Some(Halt::Stop));
    }

    /// Sends the other processes that this one cannot continue, unless they are the reason: then they know,
    /// or are gone.
    pub(crate) fn send_failure(&self, error: &RunError) {
        if let Some(peers) = self.peers.filter(|_| !matches!(error, RunError::Peers(_))) {
            peers.send_failure(&error.to_string());
        }
    }

    /// Ends the work at once, because of an error that the caller of the workers gets, such as a panic: it is
    /// not in the outcome.
    pub(crate) fn stop(&self, error: &RunError) {
        self.send_failure(error);
        self.end(&mut lock(&self.state), Some(Halt::Stop));
    }

    /// There is nothing to do for a worker that has just looked at the state.
    pub(crate) fn nothing(&self, state: MutexGuard<'_, S>) -> Turn {
        // Under the lock: whoever adds work after this look advances the epoch, and the wait ends at once.
        let epoch = self.idle.epoch();
        drop(state);
        if self.peers.is_some_and(Peers::is_pending) {
            return Turn::Worked;
        }
        Turn::nothing(epoch, self.answers.as_deref())
    }

    /// The same, where what waits to be sent to other processes may be of use to them at once. In windows it
    /// is not: what closes a window takes all messages of it along.
    pub(crate) fn nothing_after_sending(&self, state: MutexGuard<'_, S>) -> Turn {
        let epoch = self.idle.epoch();
        drop(state);
        if let Some(peers) = self.peers {
            // Without the lock, as it may wait for room. What comes meanwhile is not missed: frames are
            // pending, and work advances the epoch.
            peers.send_before_waiting();
            if peers.is_pending() {
                return Turn::Worked;
            }
        }
        Turn::nothing(epoch, self.answers.as_deref())
    }

    /// The state, once all workers have left.
    pub(crate) fn into_state(self) -> S {
        self.state.0.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
