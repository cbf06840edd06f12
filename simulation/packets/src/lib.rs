//! Packet networks: hosts, switches and routers as LPs, links with rate, latency and loss, queues at ports,
//! UDP and TCP. A pure model on the kernel: no thread, clock, socket or file.
//!
//! [`Network`] is the graph: built by name ([`topology`]) or node by node ([`NetworkBuilder`]). [`Flow`]s say
//! who sends what to whom. [`Packets`] is the model of both, an LP for each node:
//!
//! ```
//! use paceline_packets::{Drive, Flow, LinkSpec, Packets, Udp, topology};
//!
//! let access = LinkSpec::new(1_000_000_000, 100_000_000); // 1 Gb/s, 100 us in picoseconds
//! let bottleneck = LinkSpec::new(10_000_000, 20_000_000_000);
//! let network = topology::dumbbell(2, &access, &bottleneck)?;
//! let (from, to) = (network.node("left-0")?, network.node("right-0")?);
//! let udp = Udp { rate: 5_000_000, wire_bytes: 1030, drive: Drive::Constant, packets: None };
//! let model = Packets::new(network, vec![Flow::udp(from, to, udp)])?;
//! # let _ = model;
//! # Ok::<(), paceline_packets::PacketError>(())
//! ```
//!
//! # Time
//!
//! A link takes bits / rate for a packet, seldom a whole number of nanoseconds. What the model computes with
//! is therefore picoseconds, whatever a tick of the kernel is: states of ports and stamps of packets are in
//! picoseconds, and an event happens at the first tick that is not before the exact moment. It carries how
//! much later that is, its *slack*, so that nothing adds up from hop to hop. Packets that reach a node within
//! one tick are taken in the kernel's total order; packets of one link always in the order in which they were
//! sent. A run lasts for at most 2^63 ps, 106 days; a later horizon is refused.

#![forbid(unsafe_code)]

pub mod application;
mod capture;
mod clock;
mod error;
pub mod files;
mod flow;
pub mod flows;
mod frame;
mod hash;
mod host;
mod link;
pub mod loss;
mod model;
mod network;
mod packet;
mod partition;
mod port;
pub mod queue;
mod rdma;
mod results;
mod routing;
mod sample;
mod stations;
mod summary;
mod switch;
pub mod tcp;
pub mod topology;
mod udp;
mod web;

pub use error::PacketError;
pub use flow::{Flow, Tcp, Transport, pairs};
pub use frame::{FrameBody, FrameCounts};
pub use host::{Arrivals, Endpoint, HostState, Sending};
pub use link::LinkSpec;
pub use model::{NodeState, Packets};
pub use network::{Network, NetworkBuilder, NodeKind};
pub use packet::{Actor, Entering, FramePacket, NetEvent, RdmaPacket, TcpBody, TcpPacket, UdpPacket};
pub use port::Port;
pub use rdma::{Dcqcn, RateControl, Rdma, RdmaBody, RdmaKind, RdmaReceiver, RdmaSender};
pub use results::{FlowResult, LinkResult, NetOutput, NetResults, TcpResult};
pub use routing::Ecmp;
pub use sample::QueueSample;
pub use stations::Stations;
pub use switch::results::{HeldUp, SwitchResults};
pub use switch::{FlowControl, Switch, SwitchSettings};
pub use udp::{Drive, Span, Trace, UDP_HEADER_BYTES, Udp};
pub use web::{Web, WebClients, WebCounts, WebResult, WebServer};
