//! Looking on while the machine runs: traces and plots.
//!
//! Domains are numbered over the whole machine: the privileged one of each host first, then guests in the order of the spec;
//! PCPUs and VCPUs likewise.
//!
//! Invariant: whatever an observer does, the run is the same.

/// Is told what happens; every method does nothing unless it is written.
pub trait Observer {
    /// VCPU `vcpu` of domain `dom` ran on PCPU `pcpu` without a break, the hypervisor's work for it included.
    fn ran(&mut self, _pcpu: u32, _dom: u32, _vcpu: u32, _from_ns: u64, _to_ns: u64) {}

    /// A process of domain `dom` has put an LVT on its page.
    fn lvt(&mut self, _dom: u32, _at_ns: u64, _lvt_ns: u64) {}

    /// A message from domain `from` has come to a process of domain `to`.
    fn message(&mut self, _from: u32, _to: u32, _sent_ns: u64, _at_ns: u64) {}
}
