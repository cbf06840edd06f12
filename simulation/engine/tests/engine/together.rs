//! What the owners of several processes do together between legs and at the end: a checkpoint changes nothing
//! of what comes later, and whatever ends one process is said by the others in its words.

use std::sync::Arc;
use std::time::Duration;

use crate::facts::{assert_same, facts, setting};
use crate::mesh::{Hop, Mesh};
use crate::processes::{Outcome, together, wide, wide_one};
use paceline_engine::{
    Checkpoints, Observer, PeersError, PeersErrorKind, Protocol, RunError, Simulation, WindowOpened,
};
use paceline_kernel::{LpId, Model, Time};
use paceline_transport::Memory;

#[test]
fn events_from_outside_keep_their_order_across_a_checkpoint() {
    let folder = tempfile::tempdir().expect("a folder for checkpoints");
    for seed in 0..setting("PACELINE_CASES", 60).min(10) {
        let mesh = wide_one(seed);
        let (cut, at) = (mesh.grain(), Time::nanos(20 * mesh.grain().as_nanos()));
        let plain = || Simulation::new(mesh.clone()).until(mesh.until()).seed(seed);
        // For the first and the last LP, which are in two processes.
        let hops =
            |first: u64| (first..first + 3).flat_map(|hop| [(LpId(0), hop), (LpId(mesh.lps() - 1), hop)]);
        let mut run = plain().protocol(Protocol::Sequential).start().expect("the model keeps the rules");
        run.run_until(cut).expect("as before");
        hops(0)
            .chain(hops(3))
            .for_each(|(lp, hop)| run.send(lp, at, Hop::outside(hop)).expect("it is later"));
        run.run_until(Time::MAX).expect("as before");
        let reference = facts(run.finish().expect("as before"));
        let path = folder.path().join(format!("{seed}.checkpoint"));
        let runs = together(Memory::mesh(2), |rank, end| {
            let checkpoints = Checkpoints { path: path.clone(), every: Duration::ZERO, header: Vec::new() };
            let run = plain().protocol(Protocol::Window).federates(6).threads(1).join(end);
            let run = if rank == 0 { run.checkpoint(checkpoints) } else { run };
            let mut run = run.start()?;
            run.run_until(cut)?;
            hops(0).for_each(|(lp, hop)| run.send(lp, at, Hop::outside(hop)).expect("it is later"));
            run.checkpoint()?;
            hops(3).for_each(|(lp, hop)| run.send(lp, at, Hop::outside(hop)).expect("it is later"));
            run.run_until(Time::MAX)?;
            run.finish()
        });
        let whole = runs.into_iter().next().expect("there is a process of rank 0");
        assert_same(&facts(whole.expect("no process fails")), &reference, &format!("case {seed}"));
    }
}

/// What the process of rank 0 or 1 says of the failure of the other one.
fn failure_of_other(runs: &[Outcome], here: usize) -> &str {
    match &runs[here] {
        Err(RunError::Peers(PeersError { kind: PeersErrorKind::Failed(what), .. })) => what,
        other => panic!("process {here}: {other:?}"),
    }
}

#[test]
fn the_others_are_sent_why_a_process_cannot_finish() {
    let (mesh, folder) = (wide(), tempfile::tempdir().expect("a folder for checkpoints"));
    let path = folder.path().join("run.checkpoint");
    let runs = together(Memory::mesh(2), |rank, end| {
        let every = Duration::from_secs(3600);
        let checkpoints = Checkpoints { path: path.clone(), every, header: Vec::new() };
        let run = Simulation::new(mesh.clone()).until(mesh.until()).protocol(Protocol::Window).threads(1);
        let run = run.federates(4).join(end);
        let run = if rank == 0 { run.checkpoint(checkpoints) } else { run };
        let mut run = run.start()?;
        if rank == 0 {
            // No file can take the place of a folder.
            std::fs::create_dir(&path).expect("nothing is there yet");
        }
        run.run_until(mesh.grain())?;
        run.checkpoint()?;
        run.finish()
    });
    assert!(matches!(runs[0], Err(RunError::Checkpoint(_))), "{:?}", runs[0]);
    let what = failure_of_other(&runs, 1);
    assert!(what.contains("cannot write the checkpoint"), "{what}");
}

#[test]
fn the_others_are_sent_what_a_panic_said() {
    struct Striking;
    impl Observer<Mesh> for Striking {
        fn window(&self, window: &WindowOpened) {
            // The first one is opened by the owner of the run, the others by workers.
            assert!(window.number == 0, "no more windows");
        }
    }
    let mesh = wide();
    let runs = together(Memory::mesh(2), |rank, end| {
        let run = Simulation::new(mesh.clone()).until(mesh.until()).protocol(Protocol::Window).threads(1);
        let run = run.federates(4).join(end);
        if rank == 1 { run.observe(Arc::new(Striking)).run() } else { run.run() }
    });
    assert!(matches!(runs[1], Err(RunError::Panic(_))), "{:?}", runs[1]);
    let what = failure_of_other(&runs, 0);
    assert!(what.contains("no more windows"), "{what}");
}
