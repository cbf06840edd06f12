//! Figures 1 to 3 once more, in real time: the wireless model itself on real threads of this machine, in the
//! three runtimes, beside their simulated run times. Hyper-threading is as the machine has it.
//!
//! Invariant: all runs of a measure give one digest.

use std::num::NonZero;
use std::thread::available_parallelism;
use std::time::Duration;

use paceline_models::wireless::{Computation, Deliveries, Wireless};

use super::curves::{EQUAL, name, runtimes};
use super::lp::Runtime;
use super::runs::{Case, Dealing, Scheduler, Size};
use super::threads::{Waits, drive_threads};
use crate::parameters::kinds::{count, micros};
use crate::prelude::*;
use crate::turns::{Times, order};

/// Steps of a published run.
const STEPS: f64 = 1_000.0;

#[derive(Clone, Debug)]
struct Runs {
    lps: Vec<u32>,
    hosts: u32,
    steps: u32,
    turns: u32,
    /// In place of the timed wait of 2005.
    wait_us: u64,
    /// The runtimes of the simulated machine, and the steps that it runs.
    simulated: [Runtime; 3],
    simulated_steps: u32,
}

pub fn plan(setup: &Setup, parameters: &mut Parameters) -> Result<Plan, ScenarioError> {
    let runs = Runs {
        // What a socket holds is a byte for each message of two steps, from each other LP.
        lps: parameters.points("lps", &count(1..=12))?,
        hosts: parameters.one("hosts", &super::hosts())?,
        steps: parameters.one("steps", &super::steps())?,
        turns: parameters.one("turns", &super::turns())?,
        wait_us: parameters.one("wait", &micros(1..=1_000_000))?,
        simulated: runtimes(setup.calibration.get("artis.timed_wait")),
        simulated_steps: parameters.one("simulated_steps", &super::steps())?,
    };
    let mut cells = vec![runs.cell()];
    for runtime in runs.simulated {
        cells.extend(runs.lps.iter().map(|lps| runs.case(runtime, *lps).cell(setup)));
    }
    Ok(Plan::new(cells, move |results| runs.judge(results)))
}

impl Runs {
    /// The ways that take turns: each runtime with each number of LPs.
    fn ways(&self) -> Vec<(Waits, u32)> {
        let wait = Duration::from_micros(self.wait_us);
        let all = [Waits::Timed(wait), Waits::Signals, Waits::Single];
        all.into_iter().flat_map(|waits| self.lps.iter().map(move |lps| (waits, *lps))).collect()
    }

    fn key(&self) -> String {
        let Self { lps, hosts, steps, turns, wait_us, .. } = self;
        format!("artis/threads/{lps:?}lps/{hosts}hosts/{steps}steps/{turns}turns/{wait_us}us")
    }

    fn case(&self, runtime: Runtime, lps: u32) -> Case {
        let (scheduler, dealing) = (Scheduler::Linux, Dealing::Scattered);
        let size = Size { hosts: self.hosts, steps: self.simulated_steps };
        Case { runtime, lps, smt: false, scheduler, dealing, size }
    }

    fn cell(&self) -> Cell {
        let (ways, hosts, steps, turns) = (self.ways(), self.hosts, self.steps, self.turns as usize);
        let job = move || measure(&ways, hosts, steps, turns);
        Cell { key: self.key(), weight: f64::from(hosts), alone: true, job: Box::new(job) }
    }

    fn times(&self, results: &Results, runtime: usize, place: usize) -> Found<Times> {
        Ok(Times::of(&results.get(&self.key())?.series[runtime * self.lps.len() + place]))
    }

    /// The place of the number of LPs with the least median run time, of those that `among` names.
    fn best(&self, results: &Results, runtime: usize, among: impl Fn(usize) -> bool) -> Found<Times> {
        let all = (0..self.lps.len()).filter(|place| among(*place));
        let times = all.map(|place| self.times(results, runtime, place)).collect::<Found<Vec<_>>>()?;
        let best = times.into_iter().min_by(|one, other| one.median().total_cmp(&other.median()));
        best.ok_or_else(|| CellError::NotRun("another number of LPs".into()))
    }

