//! Which runs a study needs: the plan of replications, and the rule that ends them.
//!
//! Runs are asked for in the order of their replications, so that all points are known roughly before one is
//! known well. The stop rule looks at a point when all replications asked for so far have ended, and asks for
//! `by` more. Invariant: which runs are asked for in the end depends on what the runs came to alone, not on
//! the order in which they ended.

use std::collections::{BTreeMap, BTreeSet};

use paceline_results::statistics::sample::mean;

/// How many replications a point has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// The least number.
    pub least: u32,
    /// When it has enough.
    pub enough: Option<Enough>,
}

/// When a point has had enough replications.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Enough {
    /// Half the width of the interval of 95 % is at most this part of the mean.
    pub within: f64,
    /// The most replications.
    pub most: u32,
    /// So many more are asked for at once.
    pub by: u32,
}

/// A part of a study's runs: the part `number`, from 1, of `of`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// Which part, from 1.
    pub number: u32,
    /// How many parts.
    pub of: u32,
}

impl Slice {
    /// All of it.
    pub const ALL: Self = Self { number: 1, of: 1 };

    fn has(self, place: u64) -> bool {
        place % u64::from(self.of) == u64::from(self.number - 1)
    }
}

/// A run that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Wanted {
    /// Its replication, from 0.
    pub replication: u32,
    /// The place of its point.
    pub point: u32,
}

/// The runs of a study, as they are asked for and end.
#[derive(Clone, Debug)]
pub struct Course {
    rule: Rule,
    /// Of each point, how many replications were asked for.
    targets: Vec<u32>,
    /// What those came to that have ended; none for a run without a value.
    settled: Vec<BTreeMap<u32, Option<f64>>>,
    waiting: BTreeSet<Wanted>,
    running: BTreeSet<Wanted>,
}

impl Course {
    /// So many points, of which `slice` is asked for: whole points where there is a stop rule, since it needs
    /// all runs of a point; single runs where there is none.
    pub fn new(rule: Rule, points: u32, slice: Slice) -> Self {
        let is_mine = |wanted: &Wanted| match rule.enough {
            Some(_) => slice.has(wanted.point.into()),
            None => slice.has(u64::from(wanted.replication) * u64::from(points) + u64::from(wanted.point)),
        };
        let runs = (0..rule.least)
            .flat_map(|replication| (0..points).map(move |point| Wanted { replication, point }));
        Self {
            rule,
            targets: vec![rule.least; points as usize],
            settled: vec![BTreeMap::new(); points as usize],
            waiting: runs.filter(is_mine).collect(),
            running: BTreeSet::new(),
        }
    }

    /// The next run, if there is one now: where there is none, those that run may lead to more.
    pub fn take_next(&mut self) -> Option<Wanted> {
        let next = self.waiting.pop_first()?;
        self.running.insert(next);
        Some(next)
    }

    /// A run that was asked for has ended, with this value of the rule's metric, or without one.
    pub fn settle(&mut self, run: Wanted, value: Option<f64>) {
        assert!(self.running.remove(&run), "the run was asked for");
        let (point, rule) = (run.point as usize, self.rule);
        self.settled[point].insert(run.replication, value);
        let Some(Enough { within, most, by }) = rule.enough else { return };
        let target = self.targets[point];
        // Looked at only once all that were asked for have ended: which of them end first is chance.
        if self.settled[point].len() < target as usize
            || target >= most
            || is_within(&self.settled[point], within)
        {
            return;
        }
        let next = target.saturating_add(by).min(most);
        self.targets[point] = next;
        let more = (target..next).map(|replication| Wanted { replication, point: run.point });
        self.waiting.extend(more);
    }

    /// Whether all runs that are needed have ended.
    pub fn is_over(&self) -> bool {
        self.waiting.is_empty() && self.running.is_empty()
    }

    /// How many replications of each point were asked for.
    pub fn targets(&self) -> &[u32] {
        &self.targets
    }

    /// The most runs that it can come to.
    pub fn most(&self) -> u64 {
        let each = self.rule.enough.map_or(self.rule.least, |enough| enough.most);
        u64::from(each) * self.targets.len() as u64
    }
}

fn is_within(settled: &BTreeMap<u32, Option<f64>>, within: f64) -> bool {
    let values: Vec<f64> = settled.values().copied().flatten().collect();
    let found = mean(&values);
    values.len() > 1 && found.half_width <= within * found.mean.abs()
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_kernel::Rng;
    use proptest::prelude::*;

    /// What a run comes to: a value that only the run determines; some have none.
    fn value(run: Wanted) -> Option<f64> {
        let mut rng = Rng::new(u64::from(run.point), u64::from(run.replication));
        (!rng.chance(0.05)).then(|| 10.0 + rng.normal(0.0, 1.0 + f64::from(run.point)))
    }

    /// All runs of a course of which up to `lanes` run at once and end in random order.
    fn ran(mut course: Course, lanes: usize, rng: &mut Rng) -> BTreeSet<Wanted> {
        let (mut running, mut all) = (Vec::new(), BTreeSet::new());
        while !course.is_over() {
            while running.len() < lanes
                && let Some(run) = course.take_next()
            {
                assert!(all.insert(run), "{run:?} is asked for once");
                running.push(run);
            }
            let run = running.swap_remove(rng.below(running.len() as u64) as usize);
            course.settle(run, value(run));
        }
        all
    }

    fn rule(least: u32, enough: Option<Enough>) -> Rule {
        Rule { least, enough }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn which_runs_there_are_depends_on_no_order_and_parts_are_the_whole(
            points in 1_u32..6, least in 1_u32..8, by in 1_u32..6, has_rule: bool, of in 1_u32..4, seed: u64,
        ) {
            let rule = rule(least, has_rule.then_some(Enough { within: 0.1, most: 40, by }));
            let mut rng = Rng::new(seed, 0);
            let whole = ran(Course::new(rule, points, Slice::ALL), 1, &mut rng);
            prop_assert_eq!(&ran(Course::new(rule, points, Slice::ALL), 7, &mut rng), &whole);
            let mut parts = BTreeSet::new();
            for number in 1..=of {
                for run in ran(Course::new(rule, points, Slice { number, of }), 3, &mut rng) {
                    prop_assert!(parts.insert(run), "a run is in one part");
                }
            }
            prop_assert_eq!(parts, whole);
        }

        #[test]
        fn a_point_ends_at_the_first_look_that_says_enough(point in 0_u32..4, least in 2_u32..8, by in 1_u32..6) {
            let (within, most) = (0.1, 60);
            let enough = Enough { within, most, by };
            let runs = ran(Course::new(rule(least, Some(enough)), point + 1, Slice::ALL), 4, &mut Rng::new(1, 1));
            let count = runs.iter().filter(|run| run.point == point).count() as u32;
            let is_enough = |count: u32| {
                let values: Vec<f64> = (0..count).filter_map(|replication| value(Wanted { replication, point })).collect();
                let found = mean(&values);
                values.len() > 1 && found.half_width <= within * found.mean.abs()
            };
            prop_assert!(count == most || is_enough(count), "{count}");
            for before in (least..count).step_by(by as usize) {
                prop_assert!(!is_enough(before), "{before} of {count} were enough");
            }
        }
    }
}
