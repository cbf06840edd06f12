//! The experiments of the co-scheduling thesis with very little work: that they run, and give the same
//! whenever they do. What they claim needs their full size.

use paceline_experiments::Calibration;
use paceline_report::{Figure, Finding, Series};

use crate::{findings, is_whole};

/// With a small part of the work.
fn calibration() -> Calibration {
    Calibration::default().scaled("cs.pair", 1, 400).scaled("cs.point", 1, 100)
}

#[test]
fn they_run_and_give_the_same_on_any_number_of_workers() {
    let names = ["cs-table4", "cs-table5", "cs-table6", "cs-table7", "cs-table8", "cs-table9"];
    let (one, two) = (findings(&names, 1, calibration()), findings(&names, 2, calibration()));
    one.iter().for_each(is_whole);
    assert!(one.iter().all(|finding| !finding.tables.is_empty()));
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
    let time = |factor| {
        let finding = findings(&["cs-table4"], 1, calibration().scaled("cs.pair", factor, 1));
        // EP class D.
        finding[0].checks[3].ours.values[0].value
    };
    let ratio = time(2) / time(1);
    assert!((1.9..2.1).contains(&ratio), "{ratio}");
}