    fn judge(&self, results: &Results) -> Found<Finding> {
        let cpus = available_parallelism().map_or(1, NonZero::get) as u32;
        let (mut claims, mut series) = (Claims::default(), Vec::new());
        let mut columns = vec!["runtime".to_owned(), "on".into()];
        columns.extend(self.lps.iter().map(|lps| format!("{lps} LP")));
        let mut table = Table::new("Run times of 1000 steps, in seconds", columns);
        // As many LPs as CPUs, or the most that run.
        let equal = self.lps.iter().rposition(|lps| *lps <= cpus).unwrap_or(0);
        for (runtime, simulated) in self.simulated.into_iter().enumerate() {
            claims.add(
                format!(
                    "{}: best with other numbers of LPs, times that with {}",
                    name(simulated),
                    self.lps[equal]
                ),
                || {
                    let others = self.best(results, runtime, |place| place != equal)?;
                    let ratio = others.compared(&self.times(results, runtime, equal)?);
                    let words = "best with as many LPs as CPUs";
                    let criterion = Criterion::stated(Statement::Order, words, Shape::at_least(1.0 - EQUAL));
                    Ok((criterion, Ours::one(ratio, "times").with(format!("{cpus} CPUs"))))
                },
            )?;
            let real = (0..self.lps.len()).map(|place| self.times(results, runtime, place));
            let real = real.collect::<Found<Vec<_>>>()?;
            let cases = self.lps.iter().map(|lps| self.case(simulated, *lps).seconds(results));
            let cases = cases.collect::<Found<Vec<_>>>()?;
            let row = |on: &str, cells: Vec<String>| {
                [name(simulated).to_owned(), on.into()].into_iter().chain(cells)
            };
            table.row(row("real threads", real.iter().map(|times| times.text(1.0)).collect()));
            table.row(row("the simulated machine", cases.iter().map(|time| format!("{time:.1}")).collect()));
            let curve = |on: &str, times: Vec<f64>| {
                let points =
                    self.lps.iter().zip(&times).map(|(lps, time)| (f64::from(*lps), time / times[0]));
                Series::ours(format!("{}, {on}", name(simulated)), Kind::Lines, points.collect())
            };
            series.push(curve("real", real.iter().map(Times::median).collect()));
            series.push(curve("simulated", cases));
        }
        claims.add("best run time with signals, times those with timed wait and single-threaded", || {
            let [timed, signals, single] = [0, 1, 2].map(|runtime| self.best(results, runtime, |_| true));
            let (timed, signals, single) = (timed?, signals?, single?);
            let ratios = [signals.compared(&timed), signals.compared(&single)];
            let words = "signals give the best results";
            let criterion = Criterion::stated(Statement::Order, words, Shape::Each(Wanted::AtMost(1.0)));
            Ok((criterion, Ours::all(ratios, "times")))
        })?;
        let figure = plot(
            "Run time over the LPs, on real threads and simulated",
            "Times that with the fewest LPs. The paper's curves are plots, of which its text gives no numbers.",
            [Axis::linear("LPs", ""), Axis::log("run time", "times")],
            series,
        );
        Ok(claims.put_into(Finding {
            about: vec![self.about(cpus)],
            figures: vec![figure],
            tables: vec![table],
            notes: self.notes(),
            ..Finding::default()
        }))
    }

    fn about(&self, cpus: u32) -> String {
        format!(
            "The wireless model with {} hosts, each ping that is heard an event, in {} steps on real threads of this machine, which has {cpus} CPUs: an LP is a federate \
             of the kernel with a main thread and a courier, or with one thread. All runs take turns and give one digest; medians with the least and the most in \
             brackets, scaled to 1000 steps. Beside them are the simulated machine's, with two CPUs of 2005, the hosts scattered and hyper-threading off.",
            self.hosts, self.steps
        )
    }

    fn notes(&self) -> Vec<String> {
        vec![
            format!(
                "A timed wait is {} us, as in the kernels of 2005; this machine's could be shorter. A step of the paper is several windows here, \
                 with a wait for the end of each.",
                self.wait_us
            ),
            "Here an LP hands over a list of events in one message, so that messages cost little beside the events; in the simulated runtimes each ping is \
             put into memory and taken out."
                .into(),
        ]
    }
}

/// The run times of all ways, scaled to a published run, a series each.
fn measure(ways: &[(Waits, u32)], hosts: u32, steps: u32, turns: usize) -> Found<Measure> {
    let network = Wireless::ad_hoc(hosts, steps, Computation::Standard).deliver(Deliveries::Singly);
    let mut series = vec![Vec::new(); ways.len()];
    let mut first = None;
    for turn in 0..=turns {
        for way in order(turn, ways.len()) {
            let (waits, lps) = ways[way];
            let driven = drive_threads(&network, lps, waits).map_err(CellError::Guests)?;
            let digest = *first.get_or_insert(driven.digest);
            if driven.digest != digest {
                return Err(CellError::Guests(format!("digests differ: {digest} and {}", driven.digest)));
            }
            // The first turn warms up.
            if turn > 0 {
                series[way].push((turn as f64, driven.wall.as_secs_f64() * STEPS / f64::from(steps)));
            }
        }
    }
    Ok(Measure { series, digest: first.map(|digest| digest.value()), ..Measure::default() })
}
