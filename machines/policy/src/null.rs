//! Xen's null scheduler (`xen/common/sched/null.c`, Xen 4.9 and later): a PCPU runs one VCPU, always the same
//! one, or nothing.
//!
//! A VCPU that comes gets a free PCPU: its pin, or one of its soft affinity, or else any; the one that its
//! number suggests before others (`pick_res`). It keeps it until its domain goes, and leaves it idle while it
//! sleeps. A VCPU for which there is none waits until one becomes free (`unit_deassign`): the first in the
//! queue that prefers that PCPU, or else the first that may run there.
//!
//! In Xen a VCPU that waits never runs, and only a line in the console says so. Here a domain with such VCPUs
//! is refused unless the policy's setting `wait` is true, so that nobody takes a guest that never ran for a
//! slow one.
//!
//! State: for each PCPU the VCPU that it is for; the queue. Not work-conserving. Nobody is preempted, so
//! there is no slice.

use std::collections::VecDeque;

use crate::affinity::Affinity;
use crate::per_id::PerVcpu;
use crate::settings::Settings;
use crate::{DomId, Host, NewDomain, Orders, PcpuId, Pick, Policy, PolicyError, Standing, VcpuId};

#[derive(Clone, Debug)]
struct Vcpu {
    dom: DomId,
    affinity: Affinity,
    /// The PCPU that its number suggests.
    home: PcpuId,
    awake: bool,
    /// The PCPU that is for it.
    assigned: Option<PcpuId>,
    runs: bool,
}

/// The null scheduler.
#[derive(Debug)]
pub struct Null {
    may_wait: bool,
    vcpus: PerVcpu<Vcpu>,
    /// By PCPU: the VCPU that it is for.
    assigned: Vec<Option<VcpuId>>,
    waiting: VecDeque<VcpuId>,
}

impl Null {
    /// For `host`, with the setting `wait` (false): whether a VCPU may come for which no PCPU is free.
    pub fn from_settings(settings: &mut Settings, host: Host) -> Result<Self, PolicyError> {
        Ok(Self {
            may_wait: settings.flag("wait", false)?,
            vcpus: PerVcpu::default(),
            assigned: vec![None; host.pcpus as usize],
            waiting: VecDeque::new(),
        })
    }

    fn pcpus(&self) -> u32 {
        self.assigned.len() as u32
    }

    /// The free PCPU that a VCPU gets (`pick_res`).
    fn free_for(&self, affinity: &Affinity, home: PcpuId, taken: &[PcpuId]) -> Option<PcpuId> {
        let home_first = std::iter::once(home).chain((0..self.pcpus()).map(PcpuId));
        let free = |pcpu: &PcpuId| self.assigned[pcpu.index()].is_none() && !taken.contains(pcpu);
        let may = home_first.filter(free).filter(|pcpu| affinity.may_run_on(*pcpu));
        may.clone().find(|pcpu| affinity.prefers(*pcpu)).or_else(|| may.clone().next())
    }

    fn assign(&mut self, vcpu: VcpuId, pcpu: PcpuId) {
        self.assigned[pcpu.index()] = Some(vcpu);
        self.vcpus[vcpu].assigned = Some(pcpu);
    }

    /// `pcpu` is for nobody any more: the first that waits and prefers it gets it, or else the first that may
    /// run there.
    fn release(&mut self, pcpu: PcpuId, orders: &mut Orders) {
        self.assigned[pcpu.index()] = None;
        let mut waiting = self.waiting.iter();
        let preferring = waiting.clone().position(|id| self.vcpus[*id].affinity.prefers(pcpu));
        let found = preferring.or_else(|| waiting.position(|id| self.vcpus[*id].affinity.may_run_on(pcpu)));
        if let Some(id) = found.and_then(|place| self.waiting.remove(place)) {
            self.assign(id, pcpu);
            orders.reschedule(pcpu);
        }
    }

    /// Gives a VCPU a free PCPU, or a place at the end of the queue.
    fn settle(&mut self, id: VcpuId, orders: &mut Orders) {
        let vcpu = &self.vcpus[id];
        match self.free_for(&vcpu.affinity, vcpu.home, &[]) {
            Some(pcpu) => {
                self.assign(id, pcpu);
                orders.reschedule(pcpu);
            }
            None => self.waiting.push_back(id),
        }
    }
}

