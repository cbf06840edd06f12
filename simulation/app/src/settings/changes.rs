//! `[[run.change]]`: changes of the model's parameters that the scenario has, each at a simulated time.
//!
//! They are made in the model before the run begins, and are a part of it from then on.

use std::collections::BTreeSet;

use paceline_kernel::{Change, ChangeError, Model, Time};
use paceline_scenario::{ScenarioError, Section};

/// A change of the scenario.
#[derive(Clone, Debug)]
pub struct ScheduledChange {
    /// What changes, and when.
    pub change: Change,
    /// Its table, for the places of its keys.
    table: Section,
}

/// Reads the tables.
pub fn read(run: &mut Section) -> Result<Vec<ScheduledChange>, ScenarioError> {
    let (mut changes, mut known) = (Vec::new(), BTreeSet::new());
    for mut table in run.tables("change")? {
        let change =
            Change { at: table.required("at")?, set: table.required("set")?, to: table.required("to")? };
        if !known.insert((change.at, change.set.clone())) {
            let problem = format!("{} changes twice at {}", change.set, change.at);
            return Err(table.refuse("at", problem, "one value of a parameter at a time"));
        }
        let place = table.clone();
        table.finish()?;
        changes.push(ScheduledChange { change, table: place });
    }
    Ok(changes)
}

/// Refuses changes that are not before the end of the run.
pub fn check_end(changes: &[ScheduledChange], until: Option<Time>) -> Result<(), ScenarioError> {
    let late = changes.iter().find(|scheduled| until.is_some_and(|until| scheduled.change.at >= until));
    match (late, until) {
        (Some(ScheduledChange { change, table }), Some(until)) => {
            let problem = format!("{} changes at {}, and the run ends at {until}", change.set, change.at);
            Err(table.refuse("at", problem, "a time before `until` of [run]"))
        }
        _ => Ok(()),
    }
}

impl ScheduledChange {
    /// Makes it in the model, before it is run.
    pub fn make<M: Model>(&self, model: &mut M) -> Result<(), ScenarioError> {
        self.change.make(model).map_err(|error| {
            let key = if matches!(error, ChangeError::Unknown { .. }) { "set" } else { "to" };
            let said = error.to_string();
            // The text of an error says itself what is allowed, for programs that call the engine.
            let (problem, allowed) = said.split_once("; allowed: ").unwrap_or((&said, ""));
            self.table.refuse(key, problem, allowed)
        })
    }
}
