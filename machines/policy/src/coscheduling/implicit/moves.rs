//! The moves of implicit co-scheduling: between waiting and running, to the front, to another PCPU.
//!
//! Invariant: a VCPU that is awake either runs on its PCPU or waits in that PCPU's queue and, unless it is
//! pinned, in `free` too.

use super::Implicit;
use super::queue::Place;
use crate::{Orders, PcpuId, Pick, VcpuId};

impl Implicit {
    pub(super) fn has_messages(&self, id: VcpuId) -> bool {
        self.doms[self.vcpus[id].dom].messages > 0
    }

    /// Lets `id`, which does not run, wait at `place`.
    pub(super) fn wait(&mut self, id: VcpuId, place: Place) {
        self.numbers += 1;
        let (since, messages) = (self.numbers, self.has_messages(id));
        let vcpu = &mut self.vcpus[id];
        vcpu.waits = Some(place);
        vcpu.since = since;
        let (home, pinned) = (vcpu.home, vcpu.pinned);
        self.queues[home.index()].insert(place, since, id, messages);
        if !pinned {
            self.free.insert(since, id);
        }
    }

    pub(super) fn stop_waiting(&mut self, id: VcpuId) {
        let vcpu = &mut self.vcpus[id];
        if let Some(place) = vcpu.waits.take() {
            self.queues[vcpu.home.index()].remove(place, vcpu.since, id);
            self.free.remove(vcpu.since, id);
        }
    }

    /// Asks an idle PCPU to run `id`, which has begun to wait: its own, else another one. Returns whether
    /// there is one.
    pub(super) fn offer(&mut self, id: VcpuId, orders: &mut Orders) -> bool {
        let vcpu = &self.vcpus[id];
        let (home, pinned) = (vcpu.home, vcpu.pinned);
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
        let home = self.vcpus[id].home;
        let place = self.queues[home.index()].boosted();
        self.wait(id, place);
        orders.reschedule(home);
    }

    pub(super) fn boost_first(&mut self, pcpu: PcpuId, orders: &mut Orders) {
        if let Some(id) = self.queues[pcpu.index()].first_with_messages() {
            self.boost(id, orders);
        }
    }

    /// Charges the VCPU that runs on `pcpu` and takes it off.
    pub(super) fn take_off(&mut self, now_ns: u64, pcpu: PcpuId) -> Option<VcpuId> {
        let id = self.queues[pcpu.index()].running.take()?;
        let vcpu = &mut self.vcpus[id];
        vcpu.used_ns += now_ns - vcpu.charged_ns;
        Some(id)
    }

    /// The VCPU to run next on `pcpu`: the first in its queue, else the one that has waited longest
    /// elsewhere.
    pub(super) fn next(&mut self, pcpu: PcpuId) -> Option<VcpuId> {
        let first_here = self.queues[pcpu.index()].first().map(|(_, id)| id);
        let id = first_here.or(self.free.first().map(|(_, id)| id))?;
        self.stop_waiting(id);
        self.move_home(id, pcpu);
        Some(id)
    }

    pub(super) fn move_home(&mut self, id: VcpuId, pcpu: PcpuId) {
        let home = std::mem::replace(&mut self.vcpus[id].home, pcpu);
        self.queues[home.index()].vcpus -= 1;
        self.queues[pcpu.index()].vcpus += 1;
    }

    /// Lets `id` run for what is left of its slice.
    pub(super) fn run(&mut self, now_ns: u64, pcpu: PcpuId, id: VcpuId) -> Pick {
        self.queues[pcpu.index()].running = Some(id);
        let slice_ns = self.slice_ns;
        let vcpu = &mut self.vcpus[id];
        vcpu.charged_ns = now_ns;
        Pick { vcpu: Some(id), slice_ns: Some(slice_ns - vcpu.used_ns), examined: 0 }
    }
}
