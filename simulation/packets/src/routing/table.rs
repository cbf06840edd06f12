//! Routes of any graph, in a table.
//!
//! A row is a node, a column a destination: a node at which hosts are. Hosts with one link share the column
//! of what they are attached to, so that a table of a network with many hosts a switch stays small. An entry
//! is the number of a set of ports; few sets are different.

use crate::hash::{mix, pick};

/// "No column" of a node that is no host.
pub(crate) const NO_COLUMN: u32 = u32::MAX;

/// Routes of a graph.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub columns: usize,
    /// By node: if it is a host, its column; and, for a host with one link, where it is attached and the port
    /// there.
    pub targets: Vec<Target>,
    /// By row and column: a set.
    pub entries: Vec<u32>,
    /// By set, and one more: where its ports start. A port that is to get more than another stands there more
    /// than once.
    pub sets: Vec<u32>,
    pub ports: Vec<u16>,
}

/// How a host is reached.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target {
    pub column: u32,
    pub attached: u32,
    pub port: u16,
}

impl Table {
    #[inline(always)]
    pub fn port(&self, node: u32, to: u32, hash: u64) -> u32 {
        let target = self.targets[to as usize];
        if target.attached == node {
            return u32::from(target.port);
        }
        let set = self.entries[node as usize * self.columns + target.column as usize] as usize;
        let (start, end) = (self.sets[set], self.sets[set + 1]);
        let choice = if end - start == 1 {
            0
        } else {
            // Mixed with the node: else all that came here by one choice would go on by one choice.
            pick(mix(hash ^ u64::from(node)) as u32, end - start)
        };
        u32::from(self.ports[(start + choice) as usize])
    }

    pub fn reaches(&self, from: u32, to: u32) -> bool {
        let target = self.targets[to as usize];
        target.column != NO_COLUMN
            && (target.attached == from
                || self.entries[from as usize * self.columns + target.column as usize] != 0)
    }
}
