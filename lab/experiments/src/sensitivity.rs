//! Which conclusions depend on which constant: every constant of the experiments' papers is halved and
//! doubled, one at a time.
//!
//! Invariants: only the one constant differs from the runs with which it is compared. Sweeps over other
//! quantities are left out, as are experiments that measure real time: these depend on no constant.

use std::collections::BTreeSet;

use paceline_report::{Finding, Table};
use paceline_scenario::ScenarioError;

use crate::batch::Setup;
use crate::reproduce::{Progress, reproduce};
use crate::{CONSTANTS, Constant, Experiment};

/// The factors by which a constant is changed: in words, numerator, denominator.
const FACTORS: [(&str, u64, u64); 2] = [("halved", 1, 2), ("doubled", 2, 1)];

/// What constants decide.
#[derive(Clone, Debug, PartialEq)]
pub struct Sensitivity {
    /// For every constant that decides whether a check holds: which checks hold no more when it is halved or
    /// doubled, and which hold only then.
    pub table: Table,
    /// What was compared, and the constants that decide nothing.
    pub notes: Vec<String>,
}

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

fn claims_in_words<'a>(claims: impl Iterator<Item = &'a Claim>) -> String {
    let claims: Vec<_> = claims.map(|(name, what)| format!("{name}: {what}")).collect();
    if claims.is_empty() { "none".into() } else { claims.join("; ") }
}

fn has_constants(experiment: &Experiment, setup: &Setup) -> Result<bool, ScenarioError> {
    let is_paper = |constant: &Constant| paper(constant.name) == paper(experiment.name);
    Ok(CONSTANTS.iter().any(is_paper) && !experiment.plan(setup)?.cells.iter().all(|cell| cell.alone))
}

/// Runs `experiments` with the calibration of `setup`, and with each constant of their papers halved and
/// doubled, and says which checks hold no more, and which hold only then. Fails before anything runs if there
/// is a mistake in parameters.
pub fn sensitivity(
    experiments: &[&Experiment],
    setup: &Setup,
    workers: usize,
    progress: &mut dyn FnMut(Progress),
) -> Result<Sensitivity, ScenarioError> {
    let setup = Setup { without_sweeps: true, ..setup.clone() };
    let mut simulated: Vec<&Experiment> = Vec::new();
    for experiment in experiments {
        if has_constants(experiment, &setup)? {
            simulated.push(experiment);
        }
    }
    let papers: BTreeSet<&str> = simulated.iter().map(|experiment| paper(experiment.name)).collect();
    let of_papers = |constant: &&Constant| papers.contains(paper(constant.name));
    let changes = CONSTANTS.iter().filter(of_papers).count() * FACTORS.len();
    let batches = papers.len() + changes;
    let mut batch = 0;
    let mut run = |experiments: &[&Experiment], setup: &Setup, what: &str| {
        let findings = reproduce(experiments, setup, workers, &mut |now: Progress| {
            // Batches count alike, so that the number of all runs is that of the batch times theirs.
            let (done, cells) = (batch * now.cells + now.done, batches * now.cells);
            progress(Progress { done, cells, last: format!("{what}: {}", now.last) });
        })?;
        batch += 1;
        Ok::<_, ScenarioError>(holding(&findings))
    };
    let columns = ["constant", "changed", "holds no more", "holds only then"];
    let mut table = Table::new("What hangs on one constant, halved or doubled", columns);
    let mut without = Vec::new();
    for title in papers {
        let experiments: Vec<_> =
            simulated.iter().copied().filter(|experiment| paper(experiment.name) == title).collect();
        let base = run(&experiments, &setup, "all constants as they are")?;
        for Constant { name, unit, .. } in CONSTANTS.iter().filter(|constant| paper(constant.name) == title) {
            let (value, mut decides) = (setup.calibration.get(name), false);
            for (changed, numerator, denominator) in FACTORS {
                let calibration = setup.calibration.scaled(name, numerator, denominator);
                let scaled = calibration.get(name);
                let is_whole = scaled == value * numerator / denominator;
                let changed = if is_whole { changed.to_owned() } else { format!("to {scaled} {unit}") };
                let other = Setup { calibration, ..setup.clone() };
                let now = run(&experiments, &other, &format!("{name} {changed}"))?;
                if now != base {
                    decides = true;
                    let (lost, won) =
                        (claims_in_words(base.difference(&now)), claims_in_words(now.difference(&base)));
                    table.row([format!("{name} ({value} {unit})"), changed, lost, won]);
                }
            }
            without.extend((!decides).then_some(*name));
        }
    }
    let names: Vec<_> = simulated.iter().map(|experiment| experiment.name).collect();
    let form = if setup.quick { "quick" } else { "full" };
    let notes = vec![
        format!(
            "Every constant of a paper was halved and doubled, alone, in the {form} form of {}.",
            listed(&names)
        ),
        format!("Constants that decide no check: {}.", listed(&without)),
    ];
    Ok(Sensitivity { table, notes })
}

