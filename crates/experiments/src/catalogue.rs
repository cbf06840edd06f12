//! All experiments, by name.
//!
//! Invariant: names are unique, in the order of the papers; predictions of our own are last.

use crate::batch;
use crate::plan::InProcess;

/// An experiment. Where it is a published one, its name is that of the paper and the figure.
pub type Experiment = batch::Experiment<InProcess>;

/// All of them.
pub fn experiments() -> Vec<Experiment> {
    [
        crate::psx::EXPERIMENTS,
        crate::nsx::EXPERIMENTS,
        crate::sg::EXPERIMENTS,
        crate::cs::EXPERIMENTS,
        crate::artis::EXPERIMENTS,
        crate::cluster::EXPERIMENTS,
    ]
    .concat()
}
