//! What happens to a node: the events of the model.
//!
//! Invariant: an event is small, since every hop moves one; what is larger stands behind a pointer, and is
//! not changed on the way.

mod carried;
mod framed;

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::frame::FrameBody;
use crate::queue::{Classes, Ecn};
use crate::rdma::RdmaBody;
use crate::tcp::Segment;

pub use carried::Carried;
pub(crate) use carried::Held;
pub use framed::FramePacket;

/// A UDP packet that has come to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UdpPacket {
    /// When its source sent it, in picoseconds.
    pub sent_ps: u64,
    /// The number of its flow.
    pub flow: u32,
    /// Its number in the flow, from 0, modulo 2^32.
    pub number: u32,
    /// Its length on the wire.
    pub bytes: u32,
    /// By how many picoseconds the event is later than the packet.
    pub(crate) slack: u16,
    /// Whether it may be marked, and is. Its unused values tell the kinds of events apart, without a word
    /// more.
    pub ecn: Ecn,
}

/// What of a TCP packet stays the same on its way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TcpBody {
    /// The segment in it.
    pub segment: Segment,
    /// When it was sent, in picoseconds.
    pub sent_ps: u64,
    /// Its number among the packets of its direction, modulo 2^32.
    pub number: u32,
    /// Its length on the wire.
    pub bytes: u32,
    /// The bytes that the request in it asks for: what a request says, since its data has no content. Zero in
    /// what is none.
    pub asks: u64,
}

/// A TCP packet that has come to a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TcpPacket {
    /// What is in it.
    pub body: Arc<TcpBody>,
    /// The number of its flow.
    pub flow: u32,
    /// By how many picoseconds the event is later than the packet.
    pub(crate) slack: u16,
    /// Whether it may be marked, and is.
    pub ecn: Ecn,
    /// It goes from the flow's receiver to its sender.
    pub is_back: bool,
}

/// An RDMA packet that has come to a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RdmaPacket {
    /// What is in it.
    pub body: Arc<RdmaBody>,
    /// The number of its flow.
    pub flow: u32,
    /// By how many picoseconds the event is later than the packet.
    pub(crate) slack: u16,
    /// Whether it may be marked, and is.
    pub ecn: Ecn,
    /// It goes from the flow's receiver to its sender.
    pub is_back: bool,
}

/// Something that happens to a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum NetEvent {
    /// A packet has come in whole.
    Udp(UdpPacket),
    /// A packet with a TCP segment has come in whole.
    Tcp(TcpPacket),
    /// A packet of RDMA has come in whole.
    Rdma(RdmaPacket),
    /// A frame of a real machine has come in whole.
    Frame(FramePacket),
    /// The card of the machine at this host sends a frame.
    Emit(Arc<FrameBody>),
    /// The network answers an ARP request of the machine at this host.
    Answer(Arc<FrameBody>),
    /// The source of a flow sends its next packet.
    Send {
        /// The flow that sends.
        flow: u32,
        /// The packet's number, modulo 2^32.
        number: u32,
        /// By how many picoseconds the event is later than the moment.
        slack: u16,
    },
    /// A TCP flow begins.
    Open {
        /// The flow that begins.
        flow: u32,
    },
    /// A timer of a connection is due, unless the connection has asked for another event since.
    Wake {
        /// The flow of the connection.
        flow: u32,
        /// What tells the event asked for last from others.
        generation: u32,
        /// The receiver's end of the connection.
        is_back: bool,
    },
    /// A port has sent a packet, and may take the next one from its queue.
    Ready {
        /// The port that is free again.
        port: u32,
    },
    /// A packet has come in whole at a switch that counts what comes in by each port.
    Entering(Box<Entering>),
    /// A neighbour has said what it has paused.
    Pause {
        /// The port at which it is heard.
        port: u32,
        /// The classes that are paused from now on; all others go on.
        paused: Classes,
        /// By how many picoseconds the event is later than the frame.
        slack: u16,
    },
    /// A moment has come that an application waits for.
    Act {
        /// A transfer, a client or a server.
        actor: Actor,
        /// By how many picoseconds the event is later than the moment.
        slack: u16,
    },
    /// The next web client of an entry comes.
    WebArrive {
        /// The number of the entry.
        group: u32,
        /// By how many picoseconds the event is later than the moment.
        slack: u16,
    },
    /// A web client asks again.
    WebAsk {
        /// The number of its entry.
        group: u32,
        /// Its number in that.
        client: u32,
        /// By how many picoseconds the event is later than the moment.
        slack: u16,
    },
    /// A timer of a web client's or server's connection is due, unless the connection has asked for another
    /// event since.
    WebWake {
        /// The connection, by ports and the peer's address.
        key: u64,
        /// What tells the event asked for last from others.
        generation: u32,
    },
    /// The queue at a port is sampled again.
    Sample {
        /// The port whose queue is looked at.
        port: u32,
        /// What the sample before has seen.
        packets: u32,
        /// Their bytes on the wire.
        bytes: u64,
    },
}

