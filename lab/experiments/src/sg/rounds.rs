//! Rounds of one run: how many processes they have, how long they take, and how much of that can be saved (SimGrid report, section
//! 3.2, figures 2 and 3).
//!
//! Invariant: the rounds are those of one run on one thread, so that the time of a round's code is that of its processes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use paceline_models::chord::Starts;
use paceline_processes::{RoundRecord, Rounds, amdahl_bound};
use paceline_report::{Axis, Check, Figure, Finding, Kind, Series, Table};
use paceline_scenario::ScenarioError;

use super::runs::{ALONE, Net, Observer, Times, Way, Workload};
use super::{Size, about, cores, thread_counts};
use crate::parameters::Parameters;
use crate::plan::{Cell, CellError, Measure, Plan, Results, Setup};

/// The share of processes in rounds of several (published).
const PUBLISHED_SHARE: f64 = 0.31;
/// What the run time with observed rounds is at most, compared with the run time without (published, in most cases).
const OBSERVING: f64 = 1.1;
/// Ways that take turns: one thread, always, auto, and one thread with its rounds observed.
const WAYS: usize = 4;
const OBSERVED: usize = 3;
/// The first of the series after those, from the last observed run: for each class of sizes its mean size with the number of
/// rounds, seconds of code, and seconds of answers.
const ROUNDS: usize = WAYS;
const CODE: usize = WAYS + 1;
const ANSWERS: usize = WAYS + 2;

/// What is known of rounds of a size: how many, seconds of code, seconds of answers.
type Sizes = BTreeMap<usize, (u64, f64, f64)>;

/// In both networks with all peers starting at once, and in the precise one with starts spread.
fn workloads(size: Size) -> [Workload; 3] {
    let Size { peers, until_s, .. } = size;
    let [constant, precise] =
        Net::ALL.map(|net| Workload { net, peers, until_s, work_ns: 0, starts: Starts::Lockstep });
    [constant, precise, Workload { starts: Starts::Spread, ..precise }]
}

fn key(workload: &Workload, turns: usize) -> String {
    format!("sg/rounds/{workload:?}/{turns} turns")
}

fn cell(workload: Workload, turns: usize) -> Cell {
    let job = move || {
        let stage = workload.stage()?;
        let ways = [ALONE, Way::on(cores(), Rounds::Always), Way::on(cores(), Rounds::Auto), ALONE];
        let (sizes, mut last) = (Arc::new(Mutex::new(Sizes::new())), None);
        let mut measure = stage.take_turns(&ways, turns, &mut |place, way| {
            if place != OBSERVED {
                return stage.run(way, None);
            }
            locked(&sizes).clear();
            let report = stage.run(way, Some(observer(Arc::clone(&sizes))))?;
            last = Some((report.counts, report.rounds));
            Ok(report)
        })?;
        let (counts, rounds) = last.unwrap_or_default();
        let sizes = locked(&sizes);
        let all = |of: fn(&(u64, f64, f64)) -> f64| sizes.values().map(of).sum::<f64>();
        let of_one = sizes.get(&1).copied().unwrap_or_default();
        measure.values.extend([
            ("rounds", counts.rounds as f64),
            ("of_one", of_one.0 as f64),
            ("shared_steps", rounds.shared_steps as f64),
            ("shared_seconds", all(|round| round.1) - of_one.1),
            ("code_seconds", all(|round| round.1)),
            ("answer_seconds", all(|round| round.2)),
        ]);
        measure.series.extend(classes(&sizes));
        Ok(measure)
    };
    Cell { key: key(&workload, turns), weight: f64::from(workload.peers), alone: true, job: Box::new(job) }
}

/// Adds each round to `sizes`.
fn observer(sizes: Arc<Mutex<Sizes>>) -> Observer {
    Box::new(move |round: &RoundRecord<'_>| {
        let mut sizes = locked(&sizes);
        let of = sizes.entry(round.processes.len()).or_default();
        *of = (of.0 + 1, of.1 + round.code.as_secs_f64(), of.2 + round.answers.as_secs_f64());
    })
}

fn locked(sizes: &Mutex<Sizes>) -> MutexGuard<'_, Sizes> {
    sizes.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Rounds grouped by powers of two of their sizes: mean size with number of rounds, seconds of code, seconds of answers.
