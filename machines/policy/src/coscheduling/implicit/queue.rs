//! The queue of a PCPU: boosted VCPUs, the last boost first; then the one that was preempted; then all others
//! in turn.
//!
//! Invariant: `with_messages` holds exactly the VCPUs of `order` whose domain has messages, in the order in
//! which they began to wait: a preempted VCPU comes after all that waited already.

use crate::VcpuId;
use crate::queues::RunQueue;

/// A place in a queue; the smaller, the sooner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    turns: bool,
    number: i64,
}

impl Place {
    pub fn is_boosted(self) -> bool {
        !self.turns
    }
}

#[derive(Debug, Default)]
pub(super) struct Queue {
    /// The VCPU that runs; it is not in the queue.
    pub running: Option<VcpuId>,
    /// How many VCPUs belong to the PCPU.
    pub vcpus: u32,
    order: RunQueue<Place>,
    with_messages: RunQueue<i64>,
    numbers: i64,
}

impl Queue {
    fn number(&mut self) -> i64 {
        self.numbers += 1;
        self.numbers
    }

    /// The place before all others.
    pub fn boosted(&mut self) -> Place {
        Place { turns: false, number: -self.number() }
    }

    /// The place after the boosted ones.
    pub fn preempted(&mut self) -> Place {
        Place { turns: true, number: -self.number() }
    }

    /// The place after all others.
    pub fn last(&mut self) -> Place {
        Place { turns: true, number: self.number() }
    }

    pub fn insert(&mut self, place: Place, since: i64, vcpu: VcpuId, messages: bool) {
        self.order.insert(place, vcpu);
        self.mark(since, vcpu, messages);
    }

    pub fn remove(&mut self, place: Place, since: i64, vcpu: VcpuId) {
        self.order.remove(place, vcpu);
        self.with_messages.remove(since, vcpu);
    }

    /// Notes whether the domain of `vcpu`, which has waited since `since`, has messages.
    pub fn mark(&mut self, since: i64, vcpu: VcpuId, messages: bool) {
        if messages {
            self.with_messages.insert(since, vcpu);
        } else {
            self.with_messages.remove(since, vcpu);
        }
    }

    pub fn first(&self) -> Option<(Place, VcpuId)> {
        self.order.first()
    }

    pub fn first_with_messages(&self) -> Option<VcpuId> {
        self.with_messages.first().map(|(_, vcpu)| vcpu)
    }
}
