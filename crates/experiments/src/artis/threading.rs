//! What would have to be true for those parts of figures 1 to 3 that are not ours: three quantities of the runtimes and their PC which
//! the paper does not state, each changed while all else stays.
//!
//! Invariant: a sweep is added only for a check that does not hold, and misses what the check wants with our own value too.

use paceline_report::{Axis, Finding, Sweep, Wanted};

use super::lp::Runtime;
use super::runs::{CPUS, Case, Dealing, Scheduler};
use super::runtimes::{
    ALLOWED, ALWAYS, Curve, EQUAL, FEW, LPS, MANY, MORE, TWO, best_lps, best_times, beyond,
};
use crate::plan::{Cell, CellError, Results, Setup};
use crate::sweep::Over;

/// A check, and the numbers of LPs that it compares.
type Gain = (&'static str, &'static [u32]);

/// The checks of hyper-threading by figure, each with the gain that it wants, in percent.
const GAINS: [&[(Gain, Wanted)]; 3] = [
    &[(TWO, Wanted::Within(0.0, 30.0)), (MORE, Wanted::AtMost(0.0))],
    &[(ALWAYS, Wanted::AtLeast(0.0))],
    &[(FEW, Wanted::Within(-100.0 * EQUAL, 100.0 * EQUAL)), (MANY, Wanted::AtMost(0.0))],
];

/// The quantities.
#[derive(Clone, Debug)]
pub struct Sweeps {
    siblings: Over,
    calls: Over,
    copies: Over,
}

const fn linux(runtime: Runtime, smt: bool) -> impl Fn(u32) -> Case + Copy {
    move |lps| Case { runtime, lps, smt, scheduler: Scheduler::Linux, dealing: Dealing::Scattered }
}

const fn least_lvt(runtime: Runtime, smt: bool) -> impl Fn(u32) -> Case + Copy {
    move |lps| Case { runtime, lps, smt, scheduler: Scheduler::LeastLvt, dealing: Dealing::Scattered }
}

/// The runs with every number of LPs.
fn runs(setup: &Setup, case: impl Fn(u32) -> Case) -> Vec<Cell> {
    LPS.map(|lps| case(lps).cell(setup)).collect()
}

impl Sweeps {
    /// Those of this set-up.
    pub fn new(setup: &Setup) -> Self {
        let (siblings, calls, copies) = (
            Axis::linear("speed of a thread beside a busy sibling", "permille"),
            Axis::linear("cost of a system call that looks for messages", "ns"),
            Axis::linear("cost of putting a message into shared memory or taking it out", "ns"),
        );
        Self {
            siblings: Over::constant("artis.smt", siblings, &[400, 450, 480, 500, 520, 550], setup),
            calls: Over::constant("artis.look", calls, &[500, 1_500, 2_000, 3_000], setup),
            copies: Over::constant("artis.copy", copies, &[1, 50, 100, 200], setup),
        }
    }

    /// The runs of the sweeps of a figure.
    pub fn cells(&self, setup: &Setup, all: [Runtime; 3], figure: usize) -> Vec<Cell> {
        let runtime = all[figure - 1];
        let mut cells = self.siblings.cells(setup, |_, setup| runs(setup, linux(runtime, true)));
        if figure == 2 {
            let each = |setup: &Setup| all.map(|runtime| runs(setup, linux(runtime, false)));
            cells.extend(
                self.calls.cells(setup, |_, setup| each(setup).into_iter().flatten().collect::<Vec<_>>()),
            );
        }
        for smt in [false, true] {
            cells.extend(self.copies.cells(setup, |_, setup| runs(setup, least_lvt(runtime, smt))));
        }
        cells
    }

    /// Adds the sweeps of those checks of a figure that do not hold.
    pub fn add(
        &self,
        finding: &mut Finding,
        results: &Results,
        all: [Runtime; 3],
        figure: usize,
    ) -> Result<(), CellError> {
        let runtime = all[figure - 1];
        let mut sweeps = self.hyper_threading(results, runtime, figure)?;
        if figure == 2 {
            sweeps.push(self.best_runtime(results, all)?);
        }
        for smt in [false, true] {
            sweeps.push(self.beyond_cpus(results, runtime, smt)?);
        }
        let differs = |sweep: &Sweep| finding.fails(&sweep.check);
        sweeps.retain(differs);
        finding.sweeps = sweeps;
        Ok(())
    }

