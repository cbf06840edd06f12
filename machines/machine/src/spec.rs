//! What a machine is made of: hosts with their policies, the links between them, domains with their programs,
//! and costs.
//!
//! Invariant: a spec is data and programs only; the run checks it whole before anything runs.

use paceline_policy::Settings;

use crate::{Costs, Program};

/// A machine: hosts, the links between them, domains with their programs, and what things cost.
#[derive(Debug, Default)]
pub struct MachineSpec {
    /// Domains and links name them by their index here.
    pub hosts: Vec<HostSpec>,
    /// The links between them, at most one between two hosts; each carries messages both ways.
    pub links: Vec<LinkSpec>,
    /// Their VCPUs and processes are numbered in this order.
    pub domains: Vec<DomainSpec>,
    /// What things cost.
    pub costs: Costs,
    /// The run ends at this time at the latest, in nanoseconds; `None` for no limit.
    pub until_ns: Option<u64>,
}

/// A physical machine with one policy for all its PCPUs.
#[derive(Clone, Debug)]
pub struct HostSpec {
    /// Its name, for people.
    pub name: String,
    /// The number of physical CPUs, at least 1; even if `smt` is set.
    pub pcpus: u32,
    /// Whether two PCPUs each are siblings that share a core.
    pub smt: bool,
    /// Which of them are, where some are.
    pub siblings: Siblings,
    /// The hypervisor's scheduling policy.
    pub policy: PolicySpec,
    /// VCPUs of the privileged domain.
    pub dom0_vcpus: u32,
    /// Where they are pinned, by VCPU; those beyond the end are not.
    pub dom0_pins: Vec<u32>,
    /// Settings of the privileged domain under the policy.
    pub dom0_settings: Settings,
}

/// How PCPUs that share a core are numbered. Policies that take the first PCPU that idles spread VCPUs over
/// cores only where siblings stand apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Siblings {
    /// PCPUs 0 and 1, 2 and 3, ..., as Xen numbers them.
    #[default]
    Adjacent,
    /// Those of the second half share the cores of the first half in its order, as the firmware of PCs
    /// numbers them.
    Apart,
}

impl Siblings {
    /// The PCPU that shares the core of `pcpu`, on a host of `pcpus` of them, an even number.
    pub const fn of(self, pcpu: u32, pcpus: u32) -> u32 {
        let half = pcpus / 2;
        match self {
            Self::Adjacent => pcpu ^ 1,
            Self::Apart if pcpu < half => pcpu + half,
            Self::Apart => pcpu - half,
        }
    }
}

/// A policy by name, with its settings.
#[derive(Clone, Debug, Default)]
pub struct PolicySpec {
    /// One of [`paceline_policy::POLICIES`].
    pub kind: String,
    /// What the policy reads when the host is made.
    pub settings: Settings,
}

/// A link between two hosts.
#[derive(Clone, Copy, Debug)]
pub struct LinkSpec {
    /// One end, as an index of [`MachineSpec::hosts`].
    pub from: u32,
    /// The other end.
    pub to: u32,
    /// From the NIC at one end to the NIC at the other.
    pub latency_ns: u64,
    /// Bits per second, each way.
    pub bits_per_second: u64,
}

/// A guest domain.
#[derive(Debug)]
pub struct DomainSpec {
    /// Its name, for people.
    pub name: String,
    /// Its host, as an index of [`MachineSpec::hosts`].
    pub host: u32,
    /// Virtual CPUs; the first takes the interrupts.
    pub vcpus: u32,
    /// Where they are pinned, by VCPU; those beyond the end are not.
    pub pins: Vec<u32>,
    /// Whether each process has a VCPU of its own, in their order, and no other. The domain is then an
    /// operating system on the bare machine: its threads are the VCPUs, its scheduler is the host's
    /// policy.
    pub threads: bool,
    /// What the host's policy reads for this domain.
    pub settings: Settings,
    /// What its guest runs, one program a process.
    pub processes: Vec<Box<dyn Program>>,
    /// When it comes. What is sent to it before is lost.
    pub arrives_ns: u64,
    /// When it goes, done or not.
    pub leaves_ns: Option<u64>,
    /// Whether the run ends without waiting for it: competing load. What it might still send does not keep
    /// others from being deadlocked: no process in the foreground may depend on it.
    pub background: bool,
}

impl HostSpec {
    /// A host without siblings, with one VCPU in its privileged domain, under the policy `kind` with its
    /// default settings.
    pub fn new(name: impl Into<String>, pcpus: u32, kind: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            pcpus,
            smt: false,
            siblings: Siblings::Adjacent,
            policy: PolicySpec { kind: kind.into(), settings: Settings::default() },
            dom0_vcpus: 1,
            dom0_pins: Vec::new(),
            dom0_settings: Settings::default(),
        }
    }
}

impl DomainSpec {
    /// A domain with one VCPU, pinned nowhere, that is there from the start.
    pub fn new(name: impl Into<String>, host: u32, processes: Vec<Box<dyn Program>>) -> Self {
        Self {
            name: name.into(),
            host,
            vcpus: 1,
            pins: Vec::new(),
            threads: false,
            settings: Settings::default(),
            processes,
            arrives_ns: 0,
            leaves_ns: None,
            background: false,
        }
    }
}
