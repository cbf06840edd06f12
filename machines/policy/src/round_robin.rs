//! Round robin: all VCPUs in turn, for a slice each. The reference to read first (co-scheduling thesis,
//! section 3.1.5.2).
//!
//! State: one queue for the host, of VCPUs that are awake and do not run. A VCPU that wakes, or has used up
//! its slice, goes to the end. A PCPU takes the first that may run there. Work-conserving; no VCPU starves:
//! each of the others is served at most once before it is served again.

use std::collections::VecDeque;

use crate::per_id::PerVcpu;
use crate::settings::Settings;
use crate::{
    DomId, Host, MILLISECOND, NewDomain, Orders, PcpuId, Pick, Policy, PolicyError, Standing, VcpuId,
};

/// The policy; [`RoundRobin::from_settings`] makes it.
#[derive(Debug)]
pub struct RoundRobin {
    slice_ns: u64,
    queue: VecDeque<VcpuId>,
    vcpus: PerVcpu<Vcpu>,
    running: Vec<Option<VcpuId>>,
}

#[derive(Clone, Debug)]
struct Vcpu {
    dom: DomId,
    pin: Option<PcpuId>,
    awake: bool,
}

impl RoundRobin {
    /// For `host`, with the setting `slice` (10 ms).
    pub fn from_settings(settings: &mut Settings, host: Host) -> Result<Self, PolicyError> {
        let slice_ns = settings.nanos("slice", 10 * MILLISECOND, 1_000, 1_000 * MILLISECOND)?;
        Ok(Self {
            slice_ns,
            queue: VecDeque::new(),
            vcpus: PerVcpu::default(),
            running: vec![None; host.pcpus as usize],
        })
    }

    /// Asks for a decision on an idle PCPU that may run a VCPU with this `pin`.
    fn ask_idle(&self, pin: Option<PcpuId>, orders: &mut Orders) {
        let may = |pcpu: &usize| pin.is_none_or(|pin| pin.index() == *pcpu);
        let idle = (0..self.running.len()).filter(may).find(|pcpu| self.running[*pcpu].is_none());
        if let Some(pcpu) = idle {
            orders.reschedule(PcpuId(pcpu as u32));
        }
    }

    fn runs_on(&self, id: VcpuId) -> Option<PcpuId> {
        let found = self.running.iter().position(|running| *running == Some(id));
        found.map(|pcpu| PcpuId(pcpu as u32))
    }
}

impl Policy for RoundRobin {
    fn add(
        &mut self,
        _now_ns: u64,
        domain: &NewDomain,
        settings: &mut Settings,
        _orders: &mut Orders,
    ) -> Result<(), PolicyError> {
        settings.finish(domain.dom.to_string())?;
        for (id, pin) in domain.members() {
            self.vcpus.insert(id, Vcpu { dom: domain.dom, pin, awake: false });
        }
        Ok(())
    }

    fn remove(&mut self, _now_ns: u64, dom: DomId, _orders: &mut Orders) {
        for id in self.vcpus.ids(|vcpu| vcpu.dom == dom) {
            self.vcpus.remove(id);
        }
    }

    fn wake(&mut self, _now_ns: u64, id: VcpuId, orders: &mut Orders) {
        let vcpu = &mut self.vcpus[id];
        vcpu.awake = true;
        let pin = vcpu.pin;
        self.queue.push_back(id);
        self.ask_idle(pin, orders);
    }

    fn sleep(&mut self, _now_ns: u64, vcpu: VcpuId, _orders: &mut Orders) {
        self.vcpus[vcpu].awake = false;
        self.queue.retain(|other| *other != vcpu);
    }

    fn pick(&mut self, _now_ns: u64, pcpu: PcpuId, orders: &mut Orders) -> Pick {
        if let Some(last) = self.running[pcpu.index()].take()
            && self.vcpus.get(last).is_some_and(|vcpu| vcpu.awake)
        {
            self.queue.push_back(last);
        }
        let may = |id: &VcpuId| self.vcpus[*id].pin.is_none_or(|pin| pin == pcpu);
        let position = self.queue.iter().position(may);
        let vcpu = position.and_then(|position| self.queue.remove(position));
        self.running[pcpu.index()] = vcpu;
        // Several VCPUs that woke at this instant may have asked this PCPU only.
        if let Some(waiting) = self.queue.front().copied() {
            self.ask_idle(self.vcpus[waiting].pin, orders);
        }
        Pick { vcpu, slice_ns: vcpu.map(|_| self.slice_ns), examined: 0 }
    }

    fn migrate(&mut self, _now_ns: u64, vcpu: VcpuId, pcpu: PcpuId, pin: bool, orders: &mut Orders) {
        self.vcpus[vcpu].pin = pin.then_some(pcpu);
        if self.running[pcpu.index()].is_none() {
            orders.reschedule(pcpu);
        }
    }

    fn dump(&self, _now_ns: u64) -> Vec<Standing> {
        self.vcpus.standings(|id, vcpu| {
            let place = self.queue.iter().position(|other| *other == id);
            let keys = place.map(|place| ("place", place as i64)).into_iter().collect();
            Standing { vcpu: id, runs_on: self.runs_on(id), awake: vcpu.awake, keys }
        })
    }
}
