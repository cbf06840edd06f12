//! How much the LPs of a run do, and which of them send to each other.
//!
//! An LP's *load* is its number of events since the last look times the time that its events take. Its events
//! are its share of those that its federate has run, in proportion to the messages that it has sent since and
//! those pending to it: most models answer an event with about one message, and an LP that only receives has
//! its events pending. What an event takes is the mean of those that the federate has timed
//! ([`Federate::measure`](crate::Federate::measure)). *Communication* is sampled: the messages pending at a
//! look show which LPs send to each other. Both are gathered over several looks, and each look halves the
//! weight of the earlier ones.
//!
//! Where a run has several processes, each takes a [`Sample`] of its own LPs, and all of them add the samples
//! of all. Invariant: the same samples in the same order give the same loads and messages, in integers; no
//! sample that fits makes a number overflow.

use serde::{Deserialize, Serialize};

use super::{Edge, sums};
use crate::{Cost, LpId, Model, Part, Partition, TieBreak, World};

/// What a message or an event counts in a look, so that halves of it count too.
const UNIT: u64 = 16;
/// Every LP counts as if this many of its events had been timed at the mean of all LPs, so that one sample
/// has little weight.
const PRIOR_EVENTS: u64 = 1;
/// No number of a sample, nor the sum of those of all its LPs, is larger.
const SAMPLE_MAX: u64 = 1 << 50;
/// The loads of all LPs together are no larger.
const LOADS_MAX: u64 = 1 << 62;

/// What the LPs of a process have done since the last look.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// In the order of their numbers.
    lps: Vec<LpSample>,
    /// Messages pending to these LPs from others, ascending.
    edges: Vec<Edge>,
    /// Messages pending to these LPs, in sixteenths.
    messages: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct LpSample {
    lp: LpId,
    /// Messages sent since the run began.
    sent: u64,
    pending: u64,
    cost: Cost,
}

impl Sample {
    fn of<M: Model>(part: &Part<M>, partition: &Partition, fresh: &mut [Cost], ties: TieBreak) -> Self {
        let start = |(lp, sent)| LpSample { lp, sent, ..LpSample::default() };
        let mut lps: Vec<LpSample> = part.sent(partition).map(start).collect();
        lps.sort_unstable_by_key(|of_lp| of_lp.lp);
        let (mut edges, mut messages) = (Vec::new(), 0);
        for event in part.pending() {
            if let Ok(at) = lps.binary_search_by_key(&event.to(), |of_lp| of_lp.lp) {
                lps[at].pending += 1;
            }
            // An event from outside has no LP as its source.
            let from = event.origin(ties).0;
            if from.0 < partition.lps() {
                messages += UNIT;
                if from != event.to() {
                    edges.push(Edge::new(from, event.to(), UNIT));
                }
            }
        }
        add_up(&mut edges);
        // Turns may have been timed here of LPs that have left since.
        for (lp, cost) in (0..).map(LpId).zip(fresh).filter(|(_, cost)| **cost != Cost::default()) {
            let cost = std::mem::take(cost);
            if let Ok(at) = lps.binary_search_by_key(&lp, |of_lp| of_lp.lp) {
                lps[at].cost.add(cost);
            }
        }
        Self { lps, edges, messages }
    }

    /// Whether it is one of the process whose federates `owns` names: always, unless it was read from
    /// somewhere.
    pub fn fits(&self, partition: &Partition, owns: impl Fn(u32) -> bool) -> bool {
        let expected = (0..partition.lps()).map(LpId).filter(|lp| owns(partition.place(*lp).0));
        let add = |sum: u64, number| sum.checked_add(number).filter(|sum| *sum <= SAMPLE_MAX);
        let of = |number: fn(&LpSample) -> u64| self.lps.iter().map(number).try_fold(0, add).is_some();
        let weights = self.edges.iter().map(|edge| edge.weight).try_fold(0, add);
        expected.eq(self.lps.iter().map(|of_lp| of_lp.lp))
            && of(|of_lp| of_lp.sent)
            && of(|of_lp| of_lp.pending)
            && of(|of_lp| of_lp.cost.ns)
            && of(|of_lp| of_lp.cost.events)
            && self.messages <= SAMPLE_MAX
            && weights.is_some_and(|weights| weights <= self.messages)
            && self.edges.iter().all(|edge| edge.low < edge.high && edge.high.0 < partition.lps())
    }
}

