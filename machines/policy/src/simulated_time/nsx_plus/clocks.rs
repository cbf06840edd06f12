//! The virtual clocks of the guests' VCPUs that are awake, and the least of them: simulated time.
//!
//! A clock that stands is stored as its LVT. A running clock advances as fast as the host's, so that its
//! distance from that clock (`offset`) does not change, nor does the order of the running clocks.
//!
//! Invariant: simulated time never falls. While no VCPU is awake it stands.

use std::collections::BTreeSet;

use crate::VcpuId;

#[derive(Debug, Default)]
pub(super) struct Clocks {
    stopped: BTreeSet<(i64, VcpuId)>,
    running: BTreeSet<(i64, VcpuId)>,
    reached_ns: i64,
}

impl Clocks {
    pub(super) fn stop(&mut self, vcpu: VcpuId, lvt_ns: i64) {
        self.stopped.insert((lvt_ns, vcpu));
    }

    pub(super) fn run(&mut self, vcpu: VcpuId, lvt_ns: i64, offset_ns: i64) {
        self.stopped.remove(&(lvt_ns, vcpu));
        self.running.insert((offset_ns, vcpu));
    }

    /// Removes the clock of `vcpu`, which stands at `lvt_ns` or runs with `offset_ns`.
    pub(super) fn leave(&mut self, vcpu: VcpuId, lvt_ns: i64, offset_ns: i64) {
        self.stopped.remove(&(lvt_ns, vcpu));
        self.running.remove(&(offset_ns, vcpu));
    }

    /// Simulated time: the least of all clocks.
    pub(super) fn least_ns(&mut self, now_ns: u64) -> i64 {
        let stopped = self.stopped.first().map(|(lvt_ns, _)| *lvt_ns);
        let running = self.running.first().map(|(offset_ns, _)| offset_ns + now_ns as i64);
        if let Some(least_ns) = stopped.into_iter().chain(running).min() {
            self.reached_ns = self.reached_ns.max(least_ns);
        }
        self.reached_ns
    }
}
