//! What would have to be true for those parts of figures 1 to 3 that are not ours: three quantities of the
//! runtimes and their PC which the paper does not state, each changed while all else stays.
//!
//! Invariant: a sweep is added only for a check that is not reproduced, and misses what the check wants with
//! our own value too.

use super::curves::{
    ALLOWED, ALWAYS, Curve, EQUAL, FEW, MANY, MORE, Runs, TWO, best_lps, best_times, beyond,
};
use super::lp::Runtime;
use super::runs::{CPUS, Case, Dealing, Scheduler};
use crate::parameters::kinds::{count, nanos};
use crate::prelude::*;

/// A check, and the numbers of LPs that it compares.
type Gain = (&'static str, &'static [u32]);

/// The checks of hyper-threading by figure, each with the gain that it wants, in percent.
const GAINS: [&[(Gain, Wanted)]; 3] = [
    &[(TWO, Wanted::Within(0.0, 30.0)), (MORE, Wanted::AtMost(0.0))],
    &[(ALWAYS, Wanted::AtLeast(0.0))],
    &[(FEW, Wanted::Within(-100.0 * EQUAL, 100.0 * EQUAL)), (MANY, Wanted::AtMost(0.0))],
];

/// The quantities, and the figure whose runs are repeated.
#[derive(Clone, Debug)]
pub struct Sweeps {
    runs: Runs,
    figure: usize,
    siblings: Over,
    calls: Over,
    copies: Over,
}

impl Sweeps {
    /// Those of this set-up, with the values that are tried by its parameters.
    pub fn read(
        runs: Runs,
        figure: usize,
        setup: &Setup,
        parameters: &mut Parameters,
    ) -> Result<Self, ScenarioError> {
        let (siblings, calls, copies) = (
            Axis::linear("speed of a thread beside a busy sibling", "permille"),
            Axis::linear("cost of a system call that looks for messages", "ns"),
            Axis::linear("cost of putting a message into shared memory or taking it out", "ns"),
        );
        let permille = parameters.tried("smt", &count(1..=1_000))?;
        // Only figure 2 compares runtimes.
        let look_ns = match figure {
            2 => parameters.tried("look", &nanos(1..=1_000_000))?,
            _ => Vec::new(),
        };
        let copy_ns = parameters.tried("copy", &nanos(1..=1_000_000))?;
        Ok(Self {
            runs,
            figure,
            siblings: Over::constant("artis.smt", siblings, &permille, setup),
            calls: Over::constant("artis.look", calls, &look_ns, setup),
            copies: Over::constant("artis.copy", copies, &copy_ns, setup),
        })
    }

    fn linux(&self, runtime: Runtime, smt: bool) -> impl Fn(u32) -> Case + Copy + use<> {
        let (scheduler, dealing, size) = (Scheduler::Linux, Dealing::Scattered, self.runs.size);
        move |lps| Case { runtime, lps, smt, scheduler, dealing, size }
    }

    fn least_lvt(&self, runtime: Runtime, smt: bool) -> impl Fn(u32) -> Case + Copy + use<> {
        let (scheduler, dealing, size) = (Scheduler::LeastLvt, Dealing::Scattered, self.runs.size);
        move |lps| Case { runtime, lps, smt, scheduler, dealing, size }
    }

    /// The runs with every number of LPs.
    fn all(&self, setup: &Setup, case: impl Fn(u32) -> Case) -> Vec<Cell> {
        self.runs.lps.iter().map(|lps| case(*lps).cell(setup)).collect()
    }

    fn curve(&self, results: &Results, case: impl Fn(u32) -> Case) -> Found<Curve> {
        Curve::of(results, &self.runs.lps, case)
    }