impl Policy for Null {
    fn add(
        &mut self,
        _now_ns: u64,
        domain: &NewDomain,
        settings: &mut Settings,
        orders: &mut Orders,
    ) -> Result<(), PolicyError> {
        let soft = Affinity::soft(settings, self.pcpus())?;
        settings.finish(domain.dom.to_string())?;
        if !self.may_wait {
            // Tried before anything changes: a domain that is refused leaves no trace.
            let mut taken = Vec::new();
            for (_, pin, home) in domain.homes(self.pcpus()) {
                taken.extend(self.free_for(&soft.pinned(pin), home, &taken));
            }
            if taken.len() < domain.vcpus.len() {
                let (vcpus, pcpus) = (domain.vcpus.len() as u32, taken.len() as u32);
                return Err(PolicyError::TooManyVcpus { policy: "null", dom: domain.dom, vcpus, pcpus });
            }
        }
        for (id, pin, home) in domain.homes(self.pcpus()) {
            let affinity = soft.pinned(pin);
            let vcpu = Vcpu { dom: domain.dom, affinity, home, awake: false, assigned: None, runs: false };
            self.vcpus.insert(id, vcpu);
            self.settle(id, orders);
        }
        Ok(())
    }

    fn remove(&mut self, _now_ns: u64, dom: DomId, orders: &mut Orders) {
        let ids = self.vcpus.ids(|vcpu| vcpu.dom == dom);
        // All leave before anybody gets one of their PCPUs.
        self.waiting.retain(|id| !ids.contains(id));
        let freed: Vec<_> = ids.iter().filter_map(|id| self.vcpus.remove(*id)?.assigned).collect();
        for pcpu in freed {
            self.release(pcpu, orders);
        }
    }

    /// Where a VCPU that has its PCPU already runs does not change: as in Xen, a new affinity counts when it
    /// is looked for anew.
    fn adjust(
        &mut self,
        _now_ns: u64,
        dom: DomId,
        settings: &mut Settings,
        _orders: &mut Orders,
    ) -> Result<(), PolicyError> {
        let old = self.vcpus.iter().find(|(_, vcpu)| vcpu.dom == dom).map(|(_, vcpu)| vcpu.affinity.clone());
        let soft = Affinity::changed_soft(settings, self.pcpus(), old)?;
        settings.finish(dom.to_string())?;
        for (_, vcpu) in self.vcpus.iter_mut().filter(|(_, vcpu)| vcpu.dom == dom) {
            vcpu.affinity = soft.pinned(vcpu.affinity.pin());
        }
        Ok(())
    }

    fn wake(&mut self, _now_ns: u64, id: VcpuId, orders: &mut Orders) {
        let vcpu = &mut self.vcpus[id];
        vcpu.awake = true;
        if let Some(pcpu) = vcpu.assigned.filter(|_| !vcpu.runs) {
            orders.reschedule(pcpu);
        }
    }

    fn sleep(&mut self, _now_ns: u64, vcpu: VcpuId, _orders: &mut Orders) {
        self.vcpus[vcpu].awake = false;
    }

    /// There is nobody else to run.
    fn yields(&mut self, _now_ns: u64, _vcpu: VcpuId, _orders: &mut Orders) {}

    fn pick(&mut self, _now_ns: u64, pcpu: PcpuId, _orders: &mut Orders) -> Pick {
        let Some(id) = self.assigned[pcpu.index()] else { return Pick::default() };
        let vcpu = &mut self.vcpus[id];
        vcpu.runs = vcpu.awake;
        Pick { vcpu: vcpu.runs.then_some(id), slice_ns: None, examined: 0 }
    }

    /// It takes `pcpu` if that is free, or else waits for it; who waits gets the PCPU that it leaves
    /// (`null_unit_migrate`).
    fn migrate(&mut self, _now_ns: u64, id: VcpuId, pcpu: PcpuId, pin: bool, orders: &mut Orders) {
        self.waiting.retain(|other| *other != id);
        let vcpu = &mut self.vcpus[id];
        vcpu.home = pcpu;
        vcpu.affinity = vcpu.affinity.pinned(pin.then_some(pcpu));
        let left = vcpu.assigned.take();
        vcpu.runs = false;
        if let Some(left) = left {
            self.assigned[left.index()] = None;
        }
        self.settle(id, orders);
        if let Some(left) = left.filter(|left| self.assigned[left.index()].is_none()) {
            self.release(left, orders);
        }
    }

    fn dump(&self, _now_ns: u64) -> Vec<Standing> {
        self.vcpus.standings(|id, vcpu| {
            let keys = vec![("pcpu", vcpu.assigned.map_or(-1, |pcpu| i64::from(pcpu.0)))];
            Standing { vcpu: id, runs_on: vcpu.assigned.filter(|_| vcpu.runs), awake: vcpu.awake, keys }
        })
    }
}
