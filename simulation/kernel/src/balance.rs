//! Finds a better partition, from the measured loads and messages of the LPs.
//!
//! [`Activity`] measures. [`improve`] changes a table of owners by what was measured (ARTIS paper, section 3,
//! names loads and messages as the goals of a partition that adapts while a run goes on).
//!
//! Invariants: the same input gives the same table, on every machine, since each process of a run computes
//! its own; no federate becomes empty; the largest load of a federate never rises above what is allowed by
//! [`LOAD_SLACK`] or [`TALK_SLACK`], or what it was.

mod activity;
mod graph;
mod level;
mod seating;

use serde::{Deserialize, Serialize};

use crate::LpId;
pub use activity::{Activity, Sample};
use graph::Graph;
pub use seating::seat;

/// By how much the largest federate's load may exceed the mean before LPs move for it.
pub const LOAD_SLACK: f64 = 0.05;
/// By how much the load of a federate may exceed the mean after LPs have moved to where their messages go.
/// More than [`LOAD_SLACK`]: once loads are even, federates must still have room for LPs that come.
pub const TALK_SLACK: f64 = 0.06;
/// Groups of LPs that send to each other are moved as one where that saves at least this share of the
/// messages.
const WORTH_GROUPS: f64 = 0.05;

/// Whether LPs move between federates while a run goes on, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Balance {
    /// LPs stay where the partition has put them.
    #[default]
    Off,
    /// To even out the federates' loads.
    Load,
    /// To even out loads and to let LPs that send each other messages share a federate.
    LoadAndCommunication,
}

