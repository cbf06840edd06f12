//! Finds a better partition, from the measured loads and messages of the LPs.
//!
//! An LP's *load* is its number of events since the last look times the time that its events take. Its events are its share
//! of those that its federate has run, in proportion to the messages that it has sent since and those pending to it: most
//! models answer an event with about one message, and an LP that only receives has its events pending. What an event takes
//! is the mean of those that the federate has timed ([`Federate::measure`](crate::Federate::measure)). *Communication* is
//! sampled: the messages pending at a look show which LPs send to each other. Both are gathered over several looks, and each
//! look halves the weight of the earlier ones.
//!
//! [`improve`] changes a table of owners by the measured loads and messages (ARTIS paper, section 3, names both as the goals
//! of a partition that adapts while a run goes on). Invariants: the same input gives the same table; no federate becomes empty;
//! the largest load of a federate never rises above what is allowed by [`LOAD_SLACK`] or [`TALK_SLACK`], or what it was.

mod graph;
mod level;

use crate::event::OUTSIDE;
use crate::{Cost, Event, LpId, Model, Partition, TieBreak, World};
use graph::Graph;

/// By how much the largest federate's load may exceed the mean before LPs move for it.
pub const LOAD_SLACK: f64 = 0.05;
/// By how much the load of a federate may exceed the mean after LPs have moved to where their messages go.
pub const TALK_SLACK: f64 = 0.06;
/// What a message or an event counts in a look, so that halves of it count too.
const UNIT: u64 = 16;
/// Every LP counts as if this many of its events had been timed at the mean of all LPs, so that one sample has little weight.
const PRIOR_EVENTS: u64 = 1;
/// Groups of LPs that send to each other are moved as one where that saves at least this share of the messages.
const WORTH_GROUPS: f64 = 0.05;

/// Whether LPs move between federates while a run goes on, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Balance {
    /// They stay.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    /// The LP with the lower number.
    pub low: LpId,
    /// The other one.
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

/// The recent loads and messages of a run's LPs.
#[derive(Clone, Debug, Default)]
pub struct Activity {
    /// Messages that each LP had sent at the last look.
    sent: Vec<u64>,
    /// What was timed of each LP since the last look, and half of what had been before.
    costs: Vec<Cost>,
    loads: Vec<u64>,
    edges: Vec<Edge>,
    messages: u64,
}

impl Activity {
    /// For `lps` LPs that have done nothing yet.
    pub fn new(lps: u32) -> Self {
        let zeros = vec![0; lps as usize];
        let costs = vec![Cost::default(); lps as usize];
        Self { sent: zeros.clone(), costs, loads: zeros, ..Self::default() }
    }

    /// Counts from `world` on; events before it do not count.
    pub fn since<M: Model>(world: &World<M>) -> Self {
        Self { sent: world.sent().collect(), ..Self::new(world.lps()) }
    }

    /// Adds the time that events of an LP took.
    pub fn timed(&mut self, lp: LpId, cost: Cost) {
        self.costs[lp.index()].add(cost);
    }

    /// Takes a look. `done` holds the events that each federate of `partition` has run since the last one, `ties` is the
    /// run's order of ties.
    pub fn look<M: Model>(&mut self, world: &World<M>, partition: &Partition, done: &[u64], ties: TieBreak) {
        let mut talk: Vec<u64> =
            world.sent().zip(&self.sent).map(|(now, before)| now.saturating_sub(*before)).collect();
        self.sent = world.sent().collect();
        for edge in &mut self.edges {
            edge.weight /= 2;
        }
        self.messages /= 2;
        for event in world.events_pending() {
            talk[event.to().index()] += 1;
            self.message(event, ties);
        }
        self.edges.sort_unstable();
        self.edges.dedup_by(|next, kept| {
            let same = (next.low, next.high) == (kept.low, kept.high);
            kept.weight += if same { next.weight } else { 0 };
            same
        });
        self.edges.retain(|edge| edge.weight > 0);
        let owner = partition.owners();
        let talked = sums(&owner, partition.federates(), &talk);
        let mut all = Cost::default();
        self.costs.iter().for_each(|cost| all.add(*cost));
        let mean_ns = all.mean_ns().unwrap_or(UNIT).max(1);
        for (((load, cost), talk), owner) in self.loads.iter_mut().zip(&mut self.costs).zip(talk).zip(owner) {
            let (ns, events) = (cost.ns + PRIOR_EVENTS * mean_ns, cost.events + PRIOR_EVENTS);
            let done = u128::from(done[owner as usize]) * u128::from(ns);
            let share = done * u128::from(talk) / u128::from(talked[owner as usize].max(1) * events);
            *load = *load / 2 + share as u64;
            *cost = Cost { ns: cost.ns / 2, events: cost.events / 2 };
        }
    }

