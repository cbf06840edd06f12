//! What runs say together: means with their intervals, paired differences, effects and interactions of
//! factors.
//!
//! Everything is a contrast: a weighted sum over points, computed once for each replication. Its mean over
//! replications has an interval by Student's t, which holds whether points have common random numbers or not;
//! with common ones it is narrower (Law, 2015, section 11.2). Invariant: a replication counts in a contrast
//! only if all points of the contrast have a value in it.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// The confidence of all intervals.
pub const CONFIDENCE: f64 = 0.95;

/// A mean over replications.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Half the width of its interval; none for a single replication.
    pub half_width: Option<f64>,
    /// How many replications count.
    pub count: usize,
}

impl Estimate {
    /// Of these values, one for each replication; none where there are no values. `alternatives` intervals
    /// hold together with [`CONFIDENCE`] (Bonferroni); 1 for one that stands alone.
    pub fn of(values: &[f64], alternatives: usize) -> Option<Self> {
        let count = values.len();
        if count == 0 {
            return None;
        }
        let mean = values.iter().sum::<f64>() / count as f64;
        let freedom = count as f64 - 1.0;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / freedom.max(1.0);
        let tail = (1.0 - CONFIDENCE) / 2.0 / alternatives.max(1) as f64;
        let quantile = StudentsT::new(0.0, 1.0, freedom).ok().map(|student| student.inverse_cdf(1.0 - tail));
        let half_width = quantile.map(|quantile| quantile * (variance / count as f64).sqrt());
        Some(Self { mean, half_width, count })
    }

    /// The ends of the interval.
    pub fn interval(&self) -> Option<(f64, f64)> {
        self.half_width.map(|half| (self.mean - half, self.mean + half))
    }

    /// Whether the interval leaves out zero.
    pub fn differs_from_zero(&self) -> bool {
        self.interval().is_some_and(|(low, high)| low > 0.0 || high < 0.0)
    }
}

/// The values of a metric: at each point, one for each replication that has one.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// By point and replication.
    pub values: Vec<Vec<Option<f64>>>,
}

/// How far the mean at a level is from the mean of all.
#[derive(Clone, Debug, PartialEq)]
pub struct Effect {
    /// The levels: of one factor or of two, each with the place of the factor.
    pub levels: Vec<(usize, usize)>,
    /// The mean at these levels.
    pub mean: Option<Estimate>,
    /// The effect: for one factor the difference to the mean of all, for two what their main effects leave.
    pub effect: Option<Estimate>,
}

impl Sample {
    /// The mean at each point.
    pub fn means(&self) -> Vec<Option<Estimate>> {
        let mean = |values: &Vec<Option<f64>>| {
            Estimate::of(&values.iter().copied().flatten().collect::<Vec<_>>(), 1)
        };
        self.values.iter().map(mean).collect()
    }

    /// The difference of each point to `reference`, paired by replication. All of them hold together with
    /// [`CONFIDENCE`].
    pub fn differences(&self, reference: usize) -> Vec<Option<Estimate>> {
        let alternatives = self.values.len().saturating_sub(1);
        let difference = |point: usize| {
            let pairs = self.values[point].iter().zip(&self.values[reference]);
            let values: Vec<f64> = pairs.filter_map(|(here, there)| Some((*here)? - (*there)?)).collect();
            Estimate::of(&values, alternatives)
        };
        (0..self.values.len()).map(difference).collect()
    }

    /// The replications in which all points have a value.
    fn complete(&self) -> Vec<usize> {
        let least = self.values.iter().map(Vec::len).min().unwrap_or(0);
        (0..least).filter(|one| self.values.iter().all(|values| values[*one].is_some())).collect()
    }

    /// The mean over these points in a replication.
    fn mean_of(&self, points: &[usize], replication: usize) -> f64 {
        points.iter().filter_map(|point| self.values[*point][replication]).sum::<f64>() / points.len() as f64
    }

