//! A run of several processes gives the result of the sequential run: under every protocol, with any number
//! of threads in each, over a transport that delays frames as it likes, cut into steps and legs, with events
//! from outside and checkpoints.
//!
//! The processes are threads here, joined by a transport in memory. `PACELINE_CASES` sets the number of
//! random models (default 60), `PACELINE_SEED` the first.

use std::path::Path;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use crate::facts::{Facts, assert_same, facts, sequential_facts, setting};
use crate::mesh::{Hop, Mesh};
use crate::way::Way;
use paceline_engine::{
    CheckpointFile, Checkpoints, Monitor, PeersError, PeersErrorKind, Protocol, Report, RunError, SendError,
    Simulation,
};
use paceline_kernel::{LpId, Model, Rng, TieBreak, Time};
use paceline_transport::{Fault as MemoryFault, Memory, PeerErrorKind};

pub type Outcome = Result<Report<<Mesh as Model>::Output>, RunError>;

/// Protocols that several processes can run.
pub fn protocols() -> impl Iterator<Item = Protocol> {
    Protocol::ALL
        .into_iter()
        .map(|(protocol, ..)| protocol)
        .filter(|protocol| *protocol != Protocol::Sequential)
}

/// Runs each of these as a process of one run.
pub fn together<R: Send>(ends: Vec<Memory>, run: impl Fn(u32, Arc<Memory>) -> R + Sync) -> Vec<R> {
    thread::scope(|scope| {
        let run = &run;
        let start = |(rank, end)| scope.spawn(move || run(rank, Arc::new(end)));
        let runs: Vec<_> = (0..).zip(ends).map(start).collect();
        runs.into_iter().map(|run| run.join().expect("no process panics")).collect()
    })
}

/// An event from outside once the run has come to a time.
type Injection = (Time, LpId, Hop);

#[test]
fn however_many_processes_the_result_is_that_of_one() {
    let first = setting("PACELINE_SEED", 0);
    let mut joined = 0;
    for seed in first..first + setting("PACELINE_CASES", 60) {
        let (mesh, mut rng) = (Mesh::draw(seed, seed % 4 == 3), Rng::new(seed, 0x7065_6572));
        let ties = if rng.chance(0.5) { TieBreak::Fixed } else { TieBreak::Random(seed) };
        let plain = || Simulation::new(mesh.clone()).until(mesh.until()).seed(seed).ties(ties);
        let injections = injections(&mesh, &mut rng);
        let reference = sequential(plain().protocol(Protocol::Sequential), &injections);
        for protocol in protocols() {
            if mesh.lookahead() == Time::ZERO && !matches!(protocol, Protocol::Auto | Protocol::Optimistic) {
                continue;
            }
            let way = Way::draw(protocol, &mesh, &mut rng);
            let what = way.what(seed);
            let runs = together(way.ends(), |rank, end| {
                let mut run = way.simulation(plain(), rank).join(end).start()?;
                let mut cuts = way.cuts.clone();
                for (time, lp, hop) in &injections {
                    for cut in cuts.extract_if(.., |cut| *cut < *time) {
                        run.run_until(cut)?;
                    }
                    run.run_until(*time)?;
                    let at = run.earliest().max(*time);
                    run.send(*lp, at, hop.clone()).expect("it is not over");
                }
                cuts.into_iter().try_for_each(|cut| run.run_until(cut).map(drop))?;
                run.run_until(Time::MAX)?;
                run.finish()
            });
            let mut all = Facts::default();
            for (rank, run) in runs.into_iter().enumerate() {
                let report = run.unwrap_or_else(|error| panic!("{what}: process {rank}: {error}"));
                assert_eq!(report.processes, way.processes, "{what}");
                let of_process = facts(report);
                if rank == 0 {
                    all = of_process;
                } else {
                    assert!(of_process.is_part_of(&all), "{what}: process {rank} says the same of all");
                    joined += 1;
                }
            }
            assert_same(&all, &reference, &what);
        }
    }
    assert!(joined > 0, "some runs had several processes");
}

fn injections(mesh: &Mesh, rng: &mut Rng) -> Vec<Injection> {
    let mut times: Vec<u64> = (0..rng.below(4)).map(|_| mesh.grain().as_nanos() * rng.below(60)).collect();
    times.sort_unstable();
    let draw =
        |time| (Time::nanos(time), LpId(rng.below(u64::from(mesh.lps())) as u32), Hop::outside(rng.u64()));
    times.into_iter().map(draw).collect()
}

fn sequential(simulation: Simulation<Mesh>, injections: &[Injection]) -> Facts {
    let mut run = simulation.start().expect("the model keeps the rules");
    for (time, lp, hop) in injections {
        run.run_until(*time).expect("as before");
        let at = run.earliest().max(*time);
        run.send(*lp, at, hop.clone()).expect("it is not over");
    }
    run.run_until(Time::MAX).expect("as before");
    facts(run.finish().expect("as before"))
}