fn listed(names: &[&str]) -> String {
    if names.is_empty() { "none".into() } else { names.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::check;
    use crate::parameters::Parameters;
    use crate::plan::{Cell, CellError, Measure, Plan};

    const NOTHING: &str = "[experiment]\nname = \"own\"\n";

    fn plan(alone: bool, holds: bool) -> Result<Plan, ScenarioError> {
        let judge = move |_: &crate::Results| -> Result<Finding, CellError> {
            let mut finding = Finding::default();
            finding.checks.push(check("events are short", "", "", (String::new(), holds)));
            Ok(finding)
        };
        let job = || Ok(Measure::default());
        let cell = Cell { key: "own".into(), weight: 1.0, alone, job: Box::new(job) };
        Ok(Plan { cells: vec![cell], judge: Box::new(judge) })
    }

    /// Holds as long as an event takes no more than 3 us.
    fn claim(setup: &Setup, _: &mut Parameters) -> Result<Plan, ScenarioError> {
        plan(false, setup.calibration.get("psx.event") <= 3_000)
    }

    /// Measures real time.
    fn real(setup: &Setup, _: &mut Parameters) -> Result<Plan, ScenarioError> {
        plan(true, setup.calibration.get("psx.switch") == 2_500)
    }

    /// Holds as long as a hyper-thread is not as fast as a core of its own.
    fn share(setup: &Setup, _: &mut Parameters) -> Result<Plan, ScenarioError> {
        plan(false, setup.calibration.get("psx.smt") < 1_000)
    }

    #[test]
    fn a_share_is_raised_to_the_whole_and_no_further() {
        let shared = Experiment { name: "psx-shared", title: "", parameters: NOTHING, planner: share };
        let Sensitivity { table, .. } =
            sensitivity(&[&shared], &Setup::default(), 1, &mut |_| ()).expect("all is sound");
        let [row] = table.rows() else { panic!("{table:?}") };
        assert_eq!((row[0].as_str(), row[1].as_str()), ("psx.smt (625 permille)", "to 1000 permille"));
    }

    #[test]
    fn a_conclusion_that_hangs_on_a_constant_is_named_beside_it_and_nowhere_else() {
        let simulated = Experiment { name: "psx-claim", title: "", parameters: NOTHING, planner: claim };
        let measured = Experiment { name: "psx-real", title: "", parameters: NOTHING, planner: real };
        let mut seen = Vec::new();
        let Sensitivity { table, notes } =
            sensitivity(&[&simulated, &measured], &Setup::default(), 1, &mut |now| seen.push(now))
                .expect("all is sound");
        let [row] = table.rows() else { panic!("{table:?}") };
        assert!(row[0].starts_with("psx.event (2000 ns)") && row[1] == "doubled", "{row:?}");
        assert_eq!((row[2].as_str(), row[3].as_str()), ("psx-claim: events are short", "none"));
        assert!(notes[0].ends_with("of psx-claim."), "{notes:?}");
        let constants: Vec<_> =
            CONSTANTS.iter().filter(|constant| constant.name.starts_with("psx.")).collect();
        let without = constants.iter().map(|constant| constant.name).filter(|name| *name != "psx.event");
        assert_eq!(
            notes[1],
            format!("Constants that decide no check: {}.", without.collect::<Vec<_>>().join(", "))
        );
        let runs = 1 + 2 * constants.len();
        assert_eq!(seen.len(), runs);
        assert!(seen.iter().enumerate().all(|(place, now)| (now.done, now.cells) == (place + 1, runs)));
    }
}