    fn estimate(&self, value: impl Fn(usize) -> f64) -> Option<Estimate> {
        Estimate::of(&self.complete().into_iter().map(value).collect::<Vec<_>>(), 1)
    }

    /// The main effect of each level of each factor of a grid. `grid` has for each point the place of its
    /// level in each factor.
    pub fn main_effects(&self, grid: &[Vec<usize>]) -> Vec<Effect> {
        let all: Vec<usize> = (0..grid.len()).collect();
        let effect = |(factor, level)| {
            let points = points_at(grid, &[(factor, level)]);
            let mean = self.estimate(|one| self.mean_of(&points, one));
            let effect = self.estimate(|one| self.mean_of(&points, one) - self.mean_of(&all, one));
            Effect { levels: vec![(factor, level)], mean, effect }
        };
        levels_of(grid).into_iter().map(effect).collect()
    }

    /// The interaction of each two levels of different factors of a grid: how far the mean there is from what
    /// the main effects add up to.
    pub fn interactions(&self, grid: &[Vec<usize>]) -> Vec<Effect> {
        let all: Vec<usize> = (0..grid.len()).collect();
        let levels = levels_of(grid);
        let pairs = levels
            .iter()
            .flat_map(|one| levels.iter().filter(|other| one.0 < other.0).map(|other| [*one, *other]));
        let effect = |[one, other]: [(usize, usize); 2]| {
            let both = points_at(grid, &[one, other]);
            let (first, second) = (points_at(grid, &[one]), points_at(grid, &[other]));
            let effect = self.estimate(|at| {
                self.mean_of(&both, at) - self.mean_of(&first, at) - self.mean_of(&second, at)
                    + self.mean_of(&all, at)
            });
            Effect { levels: vec![one, other], mean: self.estimate(|at| self.mean_of(&both, at)), effect }
        };
        pairs.map(effect).collect()
    }
}

/// The points that have these levels.
fn points_at(grid: &[Vec<usize>], levels: &[(usize, usize)]) -> Vec<usize> {
    let has = |point: &Vec<usize>| levels.iter().all(|(factor, level)| point[*factor] == *level);
    (0..grid.len()).filter(|place| has(&grid[*place])).collect()
}

