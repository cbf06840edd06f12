//! What a process costs: nanoseconds for a yield, a sleep, a message; bytes for a process that waits. Medians of rounds in which
//! every row runs once.
//!
//! `cargo bench -p paceline-actors --bench switches`

use std::time::Instant;

use paceline_actors::{Process, Simulation};
use paceline_kernel::Time;
use paceline_network::{Constant, HostId};

const ROUNDS: usize = 7;

type World = Simulation<u64, Constant>;
/// A name, how often it happens what is counted, and a world in which it does.
type Row = (&'static str, f64, Box<dyn Fn() -> World>);

fn world() -> World {
    Simulation::new(Constant::new(1e-3), &[(1e9, 1), (1e9, 1)])
}

/// `processes` processes that yield `times` times each.
fn yields(processes: u32, times: u32) -> World {
    let mut world = world();
    for _ in 0..processes {
        world.spawn("yields", HostId(0), async move |cx: Process<u64>| {
            for _ in 0..times {
                cx.yield_now().await;
            }
        });
    }
    world
}

/// Processes that sleep for times of their own.
fn sleeps(processes: u32, times: u32) -> World {
    let mut world = world();
    for number in 0..processes {
        world.spawn("sleeps", HostId(0), async move |cx: Process<u64>| {
            for _ in 0..times {
                cx.sleep(Time::nanos(1_000_000 + u64::from(number) * 7)).await;
            }
        });
    }
    world
}

/// Pairs of processes, one of which sends messages to the other.
fn messages(pairs: u32, times: u32) -> World {
    let mut world = world();
    for pair in 0..u64::from(pairs) {
        world.spawn("sends", HostId(0), async move |cx: Process<u64>| {
            for number in 0..times {
                cx.send(pair, u64::from(number), 1.0).await.unwrap();
            }
        });
        world.spawn("receives", HostId(1), async move |cx: Process<u64>| {
            for _ in 0..times {
                cx.receive(pair).await.unwrap();
            }
        });
    }
    world
}

fn main() {
    let rows: Vec<Row> = vec![
        ("a yield, 1 process", 2e6, Box::new(|| yields(1, 2_000_000))),
        ("a yield, 1000 processes", 2e6, Box::new(|| yields(1000, 2000))),
        ("a yield, 100,000 processes", 2e6, Box::new(|| yields(100_000, 20))),
        ("a sleep, 1000 processes", 2e6, Box::new(|| sleeps(1000, 2000))),
        ("a sleep, 100,000 processes", 2e6, Box::new(|| sleeps(100_000, 20))),
        ("a message, 1 pair", 1e6, Box::new(|| messages(1, 1_000_000))),
        ("a message, 1000 pairs", 1e6, Box::new(|| messages(1000, 1000))),
        ("a message, 50,000 pairs", 1e6, Box::new(|| messages(50_000, 20))),
    ];
    let mut times = vec![Vec::new(); rows.len()];
    for _ in 0..ROUNDS {
        for ((_, count, make), times) in rows.iter().zip(&mut times) {
            let world = make();
            let start = Instant::now();
            world.run().expect("all processes end");
            times.push(start.elapsed().as_secs_f64() * 1e9 / count);
        }
    }
    println!("{:<28} {:>9} {:>9} {:>9}", "", "median ns", "least", "greatest");
    for ((name, ..), times) in rows.iter().zip(&mut times) {
        times.sort_by(f64::total_cmp);
        println!("{name:<28} {:>9.1} {:>9.1} {:>9.1}", times[ROUNDS / 2], times[0], times[ROUNDS - 1]);
    }
}
