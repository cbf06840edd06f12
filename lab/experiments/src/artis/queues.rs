//! Figures 9 and 10: the wireless model, standard and light, with the base heap and the Enhanced Heap, over
//! its hosts.
//!
//! The engine has one queue for all runs, so the model is driven here, in one federate with the queue in
//! question.

use paceline_kernel::{BucketQueue, Heap};
use paceline_models::wireless::{Computation, Deliveries, Wireless, WirelessEvent};

use super::drive::{Driven, Gear, drive};
use super::enhanced_heap::EnhancedHeap;
use crate::parameters::kinds::count;
use crate::prelude::*;
use crate::turns::{Times, order};

const MODELS: [(&str, Computation); 2] = [("standard", Computation::Standard), ("light", Computation::Light)];
/// Drives the model to its end in a gear.
type Driver = fn(&Wireless, Gear) -> Result<Driven, String>;
const QUEUES: [(&str, Driver); 3] = [
    ("base heap", drive::<Wireless, Heap<WirelessEvent>>),
    ("Enhanced Heap", drive::<Wireless, EnhancedHeap<WirelessEvent>>),
    ("buckets", drive::<Wireless, BucketQueue<WirelessEvent>>),
];
const GEARS: [(&str, Gear); 2] = [("sequential", Gear::OneByOne), ("windows", Gear::Windows)];
/// In per cent, a gain above this is clear, and marginal where neither it nor a loss is.
const CLEAR: f64 = 10.0;
const MARGINAL: Wanted = Wanted::Within(-CLEAR, CLEAR);
/// What the check of the standard model is called.
const MARGINALLY: &str = "standard: time saved by the Enhanced Heap, sequential";

/// What is run: both models with each number of hosts, so many steps a run and so many turns.
#[derive(Clone, Debug)]
struct Runs {
    hosts: Vec<u32>,
    steps: u32,
    turns: u32,
}

/// The standard model with other rounds for a ping: few steps, as these runs take ten times as long as the
/// light model's.
#[derive(Clone, Debug)]
struct Rounds {
    over: Over,
    steps: u32,
    turns: u32,
}

pub fn fig9(setup: &Setup, parameters: &mut Parameters) -> Result<Plan, ScenarioError> {
    let runs = Runs::read(parameters)?;
    let rounds = Rounds::read(setup, parameters)?;
    let mut cells = runs.cells();
    cells.extend(rounds.cells(&runs, setup));
    Ok(Plan::new(cells, move |results| {
        let mut finding = runs.judge(results, 0)?;
        if finding.misses(MARGINALLY) {
            finding.sweeps.push(rounds.sweep(&runs, results)?);
        }
        Ok(finding)
    }))
}

pub fn fig10(_: &Setup, parameters: &mut Parameters) -> Result<Plan, ScenarioError> {
    let runs = Runs::read(parameters)?;
    let cells = runs.cells();
    Ok(Plan::new(cells, move |results| runs.judge(results, 1)))
}

impl Rounds {
    fn read(setup: &Setup, parameters: &mut Parameters) -> Result<Self, ScenarioError> {
        let tried = parameters.tried("rounds", &count(1..=100_000))?;
        let steps = parameters.one("rounds_steps", &super::steps())?;
        let turns = parameters.one("rounds_turns", &super::turns())?;
        let quantity = Axis::linear("number of rounds that a host computes for each ping", "");
        let name = format!("{steps}steps/{turns}turns/rounds");
        let over = Over::parameter(name, quantity, &tried, MODELS[0].1.rounds().into(), setup);
        Ok(Self { over, steps, turns })
    }

    fn cells(&self, runs: &Runs, setup: &Setup) -> Vec<Cell> {
        self.over.cells(setup, |rounds, _| {
            let (steps, turns) = (self.steps, self.turns as usize);
            let cell = |hosts: &u32| {
                let hosts = *hosts;
                Cell {
                    key: runs.key(0, hosts),
                    weight: f64::from(hosts),
                    alone: true,
                    job: Box::new(move || {
                        measure(hosts, steps, Computation::Rounds(rounds as u32), turns, 2)
                    }),
                }
            };
            runs.hosts.iter().map(cell).collect::<Vec<_>>()
        })
    }

