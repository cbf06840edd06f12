//! A run as a value: its owner starts it, runs it up to any time, reads its states, sends it events, and ends
//! it in a report.
//!
//! A run consists of legs ([`course`]); between two calls of its owner it stands between two legs, at a
//! moment when nothing is speculative or under way. However it is cut into calls, its result is the same.

mod between;
mod build;
mod change;
mod clock;
mod course;
mod end;
mod groups;
mod processes;
mod real_time;
mod step;
mod sums;
mod together;

use std::sync::Arc;

use paceline_kernel::{Federate, LpId, Model, Time};
use thiserror::Error;

pub use build::default_federates;
pub use clock::Lateness;
use course::Course;
#[cfg(feature = "net")]
pub(crate) use processes::protocol;
use processes::send_failure;
use real_time::Entrance;
pub use real_time::Sender;
pub use step::{Sent, Stepped};

use crate::outside::Outsiders;
use crate::panics::guarded;
use crate::watch::monitor::Halt;
use crate::{Monitor, Report, RunError, Simulation, ThreadsError};

/// How a call of a [`Run`] ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reached {
    /// Everything before the time asked for has happened, and events are left for later.
    Time,
    /// No events are left before the horizon of the run.
    End,
    /// The run was asked to stop ([`Monitor::stop`]). Federates stand where their batches ended;
    /// [`Run::time`] is how far all of them have come.
    Stopped,
    /// The owner has asked for it ([`Monitor::ask_back`]): it can be looked at, and goes on with the next
    /// call.
    Paused,
}

/// Why an event from outside was refused.
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the text of an error says what its fields are")]
pub enum SendError {
    /// There is no such LP.
    #[error("an event for {lp} from outside; allowed: LPs below {lps}")]
    UnknownLp { lp: LpId, lps: u32 },
    /// What happens then is over.
    #[error("an event for {lp} at {at} from outside; allowed: {earliest} or later")]
    TooEarly { lp: LpId, at: Time, earliest: Time },
    /// It would never happen.
    #[error("an event for {lp} from outside at the end of time")]
    BeyondClock { lp: LpId },
}

paceline_kernel::debug_tells!(SendError);

/// A run that stands between two of its events, see [`Simulation::start`]. It may be dropped at any time.
///
/// ```
/// use paceline_engine::{Reached, Simulation};
/// use paceline_kernel::{Context, LpId, Model, Time};
///
/// /// An account that earns one a second, and takes deposits.
/// struct Account;
///
/// impl Model for Account {
///     type State = u64;
///     type Event = u64;
///     type Output = ();
/// #   fn lps(&self) -> u32 { 1 }
/// #   fn lookahead(&self) -> Time { Time::secs(1) }
///     fn init(&self, _: LpId, cx: &mut Context<Self>) -> u64 {
///         cx.schedule(Time::secs(1), 1);
///         0
///     }
///     fn handle(&self, balance: &mut u64, deposit: &u64, cx: &mut Context<Self>) {
///         *balance += deposit;
///         if *deposit == 1 {
///             cx.schedule(Time::secs(1), 1);
///         }
///     }
/// }
///
/// let mut run = Simulation::new(Account).until(Time::secs(100)).start()?;
/// assert_eq!(run.run_until(Time::secs(10))?, Reached::Time);
/// assert_eq!((run.time(), *run.state(LpId(0))), (Time::secs(10), 9));
///
/// run.send(LpId(0), Time::millis(10_500), 500)?;
/// let stepped = run.run_event()?.expect("there are events");
/// assert_eq!((stepped.time, stepped.event), (Time::secs(10), 1));
/// run.run_until(Time::secs(11))?;
/// assert_eq!(*run.state(LpId(0)), 510);
///
/// assert_eq!(run.run_until(Time::MAX)?, Reached::End);
/// assert_eq!(run.finish()?.events, 100);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Run<M: Model> {
    simulation: Simulation<M>,
    course: Course<M>,
    /// Where events from other threads wait.
    entrance: Arc<Entrance<M::Event>>,
    failed: bool,
}

impl<M: Model> std::fmt::Debug for Run<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Run")
            .field("time", &self.time())
            .field("pending", &self.pending())
            .finish_non_exhaustive()
    }
}

impl<M: Model> Run<M> {
    pub(crate) fn start(simulation: Simulation<M>) -> Result<Self, RunError> {
        guarded(|| Self::start_on(simulation))
    }

