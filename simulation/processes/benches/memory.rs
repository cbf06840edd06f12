//! What processes cost in memory, by an allocator that counts what is asked for: bytes for each process that
//! sleeps, and megabytes in all for processes of which few are there at a time.
//!
//! `cargo bench -p paceline-processes --bench memory`

#[path = "../../engine/benches/memory/allocated.rs"]
mod allocated;

use std::time::Instant;

use paceline_kernel::Time;
use paceline_network::{Constant, HostId};
use paceline_processes::{Process, Simulation};

#[global_allocator]
static ALLOCATED: allocated::Allocated = allocated::Allocated;

type World = Simulation<u64, Constant>;

fn world() -> World {
    Simulation::new(Constant::new(1e-3), &[(1e9, 1); 8])
}

/// The most bytes, and the seconds, of a run.
fn measured(make: impl FnOnce() -> World) -> (f64, f64) {
    let start = Instant::now();
    let (ran, bytes) = allocated::most_during(|| make().run().map(|report| report.counts.processes));
    ran.expect("all processes end");
    (bytes as f64, start.elapsed().as_secs_f64())
}

/// The bytes of the future that this code makes.
fn state_of<F>(_: &impl FnOnce(Process<u64>) -> F) -> usize {
    size_of::<F>()
}

/// Processes that sleep for times of their own.
fn sleeping(count: u64, threads: usize) {
    let mut state = 0;
    let (bytes, s) = measured(|| {
        let mut world = world().threads(threads);
        for number in 0..count {
            let sleeps = async move |cx: Process<u64>| cx.sleep(Time::nanos(1_000_000 + number)).await;
            state = state_of(&sleeps);
            world.spawn("sleeps", HostId(number as u32 % 8), sleeps);
        }
        world
    });
    let each = bytes / count as f64;
    println!(
        "{count} that sleep, {threads} threads: {:.1} bytes each besides {state} of state, {s:.2} s",
        each - state as f64
    );
}

/// One process spawns all others, of which each lives for `life`, and one in `stay` until all have come.
fn short(count: u64, what: &str, stay: u64, federates: Option<u32>) {
    let sources = u64::from(federates.unwrap_or(1));
    let (bytes, s) = measured(|| {
        let mut world = world();
        for source in 0..sources {
            let host = HostId(source as u32);
            world.spawn("source", host, async move |cx: Process<u64>| {
                for number in 0..count / sources {
                    let span = if number % stay == stay - 1 { 1_000_000_000 } else { 50 };
                    let guest = async move |cx: Process<u64>| cx.sleep(Time::micros(span)).await;
                    cx.spawn("guest", host, guest).await.unwrap();
                    cx.sleep(Time::micros(1)).await;
                }
            });
        }
        match federates {
            Some(federates) => world.federates(federates),
            None => world,
        }
    });
    println!("{count} that are short, {what}: {:.1} MB in all, {s:.2} s", bytes / 1e6);
}

/// The same, each with mailboxes of its own.
fn boxes(count: u64) {
    let (bytes, s) = measured(|| {
        let mut world = world();
        world.spawn("source", HostId(0), async move |cx: Process<u64>| {
            for number in 0..count {
                let guest = async move |cx: Process<u64>| {
                    let matched = paceline_processes::Mailbox::Matched { to: 1, from: number as u32, tag: 1 };
                    for mailbox in [number.into(), matched] {
                        assert!(cx.receive_within(&mailbox, Time::micros(9)).await.is_err());
                    }
                };
                cx.spawn("guest", HostId(0), guest).await.unwrap();
                cx.sleep(Time::micros(1)).await;
            }
        });
        world
    });
    println!("{count} that are short, with mailboxes: {:.1} MB in all, {s:.2} s", bytes / 1e6);
}

fn main() {
    sleeping(1_000_000, 1);
    sleeping(1_000_000, 2);
    short(10_000_000, "all of them", u64::MAX, None);
    short(10_000_000, "on 4 federates", u64::MAX, Some(4));
    short(4_000_000, "but for one in 20", 20, None);
    boxes(4_000_000);
}