/// A packet that comes in at a switch, with its way in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entering {
    /// The port by which it comes in.
    pub port: u16,
    /// The arrival of the packet that is to be admitted.
    pub packet: NetEvent,
}

impl NetEvent {
    /// Whether it is the arrival of a packet.
    pub(crate) const fn is_packet(&self) -> bool {
        matches!(self, Self::Udp(_) | Self::Tcp(_) | Self::Rdma(_) | Self::Frame(_) | Self::Entering(_))
    }
}

/// What of an application acts at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Actor {
    /// A transfer of this number begins.
    Transfer(u32),
    /// The client of this number sends a request.
    Client(u32),
    /// The server at the end of this flow sends the response.
    Server(u32),
}

/// A function of its own, since an entering packet holds an event: were it hashed within `hash`, this would
/// call itself, and would then be inlined nowhere, not even for the common events that hold no other.
#[inline(never)]
fn hash_entering<H: Hasher>(entering: &Entering, hasher: &mut H) {
    entering.packet.hash(hasher);
    hasher.write_u64(u64::from(entering.port) << 32 | 6);
}

/// Not inlined either, so that frames cost those nothing who have none.
#[inline(never)]
fn hash_frame<H: Hasher>(body: &FrameBody, fields: u64, hasher: &mut H) {
    body.words().into_iter().for_each(|word| hasher.write_u64(word));
    hasher.write_u64(fields);
}

/// Every event enters the digest. Fields are put together in few words, of which the last begins with the
/// kind: one by one they would cost a quarter of a hop. Of a segment only the place in its stream counts;
/// equality sees all.
impl Hash for NetEvent {
    #[inline(always)]
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        match *self {
            Self::Udp(UdpPacket { sent_ps, flow, number, bytes, slack, ecn }) => {
                hasher.write_u64(sent_ps);
                hasher.write_u64(u64::from(flow) << 32 | u64::from(number));
                hasher.write_u64(u64::from(bytes) << 32 | u64::from(slack) << 16 | (ecn as u64) << 8);
            }
            Self::Tcp(TcpPacket { ref body, flow, slack, ecn, is_back }) => {
                hasher.write_u64(body.sent_ps);
                hasher.write_u64(u64::from(flow) << 32 | u64::from(body.number));
                hasher.write_u64(body.segment.sequence);
                hasher.write_u64(body.segment.ack);
                let marks = (ecn as u64) << 8 | u64::from(is_back) << 12;
                hasher.write_u64(u64::from(body.bytes) << 32 | u64::from(slack) << 16 | marks | 1);
            }
            Self::Rdma(RdmaPacket { ref body, flow, slack, ecn, is_back }) => {
                hasher.write_u64(body.sent_ps);
                hasher.write_u64(u64::from(flow) << 32 | u64::from(body.count));
                body.kind.hash(hasher);
                let marks = (ecn as u64) << 8 | u64::from(is_back) << 12;
                hasher.write_u64(u64::from(body.bytes) << 32 | u64::from(slack) << 16 | marks | 10);
            }
            Self::Frame(FramePacket { ref body, to, slack, ecn }) => {
                let fields = u64::from(to) << 32 | u64::from(slack) << 16 | (ecn as u64) << 8 | 11;
                hash_frame(body, fields, hasher);
            }
            Self::Emit(ref body) => hash_frame(body, 12, hasher),
            Self::Answer(ref body) => hash_frame(body, 13, hasher),
            Self::Send { flow, number, slack } => {
                hasher.write_u64(u64::from(flow) << 32 | u64::from(number));
                hasher.write_u64(u64::from(slack) << 16 | 2);
            }
            Self::Open { flow } => hasher.write_u64(u64::from(flow) << 32 | 3),
            Self::Wake { flow, generation, is_back } => {
                hasher.write_u64(u64::from(flow) << 32 | u64::from(generation));
                hasher.write_u64(u64::from(is_back) << 12 | 4);
            }
            Self::Ready { port } => hasher.write_u64(u64::from(port) << 32 | 5),
            Self::Entering(ref entering) => hash_entering(entering, hasher),
            Self::Pause { port, paused, slack } => {
                hasher.write_u64(u64::from(port));
                hasher.write_u64(u64::from(slack) << 16 | u64::from(paused.bits()) << 8 | 7);
            }
            Self::Act { actor, slack } => {
                let (kind, number) = match actor {
                    Actor::Transfer(number) => (0, number),
                    Actor::Client(number) => (1, number),
                    Actor::Server(number) => (2, number),
                };
                hasher.write_u64(u64::from(number) << 32 | u64::from(slack) << 16 | kind << 8 | 8);
            }
            Self::WebArrive { group, slack } => {
                hasher.write_u64(u64::from(group) << 32 | u64::from(slack) << 16 | 14);
            }
            Self::WebAsk { group, client, slack } => {
                hasher.write_u64(u64::from(group) << 32 | u64::from(client));
                hasher.write_u64(u64::from(slack) << 16 | 15);
            }
            Self::WebWake { key, generation } => {
                hasher.write_u64(key);
                hasher.write_u64(u64::from(generation) << 32 | 17);
            }
            Self::Sample { port, packets, bytes } => {
                hasher.write_u64(bytes);
                hasher.write_u64(u64::from(port) << 32 | u64::from(packets));
                hasher.write_u64(16);
            }
        }
    }
}

