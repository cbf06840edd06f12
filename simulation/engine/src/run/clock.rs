//! The clock of a run that is tied to real time, and how the run kept up with it.

use std::time::{Duration, Instant};

use paceline_kernel::Time;

/// How a run kept up with real time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lateness {
    /// How often it waited until something was due, and went on.
    pub looks: u64,
    /// The longest real time that an event happened after it was due.
    pub most: Duration,
    /// How late the last one was.
    pub last: Duration,
    /// Events from outside for a time that was over, which happened at the next time possible instead.
    pub moved: u64,
}

/// Which simulated time belongs to which real time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tie {
    /// Simulated seconds a second.
    pub(super) factor: f64,
    /// These two belong together: both advance from here.
    pub(super) real: Instant,
    pub(super) simulated: Time,
}

impl Tie {
    /// When `time` is due; none where that is beyond what the clock can say.
    pub(super) fn due(&self, time: Time) -> Option<Instant> {
        let seconds = time.saturating_sub(self.simulated).as_secs_f64() / self.factor;
        Duration::try_from_secs_f64(seconds).ok().and_then(|span| self.real.checked_add(span))
    }

    /// The simulated time that it is now by the clock.
    pub(super) fn present(&self) -> Time {
        let ns = self.real.elapsed().as_nanos() as f64 * self.factor;
        let since = if ns < u64::MAX as f64 { Time::nanos(ns as u64) } else { Time::MAX };
        self.simulated.saturating_add(since)
    }
}