    fn sweep(&self, runs: &Runs, results: &Results) -> Found<Sweep> {
        let curve = |(place, hosts): (usize, &u32)| {
            let gain = |results: &Results| Ok(runs.gains(results, 0, 0)?[place].value);
            self.over.curve(format!("{hosts} hosts"), MARGINAL, results, gain)
        };
        let curves = runs.hosts.iter().enumerate().map(curve).collect::<Result<_, _>>()?;
        let reason = "A round takes about a nanosecond. The paper does not say how long its model computes for a ping, only that this is \
                      overwhelming, and about ten times as long as in the light model.";
        let measured = Axis::linear("time saved by the Enhanced Heap", "%");
        Ok(self.over.sweep(MARGINALLY, measured, curves, reason))
    }
}

/// The series are by gear and queue, of the first so many ways of these.
fn measure(hosts: u32, steps: u32, computation: Computation, turns: usize, ways: usize) -> Found<Measure> {
    // Each ping that is heard is an event, as in the paper.
    let network = Wireless::ad_hoc(hosts, steps, computation).deliver(Deliveries::Singly);
    let mut series = vec![Vec::new(); ways];
    let mut first = None;
    for turn in 0..=turns {
        for way in order(turn, ways) {
            let (queue, gear) = (way % QUEUES.len(), way / QUEUES.len());
            let driven = (QUEUES[queue].1)(&network, GEARS[gear].1).map_err(CellError::Guests)?;
            let digest = *first.get_or_insert(driven.digest);
            if driven.digest != digest {
                let differ = format!("digests differ: {digest} and {}", driven.digest);
                return Err(CellError::Guests(differ));
            }
            if turn > 0 {
                let seconds = driven.wall.as_secs_f64() * 1_000.0 / f64::from(steps);
                series[way].push((turn as f64, seconds));
            }
        }
    }
    Ok(Measure { series, digest: first.map(|digest| digest.value()), ..Measure::default() })
}

impl Runs {
    fn read(parameters: &mut Parameters) -> Result<Self, ScenarioError> {
        Ok(Self {
            hosts: parameters.points("hosts", &super::hosts())?,
            steps: parameters.one("steps", &super::steps())?,
            turns: parameters.one("turns", &super::turns())?,
        })
    }

    fn key(&self, model: usize, hosts: u32) -> String {
        let Self { steps, turns, .. } = self;
        format!("artis/queues/{}/{hosts}/{steps}steps/{turns}turns", MODELS[model].0)
    }

    fn cells(&self) -> Vec<Cell> {
        let (steps, turns) = (self.steps, self.turns as usize);
        let both = |hosts: &u32| {
            let hosts = *hosts;
            [0, 1].map(|model| Cell {
                key: self.key(model, hosts),
                weight: f64::from(hosts),
                alone: true,
                job: Box::new(move || {
                    measure(hosts, steps, MODELS[model].1, turns, GEARS.len() * QUEUES.len())
                }),
            })
        };
        self.hosts.iter().flat_map(both).collect()
    }

    /// What the Enhanced Heap saves of the base heap's time in per cent, of all numbers of hosts.
    fn gains(&self, results: &Results, model: usize, gear: usize) -> Found<Vec<Estimate>> {
        let gain = |hosts: &u32| -> Found<Estimate> {
            let time = |queue| self.times(results, model, *hosts, gear, queue);
            Ok(time(1)?.compared(&time(0)?).map(|part| 100.0 * (1.0 - part)))
        };
        self.hosts.iter().map(gain).collect()
    }

    fn times(&self, results: &Results, model: usize, hosts: u32, gear: usize, queue: usize) -> Found<Times> {
        Ok(Times::of(&results.get(&self.key(model, hosts))?.series[gear * QUEUES.len() + queue]))
    }

    /// What the Enhanced Heap saves of both models, beside what is said of it.
    fn gains_figure(&self, results: &Results) -> Found<Figure> {
        let mut series = Vec::new();
        let hosts = || self.hosts.iter().map(|hosts| f64::from(*hosts));
        for (model, (name, _)) in MODELS.into_iter().enumerate() {
            let gains = self.gains(results, model, 0)?;
            let points = hosts().zip(gains).map(|(hosts, gain)| (hosts, gain.value)).collect();
            series.push(Series::ours(name, Kind::Lines, points));
        }
        Ok(plot(
            "Time saved by the Enhanced Heap, sequential",
            "Published are run times without numbers. Of the standard model the text says \"marginal\", of the light one that the advantage \
                      is clear and grows with the hosts.",
            [Axis::linear("hosts", ""), Axis::linear("time saved", "%")],
            series,
        ))
    }

