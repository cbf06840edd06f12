//! Routes that change when links fail and are repaired: a function of the time alone.
//!
//! Changes are known beforehand, hence all routes are computed before the run. Between two changes there is
//! an epoch, with the routes of the graph whose links are up. Only what differs from the routes of the whole
//! graph is kept: the rest is computed, or looked up, as in a network without failures.
//!
//! Invariant: [`Epochs::port`] gives a port whose link is up in the graph of the epoch, on a shortest way
//! there, or none if there is no way.

use crate::hash::{mix, pick};

use super::{Routing, Target};

/// The routes of a network by time.
#[derive(Clone, Debug)]
pub(crate) struct Epochs {
    /// The routes of the whole graph.
    pub base: Routing,
    /// When the epochs begin, in picoseconds, ascending from 0.
    pub starts_ps: Vec<u64>,
    /// By epoch: its graph.
    pub graphs: Vec<u32>,
    /// By graph: what is other than in the whole one.
    pub changes: Vec<Changes>,
    /// By node: as in a [`Table`](super::Table).
    pub targets: Vec<Target>,
    /// By set, and one more: where its ports start. The first set is empty: no way.
    pub sets: Vec<u32>,
    pub ports: Vec<u16>,
}

/// The routes of a graph, as far as they are other than those of the whole graph.
#[derive(Clone, Debug, Default)]
pub(crate) struct Changes {
    /// Hosts with one link, which is down: ascending. They share columns with others, which may be reached.
    pub cut_off: Vec<u32>,
    /// By node, and one more: where its routes start. Empty where nothing is other.
    pub first: Vec<u32>,
    /// Columns, ascending for each node, and the set of ports there.
    pub routes: Vec<(u32, u32)>,
}

impl Epochs {
    /// The port of `node` towards `to`, another node and a host, at a time; none where there is no way then.
    pub fn port(&self, now_ps: u64, node: u32, to: u32, hash: u64) -> Option<u32> {
        let epoch = self.starts_ps.partition_point(|start_ps| *start_ps <= now_ps) - 1;
        let changes = &self.changes[self.graphs[epoch] as usize];
        if changes.cut_off.binary_search(&to).is_ok() {
            return None;
        }
        let target = self.targets[to as usize];
        match changes.set(node, target.column) {
            None => Some(self.whole_graph_port(node, to, hash)),
            Some(set) => {
                let (start, end) = (self.sets[set as usize], self.sets[set as usize + 1]);
                if start == end {
                    return None;
                }
                // As in a table: another node makes another choice.
                let choice = pick(mix(hash ^ u64::from(node)) as u32, end - start);
                Some(u32::from(self.ports[(start + choice) as usize]))
            }
        }
    }

    /// The port while all links are up. Not inlined, since those that forward packets have the same choice
    /// inline.
    #[inline(never)]
    pub fn whole_graph_port(&self, node: u32, to: u32, hash: u64) -> u32 {
        self.base.port(node, to, hash)
    }
}

impl Changes {
    /// The set of ports at `node` to what is in `column`, if it is not that of the whole graph.
    fn set(&self, node: u32, column: u32) -> Option<u32> {
        let (start, end) = (*self.first.get(node as usize)?, self.first[node as usize + 1]);
        let routes = &self.routes[start as usize..end as usize];
        let found = routes.binary_search_by_key(&column, |(column, _)| *column).ok()?;
        Some(routes[found].1)
    }
}
