//! Steering a run of LPs: what `ctl` and the live page ask of it is done by the thread that owns the run,
//! between two of its legs, where nothing is speculative or under way.
//!
//! [`Steering::ask`] may be called by any thread: it asks the run back from its workers and waits for the
//! answer. [`Steering::drive`] runs a run to its end, and in between does what was asked.
//!
//! Invariants: however a run is steered, its result stays; a run that is not steered pays nothing; requests
//! wait in a list that is bounded, and each gets one answer.

mod owner;
mod parameters;
mod requests;
mod stepped;

use std::collections::VecDeque;
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use paceline_engine::{Monitor, Reached, Run, RunError};
use paceline_kernel::{Model, Parameter, Time};
use serde::Serialize;
use serde::de::DeserializeOwned;

pub(crate) use owner::Owner;
pub(crate) use parameters::Setting;
#[cfg(feature = "live")]
pub(crate) use parameters::described;
pub(crate) use requests::{Requests, Watched};

use crate::text;

/// How often a run that is paused looks whether it is to stop: a signal handler wakes nobody.
const LOOK: Duration = Duration::from_millis(20);
/// Requests that wait at most; who comes later is refused.
const WAITING_MAX: usize = 32;

/// What a run can be asked to do.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Request {
    /// Wait, once what is in hand is done.
    Pause,
    /// Go on.
    Go,
    /// Run one window, and wait.
    Window,
    /// Run one event, say which it was, and wait.
    Event,
    /// Write a checkpoint.
    Checkpoint,
    /// Go as fast as real time times this; with none, as fast as it can.
    Pace(Option<f64>),
    /// Say which parameters can be changed.
    Parameters,
    /// Change a parameter.
    Set(Setting),
    /// What the program asks that has started it, and that advances it.
    Owner(owner::Wish),
}

type Answer = Result<String, String>;

/// A handle to steer a run. Clones are of the same run.
#[derive(Clone, Debug)]
pub struct Steering(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    monitor: Monitor,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    requests: VecDeque<(Request, SyncSender<Answer>)>,
    /// Whether the run waits.
    is_paused: bool,
    /// Whether its owner wants it to end where it is.
    is_finished: bool,
    pace: Option<f64>,
    /// The parameters that can be changed, as the run was when it stood still last.
    parameters: Vec<Parameter>,
    stage: Stage,
}

/// Whether the run answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    /// It is being built: requests wait.
    #[default]
    Before,
    Driven,
    /// It has ended, or cannot be steered.
    Over,
}

/// Looks at a run between two of its legs; true for the last time, at its end.
pub(crate) type Look<'l, M> = &'l mut dyn FnMut(&mut Run<M>, bool);

impl Steering {
    /// For the run that `monitor` watches. `is_paused` says whether it waits before its first event.
    pub fn new(monitor: &Monitor, is_paused: bool) -> Self {
        let state = State { is_paused, ..State::default() };
        Self(Arc::new(Shared { monitor: monitor.clone(), state: Mutex::new(state), changed: Condvar::new() }))
    }

    /// Whether the run waits to go on.
    pub(crate) fn is_paused(&self) -> bool {
        self.state().is_paused
    }

    /// Simulated seconds a second, where the run is tied to real time.
    #[cfg(feature = "live")]
    pub(crate) fn pace(&self) -> Option<f64> {
        self.state().pace
    }

    /// The parameters that can be changed, with their values when the run stood still last.
    #[cfg(feature = "live")]
    pub(crate) fn parameters(&self) -> Vec<Parameter> {
        self.state().parameters.clone()
    }

    /// Whether nobody drives the run any more, or ever.
    #[cfg(feature = "live")]
    pub(crate) fn is_over(&self) -> bool {
        self.state().stage == Stage::Over
    }

    pub(crate) fn monitor(&self) -> &Monitor {
        &self.0.monitor
    }

    /// Asks the run for something, and waits for its answer, at most for `patience`: it answers between two
    /// batches of events.
    pub(crate) fn ask(&self, request: Request, patience: Duration) -> Answer {
        let (sender, answer) = sync_channel(1);
        {
            let mut state = self.state();
            if state.stage == Stage::Over {
                return Err("the run has ended, or has several processes".into());
            }
            if state.requests.len() >= WAITING_MAX {
                return Err(format!("{WAITING_MAX} requests wait already"));
            }
            state.requests.push_back((request, sender));
        }
        self.0.changed.notify_all();
        self.0.monitor.ask_back();
        match answer.recv_timeout(patience) {
            Ok(answer) => answer,
            Err(RecvTimeoutError::Disconnected) => Err("the run has ended".into()),
            Err(RecvTimeoutError::Timeout) => Err(format!(
                "no answer yet after {patience:?}: an event takes long, or the run is not at work; it is done when \
                 the run comes to it"
            )),
        }
    }

    /// Asks the run to let itself be looked at, without waiting for it.
    pub(crate) fn wake(&self) {
        let is_driven = self.state().stage == Stage::Driven;
        if is_driven {
            self.0.changed.notify_all();
            self.0.monitor.ask_back();
        }
    }

