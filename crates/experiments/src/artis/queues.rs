//! Figures 9 and 10: the wireless model, standard and light, with the base heap and the Enhanced Heap, over its hosts.

use std::num::NonZero;

use paceline_engine::{Protocol, QueueKind, Simulation};
use paceline_models::wireless::{Computation, Deliveries, Wireless};
use paceline_report::{Axis, Check, Figure, Finding, Kind, Series, Sweep, Table, Wanted};

use super::turns::{Times, order};
use crate::plan::{Cell, CellError, Measure, Plan, Results, Setup};
use crate::sweep::Over;

const HOSTS: [u32; 3] = [3_000, 6_000, 9_000];
const MODELS: [(&str, Computation); 2] = [("standard", Computation::Standard), ("light", Computation::Light)];
const QUEUES: [(&str, QueueKind); 3] = [
    ("base heap", QueueKind::Heap),
    ("Enhanced Heap", QueueKind::EnhancedHeap),
    ("buckets", QueueKind::Bucket),
];
/// How the engine runs: one event after the other, or windows on many threads.
const GEARS: [&str; 2] = ["sequential", "windows"];
/// A gain below this is marginal, one above it clear.
const MARGINAL: f64 = 0.10;
/// What the check of the standard model is called.
const MARGINALLY: &str = "standard: time saved by the Enhanced Heap, sequential";

/// Figure 9.
pub fn fig9(setup: &Setup) -> Plan {
    plan(setup, 0)
}

/// Figure 10.
pub fn fig10(setup: &Setup) -> Plan {
    plan(setup, 1)
}

fn threads() -> u32 {
    std::thread::available_parallelism().map_or(1, NonZero::get) as u32
}

fn key(model: usize, hosts: u32) -> String {
    format!("artis/queues/{}/{hosts}", MODELS[model].0)
}

fn plan(setup: &Setup, model: usize) -> Plan {
    let (steps, turns) = if setup.quick { (3, 3) } else { (15, 5) };
    let cells = HOSTS.iter().flat_map(|hosts| {
        [0, 1].map(|model| Cell {
            key: key(model, *hosts),
            weight: f64::from(*hosts),
            alone: true,
            job: Box::new(move || measure(*hosts, steps, MODELS[model].1, turns, GEARS.len() * QUEUES.len())),
        })
    });
    let mut cells: Vec<_> = cells.collect();
    let rounds = rounds(setup);
    if model == 0 {
        cells.extend(rounds.cells(setup, |rounds, setup| swept(rounds as u32, setup)));
    }
    let judge = move |results: &Results| {
        let mut finding = judge(results, model)?;
        if model == 0 && finding.fails(MARGINALLY) {
            finding.sweeps.push(sweep(&rounds, results)?);
        }
        Ok(finding)
    };
    Plan { cells, judge: Box::new(judge) }
}

/// The rounds of the standard model's computation for a ping.
fn rounds(setup: &Setup) -> Over {
    let quantity = Axis::linear("number of rounds that a host computes for each ping", "");
    let ours = MODELS[0].1.rounds();
    Over::parameter("rounds", quantity, &[300, 800, 1_600], ours.into(), setup)
}

/// The runs with other rounds, few and short: they take ten times as long as the light model's.
fn swept(rounds: u32, setup: &Setup) -> [Cell; HOSTS.len()] {
    let (steps, turns) = if setup.quick { (2, 3) } else { (3, 3) };
    HOSTS.map(|hosts| Cell {
        key: key(0, hosts),
        weight: f64::from(hosts),
        alone: true,
        job: Box::new(move || measure(hosts, steps, Computation::Rounds(rounds), turns, 2)),
    })
}

/// What the Enhanced Heap saves of the base heap's time, of all numbers of hosts.
fn gains(results: &Results, model: usize, gear: usize) -> Result<Vec<f64>, CellError> {
    let gain = |hosts: u32| -> Result<f64, CellError> {
        let time = |queue| times(results, model, hosts, gear, queue);
        Ok(1.0 - time(1)?.ratio(&time(0)?))
    };
    HOSTS.into_iter().map(gain).collect()
}