/// The recent loads and messages of a run's LPs.
#[derive(Clone, Debug, Default)]
pub struct Activity {
    /// What was timed of each LP in this process, and is in no sample yet.
    fresh: Vec<Cost>,
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
        Self { fresh: costs.clone(), sent: zeros.clone(), costs, loads: zeros, ..Self::default() }
    }

    /// Counts from `world` on; events before it do not count.
    pub fn since<M: Model>(world: &World<M>) -> Self {
        Self { sent: world.sent().collect(), ..Self::new(world.lps()) }
    }

    /// Adds the time that events of an LP of this process took.
    pub fn timed(&mut self, lp: LpId, cost: Cost) {
        self.fresh[lp.index()].add(cost);
    }

    /// What the LPs of this process have done since the last sample. `ties` is the run's order of ties.
    pub fn sample<M: Model>(&mut self, part: &Part<M>, partition: &Partition, ties: TieBreak) -> Sample {
        Sample::of(part, partition, &mut self.fresh, ties)
    }

    /// Takes a look at what all LPs have done: `samples` are those of all processes. `done` holds the events
    /// that each federate of `partition` has run since the last look, at most 2^50 of all.
    pub fn look(&mut self, samples: &[Sample], partition: &Partition, done: &[u64]) {
        for edge in &mut self.edges {
            edge.weight /= 2;
        }
        self.messages /= 2;
        // By LP: messages sent since the last look, and those pending to it. They stand for its events.
        let mut talk = vec![0; self.sent.len()];
        for sample in samples {
            self.messages += sample.messages;
            self.edges.extend(&sample.edges);
            for LpSample { lp, sent, pending, cost } in &sample.lps {
                let before = std::mem::replace(&mut self.sent[lp.index()], *sent);
                // Counts of messages never fall, but a sample that was damaged on its way may say so.
                talk[lp.index()] = sent.saturating_sub(before) + pending;
                self.costs[lp.index()].add(*cost);
            }
        }
        add_up(&mut self.edges);
        self.edges.retain(|edge| edge.weight > 0);
        let owner = partition.owners();
        let talked = sums(&owner, partition.federates(), &talk);
        let mut all = Cost::default();
        self.costs.iter().for_each(|cost| all.add(*cost));
        let mean_ns = all.mean_ns().unwrap_or(UNIT).max(1);
        // Half of the old load and at most this much new: all loads together stay within `LOADS_MAX`.
        let most = LOADS_MAX / 2 / (self.loads.len() as u64).max(1);
        for (((load, cost), talk), owner) in self.loads.iter_mut().zip(&mut self.costs).zip(talk).zip(owner) {
            let (ns, events) = (cost.ns + PRIOR_EVENTS * mean_ns, cost.events + PRIOR_EVENTS);
            let time_ns = u128::from(done[owner as usize]) * u128::from(ns) / u128::from(events);
            let time_ns = time_ns.min(u128::from(LOADS_MAX));
            let share = time_ns * u128::from(talk) / u128::from(talked[owner as usize].max(1));
            *load = *load / 2 + u64::try_from(share).unwrap_or(u64::MAX).min(most);
            *cost = Cost { ns: cost.ns / 2, events: cost.events / 2 };
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

/// Sorts edges, and makes one of those between the same LPs.
fn add_up(edges: &mut Vec<Edge>) {
    edges.sort_unstable();
    edges.dedup_by(|next, kept| {
        let same = (next.low, next.high) == (kept.low, kept.high);
        kept.weight += if same { next.weight } else { 0 };
        same
    });
}
