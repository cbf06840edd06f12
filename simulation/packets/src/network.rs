//! The graph: nodes with names, links between them, ports, and routes.
//!
//! Invariants: a link has a port at either end; the ports of a node are numbered in the order in which its
//! links were added, and regular topologies compute with these numbers ([`Routing`]).

mod builder;
mod captured;
mod change;
mod epochs;
mod names;
mod order;
mod shortest;

use crate::link::Wire;
use crate::routing::Routing;
use crate::{LinkSpec, PacketError};

use paceline_kernel::Time;

pub use builder::NetworkBuilder;

/// What a node does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// It sends and receives, and forwards nothing.
    Host,
    /// It forwards what others send, and sends nothing itself.
    Switch,
    /// The same; the frames of machines that it forwards have less time to live after it.
    Router,
}

impl NodeKind {
    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Switch => "switch",
            Self::Router => "router",
        }
    }
}

/// What is at the other end of a port.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hop {
    /// The node there.
    pub peer: u32,
    /// The place of the link among the wires.
    pub wire: u32,
}

/// A network: nodes, links and routes. It does not change while a simulation runs.
#[derive(Clone, Debug)]
pub struct Network {
    kinds: Vec<NodeKind>,
    names: Vec<String>,
    /// Node numbers in the order of their names.
    by_name: Vec<u32>,
    /// The numbers of all hosts, ascending.
    hosts: Vec<u32>,
    /// By node, and one more: where its ports start among the hops.
    first_port: Vec<u32>,
    hops: Vec<Hop>,
    /// By port: the link as it was given.
    specs: Vec<LinkSpec>,
    wires: Vec<Wire>,
    pub(crate) routing: Routing,
    /// How long after a change of a link routes change.
    convergence: Option<Time>,
    /// All nodes, neighbours near each other: what a partition cuts.
    pub(crate) order: Vec<u32>,
}

impl Network {
    /// The number of nodes.
    pub fn nodes(&self) -> u32 {
        self.kinds.len() as u32
    }

    /// The hosts, ascending.
    pub fn hosts(&self) -> &[u32] {
        &self.hosts
    }

    /// What `node` is.
    pub fn kind(&self, node: u32) -> NodeKind {
        self.kinds[node as usize]
    }

    /// What `node` is called.
    pub fn name(&self, node: u32) -> &str {
        &self.names[node as usize]
    }

    /// The number of ports of `node`.
    pub fn ports(&self, node: u32) -> u32 {
        self.first_port[node as usize + 1] - self.first_port[node as usize]
    }

    /// The node at the other end of a port.
    pub fn peer(&self, node: u32, port: u32) -> u32 {
        self.hop(node, port).peer
    }

    /// The link at a port.
    pub fn link(&self, node: u32, port: u32) -> &LinkSpec {
        &self.specs[self.wire_of(node, port)]
    }

    /// The port of `node` that leads to `peer`.
    pub fn port_to(&self, node: u32, peer: u32) -> Option<u32> {
        (0..self.ports(node)).find(|port| self.peer(node, *port) == peer)
    }

    /// The port through which `node`, not `to` itself, sends a packet to the host `to`. Where there are
    /// several ways, `hash` chooses. All links are taken to be up. Undefined without a route.
    pub fn next_port(&self, node: u32, to: u32, hash: u64) -> u32 {
        self.routing.port(node, to, hash)
    }

    /// Whether packets get from `from` to `to` while all links are up.
    pub fn has_route(&self, from: u32, to: u32) -> bool {
        self.routing.reaches(from, to)
    }

    #[inline(always)]
    pub(crate) fn hop(&self, node: u32, port: u32) -> Hop {
        self.hops[(self.first_port[node as usize] + port) as usize]
    }

    #[inline(always)]
    pub(crate) fn wire(&self, hop: Hop) -> &Wire {
        &self.wires[hop.wire as usize]
    }

    /// Puts all links under flow control.
    pub(crate) fn control(&mut self) {
        for wire in &mut self.wires {
            (wire.is_plain, wire.is_special, wire.is_controlled) = (false, true, true);
        }
    }

    fn wire_of(&self, node: u32, port: u32) -> usize {
        self.hop(node, port).wire as usize
    }

    /// The same with nodes in an order that the topology knows to keep neighbours together.
    pub(crate) fn ordered(mut self, order: Vec<u32>) -> Self {
        debug_assert_eq!(order.len(), self.kinds.len());
        self.order = order;
        self
    }

    /// Refuses a network in which the least packet, of `bytes`, takes no time on some link.
    pub(crate) fn check_delays(&self, bytes: u32) -> Result<(), PacketError> {
        for node in 0..self.nodes() {
            for port in 0..self.ports(node) {
                let hop = self.hop(node, port);
                let packet_ps = self.wire(hop).transmission(bytes, &mut 0);
                let latency_ps = self.wire(hop).latency_ps;
                if latency_ps + packet_ps < crate::clock::PS_PER_TICK {
                    let (from, to) = (self.name(node).to_owned(), self.name(hop.peer).to_owned());
                    let tick_ps = crate::clock::PS_PER_TICK;
                    return Err(PacketError::NoDelay { from, to, latency_ps, packet_ps, bytes, tick_ps });
                }
            }
        }
        Ok(())
    }
}
