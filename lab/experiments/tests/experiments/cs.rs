//! The experiments of the co-scheduling thesis with very little work: that they run, and give the same whenever they do. What
//! they claim needs their full size.

use std::collections::BTreeSet;

use paceline_experiments::{Calibration, Experiment, Setup, experiments, reproduce};
use paceline_report::{Figure, Finding, Series, svg};

fn own() -> Vec<Experiment> {
    experiments().into_iter().filter(|experiment| experiment.name.starts_with("cs-")).collect()
}

/// Quick, and with a small part of the work.
fn setup() -> Setup {
    let calibration = Calibration::default().scaled("cs.pair", 1, 400).scaled("cs.point", 1, 100);
    Setup { quick: true, calibration, ..Setup::default() }
}

fn findings(workers: usize) -> Vec<Finding> {
    let all = own();
    let all: Vec<&Experiment> = all.iter().collect();
    let findings = reproduce(&all, &setup(), workers, &mut |_| {}).expect("parameters are sound");
    findings.into_iter().map(|finding| Finding { wall_seconds: 0.0, ..finding }).collect()
}

#[test]
fn all_are_there_and_their_runs_are_told_apart() {
    let names: Vec<_> = own().iter().map(|experiment| experiment.name).collect();
    assert_eq!(names, ["cs-table4", "cs-table5", "cs-table6", "cs-table7", "cs-table8", "cs-table9"]);
    for experiment in own() {
        let cells = experiment.plan(&setup()).expect("parameters are sound").cells;
        let keys: BTreeSet<_> = cells.iter().map(|cell| cell.key.as_str()).collect();
        assert_eq!(keys.len(), cells.len(), "{}", experiment.name);
    }
}

#[test]
fn they_run_and_give_the_same_on_any_number_of_workers() {
    let (one, two) = (findings(1), findings(2));
    for finding in &one {
        // One that cannot be run says so in its only check.
        assert!(finding.checks.len() > 1, "{}: {:?}", finding.name, finding.checks);
        assert!(!finding.about.is_empty() && !finding.notes.is_empty() && !finding.tables.is_empty());
        for (number, figure) in finding.figures.iter().enumerate() {
            let drawn = svg(figure, &format!("{}-{number}", finding.name));
            assert!(drawn.is_ok_and(|drawn| drawn.starts_with("<svg")), "{}", figure.title);
        }
    }
    for Finding { name, figures, .. } in &one {
        let has =
            |published| move |series: &Series| series.published == published && !series.points.is_empty();
        let both =
            |figure: &Figure| figure.series.iter().any(has(true)) && figure.series.iter().any(has(false));
        assert!(figures.iter().any(both), "{name}: published and ours in one figure");
    }
    assert_eq!(one, two);
}

#[test]
fn twice_the_work_takes_about_twice_as_long() {
    let table4 = own().remove(0);
    let time = |factor| {
        let Setup { quick, calibration, .. } = setup();
        let finding = reproduce(
            &[&table4],
            &Setup { quick, calibration: calibration.scaled("cs.pair", factor, 1), ..Setup::default() },
            1,
            &mut |_| {},
        );
        let finding = finding.expect("parameters are sound");
        // EP class D.
        let ours = finding[0].checks[3].ours.split(' ').next().map(str::to_owned).unwrap_or_default();
        ours.parse::<f64>().expect("seconds")
    };
    let ratio = time(2) / time(1);
    assert!((1.9..2.1).contains(&ratio), "{ratio}");
}