    fn hyper_threading(
        &self,
        results: &Results,
        runtime: Runtime,
        figure: usize,
    ) -> Result<Vec<Sweep>, CellError> {
        let reason = "Two siblings that are both busy do as much as one thread alone at 500 permille, and less below: they take \
                      from each other's cache what they add. The paper measures no thread beside another.";
        let times = |results: &Results, smt| Curve::of(results, linux(runtime, smt));
        let mut sweeps = Vec::new();
        for ((check, lps), wanted) in GAINS[figure - 1] {
            let curve = |lps: &u32| {
                let gain = |results: &Results| {
                    Ok(100.0 * (times(results, false)?.at(*lps) / times(results, true)?.at(*lps) - 1.0))
                };
                self.siblings.curve(format!("{lps} LPs"), *wanted, results, gain)
            };
            let curves = lps.iter().map(curve).collect::<Result<_, CellError>>()?;
            sweeps.push(self.siblings.sweep(check, Axis::linear("gain of HT", "%"), curves, reason));
        }
        let only = f64::from(CPUS);
        let best = |results: &Results| Ok(f64::from(times(results, true)?.best()));
        let curve = self.siblings.curve("best number of LPs", Wanted::Within(only, only), results, best)?;
        let axis = Axis::linear("best number of LPs", "LPs");
        sweeps.push(self.siblings.sweep(&best_lps(runtime, true), axis, vec![curve], reason));
        Ok(sweeps)
    }

    fn best_runtime(&self, results: &Results, all: [Runtime; 3]) -> Result<Sweep, CellError> {
        let reason = "Threads of one LP hand messages to each other in memory; one thread that waits for messages by `select` needs a \
                      system call for each of them. The paper does not say how many it makes.";
        let best = |results: &Results, runtime| {
            let times = Curve::of(results, linux(runtime, false))?;
            Ok::<_, CellError>(times.at(times.best()))
        };
        let of_signals = |other: Runtime| {
            move |results: &Results| Ok(best(results, other)? / best(results, Runtime::Signals)?)
        };
        let curves = vec![
            self.calls.curve("timed wait", Wanted::AtLeast(1.0), results, of_signals(all[0]))?,
            self.calls.curve("single-threaded", Wanted::AtLeast(1.0), results, of_signals(all[2]))?,
        ];
        let axis = Axis::linear("best run time, times that with signals", "");
        Ok(self.calls.sweep(&best_times(false), axis, curves, reason))
    }

    fn beyond_cpus(&self, results: &Results, runtime: Runtime, smt: bool) -> Result<Sweep, CellError> {
        let reason = "With every LP nearly every ping goes to one more LP, and is put and taken for each: work that comes with the LPs, and \
                      that no order of threads can spare.";
        let excess = |results: &Results| Ok(Curve::of(results, least_lvt(runtime, smt))?.excess(smt));
        let curve = self.copies.curve("run time", Wanted::AtMost(ALLOWED), results, excess)?;
        let axis = Axis::linear("run time, times the best", "");
        Ok(self.copies.sweep(&beyond(Dealing::Scattered, smt), axis, vec![curve], reason))
    }
}

#[cfg(test)]
mod test {
    use paceline_kernel::Rng;
    use paceline_report::Curve as Swept;

    use super::super::runtimes::{fig1, fig2, fig3};
    use super::*;
    use crate::plan::{Measure, Plan};

    /// Run times that differ from run to run, and no others for the same seed.
    fn results(plan: &Plan, seed: u64) -> Results {
        let mut rng = Rng::new(seed, 0);
        let measure = |key: &String| {
            let seconds = 1.0 + rng.below(1 << 40) as f64 / f64::from(1 << 20);
            (key.clone(), Ok(Measure { seconds, values: [("work", 1.0)].into(), ..Measure::default() }))
        };
        let keys: Vec<_> = plan.cells.iter().map(|cell| cell.key.clone()).collect();
        Results { measures: keys.iter().map(measure).collect() }
    }

    #[test]
    fn a_sweep_misses_with_our_own_value_what_its_check_misses() {
        let mut sweeps = 0;
        for seed in 0..60 {
            for plan in [fig1, fig2, fig3] {
                let plan = plan(&Setup::default());
                let results = results(&plan, seed);
                let finding = (plan.judge)(&results).expect("all runs have results");
                for sweep in &finding.sweeps {
                    let misses = |curve: &Swept| {
                        let own = curve.points.iter().find(|point| point.0 == sweep.ours);
                        own.is_some_and(|(_, measured)| curve.wanted.miss(*measured) > 0.0)
                    };
                    assert!(sweep.curves.iter().any(misses), "seed {seed}: {}", sweep.check);
                    sweeps += 1;
                }
            }
        }
        assert!(sweeps > 60, "{sweeps}");
    }
}
