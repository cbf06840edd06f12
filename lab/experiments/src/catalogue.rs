//! All experiments, by name.
//!
//! Invariant: names are unique, in the order of the papers; predictions of our own are last.

#[cfg(test)]
pub(crate) mod made_up;

use crate::Experiment;

/// All of them.
pub fn experiments() -> Vec<Experiment> {
    [
        crate::psx::EXPERIMENTS,
        crate::nsx::EXPERIMENTS,
        crate::sg::EXPERIMENTS,
        crate::cs::EXPERIMENTS,
        crate::artis::EXPERIMENTS,
        crate::net::EXPERIMENTS,
        crate::netwarp::EXPERIMENTS,
        crate::cluster::EXPERIMENTS,
    ]
    .concat()
}
