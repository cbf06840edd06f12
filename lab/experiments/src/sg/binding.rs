//! Threads bound to cores and not: how often the system moves them, and what that costs (SimGrid report,
//! section 4.1).
//!
//! Invariant: both sides of a comparison run the same rounds on as many threads, all rounds in parallel.

use std::fs;
use std::sync::{Arc, Mutex, PoisonError};

use paceline_models::chord::Starts;
use paceline_processes::{RoundRecord, Rounds};

use super::runs::{Net, Observer, Way, Workload};
use super::{Size, about, thread_counts, work};
use crate::prelude::*;
use crate::turns::Ways;

/// The name of all threads of a run except the one that coordinates.
const THREADS: &str = "paceline-actors";
/// How often threads are looked at during a run.
const LOOKS: u64 = 20;
/// The published gain with fewer than 16 threads, on average, and the least and the most with more.
const AVERAGE: f64 = 1.23;
const MANY: (f64, f64) = (2.44, 15.0);
/// How many fewer migrations are published, in per cent.
const FEWER: f64 = 97.0;

/// Not bound and bound, for each number of threads.
fn ways() -> Vec<Way> {
    let always = |threads| Way::on(threads, Rounds::Always);
    thread_counts()
        .into_iter()
        .flat_map(|threads| [always(threads), Way { pin: true, ..always(threads) }])
        .collect()
}

/// How often threads were moved to another core, if the system reports that, and how often they were
/// preempted.
type Moves = (Option<u64>, u64);

/// The sums of these over all threads of a run, up to now. The calling thread is the one that coordinates.
fn moves() -> Option<Moves> {
    let this_thread = fs::read_link("/proc/thread-self").ok()?;
    let mut sum = (Some(0), 0);
    for thread in fs::read_dir("/proc/self/task").ok()?.flatten() {
        let read = |name: &str| fs::read_to_string(thread.path().join(name)).unwrap_or_default();
        if read("comm").trim() != THREADS && this_thread.file_name() != Some(&thread.file_name()) {
            continue;
        }
        let number = |text: &str, name: &str| -> Option<u64> {
            let line = text.lines().find(|line| line.starts_with(name))?;
            line.rsplit([':', '\t', ' ']).next()?.parse().ok()
        };
        let migrations = number(&read("sched"), "se.nr_migrations");
        sum.0 = sum.0.zip(migrations).map(|(sum, more)| sum + more);
        sum.1 += number(&read("status"), "nonvoluntary_ctxt_switches").unwrap_or(0);
    }
    Some(sum)
}

/// Looks at the threads of a run.
#[derive(Clone, Default)]
struct Probe(Arc<Mutex<Option<(Moves, Moves)>>>);

impl Probe {
    fn observer(&self, until_s: u64) -> Observer {
        let (kept, mut next) = (Arc::clone(&self.0), 0.0);
        Box::new(move |round: &RoundRecord<'_>| {
            if round.time.as_secs_f64() >= next {
                next += until_s as f64 / LOOKS as f64;
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                let Some(now) = moves() else { return };
                kept.get_or_insert((now, now)).1 = now;
            }
        })
    }

    /// How often threads were moved and preempted since the first look; below zero if the system does not
    /// report it.
    fn seen(&self) -> (f64, f64) {
        let kept = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((from, to)) = kept else { return (-1.0, -1.0) };
        let moved = to.0.zip(from.0).map_or(-1.0, |(to, from)| to.saturating_sub(from) as f64);
        (moved, to.1.saturating_sub(from.1) as f64)
    }
}

fn key(workload: &Workload, turns: usize) -> String {
    format!("sg/bind/{workload:?}/{turns} turns")
}

pub fn plan(_: &Setup, parameters: &mut Parameters) -> Result<Plan, ScenarioError> {
    let Size { peers, until_s, turns } = Size::read(parameters)?;
    let work_ns = parameters.one("work", &work())?;
    let workload = Workload { net: Net::Constant, peers, until_s, work_ns, starts: Starts::Lockstep };
    let cell_key = key(&workload, turns);
    let job = move || {
        let (stage, ways) = (workload.stage()?, ways());
        let mut seen = vec![Vec::new(); ways.len()];
        let mut measure: Measure = stage.take_turns(&ways, turns, &mut |place, way| {
            let probe = Probe::default();
            let report = stage.run(way, Some(probe.observer(workload.until_s)))?;
            seen[place].push(probe.seen());
            Ok(report)
        })?;
        measure.series.extend(seen);
        Ok(measure)
    };
    let cell = Cell { key: cell_key.clone(), weight: peers.into(), alone: true, job: Box::new(job) };
    Ok(Plan::new(vec![cell], move |results| judge(&workload, results.get(&cell_key)?)))
}

