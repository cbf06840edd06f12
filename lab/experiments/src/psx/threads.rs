//! Threads that follow the load on the real engine. Section 5.4 of the paper calls growing and shrinking
//! future work; `psx-grow` has the simulated side. The city VSB fills and empties, and what a window has to
//! do rises and falls with it: after each stretch of simulated time the run gets as many threads as the load
//! of that stretch is worth, by the call that `paceline ctl threads` makes in a run from outside.
//!
//! Invariants: all ways run the same stretches, differ in their threads only, and give one digest.

use std::num::NonZero;
use std::thread::available_parallelism;
use std::time::Instant;

use paceline_engine::{Protocol, Reached, RunError, Simulation};
use paceline_kernel::{Digest, Time};

use super::traffic::{LOOKAHEAD_S, city};
use crate::parameters::kinds::count;
use crate::prelude::*;
use crate::turns::{Times, cpu_seconds, order};

/// So many times as long as the better of the fixed ways the one that follows may take.
const FOLLOWS: f64 = 1.10;

/// In all ways, so that only the threads differ.
const FEDERATES: u32 = 16;

/// The ways that take turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    One,
    All,
    Follow,
}

impl Way {
    const ALL: [Self; 3] = [Self::One, Self::All, Self::Follow];

    const fn name(self) -> &'static str {
        match self {
            Self::One => "one thread",
            Self::All => "all threads",
            Self::Follow => "threads that follow",
        }
    }
}

/// Where a measure has what, in its series: seconds and CPU seconds of each way by turn, then of the last
/// turn the seconds of each way so far, the events of a window, and the threads of the way that follows.
const CPU: usize = Way::ALL.len();
const SO_FAR: usize = 2 * Way::ALL.len();
const LOAD: usize = 3 * Way::ALL.len();
const THREADS: usize = LOAD + 1;

#[derive(Clone, Copy, Debug)]
struct Runs {
    grid: u32,
    until_s: u64,
    stretch_s: u64,
    /// Events of a window that a thread is worth.
    worth: u64,
    turns: u32,
}

pub fn plan(_: &Setup, parameters: &mut Parameters) -> Result<Plan, ScenarioError> {
    let runs = Runs {
        grid: parameters.one("grid", &count(2..=64))?,
        until_s: parameters.one("until", &super::horizon())?,
        stretch_s: parameters.one("stretch", &super::horizon())?,
        worth: parameters.one("worth", &count(1..=1_000_000))?,
        turns: parameters.one("turns", &count(1..=1_000))?,
    };
    let cell = Cell { key: runs.key(), weight: 1.0, alone: true, job: Box::new(move || runs.measure()) };
    Ok(Plan::new(vec![cell], move |results| runs.judge(results)))
}

/// All that this machine has; where that is one, a second, which it can do without.
fn most() -> u32 {
    available_parallelism().map_or(1, NonZero::get).max(2) as u32
}

/// How many threads so many events in so many windows are worth, if one is worth `worth` in each.
fn threads_for(events: u64, windows: u64, worth: u64, most: u32) -> u32 {
    let threads = events / windows.saturating_mul(worth).max(1);
    threads.clamp(1, most.into()) as u32
}

/// A run in stretches.
#[derive(Debug)]
struct Driven {
    digest: Digest,
    /// By simulated time: seconds so far, events of a window, threads.
    so_far: Vec<(f64, f64)>,
    load: Vec<(f64, f64)>,
    threads: Vec<(f64, f64)>,
}

impl Runs {
    fn key(self) -> String {
        let Self { grid, until_s, stretch_s, worth, turns } = self;
        format!("psx/threads/{grid}grid/{until_s}s/{stretch_s}s/{worth}events/{turns}turns")
    }

