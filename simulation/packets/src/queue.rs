//! Queue disciplines of output ports, as pure state machines over an abstract [`Packet`].
//!
//! A port calls [`Discipline::enqueue`] when a packet arrives and [`Discipline::dequeue`] when its link is
//! free. The packet that is being sent is not in the queue. Both calls may drop packets, also others than the
//! one that arrives: each goes into the list of losses that the caller passes, so that it can count them and
//! give their bytes back to a shared buffer. A packet that finds the link free is enqueued as well, and
//! dequeued at once: active queue management sees every arrival. [`Queue`] is every discipline in one type,
//! built from [`QueueSettings`].
//!
//! **One event a hop.** In a FIFO queue whose decisions fall at arrival (drop-tail, RED, threshold marking),
//! the time at which a packet leaves is known when it arrives. A port may then keep the start times of the
//! waiting packets itself, ask an [`Admission`] with the [`Backlog`] at the arrival, and need no event for
//! the departure. [`Fifo`] is the same admission with the packets: both ways take the same decisions.
//! [`QueueSettings::admission`] gives the admission where there is one. CoDel, FQ-CoDel, priorities and DRR
//! decide at departure and need an event for it.
//!
//! **Times.** Queues only compare, subtract and add the times that they are given: those of the settings and
//! those of the calls are in one unit. A port that computes in picoseconds makes all of them with
//! `Time::ticks`, and takes nothing of this as a tick of the kernel.
//!
//! **Pauses.** `paused` names the classes that a neighbour has paused (PFC). [`StrictPriority`] and [`Drr`]
//! pass over them. A [`Fifo`] waits while the class of its first packet is paused, CoDel and FQ-CoDel while
//! any is: head-of-line blocking, as in a switch without a queue for each class.
//!
//! **Buffers.** [`SharedBuffer`] (dynamic thresholds) and [`Pfc`] count bytes over the ports of one switch
//! and are asked beside the queue: `admit` before `enqueue`, `release` for each packet that was dequeued or
//! lost.
//!
//! Invariants: equal calls on equal states give equal answers; no floating-point number is part of a state or
//! decides anything; random numbers are a function of the seed, the stream and the number of the draw, and a
//! queue draws them in the order of its own packets alone; `len` and `bytes` are those of the packets that
//! were enqueued, not yet dequeued, and not lost.

mod buffer;
mod classes;
mod codel;
mod draws;
mod drop_tail;
mod fifo;
mod fq_codel;
pub mod pfc;
mod red;
mod settings;
mod share;
#[cfg(test)]
mod test;
mod threshold;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use paceline_kernel::Time;

pub use buffer::{Alpha, SharedBuffer};
pub use classes::{Drr, StrictPriority};
pub use codel::{Codel, CodelSettings};
pub use draws::Draws;
pub use drop_tail::{DropTail, Limit};
pub use fifo::Fifo;
pub use fq_codel::{FqCodel, FqCodelSettings};
pub use pfc::{PauseSignal, Pfc, PfcArrival, PfcSettings};
pub use red::{Red, RedSettings};
pub use settings::{AnyAdmission, Queue, QueueSettings};
pub use share::Share;
pub use threshold::Threshold;

/// The longest packet, in bytes on the wire: eight times as many bits in picoseconds at 1 bit/s fit 64 bits.
pub(crate) const MOST_BYTES: u32 = 1_000_000;

/// The ECN field of an IP header (RFC 3168, section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Ecn {
    /// Not-ECT: a congested queue drops the packet.
    #[default]
    NotCapable,
    /// ECT(0): a congested queue marks the packet.
    Capable0,
    /// ECT(1): the same; RFC 9331 gives it a meaning of its own, which these queues do not look at.
    Capable1,
    /// CE: some queue has marked the packet.
    Congested,
}

impl Ecn {
    /// Whether a queue may mark the packet instead of dropping it.
    pub const fn is_capable(self) -> bool {
        !matches!(self, Self::NotCapable)
    }
}

