//! LPs that move between federates while a run goes on: at every pause, under every protocol, while its
//! threads change and checkpoints are written, the result is that of the sequential reference.
//!
//! `PACELINE_CASES` sets the number of random models (default 40 in each test), `PACELINE_SEED` the first.
use std::time::Duration;

use crate::facts::{Facts, assert_same, facts, setting};
use crate::legs::run_on_changing_threads;
use crate::mesh::{Mesh, STATE_BYTES};
use crate::processes::protocols;
use crate::script::{Play, Script, run_of};
use crate::way::speculation;
use paceline_engine::{Balancing, CheckpointFile, Checkpoints, Protocol, Simulation};
use paceline_kernel::{Balance, Context, Model, Rng, TieBreak, Time};

/// A random model with at least two LPs, and the result of the reference.
struct Case {
    seed: u64,
    mesh: Mesh,
    ties: TieBreak,
    rng: Rng,
    reference: Facts,
}

impl Case {
    fn draw(seed: u64) -> Option<Self> {
        let (mesh, mut rng) = (Mesh::draw(seed, false), Rng::new(seed, 0x6d69_6772));
        let ties = if rng.chance(0.5) { TieBreak::Fixed } else { TieBreak::Random(seed) };
        let run = Simulation::new(mesh.clone()).until(mesh.until()).seed(seed).ties(ties);
        let reference = run.protocol(Protocol::Sequential).run();
        let reference = facts(reference.expect("the model keeps the rules"));
        (mesh.lps() > 1).then_some(Self { seed, mesh, ties, rng, reference })
    }

    /// A run under `protocol` and otherwise any settings that pauses often, with a description.
    fn run(&mut self, protocol: Protocol) -> (Simulation<Mesh>, String) {
        let rng = &mut self.rng;
        let federates = 2 + rng.below(u64::from(self.mesh.lps()) - 1) as u32;
        let (threads, events) = ([1, 2, 8][rng.below(3) as usize], 1 + rng.below(20));
        let speculation = speculation(rng, self.mesh.lps(), STATE_BYTES);
        let what = format!(
            "case {}: {protocol:?}, {federates} federates, {threads} threads, {speculation:?}, legs of {events} events",
            self.seed
        );
        let run = Simulation::new(self.mesh.clone()).until(self.mesh.until()).seed(self.seed).ties(self.ties);
        let run = run.protocol(protocol).federates(federates).groups(u32::MAX).threads(threads);
        let run = run.speculation(speculation).draw_protocols(self.seed);
        (run.leg_events(events), what)
    }
}

fn cases() -> impl Iterator<Item = Case> {
    let first = setting("PACELINE_SEED", 0);
    (first..first + setting("PACELINE_CASES", 40)).filter_map(Case::draw)
}

#[test]
fn lps_that_migrate_at_random_while_threads_change_change_nothing() {
    let mut moved = 0;
    for mut case in cases() {
        for protocol in protocols() {
            let (run, what) = case.run(protocol);
            let run = run.shuffle_lps(case.rng.u64());
            // A run that takes long would try other ways, in which there is nothing to look at.
            let run = run.trials(protocol == Protocol::Auto);
            let report = run_on_changing_threads(run);
            let report = report.unwrap_or_else(|error| panic!("{what}: {error}"));
            let Balancing { looks, moved: more, .. } = report.balancing.expect("LPs were to move");
            // A leg with all LPs in one federate has nothing to look at.
            let all = if protocol == Protocol::Auto {
                0..=report.legs - 1
            } else {
                report.legs - 1..=report.legs - 1
            };
            assert!(all.contains(&looks), "{what}: {looks} in {} legs, one at every pause", report.legs);
            moved += more;
            assert_same(&facts(report), &case.reference, &what);
        }
    }
    assert!(moved > 1000, "LPs have moved: {moved}");
}

