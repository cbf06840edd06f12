//! Builds a network node by node and link by link, and refuses what cannot be one.
//!
//! What a port computes with is made of each link here (`Wire` in `link.rs`), and again where a link is
//! changed (`change.rs`).

use std::collections::{BTreeMap, BTreeSet};

use super::{Hop, Network, NodeKind, order, shortest};
use crate::link::{MOST_LATENCY_PS, MOST_RATE, Wire};
use crate::packet::Carried;
use crate::queue::Queue;
use crate::routing::Routing;
use crate::{LinkSpec, PacketError};

/// The most nodes of a network.
const MOST_NODES: usize = 1 << 24;
/// The most ports of a node: what a table of routes has place for.
const MOST_PORTS: usize = 1 << 16;
/// The greatest share of a link among ways of equal length.
const MOST_WEIGHT: u32 = 1_000;

/// A network that is being built.
///
/// ```
/// use paceline_packets::{LinkSpec, NetworkBuilder, NodeKind, PacketError};
/// let mut builder = NetworkBuilder::new();
/// let (a, b) = (builder.node("a", NodeKind::Host)?, builder.node("b", NodeKind::Host)?);
/// builder.link(a, b, &LinkSpec::new(10_000_000_000, 0))?;
/// assert!(matches!(builder.link(b, a, &LinkSpec::new(1, 1)), Err(PacketError::LinkTwice { .. })));
/// let network = builder.build()?;
/// assert_eq!(network.peer(network.node("a")?, 0), b);
/// # Ok::<(), PacketError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct NetworkBuilder {
    kinds: Vec<NodeKind>,
    names: Vec<String>,
    known: BTreeSet<String>,
    links: Vec<(u32, u32, u32)>,
    joined: BTreeSet<(u32, u32)>,
    /// Links that are alike are one wire.
    specs: Vec<LinkSpec>,
    places: BTreeMap<LinkSpec, u32>,
}

impl NetworkBuilder {
    /// A network without nodes and links.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a node, and gives its number.
    ///
    /// # Errors
    ///
    /// [`PacketError::NodeTwice`], [`PacketError::TooMany`].
    pub fn node(&mut self, name: impl Into<String>, kind: NodeKind) -> Result<u32, PacketError> {
        let name = name.into();
        if self.names.len() >= MOST_NODES {
            return Err(PacketError::TooMany { what: "nodes", count: MOST_NODES + 1, most: MOST_NODES });
        }
        if !self.known.insert(name.clone()) {
            return Err(PacketError::NodeTwice { name });
        }
        self.names.push(name);
        self.kinds.push(kind);
        Ok(self.names.len() as u32 - 1)
    }

    /// Adds `count` nodes called `prefix`-0 and so on, and gives the number of the first.
    pub(crate) fn nodes(&mut self, prefix: &str, count: u32, kind: NodeKind) -> Result<u32, PacketError> {
        let first = self.names.len() as u32;
        for number in 0..count {
            self.node(format!("{prefix}-{number}"), kind)?;
        }
        Ok(first)
    }

    /// Joins two nodes, in both directions.
    ///
    /// # Errors
    ///
    /// [`PacketError::LinkToItself`], [`PacketError::LinkTwice`], [`PacketError::LinkRate`] and others for a
    /// link that cannot be; a node that does not exist is a panic.
    pub fn link(&mut self, from: u32, to: u32, spec: &LinkSpec) -> Result<(), PacketError> {
        let name = |node: u32| self.names[node as usize].clone();
        if from == to {
            return Err(PacketError::LinkToItself { node: name(from) });
        }
        check_link(spec, name(from), name(to))?;
        if !self.joined.insert((from.min(to), from.max(to))) {
            return Err(PacketError::LinkTwice { from: name(from), to: name(to) });
        }
        let place = *self.places.entry(spec.clone()).or_insert_with(|| {
            self.specs.push(spec.clone());
            self.specs.len() as u32 - 1
        });
        self.links.push((from, to, place));
        Ok(())
    }

    /// The network, with a table of shortest routes.
    ///
    /// # Errors
    ///
    /// [`PacketError::ZeroLatencyLoop`].
    pub fn build(self) -> Result<Network, PacketError> {
        let mut network = self.build_with(|_| Routing::None)?;
        network.routing = Routing::Table(shortest::table(&network)?);
        Ok(network)
    }

