//! Digest equality: whatever the protocol, partition, threads and order of ties, the result is that of the
//! sequential reference, for thousands of random models. The reference shares neither the engine nor the
//! event queue with the runs: a heap gives out one event after the other.
//!
//! `PACELINE_CASES` sets the number of cases (default 600 in each test), `PACELINE_SEED` the first.

use crate::channels::CONSERVATIVE;
use crate::facts::{assert_same, facts, reference, setting};
use crate::mesh::Mesh;
use paceline_engine::{Protocol, Simulation, Speculation};
use paceline_kernel::{Model, Rng, TieBreak};

fn agree(case: u64, zero: bool, protocols: &[Protocol]) {
    let mesh = Mesh::draw(case, zero);
    let mut rng = Rng::new(case, 0x7661_7279);
    let ties = if rng.chance(0.5) { TieBreak::Fixed } else { TieBreak::Random(case) };
    let base = || Simulation::new(mesh.clone()).until(mesh.until()).seed(case).ties(ties);
    let reference = reference(&mesh, mesh.until(), case, ties);
    for protocol in protocols {
        let federates = 1 + rng.below(u64::from(mesh.lps())) as u32;
        let threads = [1, 1, 2, 3, 8][rng.below(5) as usize];
        // Half of the runs with workers that dawdle.
        let speculation = Speculation { chaos: rng.chance(0.5).then(|| rng.u64()), ..Speculation::default() };
        let run = base().protocol(*protocol).federates(federates).threads(threads);
        let run = run.speculation(speculation).run();
        let what = format!("case {case}: {protocol:?}, {federates} federates, {threads} threads, {ties:?}");
        let run = facts(run.unwrap_or_else(|error| panic!("{what}: {error}")));
        assert_same(&run, &reference, &what);
    }
}

#[test]
fn every_protocol_agrees_with_the_sequential_reference() {
    let first = setting("PACELINE_SEED", 0);
    for case in first..first + setting("PACELINE_CASES", 600) {
        agree(case, false, &CONSERVATIVE);
    }
}

#[test]
fn without_lookahead_a_sequential_run_agrees_with_the_reference() {
    let first = setting("PACELINE_SEED", 0);
    for case in first..first + setting("PACELINE_CASES", 600) {
        agree(case, true, &[Protocol::Sequential]);
    }
}

#[test]
fn other_results_have_other_digests() {
    let digest = |seed| {
        let run = Simulation::new(Mesh::draw(1, false)).seed(seed).run();
        run.expect("the model keeps the rules").digest.value()
    };
    let mut digests: Vec<u64> = (0..200).map(digest).collect();
    digests.sort_unstable();
    digests.dedup();
    assert_eq!(digests.len(), 200);
}
