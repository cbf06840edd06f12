//! The experiments with guests in their short form: that everything is reproduced, or that they say why
//! they cannot be run here.

use paceline_experiments::Calibration;
use paceline_report::Verdict;

use crate::{findings, is_whole};

#[test]
fn guests_are_what_our_models_say() {
    let names = ["netwarp-tcp", "netwarp-order", "netwarp-flows", "netwarp-web", "netwarp-crowd"];
    for finding in findings(&names, 2, Calibration::default()) {
        if let Some(reason) = finding.notes.iter().find(|note| note.starts_with("skipped: ")) {
            assert!(finding.checks.is_empty());
            eprintln!("{}: {reason}", finding.name);
            continue;
        }
        is_whole(&finding);
        assert_eq!(finding.verdict(), Verdict::Reproduced, "{}: {:#?}", finding.name, finding.checks);
    }
}
