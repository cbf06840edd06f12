//! Machines in a few words, and an observer that writes down who ran where and when.
//!
//! Times in the tests by hand are microseconds where [`US`] stands, and costs are round so that every sum can
//! be done by head.

use paceline_machine::{
    Costs, DomId, DomainSpec, HostSpec, LinkSpec, MachineError, MachineSpec, Observer, PcpuId, Program, Ran,
    VcpuId, run, run_observed,
};
use paceline_policy::Setting;

use crate::script::{Act, repeated, script};

pub const US: u64 = 1_000;
pub const MS: u64 = 1_000_000;

/// Packets cost 10 us to send, 40 in the back-end, 5 at a NIC, 20 to take in, and 1 us a side for 1000 bytes;
/// the hypervisor costs nothing. A message within a guest costs 2 us. Two siblings have half a core each.
pub fn costs() -> Costs {
    Costs {
        decision_ns: 0,
        examined_ps: 0,
        switch_ns: 0,
        migration_ns: 0,
        smt_permille: 500,
        page_write_ns: 0,
        send_ns: 10 * US,
        response_ns: 0,
        receive_ns: 20 * US,
        backend_ns: 40 * US,
        event_ns: 0,
        nic_ns: 5 * US,
        byte_ps: 1_000,
        loopback_ns: 2 * US,
        guest_quantum_ns: MS,
        guest_switch_ns: 0,
        ring_slots: 256,
    }
}

/// A machine with those costs and one host with `pcpus` PCPUs, round robin with slices of 10 ms, nobody
/// pinned.
pub fn host(pcpus: u32) -> MachineSpec {
    let mut spec = MachineSpec { costs: costs(), ..MachineSpec::default() };
    spec.hosts.push(named_host("host", pcpus));
    spec
}

/// Two of those, and a link that takes 50 us and, for 1000 bytes, 8 us more.
pub fn two_hosts(pcpus: u32) -> MachineSpec {
    let mut spec = host(pcpus);
    spec.hosts.push(named_host("other", pcpus));
    spec.links.push(LinkSpec { from: 0, to: 1, latency_ns: 50 * US, bits_per_second: 1_000_000_000 });
    spec
}

fn named_host(name: &str, pcpus: u32) -> HostSpec {
    let mut host = HostSpec::new(name, pcpus, "round-robin");
    host.policy.settings.set("slice", Setting::Nanos(10 * MS));
    host
}

/// A domain with a process for each script.
pub fn domain(name: &str, scripts: &[&[Act]]) -> DomainSpec {
    DomainSpec::new(name, 0, scripts.iter().map(|acts| script(acts)).collect())
}

/// A domain with one process, pinned to `pin`.
pub fn pinned(name: &str, host: u32, pin: u32, acts: &[Act]) -> DomainSpec {
    let process: Box<dyn Program> = script(acts);
    DomainSpec { pins: vec![pin], ..DomainSpec::new(name, host, vec![process]) }
}

/// Competing load: always computes, pinned to `pin`.
pub fn hog(host: u32, pin: u32) -> DomainSpec {
    let hog = DomainSpec::new("hog", host, vec![repeated(&[Act::Compute(1_000 * MS)])]);
    DomainSpec { pins: vec![pin], background: true, ..hog }
}

/// Runs a machine that is sound.
#[track_caller]
pub fn ran(spec: MachineSpec) -> Ran {
    run(spec).expect("the machine runs to its end")
}

/// Runs a machine that is sound, and says who ran where and when.
#[track_caller]
pub fn watched(spec: MachineSpec) -> (Ran, Watch) {
    let (result, watch) = watched_or_not(spec);
    (result.expect("the machine runs to its end"), watch)
}

/// The same for a machine that may go wrong.
pub fn watched_or_not(spec: MachineSpec) -> (Result<Ran, MachineError>, Watch) {
    let mut watch = Watch::default();
    let result = run_observed(spec, &mut watch);
    (result, watch)
}

/// A stretch of time that a VCPU ran without a break.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    pub pcpu: u32,
    pub dom: u32,
    pub vcpu: u32,
    pub from_ns: u64,
    pub to_ns: u64,
}

/// Writes down what it sees.
#[derive(Debug, Default)]
pub struct Watch {
    pub stretches: Vec<Stretch>,
    /// Domain, time, LVT.
    pub lvts: Vec<(u32, u64, u64)>,
    /// From, to, sent, come.
    pub messages: Vec<(u32, u32, u64, u64)>,
}

impl Watch {
    /// Where and when domain `dom` ran, in the order of time.
    pub fn of(&self, dom: u32) -> Vec<(u32, u64, u64)> {
        let of_domain = self.stretches.iter().filter(|stretch| stretch.dom == dom);
        let mut of_domain: Vec<_> =
            of_domain.map(|stretch| (stretch.pcpu, stretch.from_ns, stretch.to_ns)).collect();
        of_domain.sort_unstable_by_key(|(pcpu, from_ns, _)| (*from_ns, *pcpu));
        of_domain
    }
}

impl Observer for Watch {
    fn ran(&mut self, pcpu: PcpuId, dom: DomId, vcpu: VcpuId, from_ns: u64, to_ns: u64) {
        self.stretches.push(Stretch { pcpu: pcpu.0, dom: dom.0, vcpu: vcpu.0, from_ns, to_ns });
    }

    fn lvt(&mut self, dom: DomId, at_ns: u64, lvt_ns: u64) {
        self.lvts.push((dom.0, at_ns, lvt_ns));
    }

    fn message(&mut self, from: DomId, to: DomId, sent_ns: u64, at_ns: u64) {
        self.messages.push((from.0, to.0, sent_ns, at_ns));
    }
}
