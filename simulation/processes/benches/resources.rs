//! What resources cost: nanoseconds for a request with its release, with and without statistics, beside a
//! yield and a semaphore; and a million customers of a queue with preemption. Medians of CPU time over rounds
//! in which every row runs once: what else runs on the machine matters little.
//!
//! `cargo bench -p paceline-processes --bench resources [-- PART_OF_A_NAME]`

use paceline_kernel::Time;
use paceline_network::{Constant, HostId};
use paceline_processes::resources::Spec;
use paceline_processes::{Process, Resource, Simulation};
use rustix::time::{ClockId, clock_gettime};

const ROUNDS: usize = 11;
const HERE: HostId = HostId(0);

type World = Simulation<(), Constant>;
/// A name, how often it happens what is counted, and the world in which it does.
type Row = (&'static str, f64, fn() -> World);

/// CPU time of this process, in nanoseconds.
fn cpu_ns() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

fn world() -> World {
    Simulation::new(Constant::new(0.0), &[(1e9, 1)])
}

fn yields() -> World {
    let mut world = world();
    world.spawn("yields", HERE, async |cx: Process<()>| {
        for _ in 0..1_000_000 {
            cx.yield_now().await;
        }
    });
    world
}

fn semaphores() -> World {
    let mut world = world();
    world.spawn("acquires", HERE, async |cx: Process<()>| {
        let permits = cx.semaphore(1);
        for _ in 0..1_000_000 {
            permits.acquire(&cx).await.unwrap();
            permits.release(&cx);
        }
    });
    world
}

fn requests(spec: Spec<Resource>) -> World {
    let mut world = world();
    let desk = world.make(HERE, spec);
    world.spawn("requests", HERE, async move |cx: Process<()>| {
        for _ in 0..1_000_000 {
            drop(desk.request(&cx).await.unwrap());
        }
    });
    world
}

/// Customers that come to one server, each a process; half of them preempt the others.
fn customers(spec: Spec<Resource>) -> World {
    let mut world = world();
    let desk = world.make(HERE, spec);
    world.spawn("source", HERE, async move |cx: Process<()>| {
        for _ in 0..1_000_000 {
            cx.sleep(Time::from_secs_f64(cx.draw(|rng| rng.exponential(1.0)))).await;
            let customer = async move |cx: Process<()>| {
                let (service, is_urgent) = cx.draw(|rng| (rng.exponential(0.8), rng.chance(0.5)));
                let service = desk.serve(&cx, Time::from_secs_f64(service));
                service.priority(i64::from(is_urgent)).preempting().await.unwrap();
            };
            cx.spawn("customer", HERE, customer).await.unwrap();
        }
    });
    world
}

fn main() {
    // What a row's name contains, where only such rows are wanted; cargo adds an option.
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with('-')).unwrap_or_default();
    let mut rows: Vec<Row> = vec![
        ("a yield", 1e6, yields),
        ("acquire and release of a semaphore", 1e6, semaphores),
        ("request and release", 1e6, || requests(Spec::resource(1).without_statistics())),
        ("request and release, with statistics", 1e6, || requests(Spec::resource(1))),
        ("a customer that may be preempted", 1e6, || customers(Spec::resource(1).without_statistics())),
        ("a customer, with statistics", 1e6, || customers(Spec::resource(1))),
    ];
    rows.retain(|(name, ..)| name.contains(&wanted));
    let mut times = vec![Vec::new(); rows.len()];
    for _ in 0..ROUNDS {
        for ((_, count, make), times) in rows.iter().zip(&mut times) {
            let world = make();
            let start = cpu_ns();
            world.run().expect("all processes end");
            times.push((cpu_ns() - start) / count);
        }
    }
    println!("{:<40} {:>9} {:>9} {:>9}", "", "median ns", "least", "greatest");
    for ((name, ..), times) in rows.iter().zip(&mut times) {
        times.sort_by(f64::total_cmp);
        println!("{name:<40} {:>9.1} {:>9.1} {:>9.1}", times[ROUNDS / 2], times[0], times[ROUNDS - 1]);
    }
}
