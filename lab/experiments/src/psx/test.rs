//! Findings from run times that are made up: what holds of their sweeps and texts whatever the machine does.

use crate::catalogue::made_up::{judged, planned};
use crate::prelude::*;

/// What the plan's experiment finds if its runs take so many seconds, by their keys.
fn found(plan: Plan, seconds: impl Fn(&str) -> f64) -> Finding {
    judged(plan, |key| Measure {
        seconds: seconds(key),
        values: [("waiting_share", 0.5)].into(),
        digest: Some(1),
        series: vec![vec![(0.0, 0.0), (1.0, 60_000.0)], vec![(1.25, 60_000.0)]],
    })
}

/// With the constants as they are before anything is fitted.
fn of_the_table() -> Setup {
    Setup { calibration: Calibration::of_the_table(), ..Setup::default() }
}

#[test]
fn flat_run_times_are_not_swept_and_the_gains_beside_them_are_those_of_the_runs() {
    for name in ["psx-fig6", "psx-fig7"] {
        let seconds = |key: &str| match (key.contains("/PSX/"), key.contains("psx.dom0_vcpus=")) {
            (true, true) => 0.5,
            (true, false) => 2.0,
            _ => 1.0,
        };
        let finding = found(planned(name, &Setup { quick: true, ..of_the_table() }), seconds);
        assert!(finding.sweeps.is_empty(), "{:?}", finding.sweeps);
        let gains = "2.00 and 2.00 with 1, 0.50 and 0.50 with 24;";
        assert!(finding.notes.iter().any(|note| note.contains(gains)), "{:?}", finding.notes);
    }
}

#[test]
fn a_gain_that_a_quantity_mends_is_reported_with_the_values_that_do() {
    let seconds = |key: &str| {
        let mended =
            ["psx.fan_in=1", "psx.event=500", "psx.ahead=1"].iter().any(|value| key.ends_with(value));
        match (key.contains("64dom"), key.contains("/CSX-32x/"), mended) {
            (true, true, true) => 25.0,
            (true, true, false) => 3.0,
            _ => 1.0,
        }
    };
    let finding = found(planned("psx-fig12", &of_the_table()), seconds);
    let sentences: Vec<_> = finding.sweeps.iter().map(paceline_report::Sweep::sentence).collect();
    let has_sentence = |wanted: &str| sentences.iter().any(|sentence| sentence.contains(wanted));
    assert!(has_sentence("in the tree of a reduction is 1, not 2; here it is 2."), "{sentences:?}");
    assert!(
        has_sentence("CPU time of an event is 500 ns, not 1,000 ns; here it is 2,000 ns."),
        "{sentences:?}"
    );
    assert!(has_sentence("ahead of GVT is 1 s, not 2 s; here it is 4 s."), "{sentences:?}");
    let note = "OPT takes CSX 25.0 s at 1 s, 3.0 s at 2 s, 3.0 s at 4 s ahead of GVT, and PSX 1.0 s at 1 s,";
    assert!(finding.notes.iter().any(|wanted| wanted.contains(note)), "{:?}", finding.notes);
}

#[test]
fn the_city_is_swept_until_its_gains_are_those_wanted() {
    // With events of 1 ms the gains are those that are published, and PSX takes the same time with 32 and 64
    // domains.
    let seconds = |key: &str| {
        let is_mended = key.ends_with("psx.vehicle=1000000");
        match (key.contains("/CSX-32x"), key.contains("64dom"), key.contains("/OPT/")) {
            (false, true, _) if !is_mended => 4.0,
            (false, ..) => 2.0,
            (true, true, false) if is_mended => 9.0,
            (true, true, true) if is_mended => 16.0,
            (true, ..) => 3.0,
        }
    };
    let finding = found(planned("psx-fig14", &of_the_table()), seconds);
    let swept: Vec<_> = finding.sweeps.iter().map(|sweep| &sweep.check).collect();
    assert_eq!(swept.len(), 5, "{swept:?}");
    assert!(swept.iter().all(|what| finding.misses(what)), "{swept:?}");
    let wanted = "is 1,000,000 ns, not 300,000 ns; here it is 2,000 ns.";
    assert!(finding.sweeps.iter().all(|sweep| sweep.sentence().ends_with(wanted)), "{:?}", finding.sweeps);
    assert!(
        finding.notes.iter().any(|note| note.contains("holds 3.1 events a federate")),
        "{:?}",
        finding.notes
    );
}
