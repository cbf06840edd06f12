//! One scenario under several policies, side by side.
//!
//! Invariant: the outcome under a policy does not depend on which others are compared, nor on how many run at
//! once.

use std::collections::BTreeMap;
use std::num::NonZero;

use paceline_kernel::Digest;
use paceline_machine::Observer;
use paceline_scenario::ScenarioError;

use crate::scenario::{MachineScenario, Outcome, OutcomeError};
use crate::side_by_side::side_by_side;

/// The outcome under a policy.
pub type Compared = (&'static str, Result<Outcome, OutcomeError>);

/// Runs `scenario` under each of `policies`, as many at once as there are cores; each run has the observer
/// with the same index. Fails before anything runs if a policy refuses its settings or a domain.
pub fn compare<O: Observer + Send>(
    scenario: &MachineScenario,
    policies: &[&'static str],
    observers: &mut [O],
) -> Result<Vec<Compared>, ScenarioError> {
    policies.iter().try_for_each(|kind| scenario.spec(kind).map(drop))?;
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let tasks = policies.iter().zip(observers).enumerate().collect();
    let job = |(place, (kind, observer)): (usize, (&&'static str, &mut O))| {
        scenario.spec(kind).map(|spec| (place, (*kind, scenario.run(kind, spec, observer))))
    };
    let mut compared = BTreeMap::new();
    side_by_side(tasks, cores, &job, &mut |(place, outcome)| {
        compared.insert(place, outcome);
    })?;
    Ok(compared.into_values().collect())
}

/// The digests of a workload's model under every policy under which it ended, to be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agreement {
    /// The name of the workload in the scenario.
    pub workload: String,
    /// By policy, in the order in which they were compared.
    pub digests: Vec<(&'static str, Digest)>,
}

impl Agreement {
    /// Whether all are equal.
    pub fn holds(&self) -> bool {
        self.digests.windows(2).all(|pair| pair[0].1 == pair[1].1)
    }
}

/// The digests of all workloads that are simulations and have ended under some policy.
pub fn agreements(compared: &[Compared]) -> Vec<Agreement> {
    let mut found: Vec<Agreement> = Vec::new();
    let outcomes = compared.iter().filter_map(|(kind, outcome)| Some((*kind, outcome.as_ref().ok()?)));
    for (kind, outcome) in outcomes {
        for workload in &outcome.workloads {
            let Some(digest) = workload.digest else { continue };
            match found.iter_mut().find(|known| known.workload == workload.name) {
                Some(known) => known.digests.push((kind, digest)),
                None => {
                    found.push(Agreement { workload: workload.name.clone(), digests: vec![(kind, digest)] });
                }
            }
        }
    }
    found
}