fn times(results: &Results, model: usize, hosts: u32, gear: usize, queue: usize) -> Result<Times, CellError> {
    Ok(Times::of(&results.get(&key(model, hosts))?.series[gear * QUEUES.len() + queue]))
}

/// What the Enhanced Heap saves of both models, beside what is said of it.
fn gains_figure(results: &Results) -> Result<Figure, CellError> {
    let mut series = Vec::new();
    for (model, (name, _)) in MODELS.into_iter().enumerate() {
        let points = HOSTS.into_iter().zip(gains(results, model, 0)?);
        let points = points.map(|(hosts, gain)| (f64::from(hosts), 100.0 * gain)).collect();
        series.push(Series::ours(name, Kind::Lines, points));
    }
    let marginal = HOSTS.map(|hosts| (f64::from(hosts), 0.0)).into();
    series.push(Series::published(MODELS[0].0, Kind::Lines, marginal));
    Ok(Figure {
        title: "Time saved by the Enhanced Heap, sequential".into(),
        caption: "Published are run times without numbers. Of the standard model the text says \"marginal\", drawn as none; of the light one that the advantage \
                  is clear and grows with the hosts."
            .into(),
        x: Axis::linear("hosts", ""),
        y: Axis::linear("time saved", "%"),
        series,
    })
}

fn sweep(over: &Over, results: &Results) -> Result<Sweep, CellError> {
    let curve = |place: usize| {
        let gain = |results: &Results| Ok(100.0 * gains(results, 0, 0)?[place]);
        over.curve(format!("{} hosts", HOSTS[place]), Wanted::AtMost(100.0 * MARGINAL), results, gain)
    };
    let curves = (0..HOSTS.len()).map(curve).collect::<Result<_, _>>()?;
    let reason = "A round takes about a nanosecond. The paper does not say how long its model computes for a ping, only that this is \
                  overwhelming, and about ten times as long as in the light model.";
    Ok(over.sweep(MARGINALLY, Axis::linear("time saved by the Enhanced Heap", "%"), curves, reason))
}

/// The series are by gear and queue, of the first so many ways of these.
fn measure(
    hosts: u32,
    steps: u32,
    computation: Computation,
    turns: usize,
    ways: usize,
) -> Result<Measure, CellError> {
    // Each ping that is heard is an event, as in the paper.
    let network = Wireless::ad_hoc(hosts, steps, computation).deliver(Deliveries::Singly);
    let mut series = vec![Vec::new(); ways];
    let mut first = None;
    for turn in 0..=turns {
        for way in order(turn, ways) {
            let simulation = Simulation::new(network.clone()).queue(QUEUES[way % QUEUES.len()].1);
            let simulation = match way / QUEUES.len() {
                0 => simulation.protocol(Protocol::Sequential),
                _ => simulation.protocol(Protocol::Window).threads(threads()),
            };
            let report = simulation.run().map_err(|error| CellError::Guests(error.to_string()))?;
            let digest = *first.get_or_insert(report.digest);
            if report.digest != digest {
                let differ = format!("digests differ: {digest} and {}", report.digest);
                return Err(CellError::Guests(differ));
            }
            if turn > 0 {
                let seconds = report.wall.as_secs_f64() * 1_000.0 / f64::from(steps);
                series[way].push((turn as f64, seconds));
            }
        }
    }
    Ok(Measure { series, digest: first.map(|digest| digest.value()), ..Measure::default() })
}

