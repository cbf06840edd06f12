//! Ways to do the same work that take turns in real time: their order, seconds by way and turn, and their
//! statistics.

use std::fs;

use crate::prelude::*;

/// The order in which `ways` run in a turn: none is always first, nor always after the same one.
pub fn order(turn: usize, ways: usize) -> impl Iterator<Item = usize> {
    (0..ways).map(move |step| {
        let step = if turn.is_multiple_of(2) { step } else { ways - 1 - step };
        (step + turn) % ways
    })
}

/// The CPU time of this process and of the programs that it has waited for, in seconds.
pub fn cpu_seconds() -> Found<f64> {
    let stat = fs::read_to_string("/proc/self/stat")
        .map_err(|error| CellError::Guests(format!("/proc/self/stat: {error}")))?;
    // The second field, the program's name in brackets, may have blanks: count from its end. Fields 14 to 17
    // of proc(5) are in hundredths of a second: own time and that of children, in user and kernel mode.
    let fields = stat.rsplit(") ").next().unwrap_or_default().split(' ');
    let ticks: u64 = fields.skip(11).take(4).filter_map(|field| field.parse::<u64>().ok()).sum();
    Ok(ticks as f64 / 100.0)
}

/// Seconds of a way, turn by turn.
#[derive(Clone, Debug)]
pub struct Times(pub Vec<f64>);

impl Times {
    /// Of points whose y are seconds.
    pub fn of(points: &[(f64, f64)]) -> Self {
        Self(points.iter().map(|(_, seconds)| *seconds).collect())
    }

    /// The sums of both, turn by turn.
    pub fn plus(&self, other: &Self) -> Self {
        Self(self.0.iter().zip(&other.0).map(|(one, other)| one + other).collect())
    }

    pub fn median(&self) -> f64 {
        median(&self.0)
    }

    /// The median, and in brackets the least and the greatest, in units of 1 / `scale` seconds.
    pub fn text(&self, scale: f64) -> String {
        let least = self.0.iter().copied().fold(f64::INFINITY, f64::min);
        let most = self.0.iter().copied().fold(0.0, f64::max);
        format!("{:.1} ({:.1} - {:.1})", scale * self.median(), scale * least, scale * most)
    }

    /// How long it takes compared with `other`: the median of the ratios of all turns.
    pub fn ratio(&self, other: &Self) -> f64 {
        self.compared(other).value
    }

    /// The same with the interval in which the median lies.
    pub fn compared(&self, other: &Self) -> Estimate {
        let ratios: Vec<f64> = self.0.iter().zip(&other.0).map(|(one, other)| one / other).collect();
        median_within(ratios)
    }
}

/// The median of values, and the interval in which that of all runs lies with a confidence of 95 %, whatever
/// their distribution: between two of the values, as many from the ends as so few runs allow. Fewer than six
/// values do not give that confidence; then it is from the least to the greatest.
fn median_within(mut values: Vec<f64>) -> Estimate {
    values.sort_by(f64::total_cmp);
    let (count, value) = (values.len(), median(&values));
    // The chance that fewer than so many of the values are below the median of all.
    let (mut chance, mut beyond, mut from_end) = (0.0, 0.5f64.powi(count as i32), 0);
    while from_end < count / 2 && 2.0 * (chance + beyond) <= 0.05 {
        chance += beyond;
        from_end += 1;
        beyond *= (count - from_end + 1) as f64 / from_end as f64;
    }
    let place = from_end.saturating_sub(1);
    match (values.get(place), values.get((count - 1).saturating_sub(place))) {
        (Some(low), Some(high)) => Estimate { value, low: *low, high: *high },
        _ => Estimate::UNKNOWN,
    }
}

/// Seconds of several ways, turn by turn, as series of a measure.
#[derive(Clone, Copy, Debug)]
pub struct Ways<'r>(pub &'r [Vec<(f64, f64)>]);

impl Ways<'_> {
    fn times(&self, way: usize) -> Times {
        Times::of(&self.0[way])
    }

    pub fn median(&self, way: usize) -> f64 {
        self.times(way).median()
    }

    /// The median of a way, and in brackets the least and the greatest, in milliseconds.
    pub fn text(&self, way: usize) -> String {
        self.times(way).text(1e3)
    }

    /// How long `way` takes compared with `other`, as [`Times::ratio`] has it.
    pub fn ratio(&self, way: usize, other: usize) -> f64 {
        self.compared(way, other).value
    }

    /// The same with its interval, as [`Times::compared`] has it.
    pub fn compared(&self, way: usize, other: usize) -> Estimate {
        self.times(way).compared(&self.times(other))
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn every_way_has_one_turn_and_the_first_one_changes() {
        for ways in 1..7 {
            for turn in 0..9 {
                let mut all: Vec<_> = order(turn, ways).collect();
                all.sort_unstable();
                assert!(all.into_iter().eq(0..ways));
            }
        }
        let first: Vec<_> = (0..4).map(|turn| order(turn, 3).next()).collect();
        assert_eq!(first, [Some(0), Some(0), Some(2), Some(2)]);
    }

    #[test]
    fn the_median_lies_between_values_as_far_from_the_ends_as_their_number_allows() {
        // The greatest ranks for 95 %, from tables of the sign test.
        for (count, from_end) in [(1, 1), (3, 1), (5, 1), (6, 1), (8, 1), (9, 2), (15, 4), (21, 6)] {
            let values: Vec<f64> = (1..=count).rev().map(f64::from).collect();
            let Estimate { value, low, high } = median_within(values);
            let middle = f64::from(count + 1) / 2.0;
            assert_eq!((value, low, high), (middle, f64::from(from_end), f64::from(count + 1 - from_end)));
        }
    }

    #[test]
    fn a_slow_moment_counts_for_both() {
        let (one, other) = (Times(vec![1.0, 10.0, 1.0]), Times(vec![2.0, 20.0, 2.2]));
        assert_eq!((other.ratio(&one), one.median(), one.plus(&other).0[1]), (2.0, 1.0, 30.0));
        let series = [&one, &other].map(|times| times.0.iter().map(|seconds| (0.0, *seconds)).collect());
        let ways = Ways(&series);
        assert_eq!((ways.ratio(1, 0), ways.text(0)), (2.0, "1000.0 (1000.0 - 10000.0)".to_owned()));
        assert_eq!(one.text(1e3), "1000.0 (1000.0 - 10000.0)");
    }
}