    fn judge(&self, results: &Results, model: usize) -> Found<Finding> {
        let (name, _) = MODELS[model];
        let mut claims = Claims::default();
        self.claim(&mut claims, results, model)?;
        let (table, series) = self.run_times(results, model)?;
        let about = "The wireless model in one federate on one thread, in real time: each ping that is heard is an event. \"Sequential\": one \
                     event after the other, the queue gives out the least; \"windows\": the queue gives out all of a window at once. All \
                     queues take turns and give one digest; medians with the least and the most in brackets, scaled to 1000 steps."
            .to_owned();
        let figure = plot(
            format!("Figure {}: the {name} wireless model over its hosts", model + 9),
            "The paper's curves are plots, of which its text gives no numbers.",
            [Axis::linear("hosts", ""), Axis::linear("run time of 1000 steps", "s")],
            series,
        );
        let windows = self.text(&self.gains(results, model, 1)?);
        let notes = vec![
            format!(
                "In windows the Enhanced Heap saves {windows}: there the base heap still gives out one event after the other, and the \
                 Enhanced Heap whole lists."
            ),
            "Standard and light differ in what a host computes about each ping it hears: 100 and 10 rounds of a chain of multiplications, \
             about a nanosecond each. The paper does not say how long its models compute. More rounds would hide the queue, and would be a \
             constant made for the figure."
                .into(),
        ];
        Ok(claims.put_into(Finding {
            about: vec![about],
            figures: vec![self.gains_figure(results)?, figure],
            tables: vec![table],
            notes,
            ..Finding::default()
        }))
    }

    fn text(&self, gains: &[Estimate]) -> String {
        let gains: Vec<_> = gains.iter().map(|gain| format!("{:+.1} %", gain.value)).collect();
        format!("{} with {:?} hosts", gains.join(", "), self.hosts)
    }

    /// What the paper says of a model.
    fn claim(&self, claims: &mut Claims, results: &Results, model: usize) -> Found<()> {
        let saved = self.gains(results, model, 0)?;
        let hosts = || format!("with {:?} hosts", self.hosts);
        if model == 0 {
            claims.add(MARGINALLY, || {
                let words = "marginal; a little advantage with 6000 hosts";
                let criterion = Criterion::stated(Statement::Sign, words, Shape::Each(MARGINAL));
                Ok((criterion, Ours::all(saved.iter().copied(), "%").with(hosts())))
            })?;
            return claims.add("what the light model saves more than the standard one", || {
                let light = self.gains(results, 1, 0)?;
                let more = light.iter().zip(&saved).map(|(light, standard)| Estimate {
                    value: light.value - standard.value,
                    low: light.low - standard.high,
                    high: light.high - standard.low,
                });
                let words = "hidden by the computation";
                let criterion = Criterion::stated(Statement::Order, words, Shape::Above(0.0));
                Ok((criterion, Ours::all(more, "points").with(hosts())))
            });
        }
        claims.add("light: time saved by the Enhanced Heap, sequential", || {
            let criterion = Criterion::stated(Statement::Sign, "clear", Shape::Above(CLEAR));
            Ok((criterion, Ours::all(saved.iter().copied(), "%").with(hosts())))
        })?;
        claims.add("light: what is saved with the fewest hosts and with the most", || {
            let (fewest, most) = several(&saved)?;
            let criterion = Criterion::stated(Statement::Order, "grows", Shape::Rises(0.0));
            Ok((criterion, Ours::all([*fewest, *most], "%")))
        })
    }

    /// The run times of a model by hosts, gear and queue.
    fn run_times(&self, results: &Results, model: usize) -> Found<(Table, Vec<Series>)> {
        let (name, _) = MODELS[model];
        let columns = ["hosts", "run", "queue", "1000 steps (s)", "of base heap"];
        let mut table = Table::new(format!("Run times of the {name} model"), columns);
        let mut series = Vec::new();
        for (gear, (how, _)) in GEARS.iter().enumerate() {
            for (queue, (title, _)) in QUEUES.iter().enumerate() {
                let mut points = Vec::new();
                for hosts in self.hosts.iter().copied() {
                    let (times, base) = (
                        self.times(results, model, hosts, gear, queue)?,
                        self.times(results, model, hosts, gear, 0)?,
                    );
                    let ratio = format!("{:.2}", times.ratio(&base));
                    table.row([hosts.to_string(), (*how).into(), (*title).into(), times.text(1.0), ratio]);
                    points.push((f64::from(hosts), times.median()));
                }
                series.push(Series::ours(format!("{title}, {how}"), Kind::Lines, points));
            }
        }
        Ok((table, series))
    }
}
