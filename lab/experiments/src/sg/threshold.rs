//! When a round runs on many threads: fixed thresholds, the threshold that is moved every five rounds
//! (SimGrid report, section 5), and the choice by measured times.

use paceline_models::chord::Starts;
use paceline_processes::Rounds;

use super::runs::{ALONE, Comparison, Net, Way, Workload};
use super::{Size, about, cores, work};
use crate::parameters::kinds::count;
use crate::prelude::*;

/// The first of the fixed thresholds among the ways; the two that find it themselves come after them.
const FIRST: usize = 1;
const FINDS: [(&str, Rounds); 2] = [("adaptive5", Rounds::Adaptive5), ("auto", Rounds::Auto)];
/// So much slower than the best fixed one each of those may be.
const ALLOWED: f64 = 1.03;
#[derive(Clone, Debug)]
struct Runs {
    size: Size,
    /// Nanoseconds of work for each message.
    works_ns: Vec<u64>,
    /// Fixed thresholds, in processes a round.
    fixed: Vec<u32>,
}

impl Runs {
    fn comparisons(&self) -> Vec<Comparison> {
        let mut ways = vec![("one thread".to_owned(), ALONE)];
        let fixed = self.fixed.iter().map(|least| (format!("static:{least}"), Rounds::Static(*least)));
        let finds = FINDS.map(|(name, rounds)| (name.to_owned(), rounds));
        ways.extend(fixed.chain(finds).map(|(name, rounds)| (name, Way::on(cores(), rounds))));
        let Size { peers, until_s, turns } = self.size;
        let comparison = |net, work_ns| Comparison {
            workload: Workload { net, peers, until_s, work_ns, starts: Starts::Lockstep },
            ways: ways.clone(),
            turns,
        };
        let each = |net| self.works_ns.iter().map(move |work_ns| comparison(net, *work_ns));
        Net::ALL.into_iter().flat_map(|net| each(net).collect::<Vec<_>>()).collect()
    }
}

pub fn plan(_: &Setup, parameters: &mut Parameters) -> Result<Plan, ScenarioError> {
    let runs = Runs {
        size: Size::read(parameters)?,
        works_ns: parameters.points("work", &work())?,
        fixed: parameters.points("static", &count(2..=1_000_000))?,
    };
    let cells = runs.comparisons().iter().map(Comparison::cell).collect();
    Ok(Plan::new(cells, move |results| judge(&runs, results)))
}

/// The two that find the threshold themselves, by workload.
fn against_best(names: Vec<String>, ratios: &[Vec<(f64, f64)>; FINDS.len()]) -> Figure {
    let series = FINDS
        .iter()
        .zip(ratios)
        .map(|((name, _), points)| Series::ours(*name, Kind::Bars, points.clone()))
        .collect();
    plot(
        "Time where the threshold is found, as a multiple of the best fixed one's",
        "Published is a slight improvement, without a number.",
        [Axis::categories("workload", names), Axis::linear("time", "times the best fixed threshold's")],
        series,
    )
}

fn judge(runs: &Runs, results: &Results) -> Found<Finding> {
    let mut finding = Finding { about: vec![about()], ..Finding::default() };
    let columns = ["workload", "way", "time (ms)", "of one thread", "of the best fixed one"];
    let mut table = Table::new("Times by threshold", columns);
    let count = runs.fixed.len();
    let last = (count + FINDS.len() - 1) as f64;
    let mut series = vec![Series::ours("one thread", Kind::Steps, vec![(0.0, 1.0), (last, 1.0)])];
    let statics = FIRST..FIRST + count;
    let (mut names, mut against) = (Vec::new(), FINDS.map(|_| Vec::new()));
    for comparison in runs.comparisons() {
        let times = comparison.times(results)?;
        let name = comparison.workload.name();
        let medians = statics.clone().map(|way| (times.median(way), way));
        let (_, best) = medians.min_by(|one, other| one.0.total_cmp(&other.0)).unwrap_or((0.0, FIRST));
        for (way, (how, _)) in comparison.ways.iter().enumerate() {
            let ratio = |other: usize| format!("{:.2}", times.ratio(way, other));
            table.row([name.clone(), how.clone(), times.text(way), ratio(0), ratio(best)]);
        }
        for (place, (how, _)) in FINDS.into_iter().enumerate() {
            let behind = times.compared(statics.end + place, best);
            against[place].push((names.len() as f64, behind.value));
            let criterion = match how {
                "auto" => Criterion::goal(Shape::at_most(ALLOWED)),
                _ => {
                    let slight = Shape::within(1.0 / 1.5, ALLOWED);
                    Criterion::stated(Statement::Sign, "a slight improvement", slight)
                }
            };
            finding.checks.push(check(
                format!("{name}: {how} compared with the best fixed threshold"),
                criterion,
                Ours::one(behind, "times").with(format!("of {}", runs.fixed[best - FIRST])),
            ));
        }
        let points = |ways: std::ops::Range<usize>| {
            ways.enumerate().map(|(place, way)| (place as f64, times.ratio(way, 0))).collect::<Vec<_>>()
        };
        series.push(Series::ours(&name, Kind::Lines, points(FIRST..statics.end + FINDS.len())));
        names.push(name);
    }
    finding.tables.push(table);
    finding.figures.push(against_best(names, &against));
    let names = runs.fixed.iter().map(u32::to_string).chain(FINDS.map(|(name, _)| name.to_owned()));
    finding.figures.push(plot("Time by threshold", "As a multiple of the time on one thread; on the left fixed thresholds, on the right those that find it themselves.", [Axis::categories("least processes of a round in parallel", names), Axis::linear("times one thread", "")], series));
    finding.notes.push(format!(
        "The best fixed threshold is chosen after the fact, as the least of {count} medians: noise alone makes it look better than it is. \
         Published is that rounds are faster in parallel from 33 processes on, which depends on what a process takes and on what \
         it costs to wake threads; a fixed threshold fits one workload."
    ));
    Ok(finding)
}
