//! Observers of a running machine: traces and plots.
//!
//! Domains are numbered over the whole machine: the privileged one of each host first, then guests in the
//! order of the spec; PCPUs and VCPUs likewise.
//!
//! Invariant: whatever an observer does, the run is the same.

use crate::ids::{DomId, PcpuId, VcpuId};

/// Receives what happens in the machine; the default of every method does nothing.
pub trait Observer {
    /// VCPU `vcpu` of domain `dom` ran on PCPU `pcpu` without a break, the hypervisor's work for it included.
    fn ran(&mut self, _pcpu: PcpuId, _dom: DomId, _vcpu: VcpuId, _from_ns: u64, _to_ns: u64) {}

    /// A process of domain `dom` has put an LVT on its page.
    fn lvt(&mut self, _dom: DomId, _at_ns: u64, _lvt_ns: u64) {}

    /// A message from domain `from` has reached a process of domain `to`.
    fn message(&mut self, _from: DomId, _to: DomId, _sent_ns: u64, _at_ns: u64) {}
}
