//! The state of a host: what its flows have sent and received.
//!
//! `model.rs` and the files below it fill it; `results.rs` reads it at the end of a run.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use paceline_kernel::Time;
use serde::{Deserialize, Serialize};

use crate::frame::FrameCounts;
use crate::packet::{TcpBody, UdpPacket};
use crate::rdma::{RdmaReceiver, RdmaSender};
use crate::tcp::Connection;

/// What a host has sent of a UDP flow.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Sending {
    /// Packets handed to the host's port, whether that had room for them or not.
    pub packets: u64,
    /// When the burst ends, of a source that sends in bursts.
    pub(crate) burst_end_ps: u64,
    /// What rounding has left of the intervals of the burst.
    pub(crate) rest: u64,
}

/// What a host has received of a UDP flow.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Arrivals {
    /// Packets that arrived.
    pub packets: u64,
    /// Their bytes on the wire.
    pub bytes: u64,
    /// The sum of their delays, from being sent to being here whole, in picoseconds.
    pub delay_sum_ps: u128,
    /// The longest of these delays.
    pub delay_most_ps: u64,
    /// Packets that came after one with a greater number.
    pub reordered: u64,
    /// The number that comes next if nothing is lost, modulo 2^32.
    next: u32,
    /// When the last one arrived, in picoseconds.
    pub last_ps: u64,
}

impl Arrivals {
    #[inline(always)]
    pub(crate) fn take(&mut self, packet: &UdpPacket, now_ps: u64) {
        let delay_ps = now_ps.saturating_sub(packet.sent_ps);
        self.packets += 1;
        self.bytes += u64::from(packet.bytes);
        self.delay_sum_ps += u128::from(delay_ps);
        self.delay_most_ps = self.delay_most_ps.max(delay_ps);
        self.last_ps = now_ps;
        // Numbers go round: of two the later one is less than half the circle ahead.
        if packet.number.wrapping_sub(self.next) > u32::MAX / 2 {
            self.reordered += 1;
        } else {
            self.next = packet.number.wrapping_add(1);
        }
    }
}

/// One end of a TCP flow's connection.
#[derive(Clone, Debug, PartialEq, Hash, Serialize, Deserialize)]
pub struct Endpoint {
    /// This end of the connection.
    pub connection: Connection,
    /// Packets that this end has sent.
    pub sent: u64,
    /// Packets that arrived.
    pub arrived: u64,
    /// The sum of their delays, in picoseconds.
    pub delay_sum_ps: u128,
    /// When, at the receiver, all bytes had been delivered in order, in picoseconds.
    pub done_ps: Option<u64>,
    /// The event that is to wake the connection: when, and its number.
    pub(crate) wake: Option<Time>,
    pub(crate) generation: u32,
}

impl Endpoint {
    pub(crate) fn new(connection: Connection) -> Self {
        Self { connection, sent: 0, arrived: 0, delay_sum_ps: 0, done_ps: None, wake: None, generation: 0 }
    }

    #[inline(always)]
    pub(crate) fn take(&mut self, body: &TcpBody, now_ps: u64) {
        self.arrived += 1;
        self.delay_sum_ps += u128::from(now_ps.saturating_sub(body.sent_ps));
    }
}

/// What a host remembers of its flows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostState {
    /// By UDP flow that it sends, in the order of flows.
    pub sending: Vec<Sending>,
    /// By UDP flow that it receives, in the order of flows.
    pub arrivals: Vec<Arrivals>,
    /// By TCP flow that it sends or receives, in the order of flows, once there is a connection. What is
    /// shared is copied before it is changed, so that a copy of a host copies the connection at work alone.
    pub connections: Vec<Option<Arc<Endpoint>>>,
    /// By RDMA flow that it sends, in the order of flows, once it has begun.
    pub rdma_senders: Vec<Option<RdmaSender>>,
    /// By RDMA flow that it receives, in the order of flows.
    pub rdma_receivers: Vec<RdmaReceiver>,
    /// Of frames of a real machine in its place.
    pub frames: FrameCounts,
}

/// Without RDMA and machines there is nothing to hash of them, so that digests of other networks stay what
/// they were.
impl Hash for HostState {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        (&self.sending, &self.arrivals, &self.connections).hash(hasher);
        if !self.rdma_senders.is_empty() || !self.rdma_receivers.is_empty() {
            (&self.rdma_senders, &self.rdma_receivers).hash(hasher);
        }
        if !self.frames.is_zero() {
            self.frames.hash(hasher);
        }
    }
}

impl HostState {
    pub(crate) fn new(sending: usize, arriving: usize, connections: usize) -> Self {
        Self {
            sending: vec![Sending::default(); sending],
            arrivals: vec![Arrivals::default(); arriving],
            connections: vec![None; connections],
            ..Self::default()
        }
    }

    /// Gives it so many RDMA flows to send and to receive.
    pub(crate) fn add_rdma(&mut self, sending: usize, arriving: usize) {
        self.rdma_senders = vec![None; sending];
        self.rdma_receivers = vec![RdmaReceiver::default(); arriving];
    }

    /// The heap memory of a copy, in bytes: of its connections, one is written again.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.sending.len() * size_of::<Sending>()
            + self.arrivals.len() * size_of::<Arrivals>()
            + self.connections.len() * size_of::<Option<Arc<Endpoint>>>()
            + self.rdma_senders.len() * size_of::<Option<RdmaSender>>()
            + self.rdma_receivers.len() * size_of::<RdmaReceiver>()
            + if self.connections.is_empty() { 0 } else { size_of::<Endpoint>() }
    }
}
