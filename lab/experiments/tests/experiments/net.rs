//! The experiments on packet networks in their short form: that they run, and that everything is
//! reproduced.

use paceline_experiments::Calibration;
use paceline_report::Verdict;

use crate::{findings, is_whole};

/// Simulated time alone decides what they find, so it can be asked for.
#[test]
fn networks_are_what_formulas_and_others_say() {
    let names = [
        "net-md1",
        "net-fat-tree",
        "net-newreno",
        "net-mathis",
        "net-dctcp",
        "net-cubic-codel",
        "net-dctcp-fig17",
        "net-unison",
    ];
    for finding in findings(&names, 2, Calibration::default()) {
        is_whole(&finding);
        assert_eq!(finding.verdict(), Verdict::Reproduced, "{}: {:#?}", finding.name, finding.checks);
    }
}
