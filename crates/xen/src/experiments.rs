//! All experiments of the lab, by name.
//!
//! Invariant: names are unique and start with `xen-`.

use crate::Experiment;

/// All of them.
pub fn experiments() -> Vec<Experiment> {
    Vec::new()
}
