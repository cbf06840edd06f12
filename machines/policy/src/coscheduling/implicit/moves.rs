//! The moves of implicit co-scheduling: between waiting and running, to the front, to another PCPU.
//!
//! Invariant: a VCPU that is awake either runs on its PCPU or waits in that PCPU's queue and, unless it is pinned, in `free` too.

use super::queue::Place;
use super::{Domain, Implicit, Vcpu};
use crate::{DomId, Orders, PcpuId, Pick, VcpuId};

impl Implicit {
    pub(super) fn vcpu(&self, id: VcpuId) -> &Vcpu {
        self.vcpus[id.index()].as_ref().expect("the host names only VCPUs that it added")
    }

    pub(super) fn vcpu_mut(&mut self, id: VcpuId) -> &mut Vcpu {
        self.vcpus[id.index()].as_mut().expect("the host names only VCPUs that it added")
    }

    pub(super) fn dom_mut(&mut self, dom: DomId) -> &mut Domain {
        self.doms[dom.index()].as_mut().expect("the host names only domains that it added")
    }

    pub(super) fn has_messages(&self, id: VcpuId) -> bool {
        self.doms[self.vcpu(id).dom.index()].as_ref().is_some_and(|dom| dom.messages > 0)
    }

    /// Lets `id`, which does not run, wait at `place`.
    pub(super) fn wait(&mut self, id: VcpuId, place: Place) {
        self.numbers += 1;
        let (since, messages) = (self.numbers, self.has_messages(id));
        let own = self.vcpu_mut(id);
        own.waits = Some(place);
        own.since = since;
        let (home, pinned) = (own.home, own.pinned);
        self.queues[home.index()].insert(place, since, id, messages);
        if !pinned {
            self.free.insert(since, id);
        }
    }

    /// `id` waits no longer.
    pub(super) fn stop_waiting(&mut self, id: VcpuId) {
        let own = self.vcpus[id.index()].as_mut().expect("the host names only VCPUs that it added");
        if let Some(place) = own.waits.take() {
            self.queues[own.home.index()].remove(place, own.since, id);
            self.free.remove(own.since, id);
        }
    }

    /// Asks an idle PCPU to run `id`, which has begun to wait: its own, else another one. Returns whether there is one.
    pub(super) fn offer(&mut self, id: VcpuId, orders: &mut Orders) -> bool {
        let own = self.vcpu(id);
        let (home, pinned) = (own.home, own.pinned);
        let taker = if self.idle.contains(&home) { Some(home) } else { self.idle.first().copied() };
        let taker = taker.filter(|taker| !pinned || *taker == home);
        if let Some(taker) = taker {
            self.idle.remove(&taker);
            orders.reschedule(taker);
        }
        taker.is_some()
    }

    /// Moves `id`, which waits, to the front.
    pub(super) fn boost(&mut self, id: VcpuId, orders: &mut Orders) {
        self.stop_waiting(id);
        let home = self.vcpu(id).home;
        let place = self.queues[home.index()].boosted();
        self.wait(id, place);
        orders.reschedule(home);
    }

    /// Boosts the first VCPU with messages on `pcpu`.
    pub(super) fn boost_first(&mut self, pcpu: PcpuId, orders: &mut Orders) {
        if let Some(id) = self.queues[pcpu.index()].first_with_messages() {
            self.boost(id, orders);
        }
    }

    /// Charges the VCPU that runs on `pcpu` and takes it off.
    pub(super) fn take_off(&mut self, now_ns: u64, pcpu: PcpuId) -> Option<VcpuId> {
        let id = self.queues[pcpu.index()].running.take()?;
        let own = self.vcpu_mut(id);
        own.used_ns += now_ns - own.charged_ns;
        Some(id)
    }

    /// The VCPU to run next on `pcpu`: the first in its queue, else the one that has waited longest elsewhere.
    pub(super) fn next(&mut self, pcpu: PcpuId) -> Option<VcpuId> {
        let own = self.queues[pcpu.index()].first().map(|(_, id)| id);
        let id = own.or(self.free.first().map(|(_, id)| id))?;
        self.stop_waiting(id);
        self.move_home(id, pcpu);
        Some(id)
    }

    pub(super) fn move_home(&mut self, id: VcpuId, pcpu: PcpuId) {
        let home = std::mem::replace(&mut self.vcpu_mut(id).home, pcpu);
        self.queues[home.index()].vcpus -= 1;
        self.queues[pcpu.index()].vcpus += 1;
    }

    /// Lets `id` run for what is left of its slice.
    pub(super) fn run(&mut self, now_ns: u64, pcpu: PcpuId, id: VcpuId) -> Pick {
        self.queues[pcpu.index()].running = Some(id);
        let slice_ns = self.slice_ns;
        let own = self.vcpu_mut(id);
        own.charged_ns = now_ns;
        Pick { vcpu: Some(id), slice_ns: Some(slice_ns - own.used_ns), examined: 0 }
    }
}
