//! The accounting of the credit scheduler: what ticks charge, and what every third tick hands out
//! (`csched_acct` in Xen).
//!
//! Credits are kept in nanoseconds of CPU time; Xen's 100 credits are one tick of them. A VCPU becomes active
//! when a tick finds it running, and inactive when it has more credits than it may save; only active VCPUs
//! earn, and only their domains' weights count. A domain whose VCPUs cannot use up its part leaves the rest
//! to the domains after it in the list. If a domain before it could have used more, it moves to the head of
//! the list, so that in the next period it leaves the rest to all.

use std::collections::BTreeSet;

use super::queues::Class;
use super::{Accounting, Credit};
use crate::{DomId, Orders, PcpuId, VcpuId};

/// Ticks from one accounting to the next (`CSCHED_TICKS_PER_ACCT`).
pub(super) const TICKS_PER_ACCOUNTING: u64 = 3;

/// What an accounting hands to the VCPUs of one domain.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// To each active VCPU.
    each: i64,
    /// If the domain has a cap, a VCPU that owes more than this is parked.
    park_below: Option<i64>,
}

/// `amount` x `part` / `whole`, rounded up.
fn portion(amount: i64, part: i64, whole: i64) -> i64 {
    let (amount, part, whole) = (i128::from(amount), i128::from(part), i128::from(whole));
    ((amount * part + whole - 1) / whole) as i64
}

impl Credit {
    /// Handles the ticks that are due. A tick that is due now comes before everything else that happens now.
    pub(super) fn advance(&mut self, now_ns: u64, orders: &mut Orders) {
        while let Some(at_ns) = self.tick_at_ns.filter(|at_ns| *at_ns <= now_ns) {
            self.tick(at_ns);
            if (at_ns / self.rules.tick_ns).is_multiple_of(TICKS_PER_ACCOUNTING) {
                self.account(orders);
            }
            let busy = !self.active.is_empty() || self.pcpus.iter().any(|pcpu| pcpu.running.is_some());
            self.tick_at_ns = busy.then_some(at_ns + self.rules.tick_ns);
            if let Some(next_ns) = self.tick_at_ns {
                orders.set_timer(0, next_ns.max(now_ns));
            }
        }
    }

    /// Keeps the ticks going while there is a VCPU to charge or to pay; they are at whole multiples of the
    /// tick.
    pub(super) fn keep_ticking(&mut self, now_ns: u64, orders: &mut Orders) {
        if self.tick_at_ns.is_none() {
            let next_ns = (now_ns / self.rules.tick_ns + 1) * self.rules.tick_ns;
            self.tick_at_ns = Some(next_ns);
            orders.set_timer(0, next_ns);
        }
    }

    /// Charges the VCPUs that run, and ends their boost (`csched_vcpu_acct`).
    fn tick(&mut self, at_ns: u64) {
        for pcpu in 0..self.pcpus.len() {
            if let Some(id) = self.pcpus[pcpu].running
                && self.vcpus.contains(id)
            {
                match self.rules.accounting {
                    Accounting::Sampled => self.vcpus[id].credit_ns -= self.rules.tick_ns as i64,
                    Accounting::Exact => self.burn(PcpuId(pcpu as u32), at_ns),
                }
                let vcpu = &mut self.vcpus[id];
                vcpu.class = vcpu.class.max(Class::Under);
                let newly_active = !std::mem::replace(&mut vcpu.active, true);
                let dom = vcpu.dom;
                if newly_active {
                    let domain = &mut self.domains[dom];
                    domain.active += 1;
                    if domain.active == 1 {
                        self.active.push_front(dom);
                    }
                }
            }
        }
    }

    /// Charges the VCPU on `pcpu` for the time it ran since it was last charged.
    pub(super) fn burn(&mut self, pcpu: PcpuId, now_ns: u64) {
        let pcpu = &mut self.pcpus[pcpu.index()];
        let ran_ns = now_ns - pcpu.charged_ns;
        pcpu.charged_ns = now_ns;
        if let Some(id) = pcpu.running {
            self.vcpus[id].credit_ns -= ran_ns as i64;
        }
    }

