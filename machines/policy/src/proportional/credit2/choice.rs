//! Which VCPU runs where under credit2: a PCPU for a VCPU that begins to wait, a VCPU for a PCPU, and for how
//! long.
//!
//! A VCPU with a soft affinity goes to an idle PCPU that it prefers before any other idle one. Among running
//! VCPUs one that has fewer credits is preempted, rather where the newcomer prefers to run, and rather one
//! that does not prefer to be there (`tickle_score`). A VCPU that runs where it does not prefer to leaves
//! when a PCPU that it prefers idles (`soft_aff_preempt`). A VCPU without a preference prefers all PCPUs.

use super::{Credit2, INITIAL, Key, LEAST_SLICE_NS, TOLERANCE_NS, Vcpu};
use crate::queues::Turn;
use crate::{Orders, PcpuId, VcpuId};

impl Credit2 {
    /// Finds a PCPU for a VCPU that has begun to wait (`runq_tickle`).
    pub(super) fn tickle(&mut self, now_ns: u64, id: VcpuId, orders: &mut Orders) {
        let vcpu = &self.vcpus[id];
        let (pin, home) = (vcpu.affinity.pin(), vcpu.home);
        if self.seats.ask_idle_preferred(&vcpu.affinity, home, orders)
            || self.seats.ask_idle(pin, home, orders)
        {
            return;
        }
        let mut best: Option<(i64, PcpuId)> = None;
        for (pcpu, other) in self.seats.running(pin) {
            let Some(score) = self.score(now_ns, vcpu, pcpu, other) else { continue };
            if pcpu == home && !vcpu.affinity.avoids(home) {
                best = Some((score, pcpu));
                break;
            }
            // Of equals the first is taken.
            if best.is_none_or(|(other, _)| score > other) {
                best = Some((score, pcpu));
            }
        }
        if let Some((_, pcpu)) = best {
            orders.reschedule(pcpu);
        }
    }

    /// How good it is for a waiting VCPU to preempt the one that runs on `pcpu`; none if it may not
    /// (`tickle_score`).
    fn score(&self, now_ns: u64, waits: &Vcpu, pcpu: PcpuId, runs: VcpuId) -> Option<i64> {
        // Who is not there any more is about to be replaced.
        let runs = self.vcpus.get(runs)?;
        if self.ratelimited_ns(runs, now_ns) >= TOLERANCE_NS {
            return None;
        }
        let resistance = if pcpu == waits.home { 0 } else { self.resistance };
        let ahead = waits.credit - (runs.credit - self.burnt(runs, now_ns).0) - resistance;
        let bonus = |is_due: bool| if is_due { INITIAL } else { 0 };
        (ahead > 0).then(|| ahead + bonus(!waits.affinity.avoids(pcpu)) + bonus(runs.affinity.avoids(pcpu)))
    }

    /// For how much longer the rate limit protects a running VCPU from preemption.
    pub(super) fn ratelimited_ns(&self, vcpu: &Vcpu, now_ns: u64) -> u64 {
        self.ratelimit_ns.saturating_sub(now_ns - vcpu.since_ns)
    }

    /// Whether a VCPU that runs on `pcpu` should leave it for one that it prefers and that idles.
    pub(super) fn would_rather_move(&self, id: VcpuId, pcpu: PcpuId) -> bool {
        let affinity = &self.vcpus[id].affinity;
        affinity.avoids(pcpu) && self.seats.idles_for(affinity)
    }

    /// The VCPU to run on `pcpu`; `current` is the one that could continue (`runq_candidate`). One whose
    /// domain has no budget left is parked and passed over.
    pub(super) fn candidate(&mut self, pcpu: PcpuId, current: Option<VcpuId>) -> Option<VcpuId> {
        let credit = current.map(|id| self.vcpus[id].credit);
        loop {
            let pulls = |other: &(Turn<Key>, VcpuId)| {
                credit.is_none_or(|credit| credit + self.resistance <= other.0.key.0)
            };
            let anywhere = self.waiting.first_anywhere().filter(pulls);
            let best = anywhere.into_iter().chain(self.waiting.first_at(pcpu)).min();
            let better = best.filter(|best| credit.is_none_or(|credit| best.0.key.0 > credit));
            let Some((_, id)) = better else { return current };
            // The budget is asked for last, since that takes some.
            if self.has_budget(id) {
                return Some(id);
            }
        }
    }

    /// The time until `id` has as few credits as the next in the queue, or no budget (`csched2_runtime`).
    pub(super) fn slice_ns(&self, now_ns: u64, pcpu: PcpuId, id: VcpuId) -> u64 {
        let vcpu = &self.vcpus[id];
        let next = self.waiting.first(pcpu).map_or(0, |(key, _)| key.0.max(0));
        let credits = (vcpu.credit - next).max(0) as u64;
        let budget_ns = vcpu.budget_ns.map_or(u64::MAX, |budget_ns| budget_ns.max(0) as u64);
        (credits * vcpu.weight / self.heaviest())
            .min(budget_ns)
            .clamp(LEAST_SLICE_NS.max(self.ratelimited_ns(vcpu, now_ns)), self.most_slice_ns)
    }
}
