//! Shortest routes: for every destination with demand, the exit that each node takes towards it.
//!
//! A route's cost is its free-flow time plus one crossing at every node on the way, in whole nanoseconds.
//! Dijkstra's algorithm runs backwards from the destination. Among exits of equal cost the one to the lower
//! node number wins, then the one given first. Invariant: a node's exit leads to a node that was settled
//! before it, so no route has a loop, not even over roads that take no time; only on such roads may a tie go
//! to the higher number.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use paceline_kernel::Time;

use super::network::Network;

/// The most entries of the table of exits (1 GiB of memory).
pub(crate) const MAX_TABLE: u64 = 1 << 29;

const NOWHERE: u16 = u16::MAX;
const NO_ROAD: u32 = u32::MAX;

/// For every node, the exit towards every destination.
#[derive(Clone, Debug)]
pub(crate) struct Routes {
    targets: Vec<u32>,
    exits: Vec<u16>,
}

impl Routes {
    /// Computes the routes to `targets` (ascending); `visit` is called with each target's tree. The table is
    /// node-major: an LP's row stays in the cache.
    pub fn build(
        network: &Network,
        crossing: Time,
        targets: Vec<u32>,
        mut visit: impl FnMut(usize, &Tree),
    ) -> Self {
        let mut exits = vec![NOWHERE; network.nodes() as usize * targets.len()];
        let mut tree = Tree::new(network.nodes());
        for (target, destination) in targets.iter().enumerate() {
            tree.grow(network, crossing, *destination);
            for (node, road) in tree.road.iter().enumerate().filter(|(_, road)| **road != NO_ROAD) {
                exits[node * targets.len() + target] = network.road(*road).exit;
            }
            visit(target, &tree);
        }
        Self { targets, exits }
    }

    /// The destination node of the target with number `target`.
    #[inline]
    pub fn destination(&self, target: u32) -> u32 {
        self.targets[target as usize]
    }

    /// Whether there is a target with this number.
    pub fn is_target(&self, target: u32) -> bool {
        (target as usize) < self.targets.len()
    }

    /// Whether there is a target with this number, and an exit of `node` towards it: always, except for what
    /// was read from somewhere.
    pub fn lead(&self, node: u32, target: u32) -> bool {
        self.is_target(target) && self.exits[node as usize * self.targets.len() + target as usize] != NOWHERE
    }

    /// The exit of `node` towards a target, which must be reachable from it.
    #[inline]
    pub fn exit(&self, node: u32, target: u32) -> u16 {
        let exit = self.exits[node as usize * self.targets.len() + target as usize];
        debug_assert_ne!(exit, NOWHERE, "vehicles are only where their destination can be reached from");
        exit
    }
}

/// The shortest routes from everywhere to one destination.
#[derive(Debug)]
pub(crate) struct Tree {
    cost: Vec<u64>,
    road: Vec<u32>,
    settled: Vec<bool>,
    frontier: BinaryHeap<Reverse<(u64, u32)>>,
}

impl Tree {
    /// An empty tree over `nodes` nodes.
    pub fn new(nodes: u32) -> Self {
        let nodes = nodes as usize;
        let (cost, road, settled) = (vec![u64::MAX; nodes], vec![NO_ROAD; nodes], vec![false; nodes]);
        Self { cost, road, settled, frontier: BinaryHeap::new() }
    }

    /// Computes the tree of `destination`; overwrites the previous tree.
    pub fn grow(&mut self, network: &Network, crossing: Time, destination: u32) {
        self.cost.fill(u64::MAX);
        self.road.fill(NO_ROAD);
        self.settled.fill(false);
        self.cost[destination as usize] = 0;
        self.frontier.push(Reverse((0, destination)));
        while let Some(Reverse((cost, node))) = self.frontier.pop() {
            if std::mem::replace(&mut self.settled[node as usize], true) {
                continue;
            }
            if node == destination {
                self.reach(network, node, 0);
            } else if network.driven_through(node) {
                self.reach(network, node, cost.saturating_add(crossing.as_nanos()));
            }
        }
    }

    /// Relaxes the roads that reach the settled `node`; the cost from their stop lines on is `onward`.
    fn reach(&mut self, network: &Network, node: u32, onward: u64) {
        for number in network.approaches(node) {
            let road = network.road(*number);
            let from = road.from as usize;
            let cost = onward.saturating_add(road.free_flow.as_nanos());
            if self.settled[from] || cost > self.cost[from] {
                continue;
            }
            let head = |number: u32| network.road(number).to;
            let tie = cost == self.cost[from];
            if tie && self.road[from] != NO_ROAD && head(self.road[from]) <= node {
                continue;
            }
            (self.cost[from], self.road[from]) = (cost, *number);
            if !tie {
                self.frontier.push(Reverse((cost, road.from)));
            }
        }
    }

    /// Time and length of the route from `origin`, which is not the destination; `None` if there is no route.
    pub fn route(&self, network: &Network, origin: u32) -> Option<(Time, u64)> {
        let mut road = self.road[origin as usize];
        if road == NO_ROAD {
            return None;
        }
        let mut length_mm = 0u64;
        while road != NO_ROAD {
            length_mm = length_mm.saturating_add(network.road(road).length_mm);
            road = self.road[network.road(road).to as usize];
        }
        Some((Time::nanos(self.cost[origin as usize]), length_mm))
    }
}
