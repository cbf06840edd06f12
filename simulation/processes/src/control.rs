//! A handle on a run of processes for other threads: how far it has come, and a way to stop it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use paceline_kernel::Time;

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
}

impl Control {
    /// Asks the run to end after the current round.
    pub fn stop(&self) {
        self.0.stop.store(true, Ordering::Relaxed);
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