    fn start_on(mut simulation: Simulation<M>) -> Result<Self, RunError> {
        // Taken out: settings and what they are applied to live on side by side, and the snapshot is dealt to
        // federates.
        let resumed = simulation.resumed.take();
        let outsiders = Outsiders::new(std::mem::take(&mut simulation.outside));
        simulation.tracing.begin();
        simulation.publishing.begin();
        let course = build::build(&simulation, resumed, outsiders)?;
        // After the run was found to be one of the model as it was when it began.
        for change in &course.changes {
            change.make(&mut simulation.model)?;
        }
        Ok(Self { simulation, course, entrance: Arc::default(), failed: false })
    }

    /// The simulated time reached: everything before it has happened. After [`Run::run_event`], the time of
    /// that event.
    pub fn time(&self) -> Time {
        self.course.time
    }

    /// The earliest time for which [`Run::send`] takes events.
    pub fn earliest(&self) -> Time {
        self.course.earliest()
    }

    /// The time of the next event; none without events before the horizon.
    pub fn next_time(&mut self) -> Option<Time> {
        let next = self.course.lvt();
        Some(next).filter(|next| *next < self.simulation.until)
    }

    /// Events waiting in this process, those at or after the horizon among them.
    pub fn pending(&self) -> usize {
        self.course.pending()
    }

    /// Events that have happened in this process.
    pub fn events(&self) -> u64 {
        self.course.events()
    }

    /// The model as the simulation was made with it.
    pub fn model(&self) -> &M {
        &self.simulation.model
    }

    /// Whether this process has the LP now: always, unless the run has several processes
    /// ([`Simulation::join`]). While a call executes, LPs may move to another process
    /// ([`Simulation::balance`]).
    pub fn holds(&self, lp: LpId) -> bool {
        self.course.holds(lp)
    }

    /// The state of an LP. Panics if there is no such LP in this process.
    pub fn state(&self, lp: LpId) -> &M::State {
        let lps = self.simulation.model.lps();
        assert!(lp.0 < lps, "the state of {lp}; allowed: LPs below {lps}");
        assert!(self.holds(lp), "the state of {lp}; allowed: LPs of this process");
        self.course.state(lp)
    }

    /// The states of all LPs of this process, in the order of their numbers.
    pub fn states(&self) -> impl Iterator<Item = (LpId, &M::State)> {
        let lps = (0..self.simulation.model.lps()).map(LpId).filter(|lp| self.holds(*lp));
        lps.map(|lp| (lp, self.state(lp)))
    }

    /// Lists the pending events, in any order: receiver, time, event. Takes time for each of them.
    pub fn look_at_pending(&mut self, mut look: impl FnMut(LpId, Time, &M::Event)) {
        self.course.look_at_pending(&mut look);
    }

    /// Runs until everything before `until` has happened, or everything before the horizon of the run if that
    /// is earlier. Errors: the model breaks a rule, a checkpoint cannot be written. After an error the
    /// run cannot continue.
    pub fn run_until(&mut self, until: Time) -> Result<Reached, RunError> {
        self.live()?;
        let horizon = self.simulation.until;
        let until = until.min(horizon);
        let simulation = &self.simulation;
        let ran = guarded(|| {
            let course = &mut self.course;
            let halt = match simulation.pace {
                Some(factor) => course.run_in_real_time(simulation, until, factor, &self.entrance),
                None => {
                    course.admit(&self.entrance);
                    course.run(simulation, until)
                }
            };
            Ok((halt?, course.lvt()))
        });
        // After an error federates may be lost or half way through an event: nothing can be asked of the run
        // any more.
        self.failed = ran.is_err();
        // However it came back, it is back.
        self.simulation.monitor.take_wanted_back();
        Ok(match ran? {
            (Some(Halt::Stop), _) => Reached::Stopped,
            (Some(Halt::Pause), _) => Reached::Paused,
            (None, next) if next >= horizon => Reached::End,
            (None, _) => Reached::Time,
        })
    }

    /// Runs one window: from the next event for the lookahead of the model, or for its instant where there is
    /// none. With no event before the horizon it comes to the horizon. Errors as those of [`Run::run_until`].
    pub fn run_window(&mut self) -> Result<Reached, RunError> {
        let Some(next) = self.next_time() else { return self.run_until(Time::MAX) };
        // Without lookahead an instant is the smallest window that comes to an end.
        let width = self.simulation.model.lookahead().max(Time::TICK);
        self.run_until(next.saturating_add(width))
    }

    /// Runs the next event in the total order, on the calling thread, and says which it was. None where no
    /// event is left before the horizon; then the run has come to it. Errors: the model breaks a rule; the
    /// run has several processes, or an outside federate that does not do what the model would do.
    pub fn run_event(&mut self) -> Result<Option<Stepped<M::Event>>, RunError> {
        self.live()?;
        let simulation = &self.simulation;
        let stepped = guarded(|| {
            self.course.admit(&self.entrance);
            self.course.step(simulation)
        });
        self.failed = stepped.is_err();
        stepped
    }

