//! LPs that move between the processes of a run: at every pause, under every protocol, with checkpoints and
//! faults, the result is that of the sequential reference, and all processes say the same of what has moved.
//!
//! The processes are threads here, joined by a transport in memory. `PACELINE_CASES` sets the number of
//! random models (default 12 to 25), `PACELINE_SEED` the first.

use std::time::Duration;

use crate::facts::{assert_same, facts, sequential_facts, setting};
use crate::mesh::Mesh;
use crate::processes::{Outcome, ended_by_others, fault, protocols, together, wide_one, world};
use crate::way::Way;
use paceline_engine::{Balancing, Checkpoints, PeersError, PeersErrorKind, Protocol, RunError, Simulation};
use paceline_kernel::{Balance, Model, Rng, TieBreak, Time};
use paceline_transport::Memory;

/// Why LPs move.
#[derive(Clone, Copy, Debug)]
enum Moves {
    AtRandom(u64),
    By(Balance),
}

impl Moves {
    fn draw(rng: &mut Rng) -> Self {
        match rng.below(4) {
            0 => Self::By(Balance::Load),
            1 => Self::By(Balance::LoadAndCommunication),
            _ => Self::AtRandom(rng.u64()),
        }
    }

    fn of(self, run: Simulation<Mesh>) -> Simulation<Mesh> {
        match self {
            Self::AtRandom(seed) => run.shuffle_lps(seed),
            Self::By(balance) => run.balance(balance),
        }
    }
}

/// A way with as many processes as said, and short legs.
fn draw(protocol: Protocol, processes: u32, mesh: &Mesh, rng: &mut Rng) -> Way {
    let mut way = Way::draw(protocol, mesh, rng);
    way.processes = processes;
    way.federates = processes + rng.below(u64::from(mesh.lps().min(10) - processes + 1)) as u32;
    way.threads = (0..processes).map(|_| 1 + rng.below(2) as u32).collect();
    way.leg_events = Some(1 + rng.below(30));
    way
}

/// The reports of all processes agree on what has moved; gives that.
fn agreed(runs: Vec<Outcome>, reference: &crate::facts::Facts, what: &str) -> Balancing {
    let mut all: Vec<Balancing> = Vec::new();
    for (rank, run) in runs.into_iter().enumerate() {
        let report = run.unwrap_or_else(|error| panic!("{what}: process {rank}: {error}"));
        let balancing = report.balancing.expect("LPs were to move");
        all.push(Balancing { wall: Duration::ZERO, ..balancing });
        if rank == 0 {
            assert_same(&facts(report), reference, what);
        }
    }
    assert!(all.windows(2).all(|two| two[0] == two[1]), "{what}: {all:?}");
    all[0]
}

#[test]
fn whatever_moves_between_processes_changes_nothing() {
    let first = setting("PACELINE_SEED", 0);
    let (mut migrated, mut moves) = (0, [0; 3]);
    for seed in first..first + setting("PACELINE_CASES", 15) {
        let (mesh, mut rng) = (wide_one(seed), Rng::new(seed, 0x6d69_6772));
        let ties = if rng.chance(0.5) { TieBreak::Fixed } else { TieBreak::Random(seed) };
        let plain = || Simulation::new(mesh.clone()).until(mesh.until()).seed(seed).ties(ties);
        let reference = sequential_facts(plain());
        for protocol in protocols() {
            for processes in [2, 3] {
                let way = draw(protocol, processes, &mesh, &mut rng);
                let kind = Moves::draw(&mut rng);
                let what = format!("{}, {kind:?}", way.what(seed));
                let runs = together(way.ends(), |rank, end| {
                    let mut run = kind.of(way.simulation(plain(), rank)).join(end).start()?;
                    way.cuts.iter().try_for_each(|cut| run.run_until(*cut).map(drop))?;
                    run.run_until(Time::MAX)?;
                    run.finish()
                });
                let found = agreed(runs, &reference, &what);
                assert!(found.migrated <= found.moved, "{what}: {found:?}");
                migrated += found.migrated;
                let kind = match kind {
                    Moves::AtRandom(_) => 0,
                    Moves::By(Balance::Load) => 1,
                    Moves::By(_) => 2,
                };
                moves[kind] += found.moves;
            }
        }
    }
    assert!(
        migrated > 1000 && moves.iter().all(|moves| *moves > 20),
        "{migrated} migrated in {moves:?} moves"
    );
}

