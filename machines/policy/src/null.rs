//! Xen's null scheduler (`xen/common/sched/null.c`, Xen 4.9 and later): a PCPU runs one VCPU, always the same one, or nothing.
//!
//! A VCPU that comes gets a free PCPU: its pin, or one of its soft affinity, or else any; the one that its number suggests before others
//! (`pick_res`). It keeps it until its domain goes, and leaves it idle while it sleeps. A VCPU for which there is none waits until one
//! becomes free (`unit_deassign`): the first in the queue that prefers that PCPU, or else the first that may run there.
//!
//! In Xen a VCPU that waits never runs, and only a line in the console says so. Here a domain with such VCPUs is refused unless the policy's
//! setting `wait` is true, so that nobody takes a guest that never ran for a slow one.
//!
//! State: for each PCPU the VCPU that it is for; the queue. Not work-conserving. Nobody is preempted, so there is no slice.

use std::collections::VecDeque;

use crate::affinity::Affinity;
use crate::per_vcpu::PerVcpu;
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

    /// `pcpu` is for nobody any more: the first that waits and prefers it gets it, or else the first that may run there.
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
        let own = &self.vcpus[id];
        match self.free_for(&own.affinity, own.home, &[]) {
            Some(pcpu) => {
                self.assign(id, pcpu);
                orders.reschedule(pcpu);
            }
            None => self.waiting.push_back(id),
        }
    }
}

impl Policy for Null {
    fn name(&self) -> &'static str {
        "null"
    }

    fn add(
        &mut self,
        _now_ns: u64,
        domain: &NewDomain,
        settings: &mut Settings,
        orders: &mut Orders,
    ) -> Result<(), PolicyError> {
        let soft = Affinity::soft(settings, self.pcpus())?;
        settings.finish(domain.dom.to_string())?;
        let pcpus = self.pcpus();
        let home = |id: &VcpuId, pin: &Option<PcpuId>| pin.unwrap_or(PcpuId(id.0 % pcpus));
        let newcomers: Vec<_> = domain.vcpus.iter().zip(&domain.pins).collect();
        if !self.may_wait {
            let mut taken = Vec::new();
            for (id, pin) in &newcomers {
                taken.extend(self.free_for(&soft.pinned(**pin), home(id, pin), &taken));
            }
            if taken.len() < newcomers.len() {
                let (vcpus, pcpus) = (newcomers.len() as u32, taken.len() as u32);
                return Err(PolicyError::TooManyVcpus { policy: "null", dom: domain.dom, vcpus, pcpus });
            }
        }
        for (id, pin) in newcomers {
            let (affinity, home) = (soft.pinned(*pin), home(id, pin));
            let vcpu = Vcpu { dom: domain.dom, affinity, home, awake: false, assigned: None, runs: false };
            self.vcpus.insert(*id, vcpu);
            self.settle(*id, orders);
        }
        Ok(())
    }

    fn remove(&mut self, _now_ns: u64, dom: DomId, orders: &mut Orders) {
        let ids: Vec<_> = self.vcpus.iter().filter(|(_, vcpu)| vcpu.dom == dom).map(|(id, _)| id).collect();
        // All leave before anybody gets one of their PCPUs.
        self.waiting.retain(|id| !ids.contains(id));
        let freed: Vec<_> = ids.iter().filter_map(|id| self.vcpus.remove(*id)?.assigned).collect();
        for pcpu in freed {
            self.release(pcpu, orders);
        }
    }

    /// Where a VCPU that has its PCPU already runs does not change: as in Xen, a new affinity counts when it is looked for anew.
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

    fn wake(&mut self, _now_ns: u64, vcpu: VcpuId, orders: &mut Orders) {
        let own = &mut self.vcpus[vcpu];
        own.awake = true;
        if let Some(pcpu) = own.assigned.filter(|_| !own.runs) {
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
        let own = &mut self.vcpus[id];
        own.runs = own.awake;
        Pick { vcpu: own.runs.then_some(id), slice_ns: None, examined: 0 }
    }

    /// It takes `pcpu` if that is free, or else waits for it; who waits gets the PCPU that it leaves (`null_unit_migrate`).
    fn migrate(&mut self, _now_ns: u64, vcpu: VcpuId, pcpu: PcpuId, pin: bool, orders: &mut Orders) {
        self.waiting.retain(|id| *id != vcpu);
        let own = &mut self.vcpus[vcpu];
        own.home = pcpu;
        own.affinity = own.affinity.pinned(pin.then_some(pcpu));
        let left = own.assigned.take();
        own.runs = false;
        if let Some(left) = left {
            self.assigned[left.index()] = None;
        }
        self.settle(vcpu, orders);
        if let Some(left) = left.filter(|left| self.assigned[left.index()].is_none()) {
            self.release(left, orders);
        }
    }

    fn dump(&self, _now_ns: u64) -> Vec<Standing> {
        let row = |(vcpu, own): (VcpuId, &Vcpu)| {
            let keys = vec![("pcpu", own.assigned.map_or(-1, |pcpu| i64::from(pcpu.0)))];
            Standing { vcpu, runs_on: own.assigned.filter(|_| own.runs), awake: own.awake, keys }
        };
        self.vcpus.iter().map(row).collect()
    }
}
