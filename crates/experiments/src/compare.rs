//! One scenario under several policies, side by side.
//!
//! Invariant: what comes of a policy does not depend on which others are compared, nor on how many run at once.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use paceline_kernel::Digest;
use paceline_machine::Observer;
use paceline_scenario::ScenarioError;

use crate::scenario::{MachineScenario, Outcome, OutcomeError};

/// What came of a policy.
pub type Compared = (&'static str, Result<Outcome, OutcomeError>);

/// Runs `scenario` under each of `policies`, as many at once as there are cores; `observer` makes somebody to look on at
/// each. Fails before anything runs where a policy refuses its settings or a domain.
pub fn compare<O: Observer>(
    scenario: &MachineScenario,
    policies: &[&'static str],
    observer: impl Fn(&'static str) -> O + Sync,
) -> Result<Vec<Compared>, ScenarioError> {
    policies.iter().try_for_each(|kind| scenario.spec(kind).map(drop))?;
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, Compared)>> = Mutex::default();
    let work = || -> Result<(), ScenarioError> {
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(kind) = policies.get(place).copied() else { return Ok(()) };
            let spec = scenario.spec(kind)?;
            let outcome = scenario.run(kind, spec, &mut observer(kind));
            done.lock().unwrap_or_else(PoisonError::into_inner).push((place, (kind, outcome)));
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..cores.min(policies.len())).map(|_| scope.spawn(work)).collect();
        let join = |worker: std::thread::ScopedJoinHandle<'_, _>| match worker.join() {
            Ok(worked) => worked,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        workers.into_iter().map(join).collect::<Result<Vec<()>, _>>()
    })?;
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(place, _)| *place);
    Ok(done.into_iter().map(|(_, compared)| compared).collect())
}

/// The digest of a workload's model: equal under every policy that let it end, or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agreement {
    /// The workload.
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
                    found.push(Agreement { workload: workload.name.clone(), digests: vec![(kind, digest)] })
                }
            }
        }
    }
    found
}