    /// Whether [`Run::run_event`] can run events: all federates are in this process, and none outside.
    pub fn can_step(&self) -> bool {
        self.course.peers.is_none() && self.course.outsiders.is_empty()
    }

    /// The LP that handles the next event in the total order, and when; none where no event is left before
    /// the horizon, or where events cannot be run one by one. [`Run::run_event`] runs that event, unless one
    /// is sent in before it.
    pub fn next_event(&mut self) -> Option<(LpId, Time)> {
        if self.failed || !self.can_step() { None } else { self.course.peek(self.simulation.until) }
    }

    /// Ties simulated time to real time from here on, as [`Simulation::pace`] does, or with none no longer.
    /// Also to be called where a run goes on after its owner has kept it waiting, which else counts as being
    /// late.
    pub fn set_pace(&mut self, factor: Option<f64>) {
        self.simulation.pace = factor;
        self.course.tie = None;
    }

    /// Events waiting in each federate of this process, by its number in the leg that has ended: federates
    /// may be merged, and LPs move.
    pub fn pending_by_federate(&self) -> Vec<usize> {
        self.course.federates.iter().map(Federate::live).collect()
    }

    /// Sends an event from outside: it happens to `lp` at `at`, after all events at `at` that LPs have sent
    /// with a delay, and after those sent from outside before. It enters the digest, and is in checkpoints,
    /// as any other. Errors: there is no such LP, or the time is before [`Run::earliest`] or [`Time::MAX`].
    pub fn send(&mut self, lp: LpId, at: Time, event: M::Event) -> Result<(), SendError> {
        let (lps, earliest) = (self.simulation.model.lps(), self.earliest());
        if lp.0 >= lps {
            return Err(SendError::UnknownLp { lp, lps });
        }
        // The end of time stands for "never" in bounds: an event there would never be run.
        if at == Time::MAX {
            return Err(SendError::BeyondClock { lp });
        }
        if at < earliest {
            return Err(SendError::TooEarly { lp, at, earliest });
        }
        self.course.send(lp, at, event);
        Ok(())
    }

    /// A handle to send events from other threads while the run executes or waits. It takes them in when a
    /// call begins, and in a run that is tied to real time ([`Simulation::pace`]) at once.
    pub fn sender(&self) -> Sender<M::Event> {
        Sender::new(&self.entrance, self.simulation.model.lps())
    }

    /// How the run has kept up with real time so far, where it is tied to it.
    pub fn lateness(&self) -> Lateness {
        self.course.lateness
    }

    /// Writes a checkpoint now, where [`Simulation::checkpoint`] has said where to; else does nothing. Says
    /// whether it did. The file comes to the disk while the run goes on; that this failed is an error of a
    /// later call.
    pub fn checkpoint(&mut self) -> Result<bool, RunError> {
        self.live()?;
        let simulation = &self.simulation;
        let written = guarded(|| self.course.checkpoint(simulation));
        self.failed = written.is_err();
        written
    }

    /// Uses this many worker threads from the next call on, with the error of [`Monitor::set_threads`].
    pub fn set_threads(&self, threads: u32) -> Result<(), ThreadsError> {
        self.simulation.monitor.set_threads(threads)
    }

    /// A handle to watch and stop it from elsewhere, the one of [`Simulation::monitor`] if that was given.
    pub fn monitor(&self) -> Monitor {
        self.simulation.monitor.clone()
    }

    /// Ends the run where it is, and waits until its last checkpoint is on the disk. Errors: the model panics
    /// in `finish`, the checkpoint could not be written, or an error has ended the run before
    /// ([`RunError::Failed`]).
    pub fn finish(self) -> Result<Report<M::Output>, RunError> {
        self.finish_keeping_model().map(|(report, _)| report)
    }

    /// As [`Run::finish`], with the same errors, and hands the model back too.
    pub fn finish_keeping_model(self) -> Result<(Report<M::Output>, M), RunError> {
        self.live()?;
        let Self { simulation, course, .. } = self;
        let peers = course.peers.clone();
        let finished = guarded(|| course.finish(&simulation));
        // The other processes wait in the exchange of results, to which this one does not come.
        let mut report = finished.map_err(|error| send_failure(peers.as_deref(), error))?;
        report.unpaced = simulation.publishing.into_trouble();
        Ok((report, simulation.model))
    }

    fn live(&self) -> Result<(), RunError> {
        if self.failed { Err(RunError::Failed) } else { Ok(()) }
    }
}

pub(crate) fn run<M: Model>(simulation: Simulation<M>) -> Result<(Report<M::Output>, M), RunError> {
    let mut run = Run::start(simulation)?;
    run.run_until(Time::MAX)?;
    run.finish_keeping_model()
}