fn classes(sizes: &Sizes) -> [Vec<(f64, f64)>; 3] {
    let mut classes: BTreeMap<u32, [f64; 4]> = BTreeMap::new();
    for (size, (rounds, code, answers)) in sizes {
        let sums = classes.entry(class(*size)).or_default();
        let own = [*rounds as f64 * *size as f64, *rounds as f64, *code, *answers];
        sums.iter_mut().zip(own).for_each(|(sum, own)| *sum += own);
    }
    let of = |place: usize| classes.values().map(|sums| (sums[0] / sums[1], sums[place])).collect();
    [of(1), of(2), of(3)]
}

/// 1, 2, 3 to 4, 5 to 8, and so on.
fn class(size: usize) -> u32 {
    size.next_power_of_two().ilog2()
}

fn class_name(class: u32) -> String {
    match class {
        0 | 1 => (class + 1).to_string(),
        _ => format!("{} - {}", (1u64 << (class - 1)) + 1, 1u64 << class),
    }
}

fn plan(
    parameters: &mut Parameters,
    judge: fn(Size, &Results) -> Result<Finding, CellError>,
) -> Result<Plan, ScenarioError> {
    let size = Size::read(parameters)?;
    let cells = workloads(size).into_iter().map(|workload| cell(workload, size.turns)).collect();
    Ok(Plan { cells, judge: Box::new(move |results| judge(size, results)) })
}

/// Plans figure 2.
pub fn sizes(_: &Setup, parameters: &mut Parameters) -> Result<Plan, ScenarioError> {
    plan(parameters, judge_sizes)
}

/// Plans figure 3.
pub fn times(_: &Setup, parameters: &mut Parameters) -> Result<Plan, ScenarioError> {
    plan(parameters, judge_times)
}

/// What was measured of a workload.
struct Measured<'r> {
    name: String,
    starts: Starts,
    measure: &'r Measure,
}

impl<'r> Measured<'r> {
    fn all(size: Size, results: &'r Results) -> Result<Vec<Self>, CellError> {
        let one = |workload: Workload| {
            let starts =
                if workload.starts == Starts::Lockstep { "starting at once" } else { "starts spread" };
            let name = format!("{}, {starts}", workload.net.name());
            Ok(Self { name, starts: workload.starts, measure: results.get(&key(&workload, size.turns))? })
        };
        workloads(size).into_iter().map(one).collect()
    }

    fn value(&self, name: &str) -> f64 {
        self.measure.values.get(name).copied().unwrap_or_default()
    }

    /// The share of processes that went on beside others.
    fn shared(&self) -> f64 {
        self.value("shared_steps") / self.value("steps").max(1.0)
    }

    fn seconds(&self) -> f64 {
        self.measure.series[OBSERVED].last().map_or(0.0, |(_, seconds)| *seconds)
    }

    /// The share of all time that the code of rounds of several takes.
    fn parallel_share(&self) -> f64 {
        self.value("shared_seconds") / self.seconds()
    }

    fn times(&self) -> Times<'_> {
        Times(&self.measure.series[..WAYS])
    }
}

fn judge_sizes(size: Size, results: &Results) -> Result<Finding, CellError> {
    let mut finding = Finding { about: vec![about()], ..Finding::default() };
    let mut table = Table::new(
        "Rounds and the processes in them",
        ["workload", "rounds", "of one process", "processes run", "in rounds of several"],
    );
    let (mut names, mut shares) = (Vec::new(), Vec::new());
    for measured in Measured::all(size, results)? {
        let net = &measured.name;
        let (rounds, steps) = (measured.value("rounds"), measured.value("steps"));
        let of_one = measured.value("of_one") / rounds.max(1.0);
        let (shared, is_apart) = (measured.shared(), measured.starts == Starts::Spread);
        table.row([net.clone(), rounds.to_string(), percent(of_one), steps.to_string(), percent(shared)]);
        // Where all start at once, they meet again and again.
        finding.checks.extend(is_apart.then(|| Check {
            what: format!("{net}: rounds of one process"),
            published: "most".into(),
            ours: percent(of_one),
            must: "more than half".into(),
            holds: of_one > 0.5,
        }));
        finding.checks.push(Check {
            what: format!("{net}: processes that run in rounds of several"),
            published: percent(PUBLISHED_SHARE),
            ours: percent(shared),
            must: if is_apart { "at most what is published" } else { "at least what is published" }.into(),
            holds: if is_apart { shared <= PUBLISHED_SHARE } else { shared >= PUBLISHED_SHARE },
        });
        names.push(net.clone());
        shares.push(100.0 * shared);
        finding.figures.push(sizes_figure(&measured));
    }
    finding.figures.insert(0, shares_figure(names, &shares));
    finding.tables.push(table);
    finding.notes.push(
        "These numbers are the same in every run. How many processes go on at one instant depends on when peers start, which is not \
         published, and on how alike the times of messages are: all at once and with a constant latency they stay in step, with \
         starts spread next to none meet. What is published lies between the two."
            .into(),
    );
    Ok(finding)
}