    fn drive(self, way: Way) -> Found<Driven> {
        let failed = |error: RunError| CellError::Guests(error.to_string());
        let (until, most) = (Time::secs(self.until_s), most());
        let first = if way == Way::All { most } else { 1 };
        let simulation = Simulation::new(city(self.grid)?).protocol(Protocol::Window).until(until);
        let mut run = simulation.federates(FEDERATES).threads(first).start().map_err(failed)?;
        let monitor = run.monitor();
        let (mut so_far, mut load, mut threads) = (Vec::new(), Vec::new(), Vec::new());
        let (mut end_s, mut seconds) = (0, 0.0);
        loop {
            let (begin_s, before, begin) = (end_s as f64, run.events(), Instant::now());
            end_s += self.stretch_s;
            // A change of threads that comes in the midst of a stretch is one: here it comes between two.
            let reached = run.run_until(Time::secs(end_s)).map_err(failed)?;
            seconds += begin.elapsed().as_secs_f64();
            let events = run.events() - before;
            so_far.push((end_s as f64, seconds));
            load.push((begin_s, events as f64 * LOOKAHEAD_S / self.stretch_s as f64));
            threads.push((begin_s, f64::from(monitor.threads())));
            if reached == Reached::End {
                break;
            }
            if way == Way::Follow {
                let windows = (self.stretch_s as f64 / LOOKAHEAD_S) as u64;
                let wanted = threads_for(events, windows, self.worth, most);
                run.set_threads(wanted).map_err(|error| CellError::Guests(error.to_string()))?;
            }
        }
        let digest = run.finish().map_err(failed)?.digest;
        Ok(Driven { digest, so_far, load, threads })
    }

    fn measure(self) -> Found<Measure> {
        let mut series = vec![Vec::new(); THREADS + 1];
        let mut first = None;
        for turn in 0..=self.turns as usize {
            for place in order(turn, Way::ALL.len()) {
                let cpu = cpu_seconds()?;
                let driven = self.drive(Way::ALL[place])?;
                let cpu = cpu_seconds()? - cpu;
                let digest = *first.get_or_insert(driven.digest);
                if driven.digest != digest {
                    let digests = format!("digests differ: {digest} and {}", driven.digest);
                    return Err(CellError::Guests(digests));
                }
                // The first turn warms up.
                if turn == 0 {
                    continue;
                }
                let seconds = driven.so_far.last().map_or(0.0, |(_, seconds)| *seconds);
                series[place].push((turn as f64, seconds));
                series[CPU + place].push((turn as f64, cpu));
                series[SO_FAR + place] = driven.so_far;
                if Way::ALL[place] == Way::Follow {
                    (series[LOAD], series[THREADS]) = (driven.load, driven.threads);
                }
            }
        }
        Ok(Measure { series, digest: first.map(|digest| digest.value()), ..Measure::default() })
    }

    fn judge(self, results: &Results) -> Found<Finding> {
        let series = &results.get(&self.key())?.series;
        let [one, all, follow] = [0, 1, 2].map(|place| Times::of(&series[place]));
        let (cpu_all, cpu_follow) = (Times::of(&series[CPU + 1]), Times::of(&series[CPU + 2]));
        let (least, most) = after_least_and_most(&series[LOAD], &series[THREADS]);
        let mut claims = Claims::default();
        claims
            .add("threads after the stretch with the most events, and after that with the fewest", || {
                Ok((Criterion::invariant(Shape::Falls(0.0)), Ours::all([most, least], "threads")))
            })?;
        let (better, name) = if one.median() <= all.median() { (&one, Way::One) } else { (&all, Way::All) };
        claims.add("run time while threads follow, times that of the better fixed number", || {
            let ratio = Ours::one(follow.compared(better), "times").with(name.name());
            Ok((Criterion::goal(Shape::at_most(FOLLOWS)), ratio))
        })?;
        claims.add("CPU time while threads follow, times that of all threads", || {
            let ratio = Ours::one(cpu_follow.compared(&cpu_all), "times");
            Ok((Criterion::goal(Shape::at_most(1.0)), ratio))
        })?;
        let columns = ["way", "run time (s)", "CPU time (s)", "run time, times one thread's"];
        let mut table = Table::new("A run with fixed threads, and with threads that follow", columns);
        for (place, way) in Way::ALL.into_iter().enumerate() {
            let (times, cpu) = (Times::of(&series[place]), Times::of(&series[CPU + place]));
            let ratio = format!("{:.2}", times.ratio(&one));
            table.row([way.name().to_owned(), times.text(1.0), cpu.text(1.0), ratio]);
        }
        let so_far = Way::ALL.into_iter().enumerate();
        let so_far = so_far
            .map(|(place, way)| Series::ours(way.name(), Kind::Lines, series[SO_FAR + place].clone()))
            .collect();
        let time = || Axis::linear("simulated time", "s");
        let figures = vec![
            plot(
                "Run time so far over simulated time",
                "The paper has no such figure: it calls growing and shrinking future work.",
                [time(), Axis::linear("run time", "s")],
                so_far,
            ),
            plot(
                "Threads that follow the load",
                "Events of a window, in those that a thread is taken to be worth.",
                [time(), Axis::linear("threads, and load", "")],
                vec![
                    Series::ours("threads", Kind::Steps, series[THREADS].clone()),
                    Series::ours("load", Kind::Lines, self.in_threads(&series[LOAD])),
                ],
            ),
        ];
        let notes = vec![format!(
            "With threads that follow a run takes {:.2} times as long as with {}, the better fixed number, and {:.2} times \
             the CPU time of all threads.",
            follow.ratio(better),
            name.name(),
            cpu_follow.ratio(&cpu_all)
        )];
        let (about, tables) = (vec![self.about()], vec![table]);
        Ok(claims.put_into(Finding { about, figures, tables, notes, ..Finding::default() }))
    }

