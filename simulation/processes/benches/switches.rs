//! What a process costs: nanoseconds for a yield, a sleep, a message; bytes for a process that waits. Medians
//! of rounds in which every row runs once.
//!
//! `cargo bench -p paceline-processes --bench switches`

use std::sync::LazyLock;
use std::time::Instant;

use paceline_kernel::Time;
use paceline_network::{Constant, FlowModel, Flows, HostId, Network, Platform, read};
use paceline_processes::{ContextKind, Process, Simulation};

const ROUNDS: usize = 7;

type World = Simulation<u64, Constant>;
/// A name, how often it happens what is counted, and a run in which it does, which gives its seconds.
type Row = (&'static str, f64, Box<dyn Fn() -> f64>);

/// A small cluster with max-min sharing (LV08).
fn flows() -> Simulation<u64, Flows<'static>> {
    static PLATFORM: LazyLock<Platform> = LazyLock::new(|| {
        let text = r#"<platform version="4.1">
            <cluster id="c" prefix="node-" suffix="" radical="0-4" speed="98Mf" bw="41MBps" lat="60us"/>
        </platform>"#;
        read("cluster.xml", text, &mut |_| Err("there are no other files".into())).expect("it is sound")
    });
    Simulation::new(Flows::new(&PLATFORM, FlowModel::LV08), &[(1e9, 1); 5])
}

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

/// The same of processes that block.
fn blocking_yields(context: ContextKind, processes: u32, times: u32) -> World {
    let mut world = world().context(context);
    for _ in 0..processes {
        world.spawn("yields", HostId(0), async move |cx: Process<u64>| {
            for _ in 0..times {
                cx.block_on(cx.yield_now());
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
fn messages<N: Network>(mut world: Simulation<u64, N>, pairs: u32, times: u32) -> Simulation<u64, N> {
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

/// Makes a world and runs it.
fn run<N: Network + 'static>(make: impl Fn() -> Simulation<u64, N> + 'static) -> Box<dyn Fn() -> f64> {
    Box::new(move || {
        let world = make();
        let start = Instant::now();
        world.run().expect("all processes end");
        start.elapsed().as_secs_f64()
    })
}

fn main() {
    let rows: Vec<Row> = vec![
        ("a yield, 1 process", 2e6, run(|| yields(1, 2_000_000))),
        ("a yield, 1000 processes", 2e6, run(|| yields(1000, 2000))),
        ("a yield, 100,000 processes", 2e6, run(|| yields(100_000, 20))),
        ("a yield, 1 coroutine", 2e6, run(|| blocking_yields(ContextKind::Coroutine, 1, 2_000_000))),
        ("a yield, 1000 coroutines", 2e6, run(|| blocking_yields(ContextKind::Coroutine, 1000, 2000))),
        ("a yield, 100,000 coroutines", 2e6, run(|| blocking_yields(ContextKind::Coroutine, 100_000, 20))),
        ("a yield, 1 thread", 1e5, run(|| blocking_yields(ContextKind::Thread, 1, 100_000))),
        ("a yield, 1000 threads", 1e5, run(|| blocking_yields(ContextKind::Thread, 1000, 100))),
        ("a sleep, 1000 processes", 2e6, run(|| sleeps(1000, 2000))),
        ("a sleep, 100,000 processes", 2e6, run(|| sleeps(100_000, 20))),
        ("a message, 1 pair", 1e6, run(|| messages(world(), 1, 1_000_000))),
        ("a message, 1000 pairs", 1e6, run(|| messages(world(), 1000, 1000))),
        ("a message in a flow network, 1 pair", 1e6, run(|| messages(flows(), 1, 1_000_000))),
        ("a message in a flow network, 1000 pairs", 1e5, run(|| messages(flows(), 1000, 100))),
        ("a message, 50,000 pairs", 1e6, run(|| messages(world(), 50_000, 20))),
    ];
    let mut times = vec![Vec::new(); rows.len()];
    for _ in 0..ROUNDS {
        for ((_, count, make), times) in rows.iter().zip(&mut times) {
            times.push(make() * 1e9 / count);
        }
    }
    println!("{:<40} {:>9} {:>9} {:>9}", "", "median ns", "least", "greatest");
    for ((name, ..), times) in rows.iter().zip(&mut times) {
        times.sort_by(f64::total_cmp);
        println!("{name:<40} {:>9.1} {:>9.1} {:>9.1}", times[ROUNDS / 2], times[0], times[ROUNDS - 1]);
    }
}