impl Balance {
    /// All of them, with the name used in scenario files.
    pub const ALL: [(Self, &'static str); 3] =
        [(Self::Off, "off"), (Self::Load, "load"), (Self::LoadAndCommunication, "load+communication")];
}

/// Messages between two LPs, in either direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Edge {
    /// The LP with the lower number, whichever sends.
    pub low: LpId,
    /// The LP with the higher number.
    pub high: LpId,
    /// How many messages, in any unit.
    pub weight: u64,
}

impl Edge {
    /// `weight` messages between two LPs, in any order.
    pub fn new(one: LpId, other: LpId, weight: u64) -> Self {
        Self { low: one.min(other), high: one.max(other), weight }
    }
}

/// Adds up what LPs have by federate: `owner[i]` is the federate of LP `i`.
pub fn sums(owner: &[u32], federates: u32, of_lps: &[u64]) -> Vec<u64> {
    let mut sums = vec![0; federates as usize];
    for (owner, value) in owner.iter().zip(of_lps) {
        sums[*owner as usize] += value;
    }
    sums
}

/// Of these messages, those between federates.
pub fn remote(owner: &[u32], edges: &[Edge]) -> u64 {
    let crosses = |edge: &&Edge| owner[edge.low.index()] != owner[edge.high.index()];
    edges.iter().filter(crosses).map(|edge| edge.weight).sum()
}

/// How many times the mean the largest of these loads is; 1 where there is none.
///
/// ```
/// assert_eq!(paceline_kernel::imbalance(&[30, 10]), 1.5);
/// ```
pub fn imbalance(loads: &[u64]) -> f64 {
    let (most, sum) = (loads.iter().max().copied().unwrap_or(0), loads.iter().sum::<u64>());
    if sum == 0 { 1.0 } else { most as f64 * loads.len() as f64 / sum as f64 }
}

/// How long `threads` threads take for these loads, each run by one thread, the largest first: within a third
/// of the least possible (Graham, 1969).
///
/// ```
/// assert_eq!(paceline_kernel::span(&[30, 10, 10, 10], 2), 30);
/// ```
pub fn span(loads: &[u64], threads: u32) -> u64 {
    let mut rest = loads.to_vec();
    rest.sort_unstable_by(|one, other| other.cmp(one));
    let mut busy = std::collections::BinaryHeap::new();
    busy.extend((0..loads.len().min(threads.max(1) as usize)).map(|_| std::cmp::Reverse(0u64)));
    for load in rest {
        let std::cmp::Reverse(free) = busy.pop().expect("there is a thread where there is a load");
        busy.push(std::cmp::Reverse(free + load));
    }
    busy.into_iter().map(|std::cmp::Reverse(free)| free).max().unwrap_or(0)
}

/// A better owner for each LP. `owner[i]` is the federate, of `federates`, that owns LP `i` now, `loads[i]`
/// its load; `edges` are ascending.
///
/// For [`Balance::Load`], LPs move from the largest federates to the smallest until the largest is within
/// [`LOAD_SLACK`] of the mean or no single move helps: the largest LP that fits first, so that few move. For
/// [`Balance::LoadAndCommunication`], LPs then move to the federate they talk to most, as long as that stays
/// within [`TALK_SLACK`] of the mean. Where many LPs form groups that no single move brings together, groups
/// move as one.
///
/// ```
/// use paceline_kernel::{Balance, improve};
/// // The first federate has three busy LPs, the second has an idle one: moving one busy LP is enough.
/// let owner = improve(Balance::Load, &[0, 0, 0, 1], 2, &[4, 4, 4, 4], &[]);
/// assert_eq!(owner.iter().filter(|owner| **owner == 1).count(), 2);
/// ```
pub fn improve(balance: Balance, owner: &[u32], federates: u32, loads: &[u64], edges: &[Edge]) -> Vec<u32> {
    let mut better = owner.to_vec();
    if balance == Balance::Off || federates < 2 {
        return better;
    }
    level::even_out(&mut better, federates, loads);
    if balance == Balance::Load {
        return better;
    }
    let graph = Graph::new(loads.len(), edges.iter().map(|edge| (edge.low.0, edge.high.0, edge.weight)));
    level::gather(&mut better, federates, loads, &graph);
    let all: u64 = edges.iter().map(|edge| edge.weight).sum();
    // From `owner`, where LPs are: what `better` says has moved none of them yet.
    if let Some(grouped) = by_groups(owner, federates, loads, &graph) {
        // The largest federate is to be within the slack, or no larger than single moves leave it.
        let most = |owner: &[u32]| sums(owner, federates, loads).into_iter().max();
        let limit = most(&better).max(Some(level::limit(loads, federates, TALK_SLACK)));
        let saved = remote(&better, edges).saturating_sub(remote(&grouped, edges));
        if most(&grouped) <= limit && saved as f64 >= all as f64 * WORTH_GROUPS && saved > 0 {
            return grouped;
        }
    }
    better
}

/// Owners by groups of LPs that talk among themselves: each group stays where most of it was, as far as loads
/// allow. Nothing where there are too few groups for the federates.
fn by_groups(owner: &[u32], federates: u32, loads: &[u64], graph: &Graph) -> Option<Vec<u32>> {
    let (group, groups) = level::groups(loads, graph, federates);
    if groups < federates {
        return None;
    }
    let mut group_loads = vec![0; groups as usize];
    let mut shares: Vec<(u32, u32, u64)> = Vec::with_capacity(loads.len());
    for (lp, load) in loads.iter().enumerate() {
        group_loads[group[lp] as usize] += load;
        // An LP without load counts as well, or a group of such LPs would have no place.
        shares.push((group[lp], owner[lp], *load + 1));
    }
    shares.sort_unstable();
    shares.dedup_by(|next, kept| {
        let same = (next.0, next.1) == (kept.0, kept.1);
        kept.2 += if same { next.2 } else { 0 };
        same
    });
    let mut best = vec![(0, 0); groups as usize];
    for (group, federate, share) in shares {
        let best = &mut best[group as usize];
        if share > best.1 {
            *best = (federate, share);
        }
    }
    // Groups are dealt as if they were LPs. Then single LPs follow their messages once more.
    let mut coarse: Vec<u32> = best.into_iter().map(|(federate, _)| federate).collect();
    level::even_out(&mut coarse, federates, &group_loads);
    level::gather(&mut coarse, federates, &group_loads, &graph.coarse(&group, groups));
    let mut fine: Vec<u32> = group.iter().map(|group| coarse[*group as usize]).collect();
    level::gather(&mut fine, federates, loads, graph);
    let mut used = vec![false; federates as usize];
    fine.iter().for_each(|federate| used[*federate as usize] = true);
    used.into_iter().all(|used| used).then_some(fine)
}