/// What a queue needs to know of a packet.
pub trait Packet {
    /// The length on the wire in bytes, with all headers.
    fn wire_bytes(&self) -> u32;
    /// The ECN field.
    fn ecn(&self) -> Ecn;
    /// Sets the ECN field; queues set nothing but [`Ecn::Congested`].
    fn set_ecn(&mut self, ecn: Ecn);
    /// The class, from 0, which is served first by strict priority. A class beyond those of a queue counts as
    /// its last.
    fn class(&self) -> u8;
    /// A hash of what identifies the flow (addresses, ports, protocol), the same for all its packets.
    fn flow_hash(&self) -> u64;
}

/// What became of a packet that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Verdict {
    /// It waits in the queue.
    Accepted,
    /// It waits in the queue, with [`Ecn::Congested`] set now.
    Marked,
    /// It is lost.
    Dropped(DropReason),
}

/// Why a queue dropped a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum DropReason {
    /// The queue was full.
    Full,
    /// Active queue management dropped it to signal congestion (RED, CoDel).
    Early,
    /// FQ-CoDel was full and took this packet from the longest of its queues.
    Evicted,
}

/// A packet that a queue dropped.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Loss<P> {
    /// The packet that was dropped.
    pub packet: P,
    /// Why it was dropped.
    pub reason: DropReason,
}

/// A set of classes, of the eight that PFC knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Classes(u8);

impl Classes {
    /// No class of traffic: the empty set.
    pub const NONE: Self = Self(0);

    /// Whether no class is in the set.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The set as bits, class 0 the lowest.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Whether `class` is in the set; classes from 8 on never are.
    pub const fn contains(self, class: u8) -> bool {
        class < 8 && self.0 >> class & 1 == 1
    }

    /// Puts `class` in the set or takes it out. Panics where there is no such class (8 and more).
    pub const fn set(&mut self, class: u8, member: bool) {
        assert!(class < 8, "PFC has the classes 0 to 7");
        self.0 = self.0 & !(1 << class) | (member as u8) << class;
    }
}

/// A queue of an output port.
pub trait Discipline<P: Packet> {
    /// Takes in a packet that arrives at `now`, and says what became of it. Packets that are lost for it, the
    /// packet itself among them where the answer is [`Verdict::Dropped`], are appended to `losses`.
    fn enqueue(&mut self, now: Time, packet: P, losses: &mut Vec<Loss<P>>) -> Verdict;

    /// The packet to be sent at `now`, when the link has become free; none where nothing waits, or where all
    /// that could be sent is of a class in `paused`. A queue may mark the packet, and drop others, which are
    /// appended to `losses`.
    ///
    /// A port calls this whenever its link becomes free, also when nothing waits: RED counts the time from
    /// then on as idle.
    fn dequeue(&mut self, now: Time, paused: Classes, losses: &mut Vec<Loss<P>>) -> Option<P>;

    /// The number of packets that wait.
    fn len(&self) -> usize;

    /// Whether nothing waits.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes on the wire of the packets that wait.
    fn bytes(&self) -> u64;

    /// The length of the packet that [`Discipline::dequeue`] would look at first, whatever is paused. Active
    /// queue management may drop that packet and give another.
    fn head_bytes(&self) -> Option<u32>;

    /// Shows all packets that wait, in any order.
    fn look(&self, show: &mut dyn FnMut(&P));
}

/// What waits at a FIFO port when a packet arrives, that packet and the one being sent not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Backlog {
    /// The packets that wait.
    pub packets: usize,
    /// Their bytes on the wire.
    pub bytes: u64,
    /// When the link became free and found nothing to send; none while the link sends or is paused.
    pub idle_since: Option<Time>,
}

/// The decision of a FIFO queue about a packet that arrives: all of the discipline that is not the packets.
pub trait Admission {
    /// Decides about a packet of `bytes` with the ECN field `ecn` that arrives at `now`. Where the answer is
    /// [`Verdict::Marked`], the caller sets the field.
    fn admit(&mut self, now: Time, backlog: &Backlog, bytes: u32, ecn: Ecn) -> Verdict;
}

/// A setting of a queue that makes no sense.
#[derive(Clone, PartialEq, Eq, Error)]
#[error("{what}; allowed: {allowed}")]
pub struct QueueError {
    /// What is wrong, with the setting's name and value.
    pub what: String,
    /// What is allowed instead.
    pub allowed: &'static str,
}

paceline_kernel::debug_tells!(QueueError);
