//! Rounds of one run: how many processes they have, how long they take, and how much of that can be saved
//! (SimGrid report, section 3.2, figures 2 and 3).
//!
//! Invariant: the rounds are those of one run on one thread, so that the time of a round's code is that of
//! its processes.

mod sums;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use paceline_models::chord::Starts;
use paceline_processes::{RoundRecord, Rounds, amdahl_bound};

use super::runs::{ALONE, Net, Observer, Way, Workload};
use super::{Size, about, cores, thread_counts};
use crate::prelude::*;
use crate::turns::Ways;
use sums::{Sizes, Sums, class, class_name, classes};

/// The share of processes in rounds of several (published).
const PUBLISHED_SHARE: f64 = 0.31;
/// Below this the run time with observed rounds is, compared with the run time without (published, in most
/// cases).
const OBSERVING: f64 = 1.1;
/// How near the speed-up that is reached is to Amdahl's bound where it is very close: as near as published
/// gains are to be, and not above it but for 5 % that measuring is off.
const CLOSE: Wanted = Wanted::Within(1.0 / 1.5, 1.05);

/// The ways that take turns, in the order of their series: on one thread, on all cores, and on one with its
/// rounds observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    Alone,
    Always,
    Auto,
    Observed,
}

impl Turn {
    const ALL: [Self; 4] = [Self::Alone, Self::Always, Self::Auto, Self::Observed];

    fn way(self) -> Way {
        match self {
            Self::Alone | Self::Observed => ALONE,
            Self::Always => Way::on(cores(), Rounds::Always),
            Self::Auto => Way::on(cores(), Rounds::Auto),
        }
    }
}

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
        let ways = Turn::ALL.map(Turn::way);
        let (sizes, mut last) = (Arc::new(Mutex::new(Sizes::new())), None);
        let mut measure = stage.take_turns(&ways, turns, &mut |place, way| {
            if place != Turn::Observed as usize {
                return stage.run(way, None);
            }
            locked(&sizes).clear();
            let report = stage.run(way, Some(observer(Arc::clone(&sizes))))?;
            last = Some((report.counts, report.rounds));
            Ok(report)
        })?;
        let (counts, rounds) = last.unwrap_or_default();
        let sizes = locked(&sizes);
        let all = |of: fn(&Sums) -> f64| sizes.values().map(of).sum::<f64>();
        let of_one = sizes.get(&1).copied().unwrap_or_default();
        measure.values.extend([
            ("rounds", counts.rounds as f64),
            ("of_one", of_one.rounds as f64),
            ("shared_steps", rounds.shared_steps as f64),
            ("shared_seconds", all(|sums| sums.code_s) - of_one.code_s),
            ("code_seconds", all(|sums| sums.code_s)),
            ("answer_seconds", all(|sums| sums.answers_s)),
        ]);
        measure.series.extend(classes(&sizes));
        Ok(measure)
    };
    Cell { key: key(&workload, turns), weight: f64::from(workload.peers), alone: true, job: Box::new(job) }
}

/// Adds each round to `sizes`.
fn observer(sizes: Arc<Mutex<Sizes>>) -> Observer {
    Box::new(move |round: &RoundRecord<'_>| {
        let processes = round.processes.len();
        locked(&sizes).entry(processes).or_default().add(Sums {
            rounds: 1,
            processes: processes as u64,
            code_s: round.code.as_secs_f64(),
            answers_s: round.answers.as_secs_f64(),
        });
    })
}

fn locked(sizes: &Mutex<Sizes>) -> MutexGuard<'_, Sizes> {
    sizes.lock().unwrap_or_else(PoisonError::into_inner)
}

fn plan(
    parameters: &mut Parameters,
    judge: fn(Size, &Results) -> Found<Finding>,
) -> Result<Plan, ScenarioError> {
    let size = Size::read(parameters)?;
    let cells = workloads(size).into_iter().map(|workload| cell(workload, size.turns)).collect();
    Ok(Plan::new(cells, move |results| judge(size, results)))
}

pub fn sizes(_: &Setup, parameters: &mut Parameters) -> Result<Plan, ScenarioError> {
    plan(parameters, judge_sizes)
}

pub fn times(_: &Setup, parameters: &mut Parameters) -> Result<Plan, ScenarioError> {
    plan(parameters, judge_times)
}