    pub fn cells(&self, setup: &Setup, all: [Runtime; 3]) -> Vec<Cell> {
        let runtime = all[self.figure - 1];
        let mut cells = self.siblings.cells(setup, |_, setup| self.all(setup, self.linux(runtime, true)));
        if self.figure == 2 {
            let each = |setup: &Setup| all.map(|runtime| self.all(setup, self.linux(runtime, false)));
            cells.extend(
                self.calls.cells(setup, |_, setup| each(setup).into_iter().flatten().collect::<Vec<_>>()),
            );
        }
        for smt in [false, true] {
            cells.extend(self.copies.cells(setup, |_, setup| self.all(setup, self.least_lvt(runtime, smt))));
        }
        cells
    }

    /// Adds the sweeps of those checks that are not reproduced.
    pub fn add(&self, finding: &mut Finding, results: &Results, all: [Runtime; 3]) -> Found<()> {
        let runtime = all[self.figure - 1];
        let mut sweeps = self.hyper_threading(finding, results, runtime)?;
        if self.figure == 2 && finding.misses(&best_times(false)) {
            sweeps.push(self.best_runtime(results, all)?);
        }
        for smt in [false, true] {
            if finding.misses(&beyond(Dealing::Scattered, smt)) {
                sweeps.push(self.beyond_cpus(results, runtime, smt)?);
            }
        }
        finding.sweeps = sweeps;
        Ok(())
    }

    fn hyper_threading(&self, finding: &Finding, results: &Results, runtime: Runtime) -> Found<Vec<Sweep>> {
        let reason = "Two siblings that are both busy do as much as one thread alone at 500 permille, and less below: they take \
                      from each other's cache what they add. The paper measures no thread beside another.";
        let times = |results: &Results, smt| self.curve(results, self.linux(runtime, smt));
        let mut sweeps = Vec::new();
        for ((check, lps), wanted) in GAINS[self.figure - 1] {
            if !finding.misses(check) {
                continue;
            }
            let curve = |lps: &u32| {
                let gain = |results: &Results| {
                    Ok(100.0 * (times(results, false)?.at(*lps)? / times(results, true)?.at(*lps)? - 1.0))
                };
                self.siblings.curve(format!("{lps} LPs"), *wanted, results, gain)
            };
            let curves = lps.iter().map(curve).collect::<Found<_>>()?;
            sweeps.push(self.siblings.sweep(check, Axis::linear("gain of HT", "%"), curves, reason));
        }
        if !finding.misses(&best_lps(runtime, true)) {
            return Ok(sweeps);
        }
        let only = f64::from(CPUS);
        let best = |results: &Results| Ok(f64::from(times(results, true)?.best().0));
        let curve = self.siblings.curve("best number of LPs", Wanted::Within(only, only), results, best)?;
        let axis = Axis::linear("best number of LPs", "LPs");
        sweeps.push(self.siblings.sweep(&best_lps(runtime, true), axis, vec![curve], reason));
        Ok(sweeps)
    }

    fn best_runtime(&self, results: &Results, all: [Runtime; 3]) -> Found<Sweep> {
        let reason = "Threads of one LP hand messages to each other in memory; one thread that waits for messages by `select` needs a \
                      system call for each of them. The paper does not say how many it makes.";
        let best = |results: &Results, runtime| {
            let times = self.curve(results, self.linux(runtime, false))?;
            Ok::<_, CellError>(times.best().1)
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

    fn beyond_cpus(&self, results: &Results, runtime: Runtime, smt: bool) -> Found<Sweep> {
        let reason = "With every LP nearly every ping goes to one more LP, and is put and taken for each: work that comes with the LPs, and \
                      that no order of threads can spare.";
        let excess = |results: &Results| self.curve(results, self.least_lvt(runtime, smt))?.excess(smt);
        let curve = self.copies.curve("run time", Wanted::AtMost(ALLOWED), results, excess)?;
        let axis = Axis::linear("run time, times the best", "");
        Ok(self.copies.sweep(&beyond(Dealing::Scattered, smt), axis, vec![curve], reason))
    }
}
