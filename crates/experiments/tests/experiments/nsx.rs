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

#[test]
fn keys_of_cells_are_unique_and_shared_between_figures_of_one_host() {
    for (errors, times) in [("nsx-fig10", "nsx-fig11"), ("nsx-fig12", "nsx-fig13")] {
        let keys = |name| -> Vec<String> {
            (named(name).plan)(&quick()).cells.into_iter().map(|cell| cell.key).collect()
        };
        let (errors, times) = (keys(errors), keys(times));
        assert_eq!(errors, times);
        assert_eq!(errors.iter().collect::<BTreeSet<_>>().len(), errors.len());
    }
}

#[test]
fn a_run_comes_out_the_same_whoever_runs_it() {
    let dynamic = named("nsx-dynamic");
    let finding = |workers| -> Finding {
        let mut findings = reproduce(&[&dynamic], &quick(), workers, &mut |_| {});
        let finding = findings.remove(0);
        Finding { wall_seconds: 0.0, ..finding }
    };
    let once = finding(1);
    assert_eq!(once, finding(2));
    assert!(once.checks.iter().all(|check| check.what != "it can be run"), "{:?}", once.checks);
}

#[test]
fn a_longer_tick_makes_longer_runs() {
    let seconds = |tick: &str| -> f64 {
        let cells = (named("nsx-fig11").plan)(&quick()).cells;
        let cell = cells.into_iter().find(|cell| cell.key == format!("nsx/NSX/{tick}/1vcpu"));
        (cell.expect("the figure has it").job)().expect("the machine runs").seconds
    };
    assert!(seconds("1000us") > seconds("100us"));
}
