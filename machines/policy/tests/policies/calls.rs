//! The calls that a policy gets from the laboratory in the name of its VCPUs and domains.

use paceline_policy::{DomId, PcpuId, VcpuId};

use crate::lab::Lab;
use crate::watch::key;

impl Lab {
    /// From now on so many messages are pending for a domain.
    pub fn pending(&mut self, dom: u32, messages: u32) {
        self.call(|policy, now_ns, orders| policy.pending(now_ns, DomId(dom), messages, orders));
    }

    /// A VCPU begins or ends a simulation.
    pub fn mode(&mut self, vcpu: u32, simulates: bool) {
        self.call(|policy, now_ns, orders| policy.mode(now_ns, VcpuId(vcpu), simulates, orders));
    }

    /// A VCPU puts an LVT on its page.
    pub fn lvt(&mut self, vcpu: u32, lvt_ns: u64) {
        self.call(|policy, now_ns, orders| policy.lvt(now_ns, VcpuId(vcpu), lvt_ns, orders));
    }

    /// A VCPU sets or clears the flag by which it says that it waits.
    pub fn waiting(&mut self, vcpu: u32, waits: bool) {
        self.call(|policy, now_ns, orders| policy.waiting(now_ns, VcpuId(vcpu), waits, orders));
    }

    /// Moves a VCPU to a PCPU, and pins it there or not.
    pub fn migrate(&mut self, vcpu: u32, pcpu: u32, pin: bool) {
        self.call(|policy, now_ns, orders| {
            policy.migrate(now_ns, VcpuId(vcpu), PcpuId(pcpu), pin, orders);
        });
    }

    /// A value of a VCPU in the policy's dump, by name.
    pub fn key(&self, vcpu: u32, name: &str) -> i64 {
        let dump = self.policy.dump(self.now_ns);
        key(dump.iter().find(|standing| standing.vcpu == VcpuId(vcpu)).expect("it is there"), name)
    }
}
