//! What happens to a node: the events of the model.
//!
//! Invariant: an event is small, since every hop moves one; what is larger stands behind a pointer.

use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};

/// What a packet's header says of congestion (RFC 3168, section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
pub enum Ecn {
    /// Its sender does not react to marks: a queue that would mark it drops it.
    #[default]
    NotCapable,
    /// It may be marked.
    Capable,
    /// A queue has marked it.
    Experienced,
}

/// A UDP packet that has come to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UdpPacket {
    /// When its source sent it, in picoseconds.
    pub sent_ps: u64,
    /// The flow that it is of.
    pub flow: u32,
    /// Its number in the flow, from 0.
    pub number: u32,
    /// Its length on the wire.
    pub bytes: u32,
    /// By how many picoseconds the event is later than the packet.
    pub(crate) slack: u16,
    /// Whether it may be marked, and is. Its unused values tell the kinds of events apart, without a word
    /// more.
    pub ecn: Ecn,
}

/// Something that happens to a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum NetEvent {
    /// A packet has come in whole.
    Udp(UdpPacket),
    /// The source of a flow sends its next packet.
    Send {
        /// The flow.
        flow: u32,
        /// The packet's number.
        number: u32,
        /// By how many picoseconds the event is later than the moment.
        slack: u16,
    },
}

/// Every event enters the digest. Fields are put together in few words, of which the last begins with the kind: one
/// by one they would cost a quarter of a hop.
impl Hash for NetEvent {
    #[inline(always)]
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        match *self {
            Self::Udp(UdpPacket { sent_ps, flow, number, bytes, slack, ecn }) => {
                hasher.write_u64(sent_ps);
                hasher.write_u64(u64::from(flow) << 32 | u64::from(number));
                hasher.write_u64(u64::from(bytes) << 32 | u64::from(slack) << 16 | (ecn as u64) << 8);
            }
            Self::Send { flow, number, slack } => {
                hasher.write_u64(u64::from(flow) << 32 | u64::from(number));
                hasher.write_u64(u64::from(slack) << 16 | 1);
            }
        }
    }
}

const _: () = assert!(size_of::<NetEvent>() <= 24, "an event of a hop is small");