#[test]
fn balanced_runs_agree_with_the_reference() {
    let (mut moves, mut remote) = ([0; 3], 0);
    for mut case in cases() {
        for protocol in protocols() {
            for (at, (balance, name)) in Balance::ALL.into_iter().enumerate() {
                let (run, what) = case.run(protocol);
                let what = format!("{what}, balance {name}");
                let report = run.balance(balance).run().unwrap_or_else(|error| panic!("{what}: {error}"));
                let balancing = report.balancing;
                assert_eq!(balancing.is_some(), balance != Balance::Off, "{what}");
                moves[at] += balancing.map_or(0, |balancing| balancing.moves);
                remote += u32::from(balancing.is_some_and(|balancing| balancing.remote_after.is_some()));
                assert_same(&facts(report), &case.reference, &what);
            }
        }
    }
    assert!(moves[0] == 0 && moves[1] > 100 && moves[2] > 100 && remote > 100, "{moves:?}, {remote}");
}

#[test]
fn checkpoints_of_runs_whose_lps_have_moved_resume() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let path = folder.path().join("run.checkpoint");
    let (mut resumed, mut moved) = (0, 0);
    for mut case in cases() {
        for round in 0..3 {
            let protocol = Protocol::ALL[case.rng.below(Protocol::ALL.len() as u64) as usize].0;
            let (mut run, what) = case.run(protocol);
            let what = format!("{what}, round {round}");
            if path.exists() {
                let world = CheckpointFile::open(&path).and_then(|file| file.world(&case.mesh));
                run = run.resume(world.unwrap_or_else(|error| panic!("{what}: {error}")));
                resumed += 1;
            }
            let checkpoints =
                Checkpoints { path: path.clone(), every: Duration::ZERO, header: b"a test".into() };
            if case.rng.chance(0.5) {
                run = run.balance(Balance::LoadAndCommunication);
            } else {
                run = run.shuffle_lps(case.rng.u64());
            }
            // Pauses are far apart, so that a checkpoint is left in the middle.
            let report = run.leg_events(1 + case.rng.below(150)).checkpoint(checkpoints).run();
            let report = report.unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_eq!(
                report.balancing.is_some(),
                protocol != Protocol::Sequential,
                "{what}: one federate is left alone"
            );
            moved += report.balancing.map_or(0, |balancing| balancing.moved);
            assert_same(&facts(report), &case.reference, &what);
        }
        if path.exists() {
            std::fs::remove_file(&path).expect("it can be removed");
        }
    }
    assert!(resumed > 20 && moved > 100, "{resumed} resumed, {moved} moved");
}

#[test]
fn looks_by_the_clock_even_out_a_skewed_load() {
    let run = |until_s, balance| {
        let run = run_of(Skewed).protocol(Protocol::Window).federates(2).threads(2).balance(balance);
        let run = run.until(Time::secs(until_s));
        run.run().expect("the model keeps the rules")
    };
    // Runs take longer and longer until one is long enough for several looks: the first knows little yet.
    let long = (10..28).map(|power| (1 << power, run(1 << power, Balance::Load)));
    let moved = long.into_iter().find(|(_, report)| {
        report.wall >= Duration::from_secs(1) && report.balancing.is_some_and(|found| found.moves > 0)
    });
    let (until_s, report) = moved.expect("the clock asks for looks");
    let balancing = report.balancing.expect("it was asked for");
    assert!(balancing.imbalance_before > 1.4, "{balancing:?}");
    // Five of the eight LPs with work in one federate, three in the other, is 1.25.
    assert!(balancing.imbalance_after < 1.3 || balancing.undone > 0, "{balancing:?}");
    assert_eq!(run(until_s, Balance::Off).digest, report.digest);
}

/// The first eight of 64 LPs have some microseconds of work every second, the others just as often none.
struct Skewed;

impl Play for Skewed {
    fn lps(&self) -> u32 {
        64
    }
    fn handle(&self, beats: &mut u64, _: u64, cx: &mut Context<Script>) {
        *beats += 1;
        let mut chain = *beats;
        for _ in 0..if cx.lp().0 < 8 { 20_000 } else { 0 } {
            chain = std::hint::black_box(chain.wrapping_mul(3));
        }
        cx.schedule(Time::secs(1), 0);
    }
}