    /// Runs a run to its end, or until it is stopped, and does what is asked meanwhile. `look` is called each
    /// time that the run stands still, and once at its end.
    pub(crate) fn drive<M: Model>(&self, run: &mut Run<M>, look: Look<'_, M>) -> Result<(), RunError>
    where
        M::State: Serialize,
        M::Event: Serialize + DeserializeOwned,
    {
        self.state().stage = Stage::Driven;
        let driven = self.drive_on(run, look);
        self.close();
        if driven.is_ok() {
            look(run, true);
        }
        driven
    }

    /// Nobody drives the run any more, or ever.
    pub(crate) fn close(&self) {
        let mut state = self.state();
        (state.stage, state.is_paused) = (Stage::Over, false);
        // Whoever still waits for an answer is refused, by the end of the channel.
        state.requests.clear();
    }

    fn drive_on<M: Model>(&self, run: &mut Run<M>, look: Look<'_, M>) -> Result<(), RunError>
    where
        M::State: Serialize,
        M::Event: Serialize + DeserializeOwned,
    {
        self.serve(run, look)?;
        while !self.state().is_finished && run.run_until(Time::MAX)? == Reached::Paused {
            self.serve(run, look)?;
        }
        Ok(())
    }

    /// Does what was asked, and comes back once the run is to go on, or to stop.
    fn serve<M: Model>(&self, run: &mut Run<M>, look: Look<'_, M>) -> Result<(), RunError>
    where
        M::State: Serialize,
        M::Event: Serialize + DeserializeOwned,
    {
        let mut has_waited = false;
        loop {
            while let Some((request, sender)) = self.take() {
                let answer = self.carry_out(run, request)?;
                // Who asked may have lost patience.
                let _ = sender.try_send(answer);
            }
            let parameters = run.parameters()?;
            self.state().parameters = parameters;
            look(run, false);
            let state = self.state();
            if !state.is_paused || state.is_finished || self.0.monitor.stopped() {
                // What passed while it waited does not count as being late; a window was run as fast as it
                // could.
                if has_waited && state.pace.is_some() {
                    run.set_pace(state.pace);
                }
                return Ok(());
            }
            has_waited = true;
            if state.requests.is_empty() {
                drop(self.0.changed.wait_timeout(state, LOOK).unwrap_or_else(PoisonError::into_inner));
            }
        }
    }

    /// Does one thing. The outer error is that of the run, which cannot go on.
    fn carry_out<M: Model>(&self, run: &mut Run<M>, request: Request) -> Result<Answer, RunError>
    where
        M::State: Serialize,
        M::Event: Serialize + DeserializeOwned,
    {
        if let Request::Pause | Request::Window | Request::Event = request {
            self.state().is_paused = true;
        }
        if request == Request::Owner(owner::Wish::Finish) {
            self.state().is_finished = true;
        }
        Ok(Ok(match request {
            Request::Owner(wish) => return owner::carry_out(run, wish),
            Request::Pause => format!("paused at {}", run.time()),
            Request::Go => {
                self.state().is_paused = false;
                format!("goes on from {}", run.time())
            }
            Request::Event => return stepped::event(run),
            Request::Parameters => parameters::list(run)?,
            Request::Set(setting) => {
                return Ok(parameters::set(run, &setting)?.map(|made| parameters::said(&made)));
            }
            Request::Window => {
                let before = run.events();
                run.set_pace(None);
                let end = window_end(run);
                advance(run, end)?;
                let events = text::count(run.events() - before);
                format!("paused at {}, {events} events on", run.time())
            }
            Request::Checkpoint => {
                match run.checkpoint()? {
                    true => format!("a checkpoint at {}", run.time()),
                    false => {
                        return Ok(Err("the run has no file for checkpoints; allowed: a run with run.checkpoint, such as \
                                   --set run.checkpoint=1h"
                        .into()));
                    }
                }
            }
            Request::Pace(pace) => {
                run.set_pace(pace);
                self.state().pace = pace;
                match pace {
                    Some(factor) => format!("{factor} simulated seconds a second from {} on", run.time()),
                    None => "as fast as it can from now on".into(),
                }
            }
        }))
    }

    fn take(&self) -> Option<(Request, SyncSender<Answer>)> {
        self.state().requests.pop_front()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing that may panic is done while it is held.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where the window ends that begins with the next event.
fn window_end<M: Model>(run: &mut Run<M>) -> Time {
    match run.next_time() {
        // Without lookahead an instant is the smallest window that comes to an end.
        Some(next) => next.saturating_add(run.model().lookahead().max(Time::TICK)),
        None => Time::MAX,
    }
}

/// Comes to a time. Who asks for something else meanwhile asks the run back: it comes to the time first.
fn advance<M: Model>(run: &mut Run<M>, until: Time) -> Result<Reached, RunError> {
    loop {
        match run.run_until(until)? {
            Reached::Paused => {}
            reached => return Ok(reached),
        }
    }
}
