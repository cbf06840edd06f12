//! What the coordinating thread does while a round runs on many threads, and how threads wait for each other
//! (SimGrid report, sections 4.2 and 4.3): all nine.

use paceline_models::chord::Starts;
use paceline_processes::{Coordination, Rounds, Waiting};

use super::runs::{ALONE, Comparison, Net, Way, Workload};
use super::{Size, about, cores, work};
use crate::prelude::*;

const COORDINATIONS: [(&str, Coordination); 3] =
    [("works", Coordination::Works), ("sleeps", Coordination::Sleeps), ("extra thread", Coordination::Extra)];
const WAITINGS: [(&str, Waiting); 3] =
    [("futex", Waiting::Futex), ("condition", Waiting::Condition), ("busy", Waiting::Busy)];
/// A gain or a loss by less than this factor is none.
const NONE: f64 = 1.05;

/// One thread, and then the nine, by coordination.
fn comparison(size: Size, work_ns: u64, net: Net) -> Comparison {
    let Size { peers, until_s, turns } = size;
    let mut ways = vec![("one thread".to_owned(), ALONE)];
    for (one, coordination) in COORDINATIONS {
        for (other, waiting) in WAITINGS {
            let way = Way { coordination, waiting, ..Way::on(cores(), Rounds::Always) };
            ways.push((format!("{one}, {other}"), way));
        }
    }
    Comparison { workload: Workload { net, peers, until_s, work_ns, starts: Starts::Lockstep }, ways, turns }
}

pub fn plan(_: &Setup, parameters: &mut Parameters) -> Result<Plan, ScenarioError> {
    let (size, work_ns) = (Size::read(parameters)?, parameters.one("work", &work())?);
    let comparison = move |net| comparison(size, work_ns, net);
    let cells = Net::ALL.map(|net| comparison(net).cell()).into();
    Ok(Plan::new(cells, move |results| judge(&comparison, results)))
}

fn judge(comparison: &dyn Fn(Net) -> Comparison, results: &Results) -> Found<Finding> {
    let mut finding = Finding { about: vec![about()], ..Finding::default() };
    let mut gains = Vec::new();
    let names = COORDINATIONS.map(|(name, _)| name);
    for net in Net::ALL {
        let comparison = comparison(net);
        let times = comparison.times(results)?;
        let columns = ["coordinator", "waiting", "time (ms)", "of one thread", "of works, futex"];
        let mut table = Table::new(comparison.workload.name(), columns);
        let row = |place: usize, coordinator: &str, waiting: &str| {
            let ratio = |other: usize| format!("{:.2}", times.ratio(place, other));
            [coordinator.to_owned(), waiting.to_owned(), times.text(place), ratio(0), ratio(1)]
        };
        table.row(row(0, "one thread", "-"));
        let mut bars = WAITINGS.map(|_| Vec::new());
        for (one, coordinator) in names.iter().enumerate() {
            for (other, (waiting, _)) in WAITINGS.iter().enumerate() {
                let place = 1 + one * WAITINGS.len() + other;
                table.row(row(place, coordinator, waiting));
                bars[other].push((one as f64, times.ratio(place, 0)));
            }
        }
        finding.tables.push(table);
        let series = bars.into_iter().zip(WAITINGS);
        finding.figures.push(plot(
            format!("Time by coordination and waiting, {} network", net.name()),
            "As a multiple of the time on one thread; all rounds of several processes in parallel.",
            [Axis::categories("coordinating thread", names), Axis::linear("times one thread", "")],
            series.map(|(bars, (waiting, _))| Series::ours(waiting, Kind::Bars, bars)).collect(),
        ));
        // The other two against the coordinator that works, each with its best way to wait.
        let best = |one: usize| {
            let places = 1 + WAITINGS.len() * one..1 + WAITINGS.len() * (one + 1);
            places.min_by(|one, other| times.ratio(*one, 1).total_cmp(&times.ratio(*other, 1))).unwrap_or(1)
        };
        let mut bars = Vec::new();
        for (one, name) in names.iter().enumerate().skip(1) {
            let gain = times.compared(best(0), best(one));
            bars.push(((one - 1) as f64, gain.value));
            let (words, shape) = match one {
                1 => ("no improvement or loss", Shape::within(1.0 / NONE, NONE)),
                _ => ("slightly slower", Shape::within(1.0 / 1.5, 1.0)),
            };
            finding.checks.push(check(
                format!("{}: gain of a coordinator that sleeps ({name})", net.name()),
                Criterion::stated(Statement::Sign, words, shape),
                Ours::one(gain, "times"),
            ));
        }
        gains.push(Series::ours(net.name(), Kind::Bars, bars));
        gains.push(Series::published(net.name(), Kind::Bars, vec![(0.0, 1.0)]));
    }
    finding.figures.insert(
        0,
        plot("Gain of a coordinating thread that does not work", "Time of the coordinator that works by that of the other, each with its best way to wait. Published is neither gain nor loss for one that \
                      sleeps, and for an extra thread without a number that it is slightly slower.", [Axis::categories("coordinating thread", names.into_iter().skip(1)), Axis::linear("gain", "times")], gains),
    );
    finding.notes.push(
        "Threads that wait busily look again and again, and offer their core to others only now and then: with as many threads as \
         cores and nothing else to run that wakes them fastest, with an extra thread it takes a core from one that has work. A \
         coordinator that sleeps leaves one thread less to run code, which counts most where there are few."
            .into(),
    );
    Ok(finding)
}
