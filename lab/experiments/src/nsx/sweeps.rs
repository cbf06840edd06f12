//! What would have to be true for the paper's errors at its best ticks, 60 and 80 us: two costs that it does
//! not state, each changed while all else stays; and what its run time says of them.
//!
//! Invariant: a sweep is added only for the check that it is made for, and only if that is not reproduced.

use super::GOOD_PERCENT;
use super::runs::{Case, Scheduler, Ticks};
use crate::parameters::kinds::nanos;
use crate::prelude::*;

/// NSX with twice the tick for DOM0, with which the paper has its best results.
const BEST: Scheduler = Scheduler::Nsx(2);

/// Packets of a round: its three messages, and two of each process at the barrier.
const PACKETS: f64 = 9.0;

/// The paper's best result for a number of VCPUs.
#[derive(Clone, Copy, Debug)]
pub struct Published {
    pub tick_us: u64,
    pub error: f64,
    pub seconds: f64,
}

/// The quantities, and the figure whose runs are repeated.
#[derive(Clone, Debug)]
pub struct Sweeps {
    ticks: Ticks,
    published: Published,
    sends: Over,
    backends: Over,
}

impl Sweeps {
    /// Those of this set-up, with the values that are tried by its parameters.
    pub fn read(
        ticks: Ticks,
        published: Published,
        setup: &Setup,
        parameters: &mut Parameters,
    ) -> Result<Self, ScenarioError> {
        let sends = Axis::linear("time that a guest takes to send a message", "ns");
        let backends = Axis::linear("time that DOM0 takes for a packet", "ns");
        let send_ns = parameters.tried("send", &nanos(1..=1_000_000_000))?;
        let backend_ns = parameters.tried("backend", &nanos(1..=1_000_000_000))?;
        let sends = Over::constant("nsx.send", sends, &send_ns, setup);
        let backends = Over::constant("nsx.backend", backends, &backend_ns, setup);
        Ok(Self { ticks, published, sends, backends })
    }

    /// NSX at the paper's best tick, and CSX at the longest of ours.
    fn cases(&self) -> [Case; 2] {
        let (_, longest_us) = self.ticks.ends_us();
        [self.ticks.case(BEST, self.published.tick_us), self.ticks.case(Scheduler::Csx, longest_us)]
    }

    fn error(&self, results: &Results) -> Found<f64> {
        results.value(&self.cases()[0].key(), "error")
    }

    fn csx_error(&self, results: &Results) -> Found<f64> {
        results.value(&self.cases()[1].key(), "error")
    }

    fn both(&self) -> [&Over; 2] {
        [&self.sends, &self.backends]
    }

    /// Their runs, where the paper's best tick is among ours.
    pub fn cells(&self, setup: &Setup) -> Vec<Cell> {
        if !self.ticks.us.contains(&self.published.tick_us) {
            return Vec::new();
        }
        let both =
            self.both().map(|over| over.cells(setup, |_, setup| self.cases().map(|case| case.cell(setup))));
        both.into_iter().flatten().collect()
    }

    /// Adds the sweeps of `check`, the error at the best tick, and a note of what the run time says, if the
    /// check is not reproduced.
    pub fn add(&self, finding: &mut Finding, results: &Results, check: &str) -> Found<()> {
        if !finding.misses(check) {
            return Ok(());
        }
        let reasons = [
            "Between A's two messages lies one send. The paper does not say how long a send takes, nor whether the two come to DOM0 \
             together.",
            "The longer DOM0 takes for a packet, the later comes the detour over B. The paper does not say how long that is.",
        ];
        let mut good = Vec::new();
        for (over, reason) in self.both().into_iter().zip(reasons) {
            let wanted = Wanted::AtMost(GOOD_PERCENT);
            let curve = over.curve(BEST.name(), wanted, results, |results| self.error(results))?;
            let csx = over.curve("CSX", wanted, results, |results| self.csx_error(results))?;
            let both = curve.points.iter().zip(&csx.points);
            good.extend(both.filter(|(nsx, _)| nsx.1 <= GOOD_PERCENT).map(|(_, csx)| csx.1));
            finding.sweeps.push(over.sweep(check, Axis::linear("error", "%"), vec![curve], reason));
        }
        finding.notes.push(self.bound(results)?);
        finding.notes.extend(self.besides(&good, self.csx_error(results)?));
        Ok(())
    }

