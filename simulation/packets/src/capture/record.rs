//! What a log has of a packet: all that a file may show of it.
//!
//! Invariant: what differs shows as other bytes in a file, so that two logs with equal records give equal
//! files.

use serde::{Deserialize, Serialize};

use crate::packet::{FramePacket, NetEvent, RdmaPacket, TcpPacket, UdpPacket};
use crate::queue::Ecn;
use crate::tcp::Segment;

/// The arrival of a packet that is lost on the link.
const LOST: u64 = u64::MAX;

/// A packet that a port has begun to send, which owns what it shows or refers to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Record<S = Segment, B = Box<[u8]>> {
    /// When it begins to be sent, in picoseconds.
    pub start_ps: u64,
    /// When it is at the other end whole, or [`LOST`].
    pub(super) end_ps: u64,
    pub packet: Packet<S, B>,
}

/// What a file shows of a packet. One of RDMA shows as a UDP datagram. Numbers are those of a direction,
/// modulo 2^16, as IPv4 has them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Packet<S = Segment, B = Box<[u8]>> {
    Udp {
        flow: u32,
        number: u16,
        bytes: u32,
        ecn: Ecn,
        is_back: bool,
    },
    Tcp {
        segment: S,
        flow: u32,
        number: u16,
        bytes: u32,
        ecn: Ecn,
        is_back: bool,
    },
    /// A frame of a machine as its card sent it, and the mark that it has.
    Frame {
        content: B,
        ecn: Ecn,
    },
}

/// What a packet shows, without a copy of it.
pub(crate) type Shown<'a> = Packet<&'a Segment, &'a [u8]>;

impl<S, B> Record<S, B> {
    /// Without `arrival_ps` it is lost on the link.
    #[inline(always)]
    pub fn new(start_ps: u64, arrival_ps: Option<u64>, packet: Packet<S, B>) -> Self {
        Self { start_ps, end_ps: arrival_ps.unwrap_or(LOST), packet }
    }

    /// When it is at the other end whole, in picoseconds, unless it is lost.
    pub fn arrival_ps(&self) -> Option<u64> {
        (self.end_ps != LOST).then_some(self.end_ps)
    }
}

impl Record {
    /// The same, as a log takes it.
    pub(super) fn as_ref(&self) -> Record<&Segment, &[u8]> {
        let packet = match self.packet {
            Packet::Udp { flow, number, bytes, ecn, is_back } => {
                Packet::Udp { flow, number, bytes, ecn, is_back }
            }
            Packet::Tcp { ref segment, flow, number, bytes, ecn, is_back } => {
                Packet::Tcp { segment, flow, number, bytes, ecn, is_back }
            }
            Packet::Frame { ref content, ecn } => Packet::Frame { content: &content[..], ecn },
        };
        Record { start_ps: self.start_ps, end_ps: self.end_ps, packet }
    }
}

/// What can be captured.
pub(crate) trait Seen {
    /// What a file shows of it, with this mark.
    fn seen(&self, ecn: Ecn) -> Shown<'_>;
}

impl Seen for UdpPacket {
    #[inline(always)]
    fn seen(&self, ecn: Ecn) -> Shown<'_> {
        let &Self { flow, number, bytes, .. } = self;
        Packet::Udp { flow, number: number as u16, bytes, ecn, is_back: false }
    }
}

impl Seen for TcpPacket {
    #[inline(always)]
    fn seen(&self, ecn: Ecn) -> Shown<'_> {
        let (&Self { ref body, flow, is_back, .. }, segment) = (self, &self.body.segment);
        Packet::Tcp { segment, flow, number: body.number as u16, bytes: body.bytes, ecn, is_back }
    }
}

impl Seen for RdmaPacket {
    fn seen(&self, ecn: Ecn) -> Shown<'_> {
        let &Self { ref body, flow, is_back, .. } = self;
        Packet::Udp { flow, number: body.count as u16, bytes: body.bytes, ecn, is_back }
    }
}

impl Seen for FramePacket {
    fn seen(&self, ecn: Ecn) -> Shown<'_> {
        Packet::Frame { content: &self.body.bytes, ecn }
    }
}

/// What a file shows of the packet that arrives with an event, with this mark; nothing of other events.
pub(crate) fn seen_in(event: &NetEvent, ecn: Ecn) -> Option<Shown<'_>> {
    match event {
        NetEvent::Udp(packet) => Some(packet.seen(ecn)),
        NetEvent::Tcp(packet) => Some(packet.seen(ecn)),
        NetEvent::Rdma(packet) => Some(packet.seen(ecn)),
        NetEvent::Frame(packet) => Some(packet.seen(ecn)),
        _ => None,
    }
}