fn judge(results: &Results, model: usize) -> Result<Finding, CellError> {
    let text = |gains: &[f64]| {
        let gains: Vec<_> = gains.iter().map(|gain| format!("{:+.1} %", 100.0 * gain)).collect();
        format!("{} with {HOSTS:?} hosts", gains.join(", "))
    };
    let (name, _) = MODELS[model];
    let own = gains(results, model, 0)?;
    let mut checks = Vec::new();
    if model == 0 {
        let light = gains(results, 1, 0)?;
        let most = own.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let smaller = own.iter().zip(&light).filter(|(standard, light)| standard < light).count();
        checks.push(Check {
            what: MARGINALLY.into(),
            published: "marginal; a little advantage with 6000 hosts".into(),
            ours: text(&own),
            must: format!("at most {:.0} %", 100.0 * MARGINAL),
            holds: most <= MARGINAL,
        });
        checks.push(Check {
            what: "hosts at which the standard model saves less than the light one".into(),
            published: "hidden by the computation".into(),
            ours: format!("{smaller} of {}", HOSTS.len()),
            must: "all".into(),
            holds: smaller == HOSTS.len(),
        });
    } else {
        checks.push(Check {
            what: "light: time saved by the Enhanced Heap, sequential".into(),
            published: "clear".into(),
            ours: text(&own),
            must: format!("more than {:.0} % with every number of hosts", 100.0 * MARGINAL),
            holds: own.iter().all(|gain| *gain > MARGINAL),
        });
        checks.push(Check {
            what: "light: how that changes from the fewest hosts to the most".into(),
            published: "grows".into(),
            ours: format!("{:+.1} points", 100.0 * (own[HOSTS.len() - 1] - own[0])),
            must: "grows".into(),
            holds: own[HOSTS.len() - 1] > own[0],
        });
    }
    let columns = ["hosts", "run", "queue", "1000 steps (s)", "of base heap"];
    let mut table = Table::new(format!("Run times of the {name} model"), columns);
    let mut series = Vec::new();
    for (gear, how) in GEARS.iter().enumerate() {
        for (queue, (title, _)) in QUEUES.iter().enumerate() {
            let mut points = Vec::new();
            for hosts in HOSTS {
                let (own, base) =
                    (times(results, model, hosts, gear, queue)?, times(results, model, hosts, gear, 0)?);
                let ratio = format!("{:.2}", own.ratio(&base));
                table.row([hosts.to_string(), (*how).into(), (*title).into(), own.text(1.0), ratio]);
                points.push((f64::from(hosts), own.median()));
            }
            series.push(Series::ours(format!("{title}, {how}"), Kind::Lines, points));
        }
    }
    let about = format!(
        "The wireless model in the engine, in real time: each ping that is heard is an event. \"Sequential\": one event after the other, \
         the queue gives out the least; \"windows\": {} threads, the queue gives out all of a window at once. All queues take \
         turns and give one digest; medians with the least and the most in brackets, scaled to 1000 steps.",
        threads()
    );
    let figure = Figure {
        title: format!("Figure {}: the {name} wireless model over its hosts", model + 9),
        caption: "The paper's curves are plots, of which its text gives no numbers.".into(),
        x: Axis::linear("hosts", ""),
        y: Axis::linear("run time of 1000 steps", "s"),
        series,
    };
    let windows = text(&gains(results, model, 1)?);
    let notes = vec![
        format!(
            "In windows the Enhanced Heap saves {windows}: there the base heap still gives out one event after the other, and the \
             Enhanced Heap whole lists."
        ),
        "Standard and light differ in what a host computes about each ping it hears: 100 and 10 rounds of a chain of multiplications, \
         about a nanosecond each. The paper does not say how long its models compute. Where computation is no more than the queue \
         takes, as here, the standard model gains more than marginally; more rounds would hide the queue, as in the paper, and would be \
         a constant made for the figure. What can be compared is that the light model gains more."
            .into(),
    ];
    Ok(Finding {
        about: vec![about],
        checks,
        figures: vec![gains_figure(results)?, figure],
        tables: vec![table],
        notes,
        ..Finding::default()
    })
}
