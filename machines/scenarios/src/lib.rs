//! Scenarios of simulated machines: read from files, run under a scheduling policy, and compared under
//! several.
//!
//! - `scenario`: hosts, links, domains with their workloads and the settings of policies, and the outcome of
//!   a run;
//! - [`compare`]: one scenario under several policies;
//! - [`side_by_side()`]: independent tasks on a pool of threads.
//!
//! Invariant: an outcome depends on the scenario and the policy alone, never on what else runs at the same
//! time.

#![forbid(unsafe_code)]

pub mod compare;
mod scenario;
mod side_by_side;

pub use scenario::{MachineScenario, Outcome, OutcomeError, WORKLOADS, WorkloadOutcome};
pub use side_by_side::side_by_side;
