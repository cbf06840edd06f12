//! Time Warp on threads: with every way to speculate, under chaos, the result is that of the sequential
//! reference.
//!
//! `PACELINE_CASES` sets the number of cases (default 400), `PACELINE_SEED` the first.

use crate::facts::{assert_same, facts, sequential_facts, setting};
use crate::mesh::{Mesh, STATE_BYTES};
use crate::way::speculation;
use paceline_engine::{Protocol, Simulation};
use paceline_kernel::{Model, Rng, Rollbacks, TieBreak};

fn cases(zero: bool) -> Rollbacks {
    let first = setting("PACELINE_SEED", 0);
    let mut all = Rollbacks::default();
    for case in first..first + setting("PACELINE_CASES", 400) {
        let mesh = Mesh::draw(case, zero);
        let mut rng = Rng::new(case, 0x6f70_7469);
        let ties = if rng.chance(0.5) { TieBreak::Fixed } else { TieBreak::Random(case) };
        let base = || Simulation::new(mesh.clone()).until(mesh.until()).seed(case).ties(ties);
        let reference = sequential_facts(base());
        for protocol in [Protocol::Optimistic, Protocol::Optimistic, Protocol::Mixed] {
            if zero && protocol == Protocol::Mixed {
                continue;
            }
            let federates = 1 + rng.below(u64::from(mesh.lps())) as u32;
            let threads = [1, 2, 2, 3, 8][rng.below(5) as usize];
            let speculation = speculation(&mut rng, mesh.lps(), STATE_BYTES);
            let run = base().protocol(protocol).federates(federates).threads(threads);
            let groups = if rng.chance(0.7) { u32::MAX } else { 1 + rng.below(4) as u32 };
            let run = run.groups(groups).speculation(speculation.clone()).run();
            let what = format!(
                "case {case}: {protocol:?}, {federates} federates, {groups} groups, {threads} threads, {ties:?}, {speculation:?}"
            );
            let mut run = run.unwrap_or_else(|error| panic!("{what}: {error}"));
            let rollbacks = run.rollbacks.take().expect("optimistic runs count their rollbacks");
            assert_eq!(rollbacks.processed - rollbacks.undone, run.events, "{what}");
            all.join(&rollbacks);
            assert_same(&facts(run), &reference, &what);
        }
    }
    all
}

#[test]
fn optimistic_and_mixed_runs_agree_with_the_sequential_reference() {
    let rollbacks = cases(false);
    assert!(rollbacks.primary > 1000 && rollbacks.secondary > 100 && rollbacks.antis > 500, "{rollbacks:?}");
}

#[test]
fn optimistic_runs_need_no_lookahead() {
    let rollbacks = cases(true);
    assert!(rollbacks.primary > 500 && rollbacks.secondary > 100, "{rollbacks:?}");
}
