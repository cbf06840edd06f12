//! Caps of credit2 (`xen/common/sched/credit2.c`, "Utilization cap"; Xen 4.10 and later): a domain gets a
//! budget of CPU time in every period, its cap in percent of a PCPU.
//!
//! The budget lies with the domain. A VCPU that is to run takes its quota of it, or what is left
//! (`unit_grab_budget`); it gives back what it has not used when it stops (`unit_return_budget`). One that
//! gets nothing is parked until some is given back or the period ends (`replenish_domain_budget`). A VCPU may
//! run beyond its budget, since no slice is shorter than half a millisecond; its domain has as much less
//! later, so a cap is kept on average.
//!
//! Invariant: a parked VCPU is in the list of its domain and waits in no queue.

use super::{Credit2, LEAST_SLICE_NS};
use crate::{DomId, Orders, VcpuId};

#[derive(Debug)]
pub(super) struct Cap {
    pub(super) percent: u64,
    /// What it gets in every period.
    total_ns: i64,
    /// What nobody has taken of it; below zero if more was run.
    left_ns: i64,
    /// When the period ends.
    until_ns: u64,
    /// What one VCPU takes at once.
    quota_ns: i64,
    /// Those that wait for some, in the order in which they began to.
    parked: Vec<VcpuId>,
}

impl Credit2 {
    /// Gives a domain this cap; zero is none.
    pub(super) fn set_cap(&mut self, now_ns: u64, dom: DomId, percent: u64, orders: &mut Orders) {
        let ids = self.vcpus.ids(|vcpu| vcpu.dom == dom);
        if percent == 0 {
            if let Some(cap) = self.caps.remove(&dom) {
                ids.iter().for_each(|id| self.vcpus[*id].budget_ns = None);
                self.unpark(now_ns, cap.parked, orders);
            }
            return;
        }
        let total_ns = (self.cap_period_ns * percent / 100) as i64;
        let quota_ns = (total_ns / ids.len().max(1) as i64).max(LEAST_SLICE_NS as i64);
        if let Some(cap) = self.caps.get_mut(&dom) {
            (cap.percent, cap.total_ns, cap.quota_ns) = (percent, total_ns, quota_ns);
            return;
        }
        let until_ns = now_ns + self.cap_period_ns;
        let cap = Cap { percent, total_ns, left_ns: total_ns, until_ns, quota_ns, parked: Vec::new() };
        self.caps.insert(dom, cap);
        orders.set_timer(dom.0, until_ns);
        for id in ids {
            self.vcpus[id].budget_ns = Some(0);
            // Who runs has to ask for budget at once.
            if let Some(pcpu) = self.vcpus[id].runs_on {
                orders.reschedule(pcpu);
            }
        }
    }

    /// Whether a VCPU may run: it has budget, or gets some; otherwise it is parked (`unit_grab_budget`).
    pub(super) fn has_budget(&mut self, id: VcpuId) -> bool {
        let vcpu = &mut self.vcpus[id];
        let Some(budget_ns) = vcpu.budget_ns.filter(|budget_ns| *budget_ns <= 0) else { return true };
        let cap = self.caps.get_mut(&vcpu.dom).expect("a VCPU has a budget only if its domain has a cap");
        // What it has run too much is taken from the domain.
        cap.left_ns += budget_ns;
        let gets_ns = cap.quota_ns.min(cap.left_ns).max(0);
        cap.left_ns -= gets_ns;
        vcpu.budget_ns = Some(gets_ns);
        if gets_ns == 0 {
            vcpu.parked = true;
            cap.parked.push(id);
            self.dequeue(id);
        }
        gets_ns > 0
    }

    /// A VCPU has stopped: what is left of its budget is its domain's again, and others may take it
    /// (`unit_return_budget`).
    pub(super) fn give_back(&mut self, now_ns: u64, id: VcpuId, orders: &mut Orders) {
        let vcpu = &mut self.vcpus[id];
        let Some(budget_ns) = vcpu.budget_ns.filter(|budget_ns| *budget_ns > 0) else { return };
        vcpu.budget_ns = Some(0);
        let cap = self.caps.get_mut(&vcpu.dom).expect("a VCPU has a budget only if its domain has a cap");
        cap.left_ns += budget_ns;
        if cap.left_ns > 0 {
            let parked = std::mem::take(&mut cap.parked);
            self.unpark(now_ns, parked, orders);
        }
    }

    /// A period of the domain has ended (`replenish_domain_budget`).
    pub(super) fn replenish(&mut self, now_ns: u64, dom: DomId, orders: &mut Orders) {
        // The domain may have gone, or have no cap any more.
        let Some(cap) = self.caps.get_mut(&dom) else { return };
        while cap.until_ns <= now_ns {
            cap.until_ns += self.cap_period_ns;
            cap.left_ns += cap.total_ns;
        }
        cap.left_ns = cap.left_ns.min(cap.total_ns);
        orders.set_timer(dom.0, cap.until_ns);
        if cap.left_ns > 0 {
            let parked = std::mem::take(&mut cap.parked);
            self.unpark(now_ns, parked, orders);
        }
    }

    /// They compete again; some may be parked anew when it comes to their turn.
    fn unpark(&mut self, now_ns: u64, parked: Vec<VcpuId>, orders: &mut Orders) {
        for id in parked {
            let vcpu = &mut self.vcpus[id];
            vcpu.parked = false;
            if vcpu.awake && vcpu.runs_on.is_none() {
                self.enqueue(id);
                self.tickle(now_ns, id, orders);
            }
        }
    }
}
