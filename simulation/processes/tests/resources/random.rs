//! Random programs of processes over resources, a store and a container, beside a small reference that keeps
//! everything in plain lists and looks through all of them: what each process is answered, and when.
//!
//! The reference and the core share one rule only: within an instant what is due comes by process, and then
//! rounds of those that can run, by number.

use paceline_kernel::Rng;
use paceline_processes::{Held, Rounds};

use super::*;

mod reference;

const PROCESSES: usize = 6;
const STEPS: usize = 14;

/// What a process does next. Times are in nanoseconds.
#[derive(Clone, Copy, Debug)]
enum Step {
    Hold(u64),
    Serve {
        which: usize,
        priority: i64,
        preempts: bool,
        takes: u64,
        limit: u64,
    },
    Seize {
        which: usize,
        priority: i64,
        preempts: bool,
        units: u32,
        limit: u64,
    },
    ReleaseFirst,
    Put(u64),
    Get {
        even: bool,
        limit: u64,
    },
    Fill(u32),
    Draw {
        amount: u32,
        limit: u64,
    },
    /// At units, or at the tank.
    Look(usize),
}

/// What is looked at beside units.
const TANK: usize = CAPACITY.len();
/// Levels, as what came of a step.
const LEVELS: [&str; 10] = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];

const CAPACITY: [u32; 2] = [1, 2];
const ROOM: u32 = 9;

fn programs(seed: u64) -> Vec<Vec<Step>> {
    let mut rng = Rng::new(seed, 0);
    let mut step = |_| {
        // Odd spans: hardly ever do two things fall on one instant by chance.
        let (takes, limit) = (1 + rng.below(1_000_000), 1 + rng.below(900_000));
        let which = rng.below(2) as usize;
        let (priority, preempts, small) = (rng.below(3) as i64, rng.chance(0.5), rng.below(4) as u32);
        match rng.below(12) {
            0 | 1 => Step::Hold(takes),
            2 | 3 => Step::Serve { which, priority, preempts, takes, limit },
            4 => Step::Seize { which, priority, preempts, units: 1 + small % CAPACITY[which], limit },
            5 => Step::ReleaseFirst,
            6 => Step::Put(takes),
            7 => Step::Get { even: preempts, limit },
            8 => Step::Fill(small),
            9 => Step::Draw { amount: small, limit },
            _ => Step::Look(rng.below(3) as usize),
        }
    };
    (0..PROCESSES).map(|_| (0..STEPS).map(&mut step).collect()).collect()
}

/// When, which process, which of its steps, and what came of it.
type Entry = (u64, usize, usize, &'static str);

fn simulated(programs: &[Vec<Step>], mut world: World) -> (Vec<Entry>, Report) {
    let units = CAPACITY.map(|capacity| world.resource(HERE, capacity));
    let shelf: Store<u64> = world.make(HERE, Spec::store().room(3));
    let tank = world.container(HERE, ROOM.into(), 0.0);
    let log = Arc::new(Mutex::new(Vec::new()));
    for (process, program) in programs.iter().cloned().enumerate() {
        let log = Arc::clone(&log);
        world.spawn("one", HERE, async move |cx: Process<()>| {
            let mut held: Vec<Held<()>> = Vec::new();
            for (step, what) in program.into_iter().enumerate() {
                let ended = match what {
                    Step::Hold(span) => cx.hold(Time::ticks(span)).await,
                    Step::Serve { which, priority, preempts, takes, limit } => {
                        let wait = units[which].serve(&cx, Time::ticks(takes)).priority(priority);
                        let wait = if preempts { wait.preempting() } else { wait };
                        wait.within(Time::ticks(limit)).await.map(drop)
                    }
                    Step::Seize { which, priority, preempts, units: amount, limit } => {
                        let wait = units[which].request(&cx).priority(priority).units(amount);
                        let wait = if preempts { wait.preempting() } else { wait };
                        wait.within(Time::ticks(limit)).await.map(|unit| held.push(unit))
                    }
                    Step::ReleaseFirst => {
                        if !held.is_empty() {
                            drop(held.remove(0));
                        }
                        continue;
                    }
                    Step::Put(item) => shelf.put(&cx, item).within(Time::ticks(700_000)).await,
                    Step::Get { even, limit } => {
                        let wait =
                            if even { shelf.get_if(&cx, |item| item % 2 == 0) } else { shelf.get(&cx) };
                        wait.within(Time::ticks(limit)).await.map(drop)
                    }
                    Step::Fill(amount) => tank.put(&cx, amount.into()).within(Time::ticks(700_000)).await,
                    Step::Draw { amount, limit } => {
                        tank.get(&cx, amount.into()).within(Time::ticks(limit)).await
                    }
                    Step::Look(at) => {
                        let seen = if at == TANK { tank.levels(&cx) } else { units[at].levels(&cx) };
                        let level = LEVELS[seen.await.unwrap().level as usize];
                        log.lock().unwrap().push((cx.now().as_ticks(), process, step, level));
                        continue;
                    }
                };
                let what = match ended {
                    Ok(()) => "ok",
                    Err(WaitError::TimedOut) => "late",
                    Err(WaitError::Preempted(_)) => "preempted",
                    Err(error) => panic!("{error}"),
                };
                log.lock().unwrap().push((cx.now().as_ticks(), process, step, what));
            }
        });
    }
    let report = run(world);
    let mut entries = std::mem::take(&mut *log.lock().unwrap());
    entries.sort_unstable();
    (entries, report)
}

#[test]
fn random_programs_are_answered_as_the_reference_says_on_any_threads() {
    let cases = std::env::var("PACELINE_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(300);
    let first = std::env::var("PACELINE_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let mut preempted = 0;
    for seed in first..first + cases {
        let programs = programs(seed);
        let (one, report) = simulated(&programs, world());
        let right = reference::run(&programs);
        let differs = one.iter().zip(&right).find(|(one, right)| one != right);
        let at = differs.map_or(0, |(one, right)| one.0.min(right.0));
        let then = |entries: &[Entry]| -> Vec<Entry> {
            entries
                .iter()
                .filter(|entry| (at.saturating_sub(200_000)..=at).contains(&entry.0))
                .copied()
                .collect()
        };
        let (core, reference) = (then(&one), then(&right));
        assert!(
            one == right,
            "PACELINE_SEED={seed}: differs at {at}: core {core:?}, reference {reference:?}, {programs:#?}"
        );
        if seed % 4 == 0 {
            // Who is shown each round has it run by itself; rounds of one process follow each other
            // otherwise.
            let (seen, other) = simulated(&programs, world().observe(|_| {}));
            let same = (&one, report.digest, report.counts);
            assert_eq!((&seen, other.digest, other.counts), same, "PACELINE_SEED={seed}, observed");
            for others in [world().threads(2).rounds(Rounds::Always), world().federates(2).threads(2)] {
                let (two, other) = simulated(&programs, others);
                assert_eq!((two, other.digest), (one.clone(), report.digest), "PACELINE_SEED={seed}");
            }
        }
        preempted += one.iter().filter(|(.., what)| *what == "preempted").count();
    }
    assert!(cases < 100 || preempted > 20, "{preempted} preemptions of holders");
}