#[test]
fn checkpoints_of_runs_whose_lps_have_moved_between_processes_resume() {
    let folder = tempfile::tempdir().expect("a folder for checkpoints");
    let path = folder.path().join("run.checkpoint");
    let (mut resumed, mut migrated) = (0, 0);
    for seed in 0..setting("PACELINE_CASES", 12) {
        let (mesh, mut rng) = (wide_one(seed), Rng::new(seed, 0x7265_7375));
        let plain = || Simulation::new(mesh.clone()).until(mesh.until()).seed(seed);
        let reference = sequential_facts(plain());
        for protocol in [Protocol::Window, Protocol::NullMessageOnDemand, Protocol::Optimistic] {
            let _ = std::fs::remove_file(&path);
            // Once from the beginning, then on from the last checkpoint of that.
            for round in 0..2 {
                let processes = 2 + rng.below(2) as u32;
                let way = draw(protocol, processes, &mesh, &mut rng);
                let kind = Moves::AtRandom(rng.u64());
                let what = format!("{}, round {round}", way.what(seed));
                let resumes = path.exists();
                let runs = together(way.ends(), |rank, end| {
                    // Every pause writes one, so the last is of a run whose LPs have moved.
                    let checkpoints =
                        Checkpoints { path: path.clone(), every: Duration::ZERO, header: Vec::new() };
                    let run = kind.of(way.simulation(plain(), rank)).join(end);
                    let run = if resumes { run.resume(world(&path, &mesh)) } else { run };
                    let run = if rank == 0 && round == 0 { run.checkpoint(checkpoints) } else { run };
                    run.run()
                });
                let over = |run: &Outcome| matches!(run, Err(RunError::PastHorizon { .. }));
                if !runs.iter().any(over) {
                    migrated += agreed(runs, &reference, &what).migrated;
                    resumed += u32::from(resumes);
                }
            }
        }
    }
    assert!(resumed > 10 && migrated > 500, "{resumed} resumed, {migrated} migrated");
}

#[test]
fn whatever_happens_to_a_process_while_lps_move_all_end() {
    let (mut struck, mut errors) = (0, 0);
    for seed in 0..setting("PACELINE_CASES", 25) {
        let (mesh, mut rng) = (wide_one(seed), Rng::new(seed, 0x6661_756c));
        let all: Vec<_> = protocols().collect();
        let way = draw(all[rng.below(all.len() as u64) as usize], 3, &mesh, &mut rng);
        let kind = Moves::AtRandom(rng.u64());
        let (fault, by) = (fault(&mut rng, 3), rng.below(3) as u32);
        let what = format!("{}, {fault:?}", way.what(seed));
        let cut = Time::nanos(mesh.grain().as_nanos() * rng.below(20));
        let outcomes = together(way.ends(), |rank, end| {
            let plain = Simulation::new(mesh.clone()).until(mesh.until()).seed(seed);
            let mut run = kind.of(way.simulation(plain, rank)).leg_events(1).join(end.clone()).start()?;
            run.run_until(cut)?;
            if rank == by {
                end.inject(fault.clone());
            }
            run.run_until(Time::MAX)?;
            run.finish()
        });
        errors += ended_by_others(&outcomes, &what);
        struck += u32::from(outcomes.iter().any(Result::is_err));
    }
    assert!(struck > 10, "{struck} runs were struck, {errors} processes ended by that");
}

#[test]
fn processes_that_would_move_lps_in_different_ways_do_not_begin() {
    let mesh = wide_one(1);
    let plain = || Simulation::new(mesh.clone()).until(Time::secs(1)).protocol(Protocol::Window).threads(1);
    let differ = |what: &str, run: &(dyn Fn(u32) -> Simulation<Mesh> + Sync)| {
        for outcome in together(Memory::mesh(2), |rank, end| run(rank).join(end).run()) {
            let Err(RunError::Peers(PeersError { kind, .. })) = &outcome else { panic!("{outcome:?}") };
            assert!(matches!(kind, PeersErrorKind::Differs { what: found, .. } if found == what), "{kind}");
        }
    };
    let ways = [Balance::Load, Balance::LoadAndCommunication];
    differ("balance", &|rank| plain().balance(ways[rank as usize]));
    differ("random moves", &|rank| plain().shuffle_lps(u64::from(rank)));
}
