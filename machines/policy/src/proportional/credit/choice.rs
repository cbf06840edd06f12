//! Which VCPU runs where under the credit scheduler: a PCPU for a VCPU that wakes, a VCPU for a PCPU.
//!
//! A VCPU with a soft affinity goes to an idle PCPU that it prefers before any other idle one
//! (`__runq_tickle`), and a PCPU that looks for work in the queues of others takes what prefers it first
//! (`csched_load_balance`). What runs is not moved for its preference.

use super::{Class, Credit};
use crate::affinity::Affinity;
use crate::queues::next_round;
use crate::{Orders, PcpuId, VcpuId};

impl Credit {
    /// Queues a VCPU on an idle PCPU, or where it ran last, and asks that PCPU to decide if the VCPU may run
    /// there at once.
    pub(super) fn enqueue(&mut self, id: VcpuId, orders: &mut Orders) {
        let vcpu = &mut self.vcpus[id];
        let (affinity, home, class) = (vcpu.affinity.clone(), vcpu.home, vcpu.class);
        let pcpu = match affinity.pin() {
            Some(pin) => pin,
            None if !self.rules.load_balance => home,
            None => self.idle_for(&affinity, home).unwrap_or(home),
        };
        self.push(id, pcpu);
        let running = self.pcpus[pcpu.index()].running.and_then(|other| self.vcpus.get(other));
        if self.idle.remove(&pcpu) || running.is_some_and(|other| class < other.class) {
            orders.reschedule(pcpu);
        }
    }

    /// The VCPU that runs next on `pcpu`: the first of its queue, or one of a better class from a neighbour's
    /// (`csched_load_balance`).
    pub(super) fn next(&self, pcpu: PcpuId) -> Option<VcpuId> {
        let first = self.queues.first(pcpu);
        let class = first.map(|(class, _)| class);
        let looks_round = self.rules.load_balance && class.is_none_or(|class| class == Class::Over);
        // An idle neighbour is about to serve its queue itself.
        let busy = |peer: PcpuId| self.pcpus[peer.index()].running.is_some();
        // Work that would rather be here comes before other work, wherever it waits (the first step of the
        // balance loop).
        if looks_round && self.preferences {
            let prefers = |id: VcpuId| self.vcpus.get(id).is_some_and(|vcpu| vcpu.affinity.prefers(pcpu));
            if let Some(id) = self.queues.preferring(pcpu, class, busy, prefers) {
                return Some(id);
            }
        }
        let peer = looks_round.then(|| self.queues.neighbour(pcpu, class, busy)).flatten();
        match peer {
            Some(peer) => self.queues.first_free(peer),
            None => first.map(|(_, id)| id),
        }
    }

    /// For how much longer the rate limit protects the VCPU on `pcpu` from preemption, if it does.
    pub(super) fn ratelimited(&self, now_ns: u64, pcpu: PcpuId) -> Option<u64> {
        let pcpu = &self.pcpus[pcpu.index()];
        let left_ns = self.rules.ratelimit_ns.saturating_sub(now_ns - pcpu.since_ns);
        (left_ns > 0 && !pcpu.yielded).then_some(left_ns)
    }

    /// An idle PCPU for a VCPU: one that it prefers, `home` first, or else any.
    fn idle_for(&self, affinity: &Affinity, home: PcpuId) -> Option<PcpuId> {
        let near = |may: &dyn Fn(PcpuId) -> bool| match self.idle.contains(&home) && may(home) {
            true => Some(home),
            false => next_round(&self.idle, home, may),
        };
        near(&|pcpu| affinity.prefers(pcpu)).or_else(|| near(&|_| true))
    }
}