    fn message<E>(&mut self, event: &Event<E>, ties: TieBreak) {
        let (from, to) = (event.origin(ties).0, event.to());
        if from == OUTSIDE {
            return;
        }
        self.messages += UNIT;
        if from != to {
            self.edges.push(Edge::new(from, to, UNIT));
        }
    }

    /// The load of each LP, in nanoseconds; in sixteenths of an event where none was timed.
    pub fn loads(&self) -> &[u64] {
        &self.loads
    }

    /// The messages between pairs of LPs, ascending, in sixteenths of a message.
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// All messages seen, those of LPs to themselves too, in sixteenths of a message.
    pub fn messages(&self) -> u64 {
        self.messages
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

/// How long `threads` threads take for these loads, each run by one thread, the largest first: within a third of the
/// least possible (Graham, 1969).
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

/// A better owner for each LP. `owner[i]` is the federate, of `federates`, that owns LP `i` now, `loads[i]` its load; `edges`
/// are ascending.
///
/// For [`Balance::Load`], LPs move from the largest federates to the smallest until the largest is within [`LOAD_SLACK`] of
/// the mean or no single move helps: the largest LP that fits first, so that few move. For
/// [`Balance::LoadAndCommunication`], LPs then move to the federate they talk to most, as long as that stays within
/// [`TALK_SLACK`] of the mean. Where many LPs form groups that no single move brings together, groups move as one.
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
    if let Some(grouped) = by_groups(owner, federates, loads, &graph) {
        let most = |owner: &[u32]| sums(owner, federates, loads).into_iter().max();
        let limit = most(&better).max(Some(level::limit(loads, federates, TALK_SLACK)));
        let saved = remote(&better, edges).saturating_sub(remote(&grouped, edges));
        if most(&grouped) <= limit && saved as f64 >= all as f64 * WORTH_GROUPS && saved > 0 {
            return grouped;
        }
    }
    better
}

/// Owners by groups of LPs that talk among themselves: each group stays where most of it was, as far as loads allow. Nothing
/// where there are too few groups for the federates.
fn by_groups(owner: &[u32], federates: u32, loads: &[u64], graph: &Graph) -> Option<Vec<u32>> {
    let (group, groups) = level::groups(loads, graph, federates);
    if groups < federates {
        return None;
    }
    let mut group_loads = vec![0; groups as usize];
    let mut shares: Vec<(u32, u32, u64)> = Vec::with_capacity(loads.len());
    for (lp, load) in loads.iter().enumerate() {
        group_loads[group[lp] as usize] += load;
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
    let mut coarse: Vec<u32> = best.into_iter().map(|(federate, _)| federate).collect();
    level::even_out(&mut coarse, federates, &group_loads);
    level::gather(&mut coarse, federates, &group_loads, &graph.coarse(&group, groups));
    let mut fine: Vec<u32> = group.iter().map(|group| coarse[*group as usize]).collect();
    level::gather(&mut fine, federates, loads, graph);
    let mut used = vec![false; federates as usize];
    fine.iter().for_each(|federate| used[*federate as usize] = true);
    used.into_iter().all(|used| used).then_some(fine)
}
