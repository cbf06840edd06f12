//! All experiments, by name.
//!
//! Invariant: names are unique, in the order of the papers.

use crate::plan::{Plan, Setup};

/// A published experiment.
#[derive(Clone, Copy, Debug)]
pub struct Experiment {
    /// Its name: paper and figure.
    pub name: &'static str,
    /// What it shows, in one line.
    pub title: &'static str,
    /// Plans its runs.
    pub plan: fn(&Setup) -> Plan,
}

/// All of them.
pub fn experiments() -> Vec<Experiment> {
    [crate::psx::EXPERIMENTS, crate::nsx::EXPERIMENTS, crate::sg::EXPERIMENTS, crate::cs::EXPERIMENTS]
        .concat()
}
