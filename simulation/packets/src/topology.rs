//! Networks by name: dumbbell, line, star, leaf-spine, fat tree, torus, dragonfly, random.
//!
//! Hosts come first in numbers where the topology has no pods, and are called host-0 and so on (in a dumbbell
//! left-0, right-0). The routes of a regular topology are computed (the modules of `routing`), and rest on
//! the numbering of nodes and ports here.
//!
//! To add a topology, write a file here; its name and keys are in
//! `simulation/models/src/packets/topologies.rs`. The routes of any graph are in a table; computed ones need
//! a file in `routing` and a variant of `Routing`. The tests `routes`, `errors` and `failures` list all
//! topologies.

mod dragonfly;
mod dumbbell;
mod fat_tree;
mod leaf_spine;
mod line;
mod random;
mod torus;

use std::fmt::Display;

use crate::PacketError;

pub use dragonfly::dragonfly;
pub use dumbbell::{dumbbell, star};
pub use fat_tree::fat_tree;
pub use leaf_spine::leaf_spine;
pub use line::line;
pub use random::random;
pub use torus::torus;

/// The most hosts of a topology by name.
const MOST_HOSTS: u64 = 1 << 20;

/// Refuses a parameter out of its range.
fn within(
    topology: &'static str,
    key: &'static str,
    value: u64,
    least: u64,
    most: u64,
) -> Result<(), PacketError> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(refuse(topology, key, value, format!("from {least} to {most}")))
}

fn refuse(topology: &'static str, key: &'static str, value: impl Display, allowed: String) -> PacketError {
    PacketError::Parameter { topology, key, value: value.to_string(), allowed }
}
