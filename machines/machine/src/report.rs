//! The results of a machine's run: why and when it ended, and what each host and each guest has done.
//!
//! Invariant: everything here is a function of the spec.
//!
//! To add a counter, count it where the machine does the thing (switches and CPU times:
//! `machine/dispatch.rs`), and show it in `command/src/machine/page.rs`. A span that is still going on counts
//! too when a domain leaves (`machine/build.rs`) and when the run ends (`machine.rs`).

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// All processes but the competing load are done.
    Done,
    /// The time that the spec allows is over.
    Horizon,
}

/// What came of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Why it ended.
    pub ended: Ended,
    /// When it ended, in nanoseconds of the machine's time.
    pub at_ns: u64,
    /// A digest of every decision: who ran where from when on.
    pub digest: u64,
    /// In the order of the spec.
    pub hosts: Vec<HostReport>,
    /// By guest domain, as in the spec.
    pub domains: Vec<DomainReport>,
}

/// What a host has done.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostReport {
    /// As the spec has it.
    pub name: String,
    /// Decisions of the policy.
    pub decisions: u64,
    /// Those after which another VCPU ran.
    pub switches: u64,
    /// Times that a VCPU continued on another PCPU.
    pub migrations: u64,
    /// PCPU time that the hypervisor took.
    pub overhead_ns: u64,
    /// PCPU time of all VCPUs, the privileged domain's included.
    pub busy_ns: u64,
    /// PCPU time of the privileged domain.
    pub dom0_ns: u64,
    /// Packets that the privileged domain has carried.
    pub packets: u64,
}

/// What a guest has done.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DomainReport {
    /// As the spec has it.
    pub name: String,
    /// When its last process was done.
    pub done_ns: Option<u64>,
    /// PCPU time it has had.
    pub ran_ns: u64,
    /// Part of that in which its processes only polled.
    pub polled_ns: u64,
    /// Time that its VCPUs waited for a PCPU.
    pub waited_ns: u64,
    /// Times that one of its VCPUs was taken from a PCPU while it could have continued.
    pub preemptions: u64,
}

impl Report {
    /// How unequally the guests shared the PCPUs: one less Jain's index of their run times; 0 where all had
    /// the same.
    pub fn unfairness(&self) -> f64 {
        let times: Vec<f64> = self.domains.iter().map(|domain| domain.ran_ns as f64).collect();
        let (sum, squares) =
            times.iter().fold((0.0, 0.0), |(sum, squares), time| (sum + time, squares + time * time));
        if squares == 0.0 { 0.0 } else { 1.0 - sum * sum / (times.len() as f64 * squares) }
    }

    /// The part of the guests' PCPU time in which they only polled.
    pub fn waiting_share(&self) -> f64 {
        let (polled, ran) = self
            .domains
            .iter()
            .fold((0, 0), |(polled, ran), domain| (polled + domain.polled_ns, ran + domain.ran_ns));
        if ran == 0 { 0.0 } else { polled as f64 / ran as f64 }
    }
}
