//! Findings from run times that are made up: what holds of their sweeps and texts whatever the machine does.

use paceline_kernel::Rng;
use paceline_report::{Curve, Finding};

use super::weights;
use crate::batch::Setup;
use crate::plan::{Measure, Plan, Results};

/// The plans that have sweeps.
const SWEPT: [fn(&Setup) -> Plan; 2] = [weights::balanced, weights::unbalanced];

/// What the plan's experiment finds if its runs take so many seconds, by their keys.
fn found(plan: Plan, seconds: impl Fn(&str) -> f64) -> Finding {
    let measure = |key: &str| Measure { seconds: seconds(key), digest: Some(1), ..Measure::default() };
    let measures = plan.cells.iter().map(|cell| (cell.key.clone(), Ok(measure(&cell.key))));
    let results = Results { measures: measures.collect() };
    (plan.judge)(&results).expect("all runs have results")
}

/// Run times that differ from run to run, and no others for the same seed.
fn drawn(seed: u64) -> impl Fn(&str) -> f64 {
    move |key| {
        let stream = key.bytes().fold(0u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
        1.0 + Rng::new(seed, stream).below(1 << 20) as f64 / f64::from(1 << 16)
    }
}

#[test]
fn a_check_that_differs_is_swept_and_its_sweep_misses_with_our_own_value() {
    for quick in [false, true] {
        for plan in SWEPT {
            let mut sweeps = 0;
            for seed in 0..30 {
                let finding = found(plan(&Setup { quick, ..Setup::default() }), drawn(seed));
                for sweep in &finding.sweeps {
                    let check = finding.checks.iter().find(|check| check.what == sweep.check);
                    assert!(check.is_some_and(|check| !check.holds), "seed {seed}: {}", sweep.check);
                    let misses = |curve: &Curve| {
                        let own = curve.points.iter().find(|point| point.0 == sweep.ours);
                        own.is_some_and(|(_, measured)| curve.wanted.miss(*measured) > 0.0)
                    };
                    assert!(sweep.curves.iter().any(misses), "seed {seed}: {}", sweep.check);
                }
                sweeps += finding.sweeps.len();
            }
            assert!(sweeps > 0);
        }
    }
}

#[test]
fn flat_run_times_are_not_swept_and_the_gains_beside_them_are_those_of_the_runs() {
    for plan in [weights::balanced, weights::unbalanced] {
        let seconds = |key: &str| match (key.contains("/PSX/"), key.contains("psx.dom0_vcpus=")) {
            (true, true) => 0.5,
            (true, false) => 2.0,
            _ => 1.0,
        };
        let finding = found(plan(&Setup { quick: true, ..Setup::default() }), seconds);
        assert!(finding.sweeps.is_empty(), "{:?}", finding.sweeps);
        let gains = "2.00 and 2.00 with 1, 0.50 and 0.50 with 24,";
        assert!(finding.notes.iter().any(|note| note.contains(gains)), "{:?}", finding.notes);
    }
}
