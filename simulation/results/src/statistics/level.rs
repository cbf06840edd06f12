//! The average over time of something that goes up and down.
//!
//! It is gathered from changes alone, each with its time, so that nobody needs to know the level before: the
//! sum of change x (end - time) over all changes is the sum of level x time. Both are summed without
//! rounding.

use paceline_kernel::Time;
use serde::{Deserialize, Serialize};

use super::{ExactSum, Join};

/// Something that goes up and down, such as the customers in a queue, or the queues of a thousand LPs
/// together.
///
/// For the average after a warm-up, changes before its end count as if they came at its end:
/// `at.max(warm_up)`.
///
/// ```
/// use paceline_kernel::Time;
/// use paceline_results::statistics::Level;
///
/// let mut queue = Level::default();
/// queue.change(Time::secs(10), 1.0);
/// queue.change(Time::secs(20), 2.0);
/// queue.change(Time::secs(30), -3.0);
/// assert_eq!(queue.mean(Time::ZERO, Time::secs(40)), Some(1.0)); // 10 s x 1 + 10 s x 3
/// assert_eq!(queue.last(), 0.0);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Level {
    changes: ExactSum,
    /// The sum of change x time, in nanoseconds.
    moments: ExactSum,
}

impl Level {
    /// Notes that the level changes by `by` at `at`. The level at the start is a change at that time.
    ///
    /// Panics where `by` is infinite or not a number.
    pub fn change(&mut self, at: Time, by: f64) {
        self.changes.add(by);
        add_moment(&mut self.moments, by, at);
    }

    /// The level after all changes.
    pub fn last(&self) -> f64 {
        self.changes.value()
    }

    /// The average from `from` to `until`. No change may lie outside. Nothing where that is no span of time.
    pub fn mean(&self, from: Time, until: Time) -> Option<f64> {
        let span = Some(until.saturating_sub(from)).filter(|span| *span > Time::ZERO)?;
        let (mut area, (level, rest)) = (ExactSum::default(), self.changes.parts());
        add_moment(&mut area, level, until);
        add_moment(&mut area, rest, until);
        let (moments, rest) = self.moments.parts();
        area.add(-moments);
        area.add(-rest);
        Some(area.value() / span.as_ticks() as f64)
    }
}

/// Adds the product of both, without rounding.
pub(super) fn add_moment(sum: &mut ExactSum, by: f64, at: Time) {
    const HALF: u32 = 32;
    let (high, low) = (at.as_ticks() >> HALF << HALF, at.as_ticks() as u32);
    sum.add_product(by, high as f64);
    sum.add_product(by, low.into());
}

impl Join for Level {
    fn join(&mut self, other: &Self) {
        self.changes.join(&other.changes);
        self.moments.join(&other.moments);
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn a_warm_up_counts_the_level_it_ends_with() {
        let (warm_up, end) = (Time::secs(15), Time::secs(25));
        let mut queue = Level::default();
        for (at, by) in [(0, 5.0), (10, -3.0), (20, 4.0)] {
            queue.change(Time::secs(at).max(warm_up), by);
        }
        assert_eq!(queue.mean(warm_up, end), Some(4.0));
        assert_eq!(queue.mean(end, end), None);
    }

    #[test]
    fn long_runs_lose_nothing() {
        // More nanoseconds than a floating-point number counts.
        let end = Time::ticks((1 << 60) + 1);
        let mut level = Level::default();
        level.change(Time::ZERO, 1.0);
        level.change(Time::ticks(1 << 60), -1.0);
        level.change(Time::ticks(1 << 60), 3.0);
        let area = level.mean(Time::ZERO, end).expect("it is a span") * end.as_ticks() as f64;
        assert_eq!(area, (1u64 << 60) as f64 + 3.0);
        let last = level.mean(Time::ZERO, Time::ticks(1 << 60));
        assert_eq!(last, Some(1.0));
    }
}
