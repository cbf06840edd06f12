//! A handle on a run of processes for other threads: how far it has come, and a way to stop it.

mod exchange;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use std::time::Duration;

use paceline_kernel::Time;

pub use exchange::AskError;
pub(crate) use exchange::{Exchange, Question, Stepping};

/// A handle on a run: progress to read, and a way to end it early. Clones share the same run.
///
/// ```
/// use paceline_processes::{Control, EndedBy, Process, Simulation};
/// use paceline_kernel::Time;
/// use paceline_network::{Constant, HostId};
///
/// let control = Control::default();
/// let mut simulation = Simulation::new(Constant::new(0.0), &[(1.0, 1)]).control(&control);
/// let stops = control.clone();
/// simulation.spawn("stops", HostId(0), async move |cx: Process<()>| {
///     cx.sleep(Time::secs(3)).await;
///     stops.stop(); // from a signal handler, another thread, ...
///     cx.sleep(Time::secs(3)).await;
/// });
/// let report = simulation.run()?;
/// assert_eq!((report.ended_by, control.time()), (EndedBy::Interrupted, Time::secs(3)));
/// # Ok::<(), paceline_processes::RunError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Control(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    time_ns: AtomicU64,
    steps: AtomicU64,
    exchange: Exchange,
}

impl Control {
    /// Asks the run to end after the current round.
    pub fn stop(&self) {
        self.0.stop.store(true, Ordering::Relaxed);
        self.0.exchange.wake();
    }

    /// Asks why the processes of this number or name wait: for what, since when, and who holds that, in a
    /// line. The run answers between two turns; an error where it has not within `patience`.
    pub fn why(&self, process: &str, patience: Duration) -> Result<String, AskError> {
        self.0.exchange.ask(Question::Why(process.to_owned()), patience)
    }

    /// Lets one process resume, and says which, in a line; from then on the run waits before each turn until
    /// it is asked for the next step, or to [go on](Self::go_on). Results stay the same.
    pub fn step(&self, patience: Duration) -> Result<String, AskError> {
        self.0.exchange.ask(Question::Step, patience)
    }

    /// Lets the run wait before each turn until it is asked for a step, or to [go on](Self::go_on).
    pub fn pause(&self, patience: Duration) -> Result<String, AskError> {
        self.0.exchange.ask(Question::Hold, patience)
    }

    /// The same without waiting for the answer: a run that has not begun then waits before its first turn.
    pub fn hold(&self) {
        self.0.exchange.leave(Question::Hold);
    }

    /// Lets a run that is stepped go on.
    pub fn go_on(&self, patience: Duration) -> Result<String, AskError> {
        self.0.exchange.ask(Question::Go, patience)
    }

    pub(crate) fn exchange(&self) -> &Exchange {
        &self.0.exchange
    }

    /// Whether the run was asked to end.
    pub fn stopped(&self) -> bool {
        self.0.stop.load(Ordering::Relaxed)
    }

    /// The simulated time reached.
    pub fn time(&self) -> Time {
        Time::nanos(self.0.time_ns.load(Ordering::Relaxed))
    }

    /// The number of times that a process was resumed.
    pub fn steps(&self) -> u64 {
        self.0.steps.load(Ordering::Relaxed)
    }

    pub(crate) fn advance(&self, time: Time, steps: u64) {
        self.0.time_ns.fetch_max(time.as_nanos(), Ordering::Relaxed);
        self.0.steps.fetch_add(steps, Ordering::Relaxed);
    }

    pub(crate) fn went_on(&self, time: Time, steps: u64) {
        self.0.time_ns.store(time.as_nanos(), Ordering::Relaxed);
        self.0.steps.store(steps, Ordering::Relaxed);
    }
}
