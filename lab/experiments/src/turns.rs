//! Ways to do the same work that take turns in real time: their order, seconds by way and turn, and their
//! statistics.

use crate::prelude::*;

/// The order in which `ways` run in a turn: none is always first, nor always after the same one.
pub fn order(turn: usize, ways: usize) -> impl Iterator<Item = usize> {
    (0..ways).map(move |step| {
        let step = if turn.is_multiple_of(2) { step } else { ways - 1 - step };
        (step + turn) % ways
    })
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
        let ratios: Vec<f64> = self.0.iter().zip(&other.0).map(|(one, other)| one / other).collect();
        median(&ratios)
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
        self.times(way).ratio(&self.times(other))
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
    fn a_slow_moment_counts_for_both() {
        let (one, other) = (Times(vec![1.0, 10.0, 1.0]), Times(vec![2.0, 20.0, 2.2]));
        assert_eq!((other.ratio(&one), one.median(), one.plus(&other).0[1]), (2.0, 1.0, 30.0));
        let series = [&one, &other].map(|times| times.0.iter().map(|seconds| (0.0, *seconds)).collect());
        let ways = Ways(&series);
        assert_eq!((ways.ratio(1, 0), ways.text(0)), (2.0, "1000.0 (1000.0 - 10000.0)".to_owned()));
        assert_eq!(one.text(1e3), "1000.0 (1000.0 - 10000.0)");
    }
}