#[test]
fn a_run_is_resumed_by_more_or_fewer_processes() {
    let folder = tempfile::tempdir().expect("a folder for checkpoints");
    let path = folder.path().join("run.checkpoint");
    let mut resumed = 0;
    for seed in 0..setting("PACELINE_CASES", 40) {
        let (mesh, mut rng) = (Mesh::draw(seed, seed % 4 == 3), Rng::new(seed, 0x7265_7375));
        let plain = || Simulation::new(mesh.clone()).until(mesh.until()).seed(seed);
        let reference = sequential_facts(plain());
        for protocol in [Protocol::Window, Protocol::NullMessage, Protocol::Optimistic] {
            if mesh.lookahead() == Time::ZERO && protocol != Protocol::Optimistic {
                continue;
            }
            let _ = std::fs::remove_file(&path);
            let way = Way::draw(protocol, &mesh, &mut rng);
            let (what, cut) = (way.what(seed), Time::nanos(mesh.grain().as_nanos() * rng.below(60)));
            let first = together(way.ends(), |rank, end| {
                let checkpoints =
                    Checkpoints { path: path.clone(), every: Duration::ZERO, header: Vec::new() };
                let run = way.simulation(plain(), rank).join(end);
                let run = if rank == 0 { run.checkpoint(checkpoints) } else { run };
                let mut run = run.start()?;
                run.run_until(cut)?;
                run.checkpoint()?;
                run.run_until(Time::MAX)?;
                run.finish()
            });
            for (rank, run) in first.into_iter().enumerate() {
                let report = run.unwrap_or_else(|error| panic!("{what}: process {rank}: {error}"));
                if rank == 0 {
                    assert_same(&facts(report), &reference, &format!("{what}, with a checkpoint at {cut}"));
                }
            }
            let way = Way::draw(protocol, &mesh, &mut rng);
            let what = format!("{what}, resumed after {cut} as {}", way.what(seed));
            let second = together(way.ends(), |rank, end| {
                let world = world(&path, &mesh);
                way.simulation(plain(), rank).resume(world).join(end).run()
            });
            for (rank, run) in second.into_iter().enumerate() {
                match run {
                    Ok(report) if rank == 0 => assert_same(&facts(report), &reference, &what),
                    Ok(_) | Err(RunError::PastHorizon { .. }) => {}
                    Err(error) => panic!("{what}: process {rank}: {error}"),
                }
            }
            resumed += 1;
        }
    }
    assert!(resumed > 0, "some runs were resumed");
}

pub fn world(path: &Path, mesh: &Mesh) -> paceline_kernel::World<Mesh> {
    CheckpointFile::open(path).and_then(|file| file.world(mesh)).expect("a checkpoint of this model")
}

/// A model of several LPs with lookahead.
pub fn wide() -> Mesh {
    (0..).map(|seed| Mesh::draw(seed, false)).find(|mesh| mesh.lps() > 8).expect("some models have many LPs")
}

#[test]
fn processes_that_do_not_fit_together_say_what_differs() {
    let mesh = wide();
    let plain = || Simulation::new(mesh.clone()).until(Time::secs(1)).protocol(Protocol::Window).threads(1);
    let differ = together(Memory::mesh(2), |rank, end| plain().seed(u64::from(rank)).join(end).run());
    let kind = |outcome: &Outcome| match outcome {
        Err(RunError::Peers(PeersError { kind, .. })) => kind.clone(),
        other => panic!("{other:?}"),
    };
    for outcome in &differ {
        assert!(matches!(kind(outcome), PeersErrorKind::Differs { what, .. } if what == "seed"));
    }
    let idle = together(Memory::mesh(3), |_, end| plain().federates(2).join(end).run());
    for outcome in &idle {
        assert_eq!(kind(outcome), PeersErrorKind::Idle { federates: 2, ranks: 3 });
    }
    let sequential =
        together(Memory::mesh(2), |_, end| plain().protocol(Protocol::Sequential).join(end).run());
    for outcome in &sequential {
        assert!(matches!(kind(outcome), PeersErrorKind::Unsupported(_)));
    }
}

#[test]
fn who_asks_one_process_to_stop_stops_all() {
    let mesh = wide();
    for protocol in protocols() {
        let monitor = Monitor::new();
        monitor.stop();
        let runs = together(Memory::mesh(3), |rank, end| {
            let run = Simulation::new(mesh.clone()).protocol(protocol).federates(6).threads(2).join(end);
            if rank == 1 { run.monitor(&monitor).run() } else { run.run() }
        });
        for run in runs {
            let report = run.expect("it stops in order");
            assert_eq!(report.ended_by, paceline_engine::EndedBy::Interrupted, "{protocol:?}");
        }
    }
}

#[test]
fn an_event_from_outside_must_be_for_later_in_every_process() {
    let mesh = wide();
    let runs: Vec<Outcome> = together(Memory::mesh(2), |_, end| {
        let mut run =
            Simulation::new(mesh.clone()).protocol(Protocol::Window).federates(4).join(end).start()?;
        run.run_until(Time::secs(1))?;
        let early = run.send(LpId(0), Time::ZERO, Hop::outside(1)).expect_err("it is over");
        assert!(matches!(early, SendError::TooEarly { .. }));
        assert!(run.run_event().is_err(), "single steps are for one process");
        Err(RunError::Failed)
    });
    assert_eq!(runs.len(), 2);
}

