//! Figures 6 and 7: CSX, and how much weight DOM0 needs.

use super::{Case, Gear, Load, Scheduler};
use crate::parameters::kinds::count;
use crate::prelude::*;

/// From here on the run time is published as flat.
const ENOUGH: u64 = 8;
/// A change below this is none.
const FLAT: f64 = 0.05;

/// Why the run time changes beyond the weight from which on it is published as flat.
const NOTE: &str = "What changes beyond 8x are wake-ups of DOM0 that find its VCPU without credits, so that it waits for polling guests. Credits go to a \
    domain by its weight, in equal parts to those of its VCPUs that ticks have found running, and DOM0 has one for each PCPU here: each of them gets so little that \
    a tick, which takes all of 10 ms from whom it finds, can leave it without.";

#[derive(Clone, Debug)]
struct Runs {
    load: Load,
    /// The load of the runs in which PSX is compared with CSX.
    compared: Load,
    domains: u32,
    /// DOM0's weights over the guests'.
    weights: Vec<u64>,
}

pub fn plan(setup: &Setup, parameters: &mut Parameters) -> Result<Plan, ScenarioError> {
    let load = super::load(parameters)?;
    let runs = Runs {
        load,
        compared: Load { until_s: parameters.one("compared", &super::horizon())?, ..load },
        domains: parameters.one("domains", &super::domains())?,
        weights: parameters.points("weights", &count(1..=1_000))?,
    };
    let quantity = Axis::linear("number of VCPUs of DOM0 that carry packets", "");
    let tried = parameters.tried("dom0_vcpus", &count(1..=1_000))?;
    // Over the VCPUs of DOM0, among which the guests' back-ends are dealt.
    let carriers = Over::constant("psx.dom0_vcpus", quantity, &tried, setup);
    let both = [Scheduler::Csx(32), Scheduler::Psx];
    let mut cells = runs.cells(load, runs.weights.iter().copied().map(Scheduler::Csx), setup);
    cells.extend(runs.cells(runs.compared, both, setup));
    cells.extend(carriers.cells(setup, |_, setup| {
        let enough = runs.weights.iter().copied().filter(|weight| *weight >= ENOUGH);
        let mut cells = runs.cells(load, enough.map(Scheduler::Csx), setup);
        cells.extend(runs.cells(runs.compared, both, setup));
        cells
    }));
    Ok(Plan::new(cells, move |results| {
        let mut finding = runs.judge(results)?;
        for gear in Gear::ALL {
            let what = beyond(gear);
            if finding.misses(&what) {
                finding.sweeps.push(runs.over_carriers(&carriers, results, gear)?);
            }
        }
        finding.notes.push(runs.gains(&carriers, results)?);
        Ok(finding)
    }))
}

/// What the check of the weights beyond the published one is called.
fn beyond(gear: Gear) -> String {
    format!("change of {} beyond {ENOUGH}x", gear.name())
}

/// The greatest change of run times, as a part of the first of them.
fn change(beyond: &[f64]) -> f64 {
    beyond.iter().fold(0.0f64, |most, time| most.max((time / beyond[0] - 1.0).abs()))
}

impl Runs {
    fn case(&self, load: Load, gear: Gear, scheduler: Scheduler) -> Case {
        Case { load, domains: self.domains, gear, scheduler, wait: None }
    }

    /// The runs with both ways of synchronization under each scheduler.
    fn cells(&self, load: Load, schedulers: impl IntoIterator<Item = Scheduler>, setup: &Setup) -> Vec<Cell> {
        let both = |scheduler| Gear::ALL.map(|gear| self.case(load, gear, scheduler).cell(setup));
        schedulers.into_iter().flat_map(both).collect()
    }

    fn times(&self, results: &Results, gear: Gear) -> Found<Vec<f64>> {
        let time = |weight: &u64| results.seconds(&self.case(self.load, gear, Scheduler::Csx(*weight)).key());
        self.weights.iter().map(time).collect()
    }

    /// The place of the weight from which on the run time is published as flat.
    fn enough(&self) -> Found<usize> {
        among(&self.weights, &ENOUGH)?;
        Ok(self.weights.iter().position(|weight| *weight == ENOUGH).unwrap_or(0))
    }

