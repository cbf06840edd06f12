//! Ethernet frames of real machines, which hosts of a network send and receive as they are.
//!
//! A machine has its place at a host ([`Stations`](crate::Stations)). What its card sends enters the model as
//! [`NetEvent::Emit`](crate::NetEvent::Emit), is forwarded to the machine whose card its Ethernet destination
//! names, or else by the IPv4 address that it is for, and has come to the other machine as
//! [`NetEvent::Frame`](crate::NetEvent::Frame). A frame occupies a link as Ethernet does (IEEE 802.3): its
//! content, padded to 60 bytes, the checksum of 4 bytes, and 20 bytes of preamble and gap.
//!
//! Invariants: what a frame carries does not change on its way but for the time to live, which routers count
//! down, and the ECN field, which stands beside it in its packet and is written into it where it is seen
//! ([`FrameBody::seen_with`]). Every byte of it is in the digest.

pub(crate) mod content;
pub(crate) mod route;
pub(crate) mod tcp;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::clock::LATEST_PS;
use crate::hash::mix;
use crate::queue::Ecn;

/// The least content of a frame, without its checksum: what is shorter is padded (IEEE 802.3, 3.2.8).
const LEAST_CONTENT: u32 = 60;
/// The checksum (4 bytes), preamble and start (8) and the gap between frames (12).
const AROUND_CONTENT: u32 = 24;
/// The longest content: 65,535 bytes of data behind the header of Ethernet, and a tag of a VLAN.
pub(crate) const MOST_CONTENT: usize = 65_535 + 14 + 4;
/// The bytes on the wire of the least frame.
pub(crate) const LEAST_WIRE_BYTES: u32 = LEAST_CONTENT + AROUND_CONTENT;

/// What of a frame stays the same on its way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameBody {
    /// From the destination's Ethernet address on, without padding and checksum.
    pub bytes: Box<[u8]>,
    /// When its card sent it, in picoseconds.
    pub sent_ps: u64,
    /// Its number among the frames of its card, modulo 2^32.
    pub number: u32,
    /// A hash of all bytes.
    hash: u64,
    /// A hash of addresses, protocol and ports: frames of one conversation take one way.
    conversation: u64,
}

impl FrameBody {
    /// The `number`-th frame of a card, sent at `sent_ps` picoseconds. Nothing where `bytes` are more than
    /// 65,553, which no card sends.
    pub fn new(bytes: Vec<u8>, sent_ps: u64, number: u32) -> Option<Arc<Self>> {
        (bytes.len() <= MOST_CONTENT).then(|| {
            let (hash, conversation) = (content::hash(&bytes), content::conversation(&bytes));
            Arc::new(Self { bytes: bytes.into(), sent_ps, number, hash, conversation })
        })
    }

    /// Its length on the wire: with padding, checksum, preamble and gap.
    pub fn wire_bytes(&self) -> u32 {
        (self.bytes.len() as u32).max(LEAST_CONTENT) + AROUND_CONTENT
    }

    /// What its way is chosen by: all frames of a conversation take one, unless `spread` has bits of their
    /// numbers.
    pub(crate) fn key(&self, spread: u64) -> u64 {
        self.conversation ^ mix(u64::from(self.number) & spread)
    }

    /// The ECN field with which it was sent.
    pub(crate) fn ecn(&self) -> Ecn {
        content::ecn(&self.bytes)
    }

    /// Its bytes where its ECN field is `ecn`, with the checksum of the IPv4 header that belongs to that.
    pub fn seen_with(&self, ecn: Ecn) -> Vec<u8> {
        let mut bytes = self.bytes.to_vec();
        content::set_ecn(&mut bytes, ecn);
        bytes
    }

    /// Whether it can be one: for events that come from a file.
    pub(crate) fn is_consistent(&self) -> bool {
        self.bytes.len() <= MOST_CONTENT
            && self.sent_ps <= LATEST_PS
            && self.hash == content::hash(&self.bytes)
            && self.conversation == content::conversation(&self.bytes)
    }

    /// All of it in two words of a digest.
    pub(crate) fn words(&self) -> [u64; 2] {
        [self.sent_ps, mix(self.hash) ^ u64::from(self.number)]
    }
}

/// What became of the frames of a machine, at its host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FrameCounts {
    /// Frames that its card sent and that were forwarded, whether its port had room for them or not.
    pub sent: u64,
    /// Frames that came to it.
    pub arrived: u64,
    /// The sum of their delays, in picoseconds.
    pub delay_sum_ps: u128,
    /// ARP requests of it that the network has answered.
    pub answered: u64,
    /// Frames that its card sent and that cannot be forwarded: other than IPv4 and ARP, to many, or to an
    /// address that no host has.
    pub unforwarded: u64,
}

impl FrameCounts {
    pub(crate) fn is_zero(&self) -> bool {
        *self == Self::default()
    }
}
