//! Experiments in a short form: that they run, and give the same whenever they do.

mod artis;
mod cs;
mod net;
mod netwarp;
mod nsx;

use paceline_experiments::{Calibration, Experiment, Setup, experiments, reproduce};
use paceline_report::{Finding, svg};

fn named(name: &str) -> Experiment {
    let found = experiments().into_iter().find(|experiment| experiment.name == name);
    found.expect("the catalogue has it")
}

/// The findings of these experiments, but for their wall times.
fn findings(names: &[&str], workers: usize, calibration: Calibration) -> Vec<Finding> {
    let all: Vec<_> = names.iter().map(|name| named(name)).collect();
    let setup = Setup { quick: true, calibration, ..Setup::default() };
    let found = reproduce(&all.iter().collect::<Vec<_>>(), &setup, workers, &mut |_| {});
    let found = found.expect("parameters are sound");
    found.into_iter().map(|finding| Finding { wall_seconds: 0.0, ..finding }).collect()
}

/// The run time in the cell of an experiment with this key, in seconds.
fn seconds(name: &str, key: &str, calibration: Calibration) -> f64 {
    let setup = Setup { quick: true, calibration, ..Setup::default() };
    let cells = named(name).plan(&setup).expect("parameters are sound").cells;
    let cell = cells.into_iter().find(|cell| cell.key == key);
    (cell.unwrap_or_else(|| panic!("{name} has {key}")).job)().expect("the machine runs").seconds
}

/// That it ran, says all that it must and can be drawn.
fn is_whole(finding: &Finding) {
    // One that cannot be run says so in its only check.
    assert!(finding.checks.len() > 1, "{}: {:?}", finding.name, finding.checks);
    assert!(!finding.about.is_empty() && !finding.notes.is_empty() && !finding.figures.is_empty());
    for (number, figure) in finding.figures.iter().enumerate() {
        let drawn = svg(figure, &format!("{}-{number}", finding.name));
        assert!(drawn.is_ok_and(|drawn| drawn.starts_with("<svg")), "{}", figure.title);
    }
}
