//! The experiments of the NSX paper: what they run is well-formed, and comes out the same every time.

use std::collections::BTreeSet;

use paceline_experiments::{Experiment, Setup, experiments, reproduce};
use paceline_report::Finding;

fn quick() -> Setup {
    Setup { quick: true, ..Setup::default() }
}

fn named(name: &str) -> Experiment {
    let found = experiments().into_iter().find(|experiment| experiment.name == name);
    found.expect("the catalogue has it")
}

fn keys(name: &str) -> BTreeSet<String> {
    let cells = named(name).plan(&quick()).expect("parameters are sound").cells;
    let keys: BTreeSet<_> = cells.iter().map(|cell| cell.key.clone()).collect();
    assert_eq!(keys.len(), cells.len(), "{name}");
    keys
}

#[test]
fn keys_of_cells_are_unique_and_runs_are_shared_by_the_figures() {
    let errors = keys("nsx-fig12");
    assert!(errors.is_subset(&keys("nsx-fig10")));
    assert!(errors.is_subset(&keys("nsx-fig11")) && errors.is_subset(&keys("nsx-fig13")));
}

#[test]
fn a_run_comes_out_the_same_whoever_runs_it() {
    let dynamic = named("nsx-dynamic");
    let finding = |workers| -> Finding {
        let findings = reproduce(&[&dynamic], &quick(), workers, &mut |_| {});
        let finding = findings.expect("parameters are sound").remove(0);
        Finding { wall_seconds: 0.0, ..finding }
    };
    let once = finding(1);
    assert_eq!(once, finding(2));
    assert!(once.checks.iter().all(|check| check.what != "it can be run"), "{:?}", once.checks);
}

#[test]
fn a_longer_tick_makes_longer_runs() {
    let seconds = |tick: &str| -> f64 {
        let cells = named("nsx-fig11").plan(&quick()).expect("parameters are sound").cells;
        let cell = cells.into_iter().find(|cell| cell.key == format!("nsx/NSX/{tick}/20x1000/Usual"));
        (cell.expect("the figure has it").job)().expect("the machine runs").seconds
    };
    assert!(seconds("1000us") > seconds("100us"));
}
