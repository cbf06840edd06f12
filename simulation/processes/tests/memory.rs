//! What processes cost in memory: a little while they are there, nothing once they are over.
//!
//! The allocator counts what was asked for. The tests share its counters, so each waits for the other.

#[path = "../../engine/benches/memory/allocated.rs"]
mod allocated;

use std::sync::{Mutex, PoisonError};

use paceline_kernel::Time;
use paceline_network::{Constant, HostId};
use paceline_processes::{Activity, Process, Simulation};

#[global_allocator]
static ALLOCATED: allocated::Allocated = allocated::Allocated;
static ALONE: Mutex<()> = Mutex::new(());

type World = Simulation<u64, Constant>;

fn world() -> World {
    Simulation::new(Constant::new(1e-3), &[(1e9, 1); 2])
}

/// The most bytes allocated while a simulation is made and run, and the number of its processes.
fn most(make: impl FnOnce(&mut World)) -> (usize, u64) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (processes, bytes) = allocated::most_during(|| {
        let mut world = world();
        make(&mut world);
        world.run().expect("all processes end").counts.processes
    });
    (bytes, processes)
}

/// The bytes of the future that this code makes.
fn state_of<F>(_: &impl FnOnce(Process<u64>) -> F) -> usize {
    size_of::<F>()
}

#[test]
fn a_process_costs_at_most_200_bytes_besides_its_state() {
    const PROCESSES: u64 = 1_000_000;
    let mut state = 0;
    let (bytes, processes) = most(|world| {
        for number in 0..PROCESSES {
            let sleeps = async move |cx: Process<u64>| cx.sleep(Time::nanos(1_000_000 + number)).await;
            state = state_of(&sleeps);
            world.spawn("sleeps", HostId(0), sleeps);
        }
    });
    assert_eq!(processes, PROCESSES);
    let each = bytes as f64 / PROCESSES as f64 - state as f64;
    assert!(each <= 200.0, "{each} bytes besides {state} of its state");
}

/// One process after the other, which lives for a while, uses some of all that there is, and ends.
fn shorts(world: &mut World, count: u64) {
    world.spawn("source", HostId(0), async move |cx: Process<u64>| {
        for number in 0..count {
            let short = async move |cx: Process<u64>| {
                let (mutex, queue, inbox) = (cx.mutex(), cx.queue(), format!("inbox of {number}"));
                let _held = mutex.lock(&cx).await;
                queue.put(&cx, number);
                assert_eq!(queue.get(&cx).await, Ok(number));
                let mut mail = cx.start_receive(&*inbox);
                let mut other = cx.start_receive(number);
                let limit = Time::micros(1 + number % 100);
                assert!(Activity::wait_any_within(&cx, &mut [&mut mail, &mut other], limit).await.is_err());
            };
            let name = if number % 2 == 0 { "even" } else { "odd" };
            let child = cx.spawn(name, HostId(0), short).await.unwrap();
            if number % 7 == 0 {
                cx.kill(child);
            }
            cx.sleep(Time::micros(1)).await;
        }
    });
}

#[test]
fn processes_that_are_over_cost_nothing_with_all_that_they_used() {
    let few = most(|world| shorts(world, 50_000)).0;
    let many = most(|world| shorts(world, 200_000)).0;
    // 10^7 of them would take 70 times as much more at most: far below 200 MB.
    assert!(many < few + 100_000, "{few} bytes with 50,000 processes, {many} with 200,000");
}

#[test]
fn a_few_that_stay_keep_nothing_of_the_many_that_go() {
    const STAY: u64 = 10_000;
    let (bytes, processes) = most(|world| {
        world.spawn("source", HostId(0), async |cx: Process<u64>| {
            for number in 0..20 * STAY {
                let span = if number % 20 == 0 { Time::secs(9) } else { Time::ZERO };
                cx.spawn("guest", HostId(0), async move |cx| cx.sleep(span).await).await.unwrap();
                cx.sleep(Time::nanos(1)).await;
            }
        });
    });
    assert_eq!(processes, 20 * STAY + 1);
    let each = bytes as f64 / STAY as f64;
    assert!(each < 500.0, "{each} bytes for each process that stays, its state and names included");
}