/// The share of processes in rounds of several beside the published one, by workload.
fn shares_figure(names: Vec<String>, percent: &[f64]) -> Figure {
    let name = "in rounds of several";
    let points = |of: &dyn Fn(f64) -> f64| {
        percent.iter().enumerate().map(|(place, own)| (place as f64, of(*own))).collect()
    };
    Figure {
        title: "Processes that run in rounds of several".into(),
        caption: "Published is one share, without the times at which peers start.".into(),
        x: Axis::categories("workload", names),
        y: Axis::linear("share of all processes run", "%"),
        series: vec![
            Series::ours(name, Kind::Bars, points(&|own| own)),
            Series::published(name, Kind::Bars, points(&|_| 100.0 * PUBLISHED_SHARE)),
        ],
    }
}

/// By class of sizes, the share of rounds and of processes.
fn sizes_figure(measured: &Measured<'_>) -> Figure {
    let rounds = &measured.measure.series[ROUNDS];
    let (all, steps) = (measured.value("rounds").max(1.0), measured.value("steps").max(1.0));
    let names = rounds.iter().map(|(size, _)| class_name(class(size.round() as usize)));
    let bars = |of: &dyn Fn(f64, f64) -> f64| {
        let point = |(place, (size, rounds)): (usize, &(f64, f64))| (place as f64, of(*size, *rounds));
        rounds.iter().enumerate().map(point).collect()
    };
    Figure {
        title: format!("Sizes of rounds, {} (figure 2)", measured.name),
        caption: "Of all rounds, and of all processes that went on, the share in rounds of this size.".into(),
        x: Axis::categories("processes in a round", names),
        y: Axis::linear("share", "%"),
        series: vec![
            Series::ours("rounds", Kind::Bars, bars(&|_, rounds| 100.0 * rounds / all)),
            Series::ours("processes", Kind::Bars, bars(&|size, rounds| 100.0 * size * rounds / steps)),
        ],
    }
}