const _: () = assert!(size_of::<NetEvent>() <= 24, "an event of a hop is small");

/// What is forwarded: a packet of any kind.
pub(crate) trait Forwarded: Clone {
    fn wire_bytes(&self) -> u32;
    fn ecn(&self) -> Ecn;
    /// The flow that it is of, unless it is a frame of a machine.
    fn flow(&self) -> Option<u32>;
    /// What its way is chosen by; `spread` has the bits of its number that count.
    fn key(&self, spread: u64) -> u64;
    /// Its arrival at the next node.
    fn arrives(self, slack: u16, ecn: Ecn) -> NetEvent;
}

impl Forwarded for UdpPacket {
    #[inline(always)]
    fn wire_bytes(&self) -> u32 {
        self.bytes
    }
    #[inline(always)]
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn flow(&self) -> Option<u32> {
        Some(self.flow)
    }
    #[inline(always)]
    fn key(&self, spread: u64) -> u64 {
        u64::from(self.flow) << 32 | u64::from(self.number) & spread
    }
    #[inline(always)]
    fn arrives(self, slack: u16, ecn: Ecn) -> NetEvent {
        NetEvent::Udp(Self { slack, ecn, ..self })
    }
}

impl Forwarded for TcpPacket {
    #[inline(always)]
    fn wire_bytes(&self) -> u32 {
        self.body.bytes
    }
    #[inline(always)]
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn flow(&self) -> Option<u32> {
        Some(self.flow)
    }
    /// The two directions of a flow choose their ways by themselves.
    #[inline(always)]
    fn key(&self, spread: u64) -> u64 {
        let key = u64::from(self.flow) << 32 | u64::from(self.body.number) & spread;
        if self.is_back { !key } else { key }
    }
    #[inline(always)]
    fn arrives(self, slack: u16, ecn: Ecn) -> NetEvent {
        NetEvent::Tcp(Self { slack, ecn, ..self })
    }
}

impl Forwarded for RdmaPacket {
    fn wire_bytes(&self) -> u32 {
        self.body.bytes
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn flow(&self) -> Option<u32> {
        Some(self.flow)
    }
    /// The two directions of a flow choose their ways by themselves.
    fn key(&self, spread: u64) -> u64 {
        let key = u64::from(self.flow) << 32 | u64::from(self.body.count) & spread;
        if self.is_back { !key } else { key }
    }
    fn arrives(self, slack: u16, ecn: Ecn) -> NetEvent {
        NetEvent::Rdma(Self { slack, ecn, ..self })
    }
}
