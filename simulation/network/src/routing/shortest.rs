//! Shortest ways in a graph of routes: Floyd's table of all pairs, and Dijkstra's search for one pair.
//!
//! The length of a way is its number of links. Among ways of equal length both choose the way that SimGrid
//! chooses: Floyd tries middle, first and last members in the order of the file; Dijkstra takes members in
//! the order in which routes first name them. Invariant: neither panics on any graph.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::Way;

/// The most members of a zone with Floyd routing: the table is quadratic in this number, the time to compute
/// it cubic.
pub(crate) const MOST_FLOYD: usize = 1024;
/// The most entries of all tables of a platform.
pub(crate) const MOST_FLOYD_PAIRS: usize = 4 << 20;

/// All shortest ways, computed at once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Floyd {
    ways: BTreeMap<(u32, u32), Way>,
    members: usize,
    /// For each pair the last but one member on the way; `None` if there is no way.
    before: Vec<Option<u32>>,
}

impl Floyd {
    /// The table for `members` members; `loopbacks` says whether members without a way to themselves use the
    /// loopback.
    pub(crate) fn new(ways: BTreeMap<(u32, u32), Way>, members: usize, loopbacks: bool) -> Self {
        assert!(members <= MOST_FLOYD, "the reader refuses larger zones");
        let mut before = vec![None; members * members];
        let mut cost = vec![u64::MAX; members * members];
        for (&(from, to), way) in &ways {
            let place = from as usize * members + to as usize;
            before[place] = Some(from);
            cost[place] = way.links.len() as u64;
        }
        if loopbacks {
            for member in 0..members {
                let place = member * members + member;
                if before[place].is_none() {
                    (before[place], cost[place]) = (Some(member as u32), 1);
                }
            }
        }
        for middle in 0..members {
            for from in 0..members {
                let head = cost[from * members + middle];
                if head == u64::MAX {
                    continue;
                }
                for to in 0..members {
                    let tail = cost[middle * members + to];
                    let place = from * members + to;
                    if tail != u64::MAX && head + tail < cost[place] {
                        cost[place] = head + tail;
                        before[place] = before[middle * members + to];
                    }
                }
            }
        }
        Self { ways, members, before }
    }

    pub(crate) fn ways(&self, from: u32, to: u32) -> Option<Vec<&Way>> {
        let (mut found, mut current) = (Vec::new(), to);
        loop {
            let before = self.before[from as usize * self.members + current as usize]?;
            found.push(self.ways.get(&(before, current))?);
            current = before;
            if current == from {
                break;
            }
            // A way in a table of shortest ways has no cycle, except possibly through a member without a way
            // to itself.
            if found.len() > self.members {
                return None;
            }
        }
        found.reverse();
        Some(found)
    }
}

/// The routes of a zone; each pair is searched when it is needed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Graph {
    /// The number of each member, in the order in which routes first name members, and the reverse.
    number: BTreeMap<u32, usize>,
    ranks: Vec<u32>,
    /// For each number the ways that start there, in the order of the file.
    out: Vec<Vec<(usize, Way)>>,
}

impl Graph {
    /// The graph of these ways, which are in the order of the file.
    pub(crate) fn new(ways: impl IntoIterator<Item = ((u32, u32), Way)>) -> Self {
        let mut graph = Self::default();
        for ((from, to), way) in ways {
            let (from, to) = (graph.node(from), graph.node(to));
            graph.out[from].push((to, way));
        }
        graph
    }

    fn node(&mut self, rank: u32) -> usize {
        let next = self.ranks.len();
        let number = *self.number.entry(rank).or_insert(next);
        if number == next {
            self.ranks.push(rank);
            self.out.push(Vec::new());
        }
        number
    }

    pub(crate) fn ways(&self, from: u32, to: u32) -> Option<Vec<&Way>> {
        let (from, to) = (*self.number.get(&from)?, *self.number.get(&to)?);
        if from == to {
            return self.out[from].iter().find(|(end, _)| *end == to).map(|(_, way)| vec![way]);
        }
        let mut cost = vec![u64::MAX; self.ranks.len()];
        let mut before: Vec<Option<(usize, usize)>> = vec![None; self.ranks.len()];
        let mut open = BinaryHeap::from([Reverse((0, from))]);
        cost[from] = 0;
        while let Some(Reverse((reached, node))) = open.pop() {
            if reached > cost[node] {
                continue;
            }
            for (place, (end, way)) in self.out[node].iter().enumerate() {
                let there = reached + way.links.len() as u64;
                if there < cost[*end] {
                    (cost[*end], before[*end]) = (there, Some((node, place)));
                    open.push(Reverse((there, *end)));
                }
            }
        }
        let (mut found, mut current) = (Vec::new(), to);
        while current != from {
            let (node, place) = before[current]?;
            found.push(&self.out[node][place].1);
            current = node;
        }
        found.reverse();
        Some(found)
    }
}
