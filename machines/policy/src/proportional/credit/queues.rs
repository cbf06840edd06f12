//! The run queues of the credit scheduler: one for each PCPU, ordered by class, first come first served
//! within a class.
//!
//! VCPUs without a pin, which another PCPU may steal, are in a set of their own in each queue. For each class
//! a set over all queues lists the PCPUs that have such a VCPU: a PCPU that looks for work reads these sets
//! and walks no queue.
//!
//! Invariant: a PCPU is in the set of a class exactly while an unpinned VCPU of that class waits in its
//! queue.

use std::collections::BTreeSet;

use crate::queues::{RunQueue, next_round};
use crate::{PcpuId, VcpuId};

/// Priority classes, best first (`CSCHED_PRI_TS_*` in Xen).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Class {
    /// Has woken while UNDER, and no tick has found it running since.
    Boost,
    /// Its balance of credits is not below zero.
    Under,
    /// Its balance of credits is below zero.
    Over,
}

const CLASSES: [Class; 3] = [Class::Boost, Class::Under, Class::Over];

/// Where a VCPU waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub pcpu: PcpuId,
    pub class: Class,
    number: u64,
    pinned: bool,
}

/// The order of a queue: by class, then by number of arrival.
type Key = (Class, u64);

/// A VCPU is in one of the two sets.
#[derive(Clone, Debug, Default)]
struct Queue {
    free: RunQueue<Key>,
    pinned: RunQueue<Key>,
}

impl Queue {
    fn offers(&self, class: Class) -> bool {
        self.free.first_from((class, 0)).is_some_and(|((first, _), _)| first == class)
    }
}

#[derive(Debug)]
pub(super) struct Queues {
    queues: Vec<Queue>,
    offers: [BTreeSet<PcpuId>; CLASSES.len()],
    arrivals: u64,
}

impl Queues {
    pub(super) fn new(pcpus: u32) -> Self {
        let queues = vec![Queue::default(); pcpus as usize];
        Self { queues, offers: Default::default(), arrivals: 0 }
    }

    /// Puts `vcpu` at the end of its class.
    pub(super) fn push(&mut self, pcpu: PcpuId, class: Class, vcpu: VcpuId, pinned: bool) -> Place {
        self.arrivals += 1;
        let key = (class, self.arrivals);
        let queue = &mut self.queues[pcpu.index()];
        if pinned {
            queue.pinned.insert(key, vcpu);
        } else {
            queue.free.insert(key, vcpu);
            self.offers[class as usize].insert(pcpu);
        }
        Place { pcpu, class, number: self.arrivals, pinned }
    }

    /// Takes `vcpu` out of its place.
    pub(super) fn remove(&mut self, place: Place, vcpu: VcpuId) {
        let key = (place.class, place.number);
        let queue = &mut self.queues[place.pcpu.index()];
        let set = if place.pinned { &mut queue.pinned } else { &mut queue.free };
        assert!(set.remove(key, vcpu), "a VCPU is in the queue that its place names");
        if !place.pinned && !queue.offers(place.class) {
            self.offers[place.class as usize].remove(&place.pcpu);
        }
    }

    /// The first in the queue of `pcpu`.
    pub(super) fn first(&self, pcpu: PcpuId) -> Option<(Class, VcpuId)> {
        let queue = &self.queues[pcpu.index()];
        let first = queue.free.first().into_iter().chain(queue.pinned.first()).min();
        first.map(|((class, _), vcpu)| (class, vcpu))
    }

    /// The first in the queue of `pcpu` that may run elsewhere.
    pub(super) fn first_free(&self, pcpu: PcpuId) -> Option<VcpuId> {
        self.queues[pcpu.index()].free.first().map(|(_, vcpu)| vcpu)
    }

    /// Empties the queue of `pcpu`, in order.
    pub(super) fn drain(&mut self, pcpu: PcpuId) -> Vec<VcpuId> {
        let queue = std::mem::take(&mut self.queues[pcpu.index()]);
        self.offers.iter_mut().for_each(|offers| {
            offers.remove(&pcpu);
        });
        let mut entries: Vec<_> = queue.free.iter().chain(queue.pinned.iter()).collect();
        entries.sort_unstable();
        entries.into_iter().map(|(_, vcpu)| vcpu).collect()
    }

    /// The first PCPU after `pcpu`, in a circle, that `may` be stolen from and has a VCPU of a better class
    /// than `than`.
    pub(super) fn neighbour(
        &self,
        pcpu: PcpuId,
        than: Option<Class>,
        may: impl Fn(PcpuId) -> bool,
    ) -> Option<PcpuId> {
        let better = CLASSES.into_iter().filter(|class| than.is_none_or(|than| *class < than));
        let firsts = better.filter_map(|class| next_round(&self.offers[class as usize], pcpu, &may));
        let pcpus = self.queues.len() as u32;
        firsts.min_by_key(|peer| (peer.0 + pcpus - pcpu.0) % pcpus)
    }

    /// The first VCPU that `prefers` to run here among those of a better class than `than` that wait for
    /// other PCPUs, from the first PCPU after `pcpu` on, in a circle, that `may` be stolen from. It walks
    /// the queues.
    pub(super) fn preferring(
        &self,
        pcpu: PcpuId,
        than: Option<Class>,
        may: impl Fn(PcpuId) -> bool,
        prefers: impl Fn(VcpuId) -> bool,
    ) -> Option<VcpuId> {
        let pcpus = self.queues.len() as u32;
        let peers = (1..pcpus).map(|step| PcpuId((pcpu.0 + step) % pcpus)).filter(|peer| may(*peer));
        let mut waiting = peers.flat_map(|peer| self.queues[peer.index()].free.iter());
        let found = waiting.find(|((class, _), id)| than.is_none_or(|than| *class < than) && prefers(*id));
        found.map(|(_, id)| id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_something_better_is_taken_from_the_nearest_neighbour() {
        let mut queues = Queues::new(4);
        queues.push(PcpuId(1), Class::Over, VcpuId(1), false);
        queues.push(PcpuId(2), Class::Boost, VcpuId(2), true);
        let under = queues.push(PcpuId(3), Class::Under, VcpuId(3), false);
        let from = |queues: &Queues, than| queues.neighbour(PcpuId(0), than, |_| true);
        assert_eq!(from(&queues, None), Some(PcpuId(1)));
        assert_eq!(from(&queues, Some(Class::Over)), Some(PcpuId(3)));
        assert_eq!(from(&queues, Some(Class::Under)), None);
        assert_eq!(queues.neighbour(PcpuId(2), None, |_| true), Some(PcpuId(3)));
        assert_eq!(queues.neighbour(PcpuId(2), None, |peer| peer != PcpuId(3)), Some(PcpuId(1)));
        queues.remove(under, VcpuId(3));
        assert_eq!(from(&queues, Some(Class::Over)), None);
    }
}
