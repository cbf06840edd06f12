//! Through which port a packet leaves: computed where the topology is regular, from a table elsewhere.
//!
//! Invariants: routes are shortest; where there are several, the choice depends on nothing but a hash of the
//! packet or its flow, so that it is the same in whatever partition.

mod dumbbell;
mod epochs;
pub(crate) mod fat_tree;
mod leaf_spine;
mod line;
mod table;
mod torus;

pub(crate) use dumbbell::{Dumbbell, Star};
pub(crate) use epochs::{Changes, Epochs};
use fat_tree::FatTree;
pub(crate) use leaf_spine::LeafSpine;
pub(crate) use line::Line;
pub(crate) use table::{NO_COLUMN, Table, Target};
pub(crate) use torus::Torus;

/// How packets are spread over ways of equal length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Ecmp {
    /// All packets of a flow in one direction take one way.
    #[default]
    Flow,
    /// Each packet takes a way of its own.
    Packet,
}

/// The routes of a network.
#[derive(Clone, Debug)]
pub(crate) enum Routing {
    /// None yet: the network is being built.
    None,
    FatTree(FatTree),
    LeafSpine(LeafSpine),
    Dumbbell(Dumbbell),
    Star(Star),
    Line(Line),
    Torus(Torus),
    Table(Table),
    /// Routes that change with the time, on one of the others.
    Epochs(Box<Epochs>),
}

impl Routing {
    /// The port of `node` towards `to`, another node and a host; of routes that change the one of the whole
    /// graph.
    #[inline(always)]
    pub fn port(&self, node: u32, to: u32, hash: u64) -> u32 {
        match self {
            Self::FatTree(tree) => tree.port(node, to, hash),
            Self::Table(table) => table.port(node, to, hash),
            Self::LeafSpine(fabric) => fabric.port(node, to, hash),
            Self::Dumbbell(dumbbell) => dumbbell.port(node, to),
            Self::Star(star) => star.port(node, to),
            Self::Line(line) => line.port(node, to),
            Self::Torus(torus) => torus.port(node, to, hash),
            Self::Epochs(epochs) => epochs.whole_graph_port(node, to, hash),
            Self::None => unreachable!("a network has routes once it is built"),
        }
    }

    /// Whether there is a route while all links are up; regular topologies are connected.
    pub fn reaches(&self, from: u32, to: u32) -> bool {
        match self {
            Self::Table(table) => table.reaches(from, to),
            Self::Epochs(epochs) => epochs.base.reaches(from, to),
            _ => true,
        }
    }
}
