//! What would have to be true for the gains of table 6: how MPI waits and how long a turn of extra time is,
//! neither of which the thesis states.
//!
//! Invariant: a sweep is added only for a check that is not reproduced.

use super::parallel::{Grid, versus, wanted6};
use super::runs::{CSDD, CSDE, Case, SEDF, Scheduler, Variant, Work, part};
use crate::parameters::kinds::choice;
use crate::prelude::*;

/// Ours, which the vector of the thesis has, and what is tried: whether MPI blocks after 100 us, and the turn
/// in microseconds.
const TRIED: [(&str, bool, u64); 6] = [
    ("as everywhere here", false, 500),
    ("polling with turns of 30 ms", false, LONG_US),
    ("blocking after 100 us with turns of 500 us", true, 500),
    ("blocking after 100 us with turns of 2 ms", true, 2_000),
    ("blocking after 100 us with turns of 5 ms", true, 5_000),
    ("blocking after 100 us with turns of 10 ms", true, 10_000),
];

/// A turn as long as the credit scheduler's, with which SEDF is as slow as published; its place in the list.
const LONG_US: u64 = 30_000;
const LONG: u64 = 1;

/// The numbers of LU at once that gain by the thesis.
const GAINING: [u32; 2] = [3, 4];

/// The two, changed together, and the table whose runs are repeated.
#[derive(Clone, Debug)]
pub struct Turns {
    over: Over,
    lus: Grid,
    /// The part of the work that is done: what these show does not hang on more, and they are many.
    work: Work,
}

impl Turns {
    /// Those of this set-up, with what is tried by its parameters.
    pub fn read(lus: Grid, setup: &Setup, parameters: &mut Parameters) -> Result<Self, ScenarioError> {
        let tried = TRIED.iter().enumerate().skip(1).map(|(place, (name, ..))| (*name, place as u64));
        let values = parameters.any("turns", &choice(tried))?;
        let part = parameters.one("turns_part", &part())?;
        let label = "combination of waiting in MPI and turns of extra time";
        let quantity = Axis::categories(label, TRIED.map(|(name, ..)| name));
        let over = Over::parameter(format!("part{part}/turns"), quantity, &values, 0, setup);
        Ok(Self { over, lus, work: Work::Part(part) })
    }

    /// The runs: 3 and 4 LU under the thesis's schedulers, and one under SEDF, of those that the table has.
    pub fn cells(&self, setup: &Setup) -> Vec<Cell> {
        let cases = || {
            let several =
                GAINING.into_iter().flat_map(|count| [SEDF, CSDE, CSDD].map(|scheduler| (count, scheduler)));
            let run = several.chain([(1, SEDF)]).filter(|(count, _)| self.lus.counts.contains(count));
            run.map(|(count, scheduler)| self.lus.case(count, scheduler))
        };
        self.over.cells(setup, |value, setup| {
            let (_, blocks, turn_us) = TRIED[value as usize];
            let variant = Variant::Turns { turn_us, blocks };
            let varied = |case: Case| Case { variant, work: self.work, ..case };
            let cells = cases().map(|case| Cell { key: case.key(), ..varied(case).cell(setup) });
            cells.collect::<Vec<_>>()
        })
    }

    /// Adds the sweeps of those checks that are not reproduced, and a note of what they show.
    pub fn add(&self, finding: &mut Finding, results: &Results) -> Found<()> {
        for scheduler in [CSDE, CSDD] {
            for count in GAINING {
                let check = versus(scheduler, count);
                if finding.misses(&check) {
                    finding.sweeps.push(self.sweep(&check, results, scheduler, count)?);
                }
            }
        }
        if !finding.sweeps.is_empty() {
            finding.notes.extend(self.slowdown(results).unwrap_or(None));
        }
        Ok(())
    }

    fn sweep(&self, check: &str, results: &Results, scheduler: Scheduler, count: u32) -> Found<Sweep> {
        let reason = "The thesis does not say which MPI library runs, how that waits, nor how SEDF is set for the guests. In Xen 4.1 \
                      a turn of extra time is 500 us.";
        let longer = |results: &Results| self.lus.longer(results, count, scheduler);
        let curve = self.over.curve(
            format!("{count} LU under {}", scheduler.name),
            wanted6(&self.lus, scheduler, count),
            results,
            longer,
        )?;
        Ok(self.over.sweep(check, Axis::linear("longer than SEDF", "%"), vec![curve], reason))
    }

    /// How slow SEDF is with long turns, where they are tried.
    fn slowdown(&self, results: &Results) -> Found<Option<String>> {
        let slowdown = |count| {
            let of = |results: &Results| {
                Ok(self.lus.seconds(results, count, SEDF)? / self.lus.seconds(results, 1, SEDF)?)
            };
            let curve = self.over.curve("", Wanted::AtLeast(0.0), results, of)?;
            Ok::<_, CellError>(curve.points.iter().find(|point| point.0 == LONG as f64).map(|point| point.1))
        };
        let (Some(three), Some(four)) = (slowdown(3)?, slowdown(4)?) else { return Ok(None) };
        Ok(Some(format!(
            "With turns of {} ms and polling, 3 LU take {three:.2} times and 4 take {four:.2} times what one takes under SEDF.",
            LONG_US / 1_000
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::made_up::{judged, planned};

    /// Table 6 where SEDF takes as long as the number of LU and the others `factor` times that, by the
    /// number, but 5 % less with other turns.
    fn finding(factor: fn(&str) -> f64) -> Finding {
        let plan = planned("cs-table6", &Setup::default());
        let measure = |key: &str| {
            let count = key.split(['x', '/']).find(|part| part.parse::<f64>().is_ok()).unwrap_or("1");
            let others = match (key.contains("/SEDF/"), key.contains("/turns=")) {
                (true, _) => 1.0,
                (false, true) => 0.95,
                (false, false) => factor(count),
            };
            let count: f64 = count.parse().expect("a number");
            let values = [("lu_polled", 2.0)].into();
            Measure { seconds: count * others, values, ..Measure::default() }
        };
        judged(plan, measure)
    }

    #[test]
    fn what_differs_is_swept_and_only_that() {
        let gains = |count: &str| if count == "2" { 1.01 } else { 0.95 };
        assert!(finding(gains).sweeps.is_empty());
        let finding = finding(|_| 1.1);
        let swept: Vec<_> = finding.sweeps.iter().map(|sweep| sweep.check.as_str()).collect();
        assert_eq!(swept.len(), 4);
        assert!(swept.iter().all(|check| finding.misses(check)), "{swept:?}");
        for Sweep { curves, ours, .. } in &finding.sweeps {
            let misses = |point: &(f64, f64)| curves[0].wanted.miss(point.1) > 0.0;
            assert!(curves[0].points.iter().all(|point| misses(point) == (point.0 == *ours)), "{curves:?}");
        }
    }
}
