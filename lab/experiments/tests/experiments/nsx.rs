//! The experiments of the NSX paper: what they run is well-formed, and comes out the same every time.

use std::collections::BTreeSet;

use paceline_experiments::{Calibration, Setup};

use crate::{findings, named, seconds};

fn keys(name: &str) -> BTreeSet<String> {
    let cells =
        named(name).plan(&Setup { quick: true, ..Setup::default() }).expect("parameters are sound").cells;
    let keys: BTreeSet<_> = cells.iter().map(|cell| cell.key.clone()).collect();
    assert_eq!(keys.len(), cells.len(), "{name}");
    keys
}

#[test]
fn keys_of_cells_are_unique_and_runs_are_shared_by_the_figures() {
    let of_figures =
        |name| keys(name).into_iter().filter(|key| key.ends_with("/Usual")).collect::<BTreeSet<_>>();
    assert!(of_figures("nsx-fig11").is_subset(&keys("nsx-fig10")));
    let two = |name| keys(name).into_iter().filter(|key| key.ends_with("/2vcpus")).collect::<BTreeSet<_>>();
    assert!(!two("nsx-fig12").is_empty() && two("nsx-fig13") == two("nsx-fig12"));
    assert!(keys("nsx-fig12").is_disjoint(&keys("nsx-fig10")), "a second VCPU makes other runs");
}

#[test]
fn a_run_comes_out_the_same_whoever_runs_it() {
    let finding = |workers| findings(&["nsx-dynamic"], workers, Calibration::default()).remove(0);
    let once = finding(1);
    assert_eq!(once, finding(2));
    assert!(once.checks.iter().all(|check| check.what != "it can be run"), "{:?}", once.checks);
}

#[test]
fn a_longer_tick_makes_longer_runs() {
    let seconds =
        |tick: &str| seconds("nsx-fig11", &format!("nsx/NSX/{tick}/20x1000/Usual"), Calibration::default());
    assert!(seconds("1000us") > seconds("100us"));
}
