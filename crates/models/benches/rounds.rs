//! What running the rounds of processes on many threads brings (reference 3, sections 3 to 5): Chord with all peers starting at once,
//! on two threads, beside one; when rounds run on many threads, how threads are coordinated and wait, and whether they are
//! bound to cores. Every row of a table runs once a round; medians of seconds, and the ratio to the first row.
//!
//! `cargo bench -p paceline-models --bench rounds [PEERS]`

use std::time::Instant;

use paceline_actors::{Coordination, Rounds, Simulation, Waiting};
use paceline_kernel::Time;
use paceline_models::chord::{Chord, Starts};
use paceline_network::Constant;

const ROUNDS: usize = 5;
const HORIZON: Time = Time::secs(40);
const HOSTS: u32 = 64;

/// One way to run it.
#[derive(Clone, Copy)]
struct Way {
    threads: usize,
    rounds: Rounds,
    coordination: Coordination,
    waiting: Waiting,
    pin: bool,
}

const ALONE: Way = Way {
    threads: 1,
    rounds: Rounds::Never,
    coordination: Coordination::Works,
    waiting: Waiting::Futex,
    pin: false,
};
const TWO: Way = Way { threads: 2, rounds: Rounds::Always, ..ALONE };

/// Seconds, the share of processes in parallel rounds, and the digest.
fn run(chord: &Chord, way: Way) -> (f64, f64, String) {
    let world = Simulation::new(Constant::new(0.05), &[(1e9, 1); HOSTS as usize]).until(HORIZON);
    let world = world.threads(way.threads).rounds(way.rounds).coordination(way.coordination);
    let mut world = world.waiting(way.waiting).pin(way.pin);
    chord.spawn(&mut world, HOSTS, 1);
    let start = Instant::now();
    let report = world.run().expect("peers go on until the horizon");
    let parallel = report.rounds.parallel_steps as f64 / report.counts.steps as f64;
    (start.elapsed().as_secs_f64(), parallel, report.digest.to_string())
}

fn table(title: &str, chord: &Chord, rows: &[(&str, Way)]) {
    let mut times = vec![Vec::new(); rows.len()];
    let mut shares = vec![0.0; rows.len()];
    let mut digests = Vec::new();
    for _ in 0..ROUNDS {
        for (place, (_, way)) in rows.iter().enumerate() {
            let (seconds, share, digest) = run(chord, *way);
            times[place].push(seconds);
            shares[place] = share;
            digests.push(digest);
        }
    }
    assert!(digests.iter().all(|digest| *digest == digests[0]), "one digest: {digests:?}");
    println!(
        "\n{title}\n\n{:<34} {:>8} {:>8} {:>8} {:>9} {:>10}",
        "", "median s", "least", "most", "of first", "parallel %"
    );
    for times in &mut times {
        times.sort_by(f64::total_cmp);
    }
    for ((name, _), (own, share)) in rows.iter().zip(times.iter().zip(&shares)) {
        let (median, first) = (own[ROUNDS / 2], times[0][ROUNDS / 2]);
        let (least, most) = (own[0], own[ROUNDS - 1]);
        println!(
            "{name:<34} {median:>8.3} {least:>8.3} {most:>8.3} {:>9.3} {:>10.1}",
            median / first,
            100.0 * share
        );
    }
}

fn main() {
    let peers = std::env::args().filter_map(|argument| argument.parse().ok()).next().unwrap_or(1000);
    let chord = |work_ns| Chord { peers, work_ns, starts: Starts::Lockstep, ..Chord::default() };
    let when = [
        ("one thread", ALONE),
        ("auto", Way { rounds: Rounds::Auto, ..TWO }),
        ("static:2", Way { rounds: Rounds::Static(2), ..TWO }),
        ("static:33", Way { rounds: Rounds::Static(33), ..TWO }),
        ("static:500", Way { rounds: Rounds::Static(500), ..TWO }),
        ("adaptive5", Way { rounds: Rounds::Adaptive5, ..TWO }),
        ("always", TWO),
    ];
    for work_ns in [0, 2_000, 20_000, 200_000] {
        let few = Chord { peers: if work_ns > 20_000 { peers / 5 } else { peers }, ..chord(work_ns) };
        table(&format!("{} peers, {work_ns} ns of work a message", few.peers), &few, &when);
    }
    let coordinations =
        [("works", Coordination::Works), ("sleeps", Coordination::Sleeps), ("extra", Coordination::Extra)];
    let waitings = [("futex", Waiting::Futex), ("condition", Waiting::Condition), ("busy", Waiting::Busy)];
    let mut names = Vec::new();
    for (one, coordination) in coordinations {
        for (other, waiting) in waitings {
            names.push((format!("{one}, {other}"), Way { coordination, waiting, ..TWO }));
        }
    }
    names.push(("works, futex, bound to cores".into(), Way { pin: true, ..TWO }));
    let rows: Vec<(&str, Way)> = names.iter().map(|(name, way)| (name.as_str(), *way)).collect();
    table(&format!("{peers} peers, 20000 ns of work a message, all rounds parallel"), &chord(20_000), &rows);
}