struct Measured<'r> {
    name: String,
    starts: Starts,
    measure: &'r Measure,
}

impl<'r> Measured<'r> {
    fn all(size: Size, results: &'r Results) -> Found<Vec<Self>> {
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
        self.measure.series[Turn::Observed as usize].last().map_or(0.0, |(_, seconds)| *seconds)
    }

    /// The share of all time that the code of rounds of several takes.
    fn parallel_share(&self) -> f64 {
        self.value("shared_seconds") / self.seconds()
    }

    fn times(&self) -> Ways<'_> {
        Ways(&self.measure.series[..Turn::ALL.len()])
    }

    /// How long the rounds of a turn take compared with those of one thread.
    fn compared(&self, turn: Turn) -> Estimate {
        self.times().compared(turn as usize, Turn::Alone as usize)
    }

    /// The same of the faster of those on all cores.
    fn best(&self) -> Estimate {
        let [always, auto] = [Turn::Always, Turn::Auto].map(|turn| self.compared(turn));
        if always.value < auto.value { always } else { auto }
    }

    /// What [`classes`] has of the last observed run: its series come after those of the turns.
    fn classes(&self) -> [&[(f64, f64)]; 3] {
        [0, 1, 2].map(|place| &self.measure.series[Turn::ALL.len() + place][..])
    }
}

fn judge_sizes(size: Size, results: &Results) -> Found<Finding> {
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
        finding.checks.extend(is_apart.then(|| {
            let criterion = Criterion::stated(Statement::Order, "most of the times", Shape::Above(50.0));
            check(format!("{net}: rounds of one process"), criterion, Ours::one(100.0 * of_one, "%"))
        }));
        finding.checks.push(check(
            format!("{net}: processes that run in rounds of several"),
            Criterion::published(100.0 * PUBLISHED_SHARE, Tolerance::PERCENTAGES),
            Ours::one(100.0 * shared, "%"),
        ));
        names.push(net.clone());
        shares.push(100.0 * shared);
        finding.figures.push(sizes_figure(&measured));
    }
    let shares = by_workload(names, "in rounds of several", &shares, 100.0 * PUBLISHED_SHARE);
    finding.figures.insert(
        0,
        Figure {
            title: "Processes that run in rounds of several".into(),
            caption: "Published is one share, without the times at which peers start.".into(),
            y: Axis::linear("share of all processes run", "%"),
            ..shares
        },
    );
    finding.tables.push(table);
    finding.notes.push(
        "These numbers are the same in every run. How many processes go on at one instant depends on when peers start, which is not \
         published, and on how alike the times of messages are."
            .into(),
    );
    Ok(finding)
}

/// Bars of `name` by workload, each beside what is published of it.
fn by_workload(names: Vec<String>, name: &str, ours: &[f64], published: f64) -> Figure {
    let points = |of: &dyn Fn(f64) -> f64| {
        ours.iter().enumerate().map(|(place, measured_value)| (place as f64, of(*measured_value))).collect()
    };
    Figure {
        x: Axis::categories("workload", names),
        series: vec![
            Series::ours(name, Kind::Bars, points(&|measured_value| measured_value)),
            Series::published(name, Kind::Bars, points(&|_| published)),
        ],
        ..Figure::default()
    }
}

/// By class of sizes, the share of rounds and of processes.
fn sizes_figure(measured: &Measured<'_>) -> Figure {
    let [rounds, ..] = measured.classes();
    let (all, steps) = (measured.value("rounds").max(1.0), measured.value("steps").max(1.0));
    let names = rounds.iter().map(|(size, _)| class_name(class(size.round() as usize)));
    let bars = |of: &dyn Fn(f64, f64) -> f64| {
        let point = |(place, (size, rounds)): (usize, &(f64, f64))| (place as f64, of(*size, *rounds));
        rounds.iter().enumerate().map(point).collect()
    };
    plot(
        format!("Sizes of rounds, {} (figure 2)", measured.name),
        "Of all rounds, and of all processes that went on, the share in rounds of this size.",
        [Axis::categories("processes in a round", names), Axis::linear("share", "%")],
        vec![
            Series::ours("rounds", Kind::Bars, bars(&|_, rounds| 100.0 * rounds / all)),
            Series::ours("processes", Kind::Bars, bars(&|size, rounds| 100.0 * size * rounds / steps)),
        ],
    )
}

