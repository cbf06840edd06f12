//! Which conclusions depend on which constant: every constant of the experiments' papers is halved and doubled, one at a time.
//!
//! Invariant: only the one constant differs from the runs with which it is compared.

use std::collections::BTreeSet;

use paceline_report::{Finding, Table};

use crate::batch::Setup;
use crate::reproduce::{Progress, reproduce};
use crate::{CONSTANTS, Constant, Experiment};

/// The factors by which a constant is changed: in words, numerator, denominator.
const FACTORS: [(&str, u64, u64); 2] = [("halved", 1, 2), ("doubled", 2, 1)];

/// The paper that an experiment or a constant belongs to.
fn paper(name: &str) -> &str {
    name.split(['-', '.']).next().unwrap_or(name)
}

/// A check, by experiment and what it compares.
type Claim = (String, String);

fn holding(findings: &[Finding]) -> BTreeSet<Claim> {
    let claims = findings.iter().flat_map(|finding| {
        let held = finding.checks.iter().filter(|check| check.holds);
        held.map(|check| (finding.name.clone(), check.what.clone()))
    });
    claims.collect()
}

fn told<'a>(claims: impl Iterator<Item = &'a Claim>) -> String {
    let claims: Vec<_> = claims.map(|(name, what)| format!("{name}: {what}")).collect();
    if claims.is_empty() { "none".into() } else { claims.join("; ") }
}

/// Runs `experiments` with the calibration of `setup`, and with each constant of their papers halved and doubled; the table
/// shows which checks no longer hold, and which hold only then.
pub fn sensitivity(
    experiments: &[&Experiment],
    setup: &Setup,
    workers: usize,
    progress: &mut dyn FnMut(Progress),
) -> Table {
    let columns = ["constant", "changed", "holds no more", "holds only then"];
    let mut table = Table::new("Conclusions with every constant halved and doubled", columns);
    // Real runs depend on no constant.
    let papers = experiments.iter().map(|experiment| paper(experiment.name));
    let has_constants = |own: &&str| CONSTANTS.iter().any(|constant| paper(constant.name) == *own);
    let papers: BTreeSet<&str> = papers.filter(has_constants).collect();
    for own in papers {
        let experiments: Vec<_> =
            experiments.iter().copied().filter(|experiment| paper(experiment.name) == own).collect();
        let base = holding(&reproduce(&experiments, setup, workers, progress));
        for Constant { name, value, unit, .. } in
            CONSTANTS.iter().filter(|constant| paper(constant.name) == own)
        {
            for (changed, numerator, denominator) in FACTORS {
                let calibration = setup.calibration.scaled(name, numerator, denominator);
                let other = Setup { calibration, ..setup.clone() };
                let now = holding(&reproduce(&experiments, &other, workers, progress));
                let (lost, won) = (told(base.difference(&now)), told(now.difference(&base)));
                table.row([format!("{name} ({value} {unit})"), changed.into(), lost, won]);
            }
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{CellError, Plan};

    /// Holds as long as an event takes no more than 3 us.
    fn claim(setup: &Setup) -> Plan {
        let event_ns = setup.calibration.get("psx.event");
        let judge = move |_: &crate::Results| -> Result<Finding, CellError> {
            let mut finding = Finding::default();
            finding.checks.push(paceline_report::Check {
                what: "events are short".into(),
                published: String::new(),
                ours: String::new(),
                must: String::new(),
                holds: event_ns <= 3_000,
            });
            Ok(finding)
        };
        Plan { cells: Vec::new(), judge: Box::new(judge) }
    }

    #[test]
    fn a_conclusion_that_hangs_on_a_constant_is_named_beside_it_and_nowhere_else() {
        let experiment = Experiment { name: "psx-claim", title: "", plan: claim };
        let table = sensitivity(&[&experiment], &Setup::default(), 1, &mut |_| {});
        let named: Vec<_> = table.rows().iter().filter(|row| row[2] != "none" || row[3] != "none").collect();
        assert_eq!(named.len(), 1);
        assert!(named[0][0].starts_with("psx.event (2000 ns)") && named[0][1] == "doubled", "{named:?}");
        let own = CONSTANTS.iter().filter(|constant| constant.name.starts_with("psx.")).count();
        assert_eq!(table.rows().len(), 2 * own, "constants of other papers are left alone");
    }
}