fn judge_times(size: Size, results: &Results) -> Result<Finding, CellError> {
    let mut finding = Finding { about: vec![about()], ..Finding::default() };
    let mut table = Table::new(
        "What can be gained, and what is",
        ["workload", "threads", "bound by time", "bound by processes", "always", "auto"],
    );
    let (mut series, mut names, mut costs) = (Vec::new(), Vec::new(), Vec::new());
    for measured in Measured::all(size, results)? {
        let net = &measured.name;
        let [rounds, code, answers] = [ROUNDS, CODE, ANSWERS].map(|place| &measured.measure.series[place]);
        let mean_us = |sums: &[(f64, f64)]| -> Vec<(f64, f64)> {
            let pairs = sums.iter().zip(rounds);
            pairs.map(|((size, seconds), (_, rounds))| (*size, 1e6 * seconds / rounds)).collect()
        };
        let code = mean_us(code);
        let (least, most) = (code[0], code[code.len() - 1]);
        finding.checks.push(Check {
            what: format!("{net}: time of the code in the smallest and the largest rounds"),
            published: "grows with the number of processes".into(),
            ours: format!("{:.2} us with {:.0}, {:.2} us with {:.0}", least.1, least.0, most.1, most.0),
            must: "grows".into(),
            holds: code.len() > 1 && most.1 > least.1,
        });
        series.push(Series::ours(format!("{net}: code"), Kind::Lines, code));
        series.push(Series::ours(format!("{net}: answers"), Kind::Lines, mean_us(answers)));
        let times = measured.times();
        let reached = [1, 2].map(|way| 1.0 / times.ratio(way, 0));
        for threads in thread_counts() {
            let bounds = [measured.parallel_share(), measured.shared()];
            let [by_time, by_count] = bounds.map(|share| format!("{:.2}", amdahl_bound(share, threads)));
            let own = |speed_up: f64| if threads == cores() { format!("{speed_up:.2}") } else { "-".into() };
            table.row([
                net.clone(),
                threads.to_string(),
                by_time,
                by_count,
                own(reached[0]),
                own(reached[1]),
            ]);
        }
        let bound = amdahl_bound(measured.parallel_share(), cores());
        let best = reached[0].max(reached[1]);
        finding.checks.push(Check {
            what: format!("{net}, {} threads: speed-up reached, and Amdahl's bound", cores()),
            published: "closer to the optimal Amdahl's law threshold".into(),
            ours: format!("{best:.2} of {bound:.2}"),
            must: "not above the bound, but for 5 % that measuring is off".into(),
            holds: best <= 1.05 * bound,
        });
        let cost = times.ratio(OBSERVED, 0);
        finding.checks.push(Check {
            what: format!("{net}: time with rounds observed, compared with the run without"),
            published: "less than 10 % more in most cases".into(),
            ours: format!("{cost:.2} times"),
            must: format!("at most {OBSERVING}"),
            holds: cost <= OBSERVING,
        });
        names.push(net.clone());
        costs.push(cost);
        finding.notes.push(format!(
            "{net}: of one thread's time, {} is the code of processes, {} that in rounds of several, {} the answers after it; the rest is \
             the network and the choice of who goes on.",
            percent(measured.value("code_seconds") / measured.seconds()),
            percent(measured.parallel_share()),
            percent(measured.value("answer_seconds") / measured.seconds()),
        ));
    }
    finding.tables.push(table);
    finding.figures.push(Figure {
        title: "Time of a round over its size (figure 3)".into(),
        caption: "Means of rounds on one thread; sizes are put together by powers of two. Published are plots without numbers, in which the time \
                  grows with the size."
            .into(),
        x: Axis::log("processes in the round", ""),
        y: Axis::log("time", "us"),
        series,
    });
    finding.figures.push(costs_figure(names, &costs));
    finding.notes.push(
        "The bound by time is 1 / (1 - p + p / threads), where p is the share of one thread's time that the code of rounds of several \
         processes takes; all else is sequential. The bound by processes takes for p the share of processes in such \
         rounds: it is the bound only where all of them take equally long and nothing else takes time."
            .into(),
    );
    Ok(finding)
}

/// What observing rounds costs beside what is published, by workload.
fn costs_figure(names: Vec<String>, costs: &[f64]) -> Figure {
    let name = "rounds observed";
    let points = |of: &dyn Fn(f64) -> f64| {
        costs.iter().enumerate().map(|(place, own)| (place as f64, of(*own))).collect()
    };
    Figure {
        title: "Run time with rounds observed, as a multiple of that without".into(),
        caption: "Published is less than 10 % more in most cases.".into(),
        x: Axis::categories("workload", names),
        y: Axis::linear("run time", "times that without"),
        series: vec![
            Series::ours(name, Kind::Bars, points(&|own| own)),
            Series::published(name, Kind::Bars, points(&|_| OBSERVING)),
        ],
    }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn classes_hold_all_rounds_and_their_names_say_which() {
        let names = [1, 2, 3, 4, 5, 8, 9].map(|size| class_name(class(size)));
        assert_eq!(names, ["1", "2", "3 - 4", "3 - 4", "5 - 8", "5 - 8", "9 - 16"]);
        let sizes = Sizes::from([(1, (10, 1.0, 0.1)), (3, (2, 0.5, 0.2)), (4, (2, 0.7, 0.4))]);
        let [rounds, code, answers] = classes(&sizes);
        assert_eq!((rounds, code[1].1), (vec![(1.0, 10.0), (3.5, 4.0)], 1.2));
        assert!((answers.iter().map(|(_, seconds)| seconds).sum::<f64>() - 0.7).abs() < 1e-12);
    }
}