fn judge_times(size: Size, results: &Results) -> Found<Finding> {
    let mut finding = Finding { about: vec![about()], ..Finding::default() };
    let mut table = Table::new(
        "What can be gained, and what is",
        ["workload", "threads", "bound by time", "bound by processes", "always", "auto"],
    );
    let (mut series, mut names, mut costs) = (Vec::new(), Vec::new(), Vec::new());
    for measured in Measured::all(size, results)? {
        let net = &measured.name;
        let [code, answers] = measured.mean_us();
        finding.checks.push(grows(net, &code));
        series.push(Series::ours(format!("{net}: code"), Kind::Lines, code));
        series.push(Series::ours(format!("{net}: answers"), Kind::Lines, answers));
        let speed_ups = [Turn::Always, Turn::Auto].map(|turn| 1.0 / measured.compared(turn).value);
        measured.speed_up_rows(speed_ups, &mut table);
        let bound = amdahl_bound(measured.parallel_share(), cores());
        finding.checks.push(check(
            format!("{net}: speed-up reached on all cores, of Amdahl's bound"),
            Criterion::stated(Statement::Order, "very close to the line", Shape::Each(CLOSE)),
            Ours::one(measured.best().map(|time| 1.0 / time / bound), "").with(format!(
                "{:.2} of {bound:.2} on {}",
                1.0 / measured.best().value,
                cores()
            )),
        ));
        let observed = measured.compared(Turn::Observed);
        let cost = observed.value;
        finding.checks.push(check(
            format!("{net}: time with rounds observed, compared with the run without"),
            Criterion::stated(Statement::Order, "less than 10 % more in most cases", Shape::Below(OBSERVING)),
            Ours::one(observed, "times"),
        ));
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
    finding.figures.push(plot("Time of a round over its size (figure 3)", "Means of rounds on one thread; sizes are put together by powers of two. Published are plots without numbers, in which the time \
                  grows with the size.", [Axis::log("processes in the round", ""), Axis::log("time", "us")], series));
    finding.figures.push(Figure {
        title: "Run time with rounds observed, as a multiple of that without".into(),
        caption: "Published is less than 10 % more in most cases.".into(),
        y: Axis::linear("run time", "times that without"),
        ..by_workload(names, "rounds observed", &costs, OBSERVING)
    });
    finding.notes.push(
        "The bound by time is 1 / (1 - p + p / threads), where p is the share of one thread's time that the code of rounds of several \
         processes takes; all else is sequential. The bound by processes takes for p the share of processes in such \
         rounds: it is the bound only where all of them take equally long and nothing else takes time."
            .into(),
    );
    Ok(finding)
}

/// That the time of the code grows with the processes in a round.
fn grows(net: &str, code: &[(f64, f64)]) -> Check {
    let (least, most) = (code[0], code[code.len() - 1]);
    let times = if code.len() > 1 { vec![least.1, most.1] } else { vec![least.1] };
    check(
        format!("{net}: time of the code in the smallest and the largest rounds"),
        Criterion::stated(Statement::Order, "grows with the number of processes", Shape::Rises(0.0)),
        Ours::all(times, "us").with(format!("with {:.0} and {:.0} processes", least.0, most.0)),
    )
}

impl Measured<'_> {
    /// By class of sizes, the mean microseconds of the code and of the answers of a round.
    fn mean_us(&self) -> [Vec<(f64, f64)>; 2] {
        let [rounds, code, answers] = self.classes();
        [code, answers].map(|sums| {
            let pairs = sums.iter().zip(rounds);
            pairs.map(|((size, seconds), (_, rounds))| (*size, 1e6 * seconds / rounds)).collect()
        })
    }

    /// A row for each number of threads; the speed-ups were reached with as many as there are cores.
    fn speed_up_rows(&self, speed_ups: [f64; 2], table: &mut Table) {
        for threads in thread_counts() {
            let bounds = [self.parallel_share(), self.shared()];
            let [by_time, by_count] = bounds.map(|share| format!("{:.2}", amdahl_bound(share, threads)));
            let [always, auto] = speed_ups.map(|speed_up| match threads == cores() {
                true => format!("{speed_up:.2}"),
                false => "-".to_owned(),
            });
            table.row([self.name.clone(), threads.to_string(), by_time, by_count, always, auto]);
        }
    }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}
