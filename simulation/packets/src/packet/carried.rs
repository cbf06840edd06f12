//! Packets in queues.

use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};

use super::{Forwarded, NetEvent};
use crate::hash::mix;
use crate::queue::{Ecn, Packet};

/// A packet in a switch, as far as it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Held {
    /// The port by which it came in.
    pub ingress: u16,
    pub class: u8,
    pub bytes: u32,
}

/// A packet in a queue: its arrival at the next node, as far as it is known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Carried {
    event: NetEvent,
    bytes: u32,
    ecn: Ecn,
    class: u8,
    /// The port by which it came in, at a switch that counts that.
    ingress: u16,
    flow_hash: u64,
}

impl Eq for Carried {}

impl Hash for Carried {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.event.hash(hasher);
        hasher.write_u8(self.ecn as u8);
    }
}

impl Carried {
    pub(crate) fn new<P: Forwarded>(packet: &P, class: u8) -> Self {
        let (bytes, ecn, flow_hash) = (packet.wire_bytes(), packet.ecn(), mix(packet.key(0)));
        Self { event: packet.clone().arrives(0, ecn), bytes, ecn, class, ingress: 0, flow_hash }
    }

    /// The same, come in by a port.
    pub(crate) fn entering(self, ingress: u16) -> Self {
        Self { ingress, ..self }
    }

    /// As it counts in a switch.
    pub(crate) fn held(&self) -> Held {
        Held { ingress: self.ingress, class: self.class, bytes: self.bytes }
    }

    /// Its arrival at the next node, as far as it is known.
    pub(crate) fn event(&self) -> &NetEvent {
        &self.event
    }

    /// The flow that it is of, unless it is a frame of a machine.
    pub(crate) fn flow(&self) -> Option<u32> {
        match &self.event {
            NetEvent::Udp(packet) => Some(packet.flow),
            NetEvent::Tcp(packet) => Some(packet.flow),
            NetEvent::Rdma(packet) => Some(packet.flow),
            _ => None,
        }
    }

    /// Its arrival at the next node.
    pub(crate) fn arrives(self, slack: u16) -> NetEvent {
        match self.event {
            NetEvent::Udp(packet) => packet.arrives(slack, self.ecn),
            NetEvent::Tcp(packet) => packet.arrives(slack, self.ecn),
            NetEvent::Rdma(packet) => packet.arrives(slack, self.ecn),
            NetEvent::Frame(packet) => packet.arrives(slack, self.ecn),
            other => other,
        }
    }
}

impl Packet for Carried {
    fn wire_bytes(&self) -> u32 {
        self.bytes
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn set_ecn(&mut self, ecn: Ecn) {
        self.ecn = ecn;
    }
    fn class(&self) -> u8 {
        self.class
    }
    fn flow_hash(&self) -> u64 {
        self.flow_hash
    }
}