fn judge(workload: &Workload, measure: &Measure) -> Found<Finding> {
    let ways = ways();
    let (times, seen) = measure.series.split_at(ways.len());
    let times = Ways(times);
    let moved = |way: usize| median(&seen[way].iter().map(|(moved, _)| *moved).collect::<Vec<_>>());
    let taken_off = |way: usize| median(&seen[way].iter().map(|(_, off)| *off).collect::<Vec<_>>());
    let mut finding = Finding { about: vec![about(), workload.name()], ..Finding::default() };
    let columns = ["threads", "bound", "time (ms)", "migrations", "involuntary switches"];
    let mut table = Table::new("Time and migrations of a run, medians", columns);
    let mut bars = [Vec::new(), Vec::new()];
    for (place, way) in ways.iter().enumerate() {
        let said = |number: f64| if number < 0.0 { "not said".into() } else { number.to_string() };
        table.row([
            way.threads.to_string(),
            if way.pin { "yes" } else { "no" }.into(),
            times.text(place),
            said(moved(place)),
            said(taken_off(place)),
        ]);
        bars[usize::from(way.pin)].push(((place / 2) as f64, 1e3 * times.median(place)));
        if !way.pin {
            continue;
        }
        let [free, bound] = [moved(place - 1), moved(place)];
        // Where none is moved to begin with, or the system does not say, there is nothing to compare.
        let fewer = match free > 0.0 && bound >= 0.0 {
            true => (100.0 * (1.0 - bound / free)).into(),
            false => Estimate::UNKNOWN,
        };
        finding.checks.push(check(
            format!("{} threads: fewer migrations with binding", way.threads),
            Criterion::published(FEWER, Tolerance::PERCENTAGES).saying("almost").or(Shape::Above(0.0)),
            Ours::one(fewer, "%").with(format!("{}, {}", said(free), said(bound))),
        ));
        let criterion = match way.threads {
            ..16 => Criterion::published(AVERAGE, Tolerance::TIMES).saying("on average, at most 1.63"),
            _ => Criterion::published(MANY.0, Tolerance::Spread(MANY.0, MANY.1)),
        };
        finding.checks.push(check(
            format!("{} threads: gain of binding", way.threads),
            criterion.or(Shape::Above(1.0)),
            Ours::one(times.compared(place - 1, place), "times"),
        ));
    }
    finding.tables.push(table);
    let names = ways.iter().filter(|way| way.pin).map(|way| way.threads.to_string());
    let [free, bound] = bars;
    finding.figures.push(plot(
        "Time with threads bound to cores and not",
        "All rounds of several processes in parallel.",
        [Axis::categories("threads", names), Axis::linear("time", "ms")],
        vec![Series::ours("not bound", Kind::Bars, free), Series::ours("bound", Kind::Bars, bound)],
    ));
    finding.notes.push(
        "Migrations are those that the kernel counts for the threads of a run (se.nr_migrations), from its first round to the last \
         twentieth of its simulated time. With as many threads as cores there is little reason to move one, and binding one costs \
         where something else wants its core; the published gains are those of 16 and 24 threads on 24 cores."
            .into(),
    );
    Ok(finding)
}

#[cfg(all(test, target_os = "linux"))]
mod test {
    use super::*;

    #[test]
    fn the_threads_of_a_run_are_looked_at_while_it_goes_on() {
        let probe = Probe::default();
        let stage =
            Workload { net: Net::Constant, peers: 10, until_s: 20, work_ns: 0, starts: Starts::Lockstep }
                .stage()
                .unwrap();
        stage.run(Way::on(2, Rounds::Always), Some(probe.observer(20))).unwrap();
        let (_, off) = probe.seen();
        assert!(off >= 0.0, "Linux says how often threads are taken off");
        assert_eq!(Probe::default().seen(), (-1.0, -1.0));
    }
}
