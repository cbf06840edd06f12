//! What NSX+ knows of domains, VCPUs and PCPUs.
//!
//! Invariant: the clock of a VCPU that runs is as of the PCPU's last charge.

use crate::{DomId, PcpuId, VcpuId};

#[derive(Clone, Debug)]
pub(super) struct Dom {
    pub vcpus: Vec<VcpuId>,
    pub pending: u32,
}

#[derive(Clone, Debug)]
pub(super) struct Vcpu {
    pub dom: DomId,
    pub privileged: bool,
    pub pin: Option<PcpuId>,
    pub awake: bool,
    pub yielded: bool,
    /// Whether it is ordered half a tick before its LVT: DOM0, a VCPU that gave way to it, and one that has
    /// a message or was picked with one.
    pub early: bool,
    pub lvt_ns: i64,
    /// For DOM0: time it has run that is not yet in its LVT.
    pub rest_ns: i64,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pcpu {
    pub charged_ns: u64,
    pub since_ns: u64,
    pub limit_ns: i64,
}