    fn in_threads(self, load: &[(f64, f64)]) -> Vec<(f64, f64)> {
        load.iter().map(|(at, events)| (*at, events / self.worth as f64)).collect()
    }

    fn about(self) -> String {
        let Self { grid, until_s, stretch_s, worth, .. } = self;
        format!(
            "The city VSB with a grid of {grid} x {grid} on real threads of this machine, {FEDERATES} federates in windows of 1 s of simulated time, until \
             {until_s} s. \"{}\": after each {stretch_s} s of simulated time the run is given a thread for each {worth} events that a \
             window had, from 1 to {}. All runs take turns and give one digest; medians with the least and the most in brackets.",
            Way::Follow.name(),
            most()
        )
    }
}

/// The threads of the stretches after those with the fewest and with the most events; none where there is one
/// stretch only.
fn after_least_and_most(load: &[(f64, f64)], threads: &[(f64, f64)]) -> (f64, f64) {
    let after =
        || load.iter().map(|(_, events)| *events).zip(threads.iter().skip(1).map(|(_, threads)| *threads));
    let least = after().min_by(|one, other| one.0.total_cmp(&other.0));
    let most = after().max_by(|one, other| one.0.total_cmp(&other.0));
    (least.map_or(f64::NAN, |pair| pair.1), most.map_or(f64::NAN, |pair| pair.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_rise_and_fall_with_the_events_of_a_window_within_what_there_is() {
        let threads = [0, 99, 100, 399, 400, 5_000].map(|events| threads_for(events, 10, 10, 4));
        assert_eq!(threads, [1, 1, 1, 3, 4, 4]);
        assert_eq!(threads_for(7, 0, 0, 4), 4, "no window is no error");
    }

    #[test]
    fn a_city_that_fills_and_empties_runs_on_more_threads_and_on_fewer_with_one_digest() {
        let runs = Runs { grid: 6, until_s: 9_000, stretch_s: 300, worth: 1, turns: 1 };
        let [one, follow] = [Way::One, Way::Follow].map(|way| runs.drive(way).expect("it runs"));
        assert_eq!(one.digest, follow.digest);
        assert!(one.threads.iter().all(|(_, threads)| *threads == 1.0));
        let (least, most) = after_least_and_most(&follow.load, &follow.threads);
        assert!(least == 1.0 && most > 1.0, "{least} {most} {follow:?}");
        let peak = follow.load.iter().map(|(_, events)| *events).fold(0.0, f64::max);
        let last = follow.load.last().expect("it has stretches").1;
        assert!(last < peak, "the city empties");
    }
}
