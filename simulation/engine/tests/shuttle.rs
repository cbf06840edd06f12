//! The workers under a random scheduler: built with `--cfg paceline_shuttle`, every lock, atomic and
//! condition variable of the engine is a point where shuttle may switch threads. A lost wake-up shows as a
//! deadlock, a race as a wrong digest.
//!
//! `RUSTFLAGS="--cfg paceline_shuttle" cargo test -p paceline-engine --test shuttle`

#![cfg(paceline_shuttle)]

mod mesh;

use std::sync::Arc;

use mesh::Mesh;
use paceline_engine::{Monitor, Outside, Protocol, Simulation, Speculation, ThreadFederate};
use paceline_kernel::{Cancellation, GvtKind, Model, Rng, Saving};
use paceline_transport::Memory;
use paceline_transport::marshal::{Marshalling, SizeLimit, TimeLimit};
use shuttle::scheduler::RandomScheduler;
use shuttle::{Config, Runner};

/// Interleavings tried of each case.
const SCHEDULES: usize = 200;

/// Stack of a thread, in bytes. Shuttle's default of 32 KiB does not hold a federate that is moved on it a
/// few times; the engine's threads have 2 MiB.
const STACK: usize = 256 << 10;

/// Runs `test` under so many random schedules.
fn check_random(test: impl Fn() + Send + Sync + 'static, schedules: usize) {
    let mut config = Config::new();
    config.stack_size = STACK;
    Runner::new(RandomScheduler::new(schedules), config).run(test);
}

fn explore(protocol: Protocol) {
    explore_with(protocol, |_| Speculation::default());
}

/// The same, with settings for optimistic runs drawn for each case.
fn explore_with(protocol: Protocol, speculation: impl Fn(&mut Rng) -> Speculation) {
    for case in 0..25 {
        let mesh = Mesh::draw(case, false);
        let mut rng = Rng::new(case, 0x7368_7574);
        let federates = 1 + rng.below(u64::from(mesh.lps().min(5))) as u32;
        let threads = 2 + rng.below(4) as u32;
        let speculation = speculation(&mut rng);
        let base = move |mesh: &Mesh| Simulation::new(mesh.clone()).until(mesh.until()).seed(case);
        let reference =
            base(&mesh).protocol(Protocol::Sequential).run().expect("the model keeps the rules").digest;
        check_random(
            move || {
                let run =
                    base(&mesh).protocol(protocol).federates(federates).groups(u32::MAX).threads(threads);
                let run = run.speculation(speculation.clone()).run();
                assert_eq!(run.expect("the model keeps the rules").digest, reference, "case {case}");
            },
            SCHEDULES,
        );
    }
}

#[test]
fn windows() {
    explore(Protocol::Window);
}

#[test]
fn null_messages() {
    explore(Protocol::NullMessage);
}

#[test]
fn null_messages_on_demand() {
    explore(Protocol::NullMessageOnDemand);
}

/// Chaos takes federates at random, so that much is rolled back; both ways to compute GVT.
fn drawn(rng: &mut Rng) -> Speculation {
    Speculation {
        saving: [Saving::Copy, Saving::Periodic, Saving::Undo][rng.below(3) as usize],
        cancellation: [Cancellation::Aggressive, Cancellation::Lazy][rng.below(2) as usize],
        gvt: [GvtKind::Synchronous, GvtKind::Asynchronous][rng.below(2) as usize],
        memory_bytes: rng.chance(0.2).then_some(2_000),
        chaos: rng.chance(0.5).then(|| rng.u64()),
        ..Speculation::default()
    }
}

#[test]
fn time_warp() {
    explore_with(Protocol::Optimistic, drawn);
}

#[test]
fn mixed() {
    explore_with(Protocol::Mixed, drawn);
}

#[test]
fn pausing_in_the_middle_and_going_on() {
    for (protocol, ..) in Protocol::ALL {
        for case in 0..8 {
            let mesh = Mesh::draw(case, false);
            let federates = mesh.lps().min(4);
            let base = move |mesh: &Mesh| Simulation::new(mesh.clone()).until(mesh.until()).seed(case);
            let reference =
                base(&mesh).protocol(Protocol::Sequential).run().expect("the model keeps the rules").digest;
            check_random(
                move || {
                    let monitor = Monitor::new();
                    let run =
                        base(&mesh).protocol(protocol).federates(federates).threads(2).monitor(&monitor);
                    let other = shuttle::thread::spawn(move || {
                        for threads in [3, 1, 2] {
                            monitor.set_threads(threads).expect("the number is allowed");
                            shuttle::thread::yield_now();
                        }
                    });
                    // Some pauses come from the other thread, at any moment, and some are sure to come.
                    let report =
                        run.leg_events(40).draw_protocols(case).run().expect("the model keeps the rules");
                    assert_eq!(report.digest, reference, "{protocol:?}, case {case}");
                    other.join().expect("does not panic");
                },
                50,
            );
        }
    }
}

