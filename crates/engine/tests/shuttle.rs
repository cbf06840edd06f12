//! The workers under a random scheduler: built with `--cfg paceline_shuttle`, every lock, atomic and condition variable of
//! the engine is a point where shuttle may switch threads. A lost wake-up shows as a deadlock, a race as a wrong digest.
//!
//! `RUSTFLAGS="--cfg paceline_shuttle" cargo test -p paceline-engine --test shuttle`

#![cfg(paceline_shuttle)]

mod mesh;

use mesh::Mesh;
use paceline_engine::{Monitor, Simulation, Sync};
use paceline_kernel::{Model, Rng};

/// Interleavings tried of each case.
const SCHEDULES: usize = 200;

fn explore(sync: Sync) {
    for case in 0..25 {
        let mesh = Mesh::draw(case, false);
        let mut rng = Rng::new(case, 0x7368_7574);
        let federates = 1 + rng.below(u64::from(mesh.lps().min(5))) as u32;
        let threads = 2 + rng.below(4) as u32;
        let base = move |mesh: &Mesh| Simulation::new(mesh.clone()).until(mesh.until()).seed(case);
        let reference = base(&mesh).sync(Sync::Sequential).run().expect("the model keeps the rules").digest;
        shuttle::check_random(
            move || {
                let run = base(&mesh).sync(sync).federates(federates).threads(threads).run();
                assert_eq!(run.expect("the model keeps the rules").digest, reference, "case {case}");
            },
            SCHEDULES,
        );
    }
}

#[test]
fn windows() {
    explore(Sync::Window);
}

#[test]
fn null_messages() {
    explore(Sync::NullMessage);
}

#[test]
fn null_messages_on_demand() {
    explore(Sync::NullMessageOnDemand);
}

#[test]
fn stopping_in_the_middle() {
    shuttle::check_random(
        || {
            let monitor = Monitor::new();
            let run = Simulation::new(Mesh::draw(3, false)).federates(3).threads(3).seed(3).monitor(&monitor);
            let stopper = shuttle::thread::spawn(move || monitor.stop());
            run.run().expect("stopping is no failure");
            stopper.join().expect("does not panic");
        },
        400,
    );
}