    /// Hands out one period's credits by weight, and sets the class of every active VCPU.
    fn account(&mut self, orders: &mut Orders) {
        let parts = self.parts();
        let mut unparked = Vec::new();
        let mut out_of_order = vec![false; self.pcpus.len()];
        self.balance_ns = 0;
        for (dom, part) in parts {
            for index in 0..self.domains[dom].vcpus.len() {
                let id = self.domains[dom].vcpus[index];
                if self.vcpus[id].active {
                    if self.pay(id, part, orders) {
                        unparked.push(id);
                    }
                    let vcpu = &mut self.vcpus[id];
                    let credit_ns = vcpu.credit_ns;
                    if let Some(place) = vcpu.place.filter(|place| place.class != vcpu.class) {
                        out_of_order[place.pcpu.index()] = true;
                    }
                    self.balance_ns += credit_ns;
                }
            }
        }
        let domains = &self.domains;
        self.active.retain(|dom| domains.get(*dom).is_some_and(|domain| domain.active > 0));
        for pcpu in (0..self.pcpus.len()).filter(|pcpu| out_of_order[*pcpu]) {
            self.reorder(PcpuId(pcpu as u32));
        }
        for id in unparked {
            self.enqueue(id, orders);
        }
    }

    /// Computes what each active domain gets, in the order of the list, and moves domains to its head.
    fn parts(&mut self) -> Vec<(DomId, Part)> {
        let period_ns = (TICKS_PER_ACCOUNTING * self.rules.tick_ns) as i64;
        let debt_ns = (-self.balance_ns).max(0);
        let mut total_ns = self.pcpus.len() as i64 * period_ns + debt_ns;
        let domain = |dom: &DomId| &self.domains[*dom];
        let weight_total: i64 = self.active.iter().map(|dom| domain(dom).weight).sum();
        let mut weight_left = weight_total;
        let mut somebody_could_use_more = false;
        let mut to_head = Vec::new();
        let mut parts = Vec::with_capacity(self.active.len());
        for dom in &self.active {
            let domain = domain(dom);
            weight_left -= domain.weight;
            let mut peak_ns = domain.active * period_ns + portion(debt_ns, domain.weight, weight_total);
            let mut park_below = None;
            if domain.cap_percent != 0 {
                let cap_ns = portion(period_ns, domain.cap_percent, 100);
                peak_ns = peak_ns.min(cap_ns);
                park_below = Some(portion(cap_ns, 1, domain.active));
            }
            let mut fair_ns = portion(total_ns, domain.weight, weight_total);
            if fair_ns < peak_ns {
                somebody_could_use_more = true;
            } else {
                if weight_left != 0 {
                    total_ns += portion(fair_ns - peak_ns, weight_total, weight_left);
                }
                if somebody_could_use_more {
                    to_head.push(*dom);
                }
                fair_ns = peak_ns;
            }
            parts.push((*dom, Part { each: portion(fair_ns, 1, domain.active), park_below }));
        }
        if !to_head.is_empty() {
            let moved: BTreeSet<_> = to_head.iter().copied().collect();
            self.active.retain(|dom| !moved.contains(dom));
            for dom in to_head {
                self.active.push_front(dom);
            }
        }
        parts
    }

    /// Gives an active VCPU its part. Returns whether it was parked until now and wants to run.
    fn pay(&mut self, id: VcpuId, part: Part, orders: &mut Orders) -> bool {
        let most_ns = self.rules.most_credit_ns;
        let vcpu = &mut self.vcpus[id];
        vcpu.credit_ns += part.each;
        if vcpu.credit_ns < 0 {
            vcpu.class = Class::Over;
            let parks = !vcpu.parked && part.park_below.is_some_and(|least| vcpu.credit_ns < -least);
            vcpu.parked |= parks;
            vcpu.credit_ns = vcpu.credit_ns.max(-most_ns);
            if parks {
                let runs_on = vcpu.runs_on;
                self.dequeue(id);
                if let Some(pcpu) = runs_on {
                    orders.reschedule(pcpu);
                }
            }
            return false;
        }
        vcpu.class = Class::Under;
        let unparks = std::mem::take(&mut vcpu.parked) && vcpu.awake && vcpu.runs_on.is_none();
        if vcpu.credit_ns > most_ns {
            vcpu.credit_ns = 0;
            self.deactivate(id);
        }
        unparks
    }

    /// A VCPU stops earning credits.
    pub(super) fn deactivate(&mut self, id: VcpuId) {
        let vcpu = &mut self.vcpus[id];
        vcpu.active = false;
        let dom = vcpu.dom;
        self.domains[dom].active -= 1;
    }
}