/// Where a fault strikes, and what it is.
pub fn fault(rng: &mut Rng, processes: u32) -> MemoryFault {
    let rank = rng.below(u64::from(processes)) as u32;
    let other = (rank + 1 + rng.below(u64::from(processes - 1)) as u32) % processes;
    match rng.below(4) {
        0 => MemoryFault::Kill(rank),
        1 => MemoryFault::Stop(rank, Duration::from_secs(1)),
        2 => MemoryFault::Cut(rank, other),
        _ => MemoryFault::Corrupt { from: rank, to: other, bit: None },
    }
}

#[test]
fn whatever_happens_to_a_process_all_end_and_the_last_checkpoint_leads_to_the_same_result() {
    let folder = tempfile::tempdir().expect("a folder for checkpoints");
    let mut struck = 0;
    for seed in 0..setting("PACELINE_CASES", 50) {
        let (mesh, mut rng) = (wide_one(seed), Rng::new(seed, 0x6661_756c));
        let plain = || Simulation::new(mesh.clone()).until(mesh.until()).seed(seed);
        let reference = sequential_facts(plain());
        let all: Vec<_> = protocols().collect();
        let mut way = Way::draw(all[rng.below(all.len() as u64) as usize], &mesh, &mut rng);
        (way.processes, way.federates, way.threads) = (3, 6, vec![1, 2, 1]);
        let what = way.what(seed);
        let path = folder.path().join(format!("{seed}.checkpoint"));
        let cut = Time::nanos(mesh.grain().as_nanos() * rng.below(20));
        let (ends, fault, by) = (way.ends(), fault(&mut rng, 3), rng.below(3) as u32);
        // Rank 0 has the checkpoint before anything goes wrong.
        let written = Barrier::new(3);
        let outcomes = together(ends, |rank, end| {
            let checkpoints = Checkpoints { path: path.clone(), every: Duration::ZERO, header: Vec::new() };
            let run = way.simulation(plain(), rank).join(end.clone());
            let run = if rank == 0 { run.checkpoint(checkpoints) } else { run };
            let mut run = run.start()?;
            run.run_until(cut)?;
            run.checkpoint()?;
            written.wait();
            if rank == by {
                end.inject(fault.clone());
            }
            run.run_until(Time::MAX)?;
            run.finish()
        });
        struck += ended_by_others(&outcomes, &format!("{what}: {fault:?}"));
        let resumed = plain().protocol(Protocol::Sequential).resume(world(&path, &mesh)).run();
        match resumed {
            Ok(report) => {
                assert_same(&facts(report), &reference, &format!("{what}: resumed after {fault:?}"))
            }
            Err(RunError::PastHorizon { .. }) => {}
            Err(other) => panic!("{what}: resumed after {fault:?}: {other}"),
        }
    }
    assert!(struck > 0, "some runs were struck");
}

/// How many processes have ended because another was lost or has failed. None may have ended for another
/// reason.
pub fn ended_by_others(outcomes: &[Outcome], what: &str) -> u32 {
    let is_so = |(rank, outcome): (usize, &Outcome)| match outcome {
        Ok(_) => 0,
        Err(RunError::Peers(PeersError {
            kind: PeersErrorKind::Lost(_) | PeersErrorKind::Failed(_),
            ..
        })) => 1,
        Err(other) => panic!("{what}: process {rank}: {other}"),
    };
    outcomes.iter().enumerate().map(is_so).sum()
}

/// The next model from `seed` on that has lookahead and at least as many LPs as federates are wanted here.
pub fn wide_one(seed: u64) -> Mesh {
    let mut meshes = (0..).map(|step| Mesh::draw(seed + 1_000 * step, false));
    meshes.find(|mesh| mesh.lps() >= 6).expect("some models have many LPs")
}

#[test]
fn who_goes_away_ends_the_run_of_all() {
    let mesh = wide();
    for protocol in protocols() {
        let runs = together(Memory::mesh(2), |rank, end| {
            let run = Simulation::new(mesh.clone()).until(mesh.until()).protocol(protocol).federates(4);
            let mut run = run.threads(1).join(end.clone()).start()?;
            if rank == 1 {
                end.inject(MemoryFault::Kill(0));
            }
            run.run_until(Time::MAX)?;
            run.finish()
        });
        for (rank, run) in runs.iter().enumerate() {
            let lost = |kind: &PeersErrorKind| {
                matches!(kind, PeersErrorKind::Lost(PeerErrorKind::Gone) | PeersErrorKind::Failed(_))
            };
            assert!(
                matches!(run, Err(RunError::Peers(PeersError { kind, .. })) if lost(kind)),
                "{protocol:?}: process {rank}: {run:?}"
            );
        }
    }
}
