//! What a process says of its federates at a look, and what all processes together come to.
//!
//! Invariant: what is decided depends only on what all have said, in the order of ranks, so all processes
//! decide alike.

use paceline_kernel::{Cost, Federate, Model, Partition, Sample, span};
use serde::{Deserialize, Serialize};

/// What counts as the cost of an event where none was timed: then all events cost the same, and loads are
/// counts.
const UNTIMED_NS: u64 = 1;
/// No count that a process says is larger, so that sums over thousands of federates fit in 64 bits. In
/// nanoseconds it is 13 days.
const COUNT_MAX: u64 = 1 << 50;

/// The federates of a process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Standing {
    pub(super) threads: u32,
    /// Events since the federates went on after the last look, and the nanoseconds since then.
    pub(super) fresh: u64,
    pub(super) fresh_ns: u64,
    /// Since LPs were last measured, in nanoseconds.
    pub(super) measured_ns: u64,
    pub(super) federates: Vec<Lately>,
}

/// The recent load of one federate.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Lately {
    pub(super) id: u32,
    /// Events since the last look.
    pub(super) events: u64,
    pub(super) cost: Cost,
}

impl Standing {
    /// Whether this can come from the process that has the federates of which `owns` says so: it names just
    /// those, and no count is absurd.
    pub(crate) fn fits(&self, partition: &Partition, owns: &dyn Fn(u32) -> bool) -> bool {
        let expected = (0..partition.federates()).filter(|id| owns(*id));
        let small = |lately: &Lately| {
            let Lately { events, cost, .. } = lately;
            [*events, cost.ns, cost.events].iter().all(|count| *count <= COUNT_MAX)
        };
        expected.eq(self.federates.iter().map(|lately| lately.id)) && self.federates.iter().all(small)
    }
}

/// The LPs of a process.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Measured {
    /// By federate of this process: its events since LPs were last measured.
    pub(super) done: Vec<(u32, u64)>,
    pub(super) sample: Sample,
}

impl Measured {
    /// Whether this can come from the process that has the federates of which `owns` says so.
    pub(crate) fn fits(&self, partition: &Partition, owns: &dyn Fn(u32) -> bool) -> bool {
        let expected = (0..partition.federates()).filter(|id| owns(*id));
        expected.eq(self.done.iter().map(|(id, _)| *id))
            && self.done.iter().all(|(_, events)| *events <= COUNT_MAX)
            && self.sample.fits(partition, owns)
    }
}

/// The processes of a run, or the only one: their threads, and who runs which federate.
#[derive(Debug)]
pub(crate) struct Crews {
    threads: Vec<u32>,
    /// By federate: the process.
    pub(super) owners: Vec<u32>,
}

impl Crews {
    pub(crate) fn new(all: &[Standing], owners: Vec<u32>) -> Self {
        Self { threads: all.iter().map(|standing| standing.threads.max(1)).collect(), owners }
    }

    /// Whether there is more than one process.
    pub(super) fn are_several(&self) -> bool {
        self.threads.len() > 1
    }

    pub(super) fn threads(&self) -> u64 {
        self.threads.iter().map(|threads| u64::from(*threads)).sum()
    }

    /// How long these loads of federates take: as long as in the process that takes longest.
    pub(super) fn span(&self, loads: &[u64]) -> u64 {
        let loads_of = |rank: u32| -> Vec<u64> {
            let pairs = self.owners.iter().zip(loads);
            pairs.filter(|(owner, _)| **owner == rank).map(|(_, load)| *load).collect()
        };
        let spans = (0..).zip(&self.threads).map(|(rank, threads)| span(&loads_of(rank), *threads));
        spans.max().unwrap_or(0)
    }

    /// The process of each LP, by its federate.
    pub(super) fn processes(&self, owner: &[u32]) -> Vec<u32> {
        owner.iter().map(|federate| self.owners[*federate as usize]).collect()
    }
}

/// The events of each federate that is present, and what was timed of them.
pub(super) fn lately<M: Model>(events: &[u64], federates: &[Federate<M>]) -> Vec<Lately> {
    let present = federates.iter().zip(events).filter(|(federate, _)| federate.members().next().is_some());
    let of = |(federate, events): (&Federate<M>, &u64)| Lately {
        id: federate.id(),
        events: *events,
        cost: federate.cost(),
    };
    present.map(of).collect()
}

/// The time that the events of each federate take, in nanoseconds. All federates are named, in their order.
pub(super) fn costed(federates: &[Lately]) -> Vec<u64> {
    let mut all = Cost::default();
    for lately in federates {
        all.ns = all.ns.saturating_add(lately.cost.ns);
        all.events = all.events.saturating_add(lately.cost.events);
    }
    // Where no event was timed yet, events count alike.
    let mean_ns = all.mean_ns().unwrap_or(UNTIMED_NS);
    // Counts come from other processes too: their sum must not overflow.
    let most = u64::MAX / 2 / (federates.len() as u64).max(1);
    let cost =
        |lately: &Lately| lately.events.saturating_mul(lately.cost.mean_ns().unwrap_or(mean_ns)).min(most);
    federates.iter().map(cost).collect()
}

/// Of all federates what all processes say, in the order of federates.
pub(super) fn joined<T: Copy>(all: impl Iterator<Item = T>, id: impl Fn(&T) -> u32) -> Vec<T> {
    let mut joined: Vec<T> = all.collect();
    joined.sort_by_key(id);
    joined
}