#[test]
fn federates_outside() {
    for (protocol, ..) in Protocol::ALL.into_iter().filter(|(protocol, ..)| *protocol != Protocol::Sequential)
    {
        for case in 0..8 {
            let mesh = Mesh::draw(case, false);
            let federates = mesh.lps().min(4);
            let base = move |mesh: &Mesh| Simulation::new(mesh.clone()).until(mesh.until()).seed(case);
            let reference =
                base(&mesh).protocol(Protocol::Sequential).run().expect("the model keeps the rules").digest;
            check_random(
                move || {
                    let run = base(&mesh).protocol(protocol).federates(federates).threads(2);
                    let run = if case % 2 == 0 { run.leg_events(40) } else { run };
                    let outside = |run: Simulation<Mesh>, federate| {
                        let thread = ThreadFederate::dawdling(mesh.clone(), case);
                        run.outside(federate, Outside::new(thread))
                    };
                    let run = (0..federates).step_by(2).fold(run, outside);
                    let report = run.run().expect("the model keeps the rules");
                    assert_eq!(report.digest, reference, "{protocol:?}, case {case}");
                },
                30,
            );
        }
    }
}

#[test]
fn federates_outside_that_run_ahead() {
    for (protocol, ..) in Protocol::ALL.into_iter().filter(|(protocol, ..)| *protocol != Protocol::Sequential)
    {
        let ahead = matches!(protocol, Protocol::Optimistic | Protocol::Mixed);
        for case in 0..if ahead { 16 } else { 3 } {
            let mesh = Mesh::draw(case, false);
            let mut rng = Rng::new(case, 0x6168_6561);
            let (federates, speculation) = (mesh.lps().min(4), drawn(&mut rng));
            let base = move |mesh: &Mesh| Simulation::new(mesh.clone()).until(mesh.until()).seed(case);
            let reference =
                base(&mesh).protocol(Protocol::Sequential).run().expect("the model keeps the rules").digest;
            check_random(
                move || {
                    let run = base(&mesh).protocol(protocol).federates(federates).threads(2);
                    let run = run.speculation(speculation.clone());
                    let run = if case % 2 == 0 { run.leg_events(40) } else { run };
                    // One inside, one that runs ahead, one that does not, one that runs ahead and dawdles.
                    let outside = |run: Simulation<Mesh>, federate| {
                        let thread = match federate % 4 {
                            1 => ThreadFederate::optimistic(mesh.clone()),
                            2 => ThreadFederate::dawdling(mesh.clone(), case),
                            _ => ThreadFederate::optimistic_dawdling(mesh.clone(), case),
                        };
                        run.outside(federate, Outside::new(thread))
                    };
                    let run = (u32::from(federates > 1)..federates).fold(run, outside);
                    let report = run.run().expect("the model keeps the rules");
                    assert_eq!(report.digest, reference, "{protocol:?}, case {case}");
                },
                30,
            );
        }
    }
}

/// Several processes, each with threads of its own, which sleep where their messages arrive: a message that
/// wakes nobody shows as a deadlock.
#[test]
fn several_processes() {
    for (protocol, ..) in Protocol::ALL.into_iter().filter(|(protocol, ..)| *protocol != Protocol::Sequential)
    {
        for case in 0..6 {
            let mesh = Mesh::draw(case, false);
            let mut rng = Rng::new(case, 0x7065_6572);
            let processes = (2 + rng.below(3) as u32).min(mesh.lps());
            let federates = (processes + rng.below(3) as u32).min(mesh.lps());
            let threads = 1 + rng.below(2) as u32;
            let base = move |mesh: &Mesh| Simulation::new(mesh.clone()).until(mesh.until()).seed(case);
            let reference =
                base(&mesh).protocol(Protocol::Sequential).run().expect("the model keeps the rules").digest;
            check_random(
                move || {
                    let start = |end: Memory| {
                        let run = base(&mesh).protocol(protocol).federates(federates).threads(threads);
                        let run = if case % 2 == 0 { run.leg_events(40) } else { run };
                        // Nothing may depend on a clock here: frames go after each turn, or only where a
                        // thread sleeps.
                        let ns = if case % 3 == 0 { u64::MAX } else { 0 };
                        let marshalling =
                            Marshalling { size: SizeLimit::Bytes(4096), time: TimeLimit::Fixed { ns } };
                        let run = run.marshalling(marshalling).join(Arc::new(end));
                        shuttle::thread::spawn(move || run.run())
                    };
                    let runs: Vec<_> = Memory::mesh(processes).into_iter().map(start).collect();
                    for run in runs {
                        let report =
                            run.join().expect("no process panics").expect("the model keeps the rules");
                        assert_eq!(report.digest, reference, "{protocol:?}, case {case}");
                    }
                },
                30,
            );
        }
    }
}

#[test]
fn stopping_in_the_middle() {
    check_random(
        || {
            let monitor = Monitor::new();
            let run =
                Simulation::new(Mesh::draw(3, false)).protocol(Protocol::Window).federates(3).threads(3);
            let run = run.seed(3).monitor(&monitor);
            let stopper = shuttle::thread::spawn(move || monitor.stop());
            run.run().expect("stopping is no failure");
            stopper.join().expect("does not panic");
        },
        400,
    );
}
