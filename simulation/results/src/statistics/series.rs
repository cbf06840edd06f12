//! A time series: the sum of what comes in each interval of the run, or the level at its end.

use std::collections::BTreeMap;
use std::io::{self, Write};

use paceline_kernel::Time;
use serde::{Deserialize, Serialize};

use super::{ExactSum, Join};

/// Sums by interval.
///
/// All calls of one series are to name the same interval; a model has it in a constant or a parameter.
///
/// ```
/// use paceline_kernel::Time;
/// use paceline_results::statistics::TimeSeries;
///
/// const MINUTE: Time = Time::secs(60);
/// let mut queue = TimeSeries::default();
/// queue.add(Time::secs(5), MINUTE, 1.0);
/// queue.add(Time::secs(70), MINUTE, 2.0);
/// queue.add(Time::secs(75), MINUTE, -1.0);
/// // What came in each minute, and how many there were at its end.
/// assert_eq!(queue.sums(MINUTE, Time::secs(180)), [(Time::ZERO, 1.0), (MINUTE, 1.0), (Time::secs(120), 0.0)]);
/// assert_eq!(queue.levels(MINUTE, Time::secs(180)).last(), Some(&(Time::secs(180), 2.0)));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TimeSeries {
    /// By the number of the interval.
    intervals: BTreeMap<u64, ExactSum>,
}

impl TimeSeries {
    /// Adds `value` to the interval of `every` in which `at` lies.
    ///
    /// Panics where `every` is zero, or `value` infinite or not a number.
    pub fn add(&mut self, at: Time, every: Time, value: f64) {
        self.intervals.entry(number(at, every)).or_default().add(value);
    }

    /// For each interval of `every` that begins before `until`: when it begins, and the sum of what was added
    /// in it.
    pub fn sums(&self, every: Time, until: Time) -> Vec<(Time, f64)> {
        let sum = |number| self.intervals.get(&number).map_or(0.0, ExactSum::value);
        intervals(every, until).map(|number| (start(number, every), sum(number))).collect()
    }

    /// For each of these intervals: when it ends, and the sum of all that was added until then. If what is
    /// added are changes, this is the level.
    pub fn levels(&self, every: Time, until: Time) -> Vec<(Time, f64)> {
        let mut level = ExactSum::default();
        let at_end = |number| {
            if let Some(changes) = self.intervals.get(&number) {
                level.join(changes);
            }
            (start(number + 1, every), level.value())
        };
        intervals(every, until).map(at_end).collect()
    }
}

/// Writes points as a table of comma-separated values with two columns, `time_s` and `name`.
pub fn write_csv(points: &[(Time, f64)], name: &str, to: &mut dyn Write) -> io::Result<()> {
    writeln!(to, "time_s,{name}")?;
    points.iter().try_for_each(|(at, value)| writeln!(to, "{},{value}", at.as_secs_f64()))
}

fn number(at: Time, every: Time) -> u64 {
    assert!(every > Time::ZERO, "a time series with intervals of 0 s; allowed: above zero");
    at.as_ticks() / every.as_ticks()
}

fn start(number: u64, every: Time) -> Time {
    Time::ticks(number.saturating_mul(every.as_ticks()))
}

fn intervals(every: Time, until: Time) -> std::ops::Range<u64> {
    let last = until.as_ticks().checked_sub(1).map(|last| number(Time::ticks(last), every));
    0..last.map_or(0, |last| last + 1)
}

impl Join for TimeSeries {
    fn join(&mut self, other: &Self) {
        for (number, sum) in &other.intervals {
            self.intervals.entry(*number).or_default().join(sum);
        }
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn points_are_written_a_line_each() {
        let mut series = TimeSeries::default();
        series.add(Time::millis(1_500), Time::secs(1), 0.25);
        let mut text = Vec::new();
        write_csv(&series.levels(Time::secs(1), Time::secs(2)), "busy", &mut text).expect("there is room");
        assert_eq!(String::from_utf8(text).unwrap(), "time_s,busy\n1,0\n2,0.25\n");
        assert_eq!(series.sums(Time::secs(1), Time::ZERO), []);
    }
}
