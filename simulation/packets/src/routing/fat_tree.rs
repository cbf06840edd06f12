//! Routes of a fat tree, computed from the places of nodes.

use crate::hash::pick;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    Host,
    Edge,
    Aggregation,
    Core,
}

/// Where a node is: looked up, since divisions by a `k` known only at run time are slower.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub pod: u32,
    pub level: Level,
    /// Of a switch its number in its pod, of a host that of its edge switch.
    pub index: u32,
    /// Of a host: its port at its edge switch.
    pub port: u32,
}

/// Ports of an edge switch: its hosts, then the aggregation switches; of one of these: the edges, then its
/// core switches; of a core switch: the pods.
#[derive(Clone, Debug)]
pub(crate) struct FatTree {
    pub half: u32,
    /// Where each node stands in the tree, by node.
    pub places: Vec<Place>,
}

impl FatTree {
    /// The two ways up are drawn from different halves of the hash.
    #[inline(always)]
    pub fn port(&self, node: u32, to: u32, hash: u64) -> u32 {
        let (here, there) = (&self.places[node as usize], &self.places[to as usize]);
        match here.level {
            Level::Host => 0,
            Level::Edge if here.pod == there.pod && here.index == there.index => there.port,
            Level::Edge => self.half + pick(hash as u32, self.half),
            Level::Aggregation if here.pod == there.pod => there.index,
            Level::Aggregation => self.half + pick((hash >> 32) as u32, self.half),
            Level::Core => there.pod,
        }
    }
}
