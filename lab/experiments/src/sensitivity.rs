//! Which conclusions depend on which constant: every constant of the experiments' papers is halved and
//! doubled, one at a time.
//!
//! Invariants: only the one constant differs from the runs with which it is compared. Sweeps over other
//! quantities are left out, as are experiments that measure real time: these depend on no constant.

use std::collections::{BTreeMap, BTreeSet};

use paceline_report::{Check, Finding, Table, Verdict};
use paceline_scenario::ScenarioError;

use crate::batch::Setup;
use crate::memory::Memory;
use crate::reproduce::{Progress, reproduce_again};
use crate::{CONSTANTS, Constant, Experiment};

/// The factors by which a constant is changed: in words, numerator, denominator.
const FACTORS: [(&str, u64, u64); 2] = [("halved", 1, 2), ("doubled", 2, 1)];

/// What constants decide.
#[derive(Clone, Debug, PartialEq)]
pub struct Sensitivity {
    /// For every constant that decides a verdict: which verdicts change when it is halved or doubled.
    pub table: Table,
    /// What was compared, and the constants that decide nothing.
    pub notes: Vec<String>,
}

/// The paper that an experiment or a constant belongs to.
fn paper(name: &str) -> &str {
    name.split(['-', '.']).next().unwrap_or(name)
}

/// The verdict on each check, by experiment and what is compared.
type Verdicts = BTreeMap<(String, String), Verdict>;

fn verdicts(findings: &[Finding]) -> Verdicts {
    let of = |finding: &Finding| {
        let named = |check: &Check| ((finding.name.clone(), check.what.clone()), check.verdict());
        finding.checks.iter().map(named).collect::<Vec<_>>()
    };
    findings.iter().flat_map(of).collect()
}

/// The checks whose verdict changes, each with both; one that is not compared on both sides is left out.
fn changed_verdicts(base: &Verdicts, now: &Verdicts) -> Vec<String> {
    let change = |(claim, before): (&(String, String), &Verdict)| {
        let after = now.get(claim)?;
        let (name, what) = claim;
        (before != after).then(|| format!("{name}: {what}: {}, then {}", before.name(), after.name()))
    };
    base.iter().filter_map(change).collect()
}

fn has_constants(experiment: &Experiment, setup: &Setup) -> Result<bool, ScenarioError> {
    let is_paper = |constant: &Constant| paper(constant.name) == paper(experiment.name);
    Ok(CONSTANTS.iter().any(is_paper) && !experiment.plan(setup)?.cells.iter().any(|cell| cell.alone))
}

/// Runs `experiments` with the calibration of `setup`, and with each constant of their papers halved and
/// doubled, and says which verdicts change. Fails before anything runs if there is a mistake in parameters.
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
    let (memory, mut batch) = (Memory::default(), 0);
    let mut run = |experiments: &[&Experiment], setup: &Setup, what: &str| {
        let findings = reproduce_again(experiments, setup, workers, &memory, &mut |now: Progress| {
            // Batches count alike, so that the number of all runs is that of the batch times theirs.
            let (done, cells) = (batch * now.cells + now.done, batches * now.cells);
            progress(Progress { done, cells, last: format!("{what}: {}", now.last) });
        })?;
        batch += 1;
        Ok::<_, ScenarioError>(verdicts(&findings))
    };
    let columns = ["constant", "changed", "verdicts that change"];
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
                let changed_verdicts = changed_verdicts(&base, &now);
                if !changed_verdicts.is_empty() {
                    decides = true;
                    table.row([format!("{name} ({value} {unit})"), changed, changed_verdicts.join("; ")]);
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
    use paceline_report::{Criterion, Ours, RanOn, Shape};

    const NOTHING: &str = "[experiment]\nname = \"own\"\n";

    fn plan(alone: bool, holds: bool) -> Result<Plan, ScenarioError> {
        let judge = move |_: &crate::Results| -> Result<Finding, CellError> {
            let mut finding = Finding::default();
            let ours = Ours::one(f64::from(u8::from(holds)), "");
            finding.checks.push(check("events are short", Criterion::goal(Shape::exactly(1.0)), ours));
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

    fn experiment(name: &'static str, planner: crate::experiment::Planner) -> Experiment {
        Experiment { name, title: "", ran_on: RanOn::SimulatedMachine, parameters: NOTHING, planner }
    }

    #[test]
    fn a_share_is_raised_to_the_whole_and_no_further() {
        let shared = experiment("psx-shared", share);
        let Sensitivity { table, .. } =
            sensitivity(&[&shared], &Setup::default(), 1, &mut |_| ()).expect("all is sound");
        let [row] = table.rows() else { panic!("{table:?}") };
        assert_eq!((row[0].as_str(), row[1].as_str()), ("psx.smt (625 permille)", "to 1000 permille"));
    }

    #[test]
    fn a_conclusion_that_hangs_on_a_constant_is_named_beside_it_and_nowhere_else() {
        let simulated = experiment("psx-claim", claim);
        let measured = experiment("psx-real", real);
        let mut seen = Vec::new();
        let Sensitivity { table, notes } =
            sensitivity(&[&simulated, &measured], &Setup::default(), 1, &mut |now| seen.push(now))
                .expect("all is sound");
        let [row] = table.rows() else { panic!("{table:?}") };
        assert!(row[0].starts_with("psx.event (2000 ns)") && row[1] == "doubled", "{row:?}");
        assert_eq!(row[2], "psx-claim: events are short: reproduced, then differs");
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
