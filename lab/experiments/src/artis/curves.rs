//! Figures 1 to 3 as data: what is run, the run times over the LPs that come of it, and what the checks of
//! them are called.

use super::lp::Runtime;
use super::runs::{CPUS, Case, Dealing, Scheduler, Size};
use crate::prelude::*;

/// LPs beyond the CPUs may cost this much of the best run time under least LVT first.
pub(super) const ALLOWED: f64 = 1.10;
/// A difference below this is none: the paper's intervals of confidence are within 5 % of the average.
pub(super) const EQUAL: f64 = 0.05;

pub(super) fn runtimes(timed_ns: u64) -> [Runtime; 3] {
    [Runtime::TimedWait(timed_ns), Runtime::Signals, Runtime::SingleThreaded]
}

pub(super) const fn name(runtime: Runtime) -> &'static str {
    match runtime {
        Runtime::TimedWait(_) => "timed wait",
        Runtime::Signals => "signals",
        Runtime::SingleThreaded => "single-threaded",
    }
}

/// What is run: the numbers of LPs, with the size of the model.
#[derive(Clone, Debug)]
pub(super) struct Runs {
    pub lps: Vec<u32>,
    pub size: Size,
}

impl Runs {
    pub(super) fn case(
        &self,
        runtime: Runtime,
        lps: u32,
        smt: bool,
        scheduler: Scheduler,
        dealing: Dealing,
    ) -> Case {
        Case { runtime, lps, smt, scheduler, dealing, size: self.size }
    }

    pub(super) fn curve(&self, results: &Results, of: (Runtime, bool, Scheduler, Dealing)) -> Found<Curve> {
        let (runtime, smt, scheduler, dealing) = of;
        Curve::of(results, &self.lps, |lps| self.case(runtime, lps, smt, scheduler, dealing))
    }

    /// As the paper measured it, without and with hyper-threading.
    pub(super) fn published(&self, results: &Results, runtime: Runtime, smt: bool) -> Found<Curve> {
        self.curve(results, (runtime, smt, Scheduler::Linux, Dealing::Scattered))
    }
}

/// Seconds over the LPs.
pub(super) struct Curve(pub Vec<(u32, f64)>);

impl Curve {
    /// Of runs that differ in the number of LPs only.
    pub(super) fn of(results: &Results, lps: &[u32], case: impl Fn(u32) -> Case) -> Found<Self> {
        let point = |lps: &u32| Ok((*lps, case(*lps).seconds(results)?));
        Ok(Self(lps.iter().map(point).collect::<Found<_>>()?))
    }

    pub(super) fn at(&self, lps: u32) -> Found<f64> {
        let found = self.0.iter().find(|point| point.0 == lps);
        found.map(|point| point.1).ok_or_else(|| CellError::NotRun(format!("{lps} LPs")))
    }

    /// The number of LPs of the least run time, and that.
    pub(super) fn best(&self) -> (u32, f64) {
        let best = self.0.iter().copied().min_by(|one, other| one.1.total_cmp(&other.1));
        best.unwrap_or((1, f64::NAN))
    }

    pub(super) fn points(&self) -> Vec<(f64, f64)> {
        self.0.iter().map(|(lps, seconds)| (f64::from(*lps), *seconds)).collect()
    }

    /// The most beyond as many LPs as CPUs, as threads see these, times the least.
    pub(super) fn excess(&self, smt: bool) -> Found<f64> {
        let (_, best) = self.best();
        let beyond = self.0.iter().filter(|(lps, _)| *lps > cpus(smt));
        let most = beyond.map(|(_, seconds)| seconds / best).reduce(f64::max);
        most.ok_or_else(|| CellError::NotRun(format!("more than {} LPs", cpus(smt))))
    }

    pub(super) fn text(&self) -> String {
        self.0.iter().map(|(_, seconds)| format!("{seconds:.0}")).collect::<Vec<_>>().join(", ")
    }
}

/// CPUs, as threads see them: with hyper-threading there are twice as many.
fn cpus(smt: bool) -> u32 {
    if smt { 2 * CPUS } else { CPUS }
}

pub(super) fn hyper_threading(smt: bool) -> &'static str {
    if smt { "HT on" } else { "HT off" }
}

/// What the check of LPs beyond the CPUs is called.
pub(super) fn beyond(dealing: Dealing, smt: bool) -> String {
    let (dealing, cpus) = (dealing.name(), cpus(smt));
    format!("least LVT, {dealing}, {}: LPs beyond {cpus} CPUs, times the best run time", hyper_threading(smt))
}

/// What the check of the best number of LPs is called.
pub(super) fn best_lps(runtime: Runtime, smt: bool) -> String {
    format!("{}, {}: LPs of the best run time", name(runtime), hyper_threading(smt))
}

/// What the check of the best runtime is called.
pub(super) fn best_times(smt: bool) -> String {
    format!("best run times, {}: timed wait, signals, single-threaded", hyper_threading(smt))
}

/// What the checks of hyper-threading are called, each with the numbers of LPs that it compares.
pub(super) const TWO: (&str, &[u32]) = ("gain of HT with 2 LPs", &[2]);
pub(super) const MORE: (&str, &[u32]) = ("gain of HT with more LPs", &[4, 6, 8]);
pub(super) const ALWAYS: (&str, &[u32]) = ("gain of HT", &[2, 3, 4, 5, 6, 7, 8]);
pub(super) const FEW: (&str, &[u32]) = ("gain of HT up to 4 LPs", &[2, 3, 4]);
pub(super) const MANY: (&str, &[u32]) = ("gain of HT beyond 4 LPs", &[5, 6, 7, 8]);
