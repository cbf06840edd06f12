//! The parts of a machine while it runs.
//!
//! `machine/build.rs` makes them of the spec; the files below `machine` change them.
//!
//! Invariant: a VCPU is on the PCPU that has it as `running`, and only there.

use std::collections::VecDeque;

use paceline_policy::{NewDomain, Policy, Settings};

use crate::calendar::Slot;
use crate::ids::{DomId, GuestId, HostId, PacketId, PcpuId, Span, VcpuId};
use crate::{HostReport, ProcessId, Siblings};

#[derive(Debug)]
pub struct Host {
    pub policy: Box<dyn Policy>,
    pub pcpus: Span<PcpuId>,
    /// How PCPUs share cores, if they do.
    pub siblings: Option<Siblings>,
    /// The timers of the policy, by number, as far as they were ever set.
    pub timers: Vec<Option<Slot>>,
    /// Messages that wait for the privileged domain.
    pub pending: u32,
    /// The VCPUs of the privileged domain.
    pub dom0: Span<VcpuId>,
    pub report: HostReport,
}

#[derive(Debug)]
pub struct Pcpu {
    pub host: HostId,
    pub running: Option<VcpuId>,
    /// Until when the hypervisor is at work for the VCPU that is to run.
    pub until_ns: u64,
    /// When the hypervisor's work is done.
    pub switched: Slot,
    /// Since when the VCPU has been running without a break.
    pub since_ns: u64,
    /// The end of the slice.
    pub slice: Slot,
}

/// Where a VCPU is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Its domain is not there.
    Gone,
    /// It has nothing to do.
    Asleep,
    /// It waits for a PCPU, since then.
    Waits(u64),
    /// It is on that PCPU.
    On(PcpuId),
}

/// What a VCPU is in the middle of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// Takes in a packet, or carries one where it belongs to the privileged domain.
    Kernel,
    Process,
    Polling,
}

/// A stretch of one kind of work on a VCPU, until its end or until it is stopped.
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    pub doing: Doing,
    pub since_ns: u64,
    /// Speed in thousandths of a core.
    pub permille: u64,
}

#[derive(Debug)]
pub struct Vcpu {
    /// Its domain, by number over privileged domains and guests.
    pub dom: DomId,
    pub host: HostId,
    pub place: Place,
    pub segment: Option<Segment>,
    /// The end of the segment.
    pub done: Slot,
    /// The PCPU it was on last.
    pub last: Option<PcpuId>,
    /// The process it runs, and what is left of the process's quantum.
    pub current: Option<ProcessId>,
    pub quantum_ns: u64,
    /// The last process that it began to run.
    pub previous: Option<ProcessId>,
    /// Its part in the kernel of its domain.
    pub kernel: Kernel,
}

/// What a VCPU does for the kernel of its domain.
#[derive(Debug, Default)]
pub struct Kernel {
    /// The work that it has begun, and the rest of it.
    pub errand: Option<Errand>,
    pub left_ns: u64,
    /// Whether it has come to the packets that wait for it, and has not seen the last of them.
    pub attends: bool,
    /// In a privileged domain: what it is to do next, in order: what had to wait for a place in a ring, and
    /// has got one, before all that comes new.
    pub resumed: VecDeque<Errand>,
    pub errands: VecDeque<Errand>,
}

/// What a kernel has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Errand {
    /// In the privileged domain: carry the next packet in the ring of a guest.
    Transmit(GuestId),
    /// In the privileged domain: carry a packet from the NIC. In a guest: take in a packet.
    Receive(PacketId),
    /// In a guest: take note that packets have left.
    Response,
    /// In a guest: switch to another process.
    Switch,
}

#[derive(Debug)]
pub struct Guest {
    pub name: String,
    pub host: HostId,
    pub here: bool,
    pub background: bool,
    /// Whether each process has a VCPU of its own.
    pub threads: bool,
    /// How it comes, until it has.
    pub comer: Option<Comer>,
    pub vcpus: Span<VcpuId>,
    pub processes: Span<ProcessId>,
    /// Processes that are not done.
    pub alive: u32,
    /// Processes that could run, in the order in which they will.
    pub ready: VecDeque<ProcessId>,
    pub transmit: TransmitRing,
    pub receive: ReceiveRing,
    pub report: crate::DomainReport,
}

/// A domain as its host's policy will see it when it comes.
#[derive(Debug)]
pub struct Comer {
    pub domain: NewDomain,
    pub settings: Settings,
}

/// The ring from a guest to the privileged domain.
#[derive(Debug, Default)]
pub struct TransmitRing {
    pub packets: VecDeque<PacketId>,
    /// Whether the privileged domain knows that there are any.
    pub announced: bool,
    /// Whether packets have left since the guest last took note of that, where it asks for such events.
    pub responded: bool,
    /// Processes that wait for a place.
    pub stalled: VecDeque<ProcessId>,
}

/// The ring from the privileged domain to a guest.
#[derive(Debug, Default)]
pub struct ReceiveRing {
    pub packets: VecDeque<PacketId>,
    /// Places that are kept for packets in hand and for resumed errands.
    pub kept: u32,
    /// What the privileged domain could not do because the ring was full, and which of its VCPUs.
    pub blocked: VecDeque<(VcpuId, Errand)>,
}
