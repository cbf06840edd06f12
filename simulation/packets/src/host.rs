//! The state of a host: what its flows have sent and received.

use serde::{Deserialize, Serialize};

use crate::packet::UdpPacket;

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
    /// The number that comes next if nothing is lost.
    next: u32,
    /// When the last one arrived, in picoseconds.
    pub last_ps: u64,
}

impl Arrivals {
    #[inline(always)]
    pub(crate) fn take(&mut self, packet: &UdpPacket, now_ps: u64) {
        let delay_ps = now_ps - packet.sent_ps;
        self.packets += 1;
        self.bytes += u64::from(packet.bytes);
        self.delay_sum_ps += u128::from(delay_ps);
        self.delay_most_ps = self.delay_most_ps.max(delay_ps);
        self.last_ps = now_ps;
        if packet.number < self.next {
            self.reordered += 1;
        } else {
            self.next = packet.number + 1;
        }
    }
}

/// What a host remembers of its flows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct HostState {
    /// By flow that it sends, in the order of flows.
    pub sending: Vec<Sending>,
    /// By flow that it receives, in the order of flows.
    pub arrivals: Vec<Arrivals>,
}

impl HostState {
    pub(crate) fn new(sends: usize, receives: usize) -> Self {
        Self { sending: vec![Sending::default(); sends], arrivals: vec![Arrivals::default(); receives] }
    }

    /// The heap memory of it, in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.sending.len() * size_of::<Sending>() + self.arrivals.len() * size_of::<Arrivals>()
    }
}