/// All levels of all factors of which there is more than one.
fn levels_of(grid: &[Vec<usize>]) -> Vec<(usize, usize)> {
    let factors = grid.first().map_or(0, Vec::len);
    let count = |factor: usize| grid.iter().map(|point| point[factor] + 1).max().unwrap_or(0);
    let varied = (0..factors).filter(|factor| count(*factor) > 1);
    varied.flat_map(|factor| (0..count(factor)).map(move |level| (factor, level))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_kernel::Rng;
    use proptest::prelude::*;

    /// A grid of two factors with so many levels.
    fn grid(first: usize, second: usize) -> Vec<Vec<usize>> {
        (0..first).flat_map(|one| (0..second).map(move |other| vec![one, other])).collect()
    }

    fn near(one: f64, other: f64) -> bool {
        (one - other).abs() <= 1e-9 * (1.0 + other.abs())
    }

    #[test]
    fn an_interval_is_that_of_the_tables() {
        // t(0.975, 4) = 2.776; the standard deviation of 1 to 5 is 1.5811. With five alternatives: t(0.995,
        // 4) = 4.604.
        for (alternatives, quantile) in [(1, 2.776), (5, 4.604)] {
            let found = Estimate::of(&[1.0, 2.0, 3.0, 4.0, 5.0], alternatives).unwrap();
            let half = found.half_width.unwrap();
            assert!(near(found.mean, 3.0) && (half - quantile * 1.5811 / 5f64.sqrt()).abs() < 2e-3, "{half}");
        }
        assert_eq!((Estimate::of(&[2.0], 1).unwrap().half_width, Estimate::of(&[], 1)), (None, None));
    }

    #[test]
    fn intervals_of_95_percent_hold_the_mean_in_so_many_of_all_cases() {
        let mut rng = Rng::new(3, 3);
        let holds = (0..2000).filter(|_| {
            let values: Vec<f64> = (0..6).map(|_| rng.normal(5.0, 2.0)).collect();
            let (low, high) = Estimate::of(&values, 1).and_then(|found| found.interval()).unwrap();
            (low..=high).contains(&5.0)
        });
        let part = holds.count() as f64 / 2000.0;
        assert!((0.93..0.97).contains(&part), "{part}");
    }

    #[test]
    fn common_random_numbers_make_differences_certain_that_means_leave_open() {
        let mut rng = Rng::new(5, 5);
        let noise: Vec<f64> = (0..10).map(|_| rng.normal(0.0, 10.0)).collect();
        let at = |by: f64| noise.iter().map(|noise| Some(100.0 + by + noise)).collect();
        let sample = Sample { values: vec![at(0.0), at(1.0)] };
        let [Some(first), Some(second)] = sample.means()[..] else { panic!("both have means") };
        assert!(first.interval().unwrap().1 > second.interval().unwrap().0, "the means overlap");
        let difference = sample.differences(0)[1].unwrap();
        assert!(near(difference.mean, 1.0) && difference.differs_from_zero(), "{difference:?}");
    }

    #[test]
    fn what_is_missing_in_one_point_counts_in_no_difference_and_no_effect() {
        let sample =
            Sample { values: vec![vec![Some(1.0), None, Some(3.0)], vec![Some(2.0), Some(9.0), Some(4.0)]] };
        assert_eq!(sample.means().iter().map(|mean| mean.unwrap().count).collect::<Vec<_>>(), [2, 3]);
        assert_eq!(sample.differences(0)[1].map(|found| (found.mean, found.count)), Some((1.0, 2)));
        assert_eq!(sample.main_effects(&[vec![0], vec![1]])[0].mean.unwrap().count, 2);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn effects_and_interactions_add_up_to_the_means(
            first in 2_usize..4, second in 2_usize..4, replications in 2_usize..5, seed: u64,
        ) {
            let (grid, mut rng) = (grid(first, second), Rng::new(seed, 0));
            let values: Vec<Vec<Option<f64>>> =
                grid.iter().map(|_| (0..replications).map(|_| Some(rng.normal(3.0, 2.0))).collect()).collect();
            let sample = Sample { values };
            let means: Vec<f64> = sample.means().iter().map(|mean| mean.unwrap().mean).collect();
            let all = means.iter().sum::<f64>() / means.len() as f64;
            let (main, pairs) = (sample.main_effects(&grid), sample.interactions(&grid));
            prop_assert_eq!((main.len(), pairs.len()), (first + second, first * second));
            let effect = |effects: &[Effect], levels: &[(usize, usize)]| {
                effects.iter().find(|effect| effect.levels == levels).and_then(|effect| effect.effect).unwrap().mean
            };
            for (point, mean) in grid.iter().zip(&means) {
                let (one, other) = ((0, point[0]), (1, point[1]));
                let sum = all + effect(&main, &[one]) + effect(&main, &[other]) + effect(&pairs, &[one, other]);
                prop_assert!(near(sum, *mean), "{sum} instead of {mean}");
            }
        }

        #[test]
        fn factors_that_only_add_do_not_interact(seed: u64) {
            let (grid, mut rng) = (grid(3, 2), Rng::new(seed, 0));
            let noise: Vec<f64> = (0..4).map(|_| rng.normal(0.0, 1.0)).collect();
            let at = |point: &Vec<usize>| {
                noise.iter().map(|noise| Some(noise + 2.0 * point[0] as f64 - 3.0 * point[1] as f64)).collect()
            };
            let sample = Sample { values: grid.iter().map(at).collect() };
            for pair in sample.interactions(&grid) {
                prop_assert!(near(pair.effect.unwrap().mean, 0.0), "{pair:?}");
            }
        }
    }
}
