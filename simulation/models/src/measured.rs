//! What models gather at commit in whole numbers: means of times, means of levels over time, and bins.
//!
//! Invariants: the order and the parts in which things are gathered do not matter, as sums of whole numbers
//! do not depend on them; no value makes anything here panic, so that outputs read from a damaged checkpoint
//! give wrong numbers at worst.

use paceline_kernel::Time;
use serde::{Deserialize, Serialize};

/// The most bins there are.
const BINS_MAX: usize = 64;

/// Times, of which the mean is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Times {
    pub count: u64,
    ticks: u128,
}

impl Times {
    pub fn add(&mut self, time: Time) {
        self.join(&Self { count: 1, ticks: u128::from(time.as_ticks()) });
    }

    pub fn join(&mut self, other: &Self) {
        self.count = self.count.wrapping_add(other.count);
        self.ticks = self.ticks.wrapping_add(other.ticks);
    }

    /// In seconds; nothing without times.
    pub fn mean_s(&self) -> Option<f64> {
        (self.count > 0).then(|| self.ticks as f64 / self.count as f64 / Time::TICKS_PER_SECOND as f64)
    }
}

/// A number that goes up and down, of which the mean over time is wanted: the sum of changes, and that of
/// change x time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Level {
    changes: i64,
    moments: i128,
}

impl Level {
    /// Notes a change. For the mean after a warm-up, a change before its end is one at its end.
    pub fn change(&mut self, at: Time, by: i64) {
        let moment = i128::from(by).wrapping_mul(i128::from(at.as_ticks()));
        self.join(&Self { changes: by, moments: moment });
    }

    pub fn join(&mut self, other: &Self) {
        self.changes = self.changes.wrapping_add(other.changes);
        self.moments = self.moments.wrapping_add(other.moments);
    }

    /// After all changes.
    pub fn last(&self) -> i64 {
        self.changes
    }

    /// From `from`, before which no change was noted, to `until`; nothing where that is no span of time.
    pub fn mean(&self, from: Time, until: Time) -> Option<f64> {
        let span = until.saturating_sub(from).as_ticks();
        let area = i128::from(self.changes).wrapping_mul(i128::from(until.as_ticks()));
        (span > 0).then(|| area.wrapping_sub(self.moments) as f64 / span as f64)
    }
}

/// Counts in bins of equal width from zero on. The width is the least power of two of ticks with which there
/// are at most [`BINS_MAX`] of them, so that it follows from the greatest time alone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Bins {
    exponent: u32,
    counts: Vec<i64>,
}

impl Bins {
    /// Adds `by` to the bin in which `time` lies.
    pub fn add(&mut self, time: Time, by: i64) {
        while time.as_ticks() >> self.exponent.min(63) >= BINS_MAX as u64 {
            self.widen();
        }
        self.add_at((time.as_ticks() >> self.exponent.min(63)) as usize, by);
    }

    pub fn join(&mut self, other: &Self) {
        while self.exponent < other.exponent {
            self.widen();
        }
        let narrower = (self.exponent - other.exponent).min(63);
        for (place, count) in other.counts.iter().enumerate() {
            self.add_at(place >> narrower, *count);
        }
    }

    /// Whether it can be what was gathered, if it has been read from somewhere.
    pub fn can_be(&self) -> bool {
        self.exponent < 64 && self.counts.len() <= BINS_MAX
    }

    /// The middle of each bin in seconds, and its count.
    pub fn middles(&self) -> Vec<(f64, f64)> {
        let point = |(place, count): (usize, &i64)| (self.seconds(place as f64 + 0.5), *count as f64);
        self.counts.iter().enumerate().map(point).collect()
    }

    /// The end of each bin in seconds, and the sum of all counts until then: a level of which changes were
    /// counted.
    pub fn levels(&self) -> Vec<(f64, f64)> {
        let mut level = 0_i64;
        let point = |(place, count): (usize, &i64)| {
            level = level.wrapping_add(*count);
            (self.seconds(place as f64 + 1.0), level as f64)
        };
        self.counts.iter().enumerate().map(point).collect()
    }

    fn seconds(&self, bins: f64) -> f64 {
        bins * 2_f64.powi(self.exponent.min(63) as i32) / Time::TICKS_PER_SECOND as f64
    }

    fn add_at(&mut self, place: usize, by: i64) {
        if self.counts.len() <= place {
            self.counts.resize(place + 1, 0);
        }
        self.counts[place] = self.counts[place].wrapping_add(by);
    }

    fn widen(&mut self) {
        let pair = |pair: &[i64]| pair.iter().fold(0_i64, |sum, count| sum.wrapping_add(*count));
        self.counts = self.counts.chunks(2).map(pair).collect();
        self.exponent += 1;
    }
}

#[cfg(test)]
mod tests {
    use paceline_kernel::Rng;

    use super::*;

    #[test]
    fn parts_and_order_do_not_matter() {
        let mut rng = Rng::new(1, 1);
        for _ in 0..50 {
            let values: Vec<(Time, i64)> =
                (0..40).map(|_| (Time::ticks(rng.u64() >> rng.below(64)), rng.below(9) as i64 - 4)).collect();
            let gathered = |values: &mut dyn Iterator<Item = &(Time, i64)>| {
                let (mut bins, mut level, mut times) = (Bins::default(), Level::default(), Times::default());
                for (at, by) in values {
                    bins.add(*at, *by);
                    level.change(*at, *by);
                    times.add(*at);
                }
                (bins, level, times)
            };
            let all = gathered(&mut values.iter());
            assert_eq!(all, gathered(&mut values.iter().rev()));
            let (mut bins, mut level, mut times) = gathered(&mut values[..13].iter());
            let (more_bins, more_level, more_times) = gathered(&mut values[13..].iter());
            bins.join(&more_bins);
            level.join(&more_level);
            times.join(&more_times);
            assert_eq!(all, (bins, level, times));
            assert!(all.0.can_be());
            assert_eq!(all.0.levels().last().map(|point| point.1), Some(all.1.last() as f64));
        }
    }

    #[test]
    fn a_level_has_its_mean_after_the_warm_up() {
        let (warm_up, end) = (Time::secs(15), Time::secs(25));
        let mut level = Level::default();
        for (at, by) in [(0, 5), (10, -3), (20, 4)] {
            level.change(Time::secs(at).max(warm_up), by);
        }
        assert_eq!((level.mean(warm_up, end), level.mean(end, end), level.last()), (Some(4.0), None, 6));
    }
}
