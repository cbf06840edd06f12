//! The packets that are on their way.
//!
//! Invariant: `in_flight` counts those that are here and go to a guest of the foreground.

use crate::ProcessId;
use crate::ids::{Arena, PacketId};
use crate::program::Message;

/// A packet on its way.
#[derive(Debug)]
pub struct Packet {
    pub message: Message,
    pub to: ProcessId,
    pub sent_ns: u64,
    /// Whether the run waits for the guest that it goes to.
    pub awaited: bool,
}

/// The packets that have been sent and have not come.
#[derive(Debug, Default)]
pub struct Packets {
    slots: Arena<PacketId, Option<Packet>>,
    free: Vec<PacketId>,
    in_flight: u64,
}

impl Packets {
    /// A packet sets out.
    pub fn put(&mut self, packet: Packet) -> PacketId {
        self.in_flight += u64::from(packet.awaited);
        let id = self.free.pop().unwrap_or_else(|| self.slots.push(None));
        self.slots[id] = Some(packet);
        id
    }

    /// A packet on its way.
    pub fn get(&self, id: PacketId) -> &Packet {
        self.slots[id].as_ref().expect("a packet is in one place")
    }

    /// A packet has come, or is lost.
    pub fn take(&mut self, id: PacketId) -> Packet {
        let packet = self.slots[id].take().expect("a packet is in one place");
        self.free.push(id);
        self.in_flight -= u64::from(packet.awaited);
        packet
    }

    /// Whether a packet is on its way to a guest that the run waits for.
    pub fn are_awaited(&self) -> bool {
        self.in_flight > 0
    }
}
