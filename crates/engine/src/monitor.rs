//! Looking at a run from outside, and stopping it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use paceline_kernel::Time;

/// A handle on a run: progress to read, and a way to end it early. Clones share the same run.
///
/// ```
/// use paceline_engine::Monitor;
/// let monitor = Monitor::new();
/// monitor.stop(); // from a signal handler, another thread, ...
/// assert!(monitor.stopped());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Monitor(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    events: AtomicU64,
    time_ns: AtomicU64,
}

impl Monitor {
    /// A handle for one run.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks the run to end after the batches in hand.
    pub fn stop(&self) {
        self.0.stop.store(true, Ordering::Relaxed);
    }

    /// Whether the run was asked to end.
    pub fn stopped(&self) -> bool {
        self.0.stop.load(Ordering::Relaxed)
    }

    /// Events committed so far.
    pub fn events(&self) -> u64 {
        self.0.events.load(Ordering::Relaxed)
    }

    /// The simulated time that every federate has reached.
    pub fn time(&self) -> Time {
        Time::nanos(self.0.time_ns.load(Ordering::Relaxed))
    }

    pub(crate) fn advance(&self, time: Time, events: u64) {
        self.0.time_ns.fetch_max(time.as_nanos(), Ordering::Relaxed);
        self.0.events.fetch_add(events, Ordering::Relaxed);
    }
}
