//! `paceline compare`: one machine under several scheduling policies, as a matrix of policies and workloads.
//!
//! Its columns are in `simulation/report/src/compare.rs`. The JSON of a workload is that of `paceline
//! machine`.

use std::time::Instant;

use paceline_app::failure::CommandError;
use paceline_app::loaded::Source;
use paceline_app::stdout;
use paceline_app::text;
use paceline_machine_scenarios::compare::{Agreement, Compared, agreements, compare as run_all};
use paceline_policy::names;
use paceline_report::{Outcome as Cell, matrix};
use paceline_scenario::nearest;
use serde_json::{Value, json};

use crate::args::CompareArguments;
use crate::failure::Special;
use crate::machine::{self, Watched, ended, everything_of, seconds};

/// Runs a machine under each of the policies, and compares the results. Fails if digests depend on the
/// policy.
pub fn compare(arguments: &CompareArguments) -> Result<(), CommandError> {
    let policies = arguments.policies.iter().map(|name| known(name)).collect::<Result<Vec<_>, _>>()?;
    let scenario = machine::read(&Source::read(&arguments.scenario)?)?;
    let options = arguments.output;
    let mut watched = Watched::default();
    let mut watches = policies.iter().map(|policy| watched.watch(policy)).collect::<Vec<_>>();
    let progress = watched.show(scenario.until_ns(), !options.json && !options.quiet);
    let start = Instant::now();
    let compared = run_all(&scenario, &policies, &mut watches);
    drop(progress);
    let (compared, wall) = (compared?, start.elapsed());
    let agreements = agreements(&compared);
    if options.json {
        let everything = json!({
            "scenario": scenario.name(),
            "seed": scenario.seed(),
            "policies": compared.iter().map(of_policy).collect::<Vec<_>>(),
            "digests_equal": agreements.iter().all(Agreement::holds),
            "wall_seconds": wall.as_secs_f64(),
        });
        stdout::print(&format!("{everything:#}\n"))?;
    } else {
        let mut page = text::table(&matrix(&cells(&compared)));
        if !options.quiet {
            page.push_str(&format!("\n{}wall time {}\n", said(&agreements), text::span(wall)));
        }
        stdout::print(&page)?;
    }
    if let Some(agreement) = agreements.iter().find(|agreement| !agreement.holds()) {
        return Err(Special::Disagree(in_words(agreement)).into());
    }
    let failed = compared.into_iter().find_map(|(kind, outcome)| Some((kind, outcome.err()?)));
    failed.map_or(Ok(()), |(kind, error)| Err(Special::Machine(kind, error).into()))
}

/// The policy of this name.
fn known(name: &str) -> Result<&'static str, CommandError> {
    names().find(|known| *known == name.trim()).ok_or_else(|| {
        let hint = nearest(name, names()).map_or(String::new(), |hint| format!("; did you mean {hint:?}?"));
        let allowed = names().collect::<Vec<_>>().join(", ");
        CommandError::Option(format!("--policies: there is no policy {name:?}{hint}; allowed: {allowed}"))
    })
}

/// The matrix, cell by cell.
fn cells(compared: &[Compared]) -> Vec<Cell> {
    let outcomes = compared.iter().filter_map(|(_, outcome)| outcome.as_ref().ok());
    let cells = outcomes.flat_map(|outcome| {
        let workloads = outcome.workloads.iter().filter(|workload| !workload.background);
        workloads.map(|workload| Cell {
            policy: outcome.policy.to_owned(),
            workload: workload.name.clone(),
            run_time_s: workload.run_ns.map(seconds),
            unfairness: outcome.unfairness(workload),
            waiting_share: outcome.waiting_share(workload),
            context_switches: outcome.switches(),
        })
    });
    cells.collect()
}

/// What came of a policy, for programs.
fn of_policy((kind, outcome): &Compared) -> Value {
    match outcome {
        Err(error) => json!({ "policy": kind, "error": error.to_string() }),
        Ok(outcome) => {
            let workloads = outcome.workloads.iter();
            json!({
                "policy": kind,
                "ended_by": ended(outcome),
                "machine_time_s": seconds(outcome.report.at_ns),
                "schedule_digest": format!("{:016x}", outcome.report.digest),
                "context_switches": outcome.switches(),
                "workloads": workloads.map(|workload| everything_of(outcome, workload)).collect::<Vec<_>>(),
            })
        }
    }
}

/// A line for each simulation that the policies agree on.
fn said(agreements: &[Agreement]) -> String {
    let line = |agreement: &Agreement| match agreement.digests.as_slice() {
        [(kind, digest)] => {
            format!("{}: digest {digest} under {kind}, the only one that ended\n", agreement.workload)
        }
        [(_, digest), ..] => format!("{}: digest {digest} under every policy\n", agreement.workload),
        [] => String::new(),
    };
    agreements.iter().filter(|agreement| agreement.holds()).map(line).collect()
}

fn in_words(agreement: &Agreement) -> String {
    let digests: Vec<_> = agreement.digests.iter().map(|(kind, digest)| format!("{kind} {digest}")).collect();
    format!("{}: {}", agreement.workload, digests.join(", "))
}