    /// The network, with routes that are computed.
    pub(crate) fn build_with(
        self,
        routing: impl FnOnce(&Network) -> Routing,
    ) -> Result<Network, PacketError> {
        let has_latency = |place: u32| self.specs[place as usize].latency_ps > 0;
        check_loops(&self.names, self.links.iter().map(|&(from, to, place)| (from, to, has_latency(place))))?;
        let nodes = self.names.len();
        let mut first_port = vec![0u32; nodes + 1];
        for &(from, to, _) in &self.links {
            first_port[from as usize + 1] += 1;
            first_port[to as usize + 1] += 1;
        }
        if let Some(most) = first_port.iter().max().filter(|most| **most as usize > MOST_PORTS) {
            return Err(PacketError::TooMany {
                what: "links at a node",
                count: *most as usize,
                most: MOST_PORTS,
            });
        }
        for node in 0..nodes {
            first_port[node + 1] += first_port[node];
        }
        // The ports of a node are in the order of its links.
        let mut free = first_port.clone();
        let mut hops = vec![Hop { peer: 0, wire: 0 }; first_port[nodes] as usize];
        for &(from, to, wire) in &self.links {
            for (node, peer) in [(from, to), (to, from)] {
                hops[free[node as usize] as usize] = Hop { peer, wire };
                free[node as usize] += 1;
            }
        }
        let mut by_name: Vec<u32> = (0..nodes as u32).collect();
        by_name.sort_unstable_by(|one, other| self.names[*one as usize].cmp(&self.names[*other as usize]));
        let is_host = |node: &u32| self.kinds[*node as usize] == NodeKind::Host;
        let mut network = Network {
            hosts: (0..nodes as u32).filter(is_host).collect(),
            by_name,
            first_port,
            hops,
            wires: self.specs.iter().map(Wire::new).collect(),
            specs: self.specs,
            kinds: self.kinds,
            names: self.names,
            routing: Routing::None,
            convergence: None,
            order: Vec::new(),
        };
        network.routing = routing(&network);
        network.order = order::neighbours_together(&network);
        Ok(network)
    }
}

/// Refuses a link that cannot be.
pub(super) fn check_link(spec: &LinkSpec, from: String, to: String) -> Result<(), PacketError> {
    let &LinkSpec { rate, latency_ps, ref queue, metric, weight, .. } = spec;
    if rate == 0 || rate > MOST_RATE {
        return Err(PacketError::LinkRate { from, to, rate });
    }
    if latency_ps > MOST_LATENCY_PS {
        return Err(PacketError::LinkLatency { from, to, latency_ps });
    }
    if metric == 0 {
        return Err(PacketError::LinkCost { from, to, key: "metric", value: metric, most: u32::MAX });
    }
    if weight == 0 || weight > MOST_WEIGHT {
        return Err(PacketError::LinkCost { from, to, key: "weight", value: weight, most: MOST_WEIGHT });
    }
    if let Err(error) = Queue::<Carried>::new(queue, 0, 0) {
        return Err(PacketError::Queue { from, to, error });
    }
    Ok(())
}

/// Refuses a loop of links without latency, of links with their ends and whether they have a latency: joins
/// the ends of each such link, until one joins what is joined.
pub(super) fn check_loops(
    names: &[String],
    links: impl Iterator<Item = (u32, u32, bool)>,
) -> Result<(), PacketError> {
    let mut groups = Groups((0..names.len() as u32).collect());
    for (from, to, has_latency) in links {
        if !has_latency && !groups.join(from, to) {
            let (from, to) = (names[from as usize].clone(), names[to as usize].clone());
            return Err(PacketError::ZeroLatencyLoop { from, to });
        }
    }
    Ok(())
}

/// Nodes in groups, each with the next node on the way to the one that stands for its group.
struct Groups(Vec<u32>);

impl Groups {
    fn head(&mut self, mut node: u32) -> u32 {
        while self.0[node as usize] != node {
            // Every second step of the way is cut out, so that ways stay short.
            let next = self.0[self.0[node as usize] as usize];
            self.0[node as usize] = next;
            node = next;
        }
        node
    }

    /// Joins the groups of two nodes; false if that is one group.
    fn join(&mut self, one: u32, other: u32) -> bool {
        let (one, other) = (self.head(one), self.head(other));
        self.0[one as usize] = other;
        one != other
    }
}
