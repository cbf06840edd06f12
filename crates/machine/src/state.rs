//! The parts of a machine while it runs.
//!
//! Invariants: a VCPU is on the PCPU that has it as `running`, and only there; `number` changes with every decision on a
//! PCPU and with every stop of a VCPU, so that what was planned before can be seen to be stale.

use std::collections::VecDeque;

use paceline_policy::Policy;

use crate::program::Message;
use crate::{HostReport, ProcessId};

/// A host.
#[derive(Debug)]
pub struct Host {
    pub policy: Box<dyn Policy>,
    /// Its first PCPU.
    pub first_pcpu: u32,
    pub smt: bool,
    /// The numbers under which the timers of the policy were last set.
    pub timers: Vec<u32>,
    /// Messages that wait for the privileged domain.
    pub pending: u32,
    /// Its VCPUs.
    pub dom0: Vec<u32>,
    pub report: HostReport,
}

/// A PCPU.
#[derive(Debug, Default)]
pub struct Pcpu {
    pub host: u32,
    pub running: Option<u32>,
    /// Until when the hypervisor is at work for the VCPU that is to run.
    pub until_ns: u64,
    pub number: u32,
    /// Since when the VCPU has been running without a break.
    pub since_ns: u64,
    /// The end of the slice: when, and its place in the calendar at that instant.
    pub slice: Option<(u64, u64)>,
    /// What stands in the calendar for it, not after it: most slices are cut short, and an alarm for each would fill the
    /// calendar.
    pub alarm: Option<(u64, u64)>,
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
    On(u32),
}

/// What a VCPU is in the middle of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// Takes in a packet, or carries one where it belongs to the privileged domain.
    Kernel,
    /// Runs its current process.
    Process,
    /// Its current process polls.
    Polling,
}

/// Something that a VCPU does, for as long as nobody stops it.
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    pub doing: Doing,
    pub since_ns: u64,
    /// Speed in thousandths of a core.
    pub permille: u64,
}

/// A VCPU.
#[derive(Debug)]
pub struct Vcpu {
    /// Its domain, by number over privileged domains and guests.
    pub dom: u32,
    pub host: u32,
    pub place: Place,
    pub number: u32,
    pub segment: Option<Segment>,
    /// The PCPU it was on last.
    pub last: Option<u32>,
    /// The process it runs, and what is left of the process's quantum.
    pub current: Option<ProcessId>,
    pub quantum_ns: u64,
    /// The last process that it began to run.
    pub previous: Option<ProcessId>,
    /// What its kernel has in hand, and what is left to do of that.
    pub errand: Option<Errand>,
    pub kernel_ns: u64,
    /// Whether its kernel has come to the packets that wait for it, and has not seen the last of them.
    pub attends: bool,
    /// What the kernel of a privileged domain is to do next, in order: what had to wait for a place in a ring, and has got
    /// one, before all that comes new.
    pub resumed: VecDeque<Errand>,
    pub errands: VecDeque<Errand>,
}

/// What a kernel has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Errand {
    /// In the privileged domain: carry the next packet in the ring of a guest.
    Transmit(u32),
    /// In the privileged domain: carry a packet from the NIC. In a guest: take in a packet.
    Receive(u32),
    /// In a guest: take note that packets have left.
    Response,
    /// In a guest: switch to another process.
    Switch,
}

/// A packet on its way.
#[derive(Debug)]
pub struct Packet {
    pub message: Message,
    pub to: ProcessId,
    pub sent_ns: u64,
}

/// A guest.
#[derive(Debug)]
pub struct Guest {
    pub name: String,
    pub host: u32,
    pub here: bool,
    pub background: bool,
    pub first_vcpu: u32,
    pub vcpus: u32,
    pub first_process: u32,
    pub processes: u32,
    /// Processes that are not done.
    pub alive: u32,
    /// Processes that could run, in the order in which they will.
    pub ready: VecDeque<ProcessId>,
    /// Packets in the ring to the privileged domain, by slot number in the packet store.
    pub transmit: VecDeque<u32>,
    /// Whether the privileged domain knows that there are any.
    pub announced: bool,
    /// Whether packets from it have left since the guest last took note of that, where it asks for such events.
    pub responded: bool,
    /// Processes that wait for a place in that ring.
    pub stalled: VecDeque<ProcessId>,
    /// Packets in the ring from the privileged domain, and places in it that are kept for packets in hand and for resumed
    /// errands.
    pub receive: VecDeque<u32>,
    pub kept: u32,
    /// What the privileged domain could not do because that ring was full, and which of its VCPUs.
    pub blocked: VecDeque<(u32, Errand)>,
    pub report: crate::DomainReport,
}