    /// What the paper's run time says of the path.
    fn bound(&self, results: &Results) -> Found<String> {
        let Published { tick_us, error, seconds } = self.published;
        let rounds = self.ticks.size.rounds;
        let [best, _] = self.cases();
        let time = |results: &Results| results.value(&best.key(), "time");
        let times = self.backends.curve("run time", Wanted::AtMost(seconds), results, time)?;
        let in_words = |point: Option<&(f64, f64)>| {
            point.map_or_else(String::new, |(ns, seconds)| {
                format!("{:.0} us a packet {seconds:.2} s", ns / 1e3)
            })
        };
        let (within, beyond): (Vec<_>, Vec<_>) = times.points.iter().partition(|point| point.1 <= seconds);
        let beyond =
            if beyond.is_empty() { String::new() } else { format!(", with {}", in_words(beyond.first())) };
        Ok(format!(
            "Not as in the paper: the error at {tick_us} us, which it has at {error} %. Its {seconds} s are {seconds} ms a round at most, as \
             they contain starting the processes on three guests. {PACKETS:.0} packets a round go through DOM0 (three messages, and two of \
             each guest at the barrier), so DOM0 takes {:.0} us for one at most, if it does nothing else; here {rounds} rounds take, \
             with {}{beyond}. The run time does not show which costs \
             were those of the paper's host.",
            1e3 * seconds / PACKETS,
            in_words(within.last()),
        ))
    }

    /// What values with which the check is reproduced do to CSX, by its errors with them, `good`, and with
    /// our own values.
    fn besides(&self, good: &[f64], percent: f64) -> Option<String> {
        let (least, most) = (good.iter().copied().reduce(f64::min)?, good.iter().copied().reduce(f64::max)?);
        let (_, longest_us) = self.ticks.ends_us();
        Some(format!(
            "With the values of the sweeps that reproduce it CSX errs in {least:.1} to {most:.1} % of the rounds at {longest_us} us, with ours in \
             {percent:.1} %."
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::made_up::{judged, planned};

    /// Results of the plan of a figure in which NSX errs in `percent` per cent of the rounds, and with
    /// changed costs in none.
    fn finding(name: &str, percent: f64) -> Finding {
        let plan = planned(name, &Setup::default());
        let measure = |key: &str| {
            let error = if key.contains("/nsx.") { 0.0 } else { percent };
            let values = [("error", error), ("error_half_width", 0.0), ("time", 0.5)].into();
            Measure { values, ..Measure::default() }
        };
        judged(plan, measure)
    }

    #[test]
    fn what_differs_is_swept_and_only_that() {
        for name in ["nsx-fig11", "nsx-fig13"] {
            assert!(finding(name, 1.0).sweeps.is_empty());
            let finding = finding(name, 1.5);
            let errors = |check: &&Check| check.what.starts_with("error of");
            let check = finding.checks.iter().find(errors).expect("errors are compared");
            assert_eq!(finding.sweeps.len(), 2);
            for sweep in &finding.sweeps {
                assert_eq!(sweep.check, check.what);
                let misses = |ns: f64| {
                    let point = sweep.curves[0].points.iter().find(|point| point.0 == ns);
                    point.map(|point| sweep.curves[0].wanted.miss(point.1) > 0.0)
                };
                assert_eq!(misses(sweep.ours), Some(true));
                assert!(sweep.curves[0].points.iter().all(|(ns, _)| misses(*ns) == Some(*ns == sweep.ours)));
            }
        }
    }
}