    fn over_carriers(&self, over: &Over, results: &Results, gear: Gear) -> Found<Sweep> {
        let reason = "The fewer VCPUs of DOM0 carry packets, the more of its credits each of them has. The paper does not say how many do. Xen gives DOM0 a VCPU \
                      for each PCPU unless it is set otherwise, and here all of them carry; but the back-end of Linux 2.6.18 is one pair of tasklets for \
                      all guests, and a tasklet runs on one VCPU at a time.";
        let percent = |results: &Results| Ok(100.0 * change(&self.times(results, gear)?[self.enough()?..]));
        let curve = over.curve(gear.name(), Wanted::AtMost(100.0 * FLAT), results, percent)?;
        let measured = Axis::linear("change of the run time beyond 8x", "%");
        Ok(over.sweep(&beyond(gear), measured, vec![curve], reason))
    }

    /// What the same quantity does to the gain of PSX, in a sentence: one set of constants serves all
    /// figures.
    fn gains(&self, over: &Over, results: &Results) -> Found<String> {
        let [cons, opt] = Gear::ALL.map(|gear| {
            let gain = |results: &Results| {
                let time = |scheduler| results.seconds(&self.case(self.compared, gear, scheduler).key());
                Ok(time(Scheduler::Csx(32))? / time(Scheduler::Psx)?)
            };
            over.curve(gear.name(), super::gains::EQUAL, results, gain)
        });
        let (cons, opt) = (cons?, opt?);
        let in_words = cons.points.iter().zip(&opt.points);
        let in_words: Vec<_> = in_words
            .map(|((carriers, cons), (_, opt))| format!("{cons:.2} and {opt:.2} with {carriers:.0}"))
            .collect();
        Ok(format!(
            "The number of VCPUs of DOM0 that carry packets decides more than this figure: in {} s of this load the gain of PSX over CSX-32x \
             (CONS and OPT) is {}; of figures 8 and 9 the paper says that CSX performs better.",
            self.compared.until_s,
            in_words.join(", ")
        ))
    }

    fn judge(&self, results: &Results) -> Found<Finding> {
        let (mut claims, mut series, mut at_8x) = (Claims::default(), Vec::new(), Vec::new());
        for gear in Gear::ALL {
            let times = self.times(results, gear)?;
            claims.add(format!("run time of {} from 1x to 8x", gear.name()), || {
                among(&self.weights, &1)?;
                // Repeated runs on the paper's machine would differ by as much.
                let criterion =
                    Criterion::stated(Statement::Order, "falls with the weight", Shape::Falls(0.02));
                Ok((criterion, Ours::all(times[..=self.enough()?].iter().copied(), "s")))
            })?;
            claims.add(beyond(gear), || {
                let change = 100.0 * change(&times[self.enough()?..]);
                let criterion = Criterion::stated(Statement::Order, "flat", Shape::at_most(100.0 * FLAT));
                Ok((criterion, Ours::one(change, "%")))
            })?;
            let curve: Vec<_> =
                self.weights.iter().zip(&times).map(|(weight, time)| (*weight as f64, *time)).collect();
            series.push(Series::ours(format!("CSX, {}", gear.name()), Kind::Lines, curve));
            at_8x.extend(self.enough().ok().map(|upto| times[upto]));
        }
        claims.add("run times at 8x: CONS, OPT", || {
            self.enough()?;
            let criterion = Criterion::stated(Statement::Order, "OPT performs better", Shape::Least(1));
            Ok((criterion, Ours::all(at_8x.iter().copied(), "s")))
        })?;
        let figure = plot(
            "Run time over the weight of DOM0",
            "Weights are multiples of the guests' weight of 256. Published is a plot without numbers.",
            [Axis::log("weight of DOM0", "times a guest's"), Axis::linear("run time", "s")],
            series,
        );
        let about = vec![self.about()];
        let mut finding = claims.put_into(Finding { about, figures: vec![figure], ..Finding::default() });
        if Gear::ALL.into_iter().any(|gear| finding.misses(&beyond(gear))) {
            finding.notes.push(NOTE.into());
        }
        Ok(finding)
    }

    fn about(&self) -> String {
        let Load { lps, messages, local, until_s } = self.load;
        format!(
            "PHOLD with {lps} LPs a federate, {messages} messages an LP, {local} % local, lookahead 1 s, {until_s} s of simulated \
             time; one federate in each of {} guests on 24 PCPUs.",
            self.domains
        )
    }
}
