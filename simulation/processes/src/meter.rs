//! How much of the time of a run could be divided among threads: the code of rounds of several processes.
//!
//! Clocks cost more than a short turn, so of small rounds only some are timed and stand for the others. A
//! round on many threads counts as often as there are threads, which is the most that one thread would take
//! for it.

use std::time::{Duration, Instant};

/// Rounds of fewer processes are small.
const LARGE: usize = 8;
/// One of so many small rounds is timed.
const TIMED: u32 = 16;

/// Estimates the time that the code of rounds of several processes took.
#[derive(Clone, Debug)]
pub(crate) struct Meter {
    pub(crate) begun: Instant,
    threads: f64,
    small: u32,
    /// Seconds that the code of rounds of several would take on one thread.
    code: f64,
    /// Of those, the ones that it did not take because it ran on many.
    saved: f64,
}

impl Meter {
    pub(crate) fn new(threads: usize, begun: Instant) -> Self {
        Self { begun, threads: threads as f64, small: 0, code: 0.0, saved: 0.0 }
    }

    /// Whether a round of `size` processes is to be timed.
    pub(crate) fn wants(&mut self, size: usize, is_parallel: bool) -> bool {
        if is_parallel || !(2..LARGE).contains(&size) {
            return size > 1;
        }
        self.small = self.small.wrapping_add(1);
        self.small % TIMED == 1
    }

    /// The code of a round that was to be timed took so long.
    pub(crate) fn took(&mut self, size: usize, is_parallel: bool, code: Duration) {
        let seconds = code.as_secs_f64();
        match (is_parallel, size < LARGE) {
            (true, _) => {
                self.code += seconds * self.threads;
                self.saved += seconds * (self.threads - 1.0);
            }
            (false, true) => self.code += seconds * f64::from(TIMED),
            (false, false) => self.code += seconds,
        }
    }

    /// The share of the time of one thread, of a run that took `wall`.
    pub(crate) fn share(&self, wall: Duration) -> f64 {
        (self.code / (wall.as_secs_f64() + self.saved).max(f64::MIN_POSITIVE)).min(1.0)
    }
}

#[cfg(test)]
mod test {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// Rounds of `size` that take 1 ms each, within a run of 100 ms.
    fn share(rounds: u32, size: usize, is_parallel: bool) -> f64 {
        let mut meter = Meter::new(4, Instant::now());
        for _ in 0..rounds {
            if meter.wants(size, is_parallel) {
                meter.took(size, is_parallel, MS);
            }
        }
        meter.share(100 * MS)
    }

    #[test]
    fn only_rounds_of_several_can_be_divided_and_few_that_are_timed_stand_for_all() {
        assert_eq!(share(80, 1, false), 0.0);
        assert!((share(80, 2, false) - 0.8).abs() < 1e-9, "five are timed");
        assert!((share(80, 100, false) - 0.8).abs() < 1e-9, "all are");
    }

    #[test]
    fn what_ran_on_many_threads_would_have_taken_one_as_long_as_all_of_them_at_most() {
        // 80 ms on four threads: 320 ms of 340.
        assert!((share(80, 2, true) - 320.0 / 340.0).abs() < 1e-9);
    }
}
