//! Flows: who sends to whom, from when on and how.
//!
//! Invariant: the ends of a flow are two hosts, and there is a route from one to the other.

use crate::PacketError;
use crate::link::{MOST_BYTES, MOST_RATE};
use crate::network::{Network, NodeKind};
use crate::udp::{Source, Udp};

/// How a flow sends.
#[derive(Clone, Debug, PartialEq, Hash)]
pub enum Transport {
    /// Packets without an answer.
    Udp(Udp),
}

/// A flow from one host to another.
#[derive(Clone, Debug, PartialEq, Hash)]
pub struct Flow {
    /// The node that sends.
    pub from: u32,
    /// The node that receives.
    pub to: u32,
    /// When it begins, in picoseconds.
    pub start_ps: u64,
    /// How it sends.
    pub transport: Transport,
}

impl Flow {
    /// A flow of UDP packets that begins at time zero.
    pub fn udp(from: u32, to: u32, udp: Udp) -> Self {
        Self { from, to, start_ps: 0, transport: Transport::Udp(udp) }
    }

    /// The same, beginning at `start_ps` picoseconds.
    pub fn starting(mut self, start_ps: u64) -> Self {
        self.start_ps = start_ps;
        self
    }
}

/// The pairs of nodes that two patterns name ([`Network::select`]): the first of one with the first of the
/// other and so on, or one with all. Where `to` is "opposite", each host gets the one half the hosts away.
///
/// # Errors
///
/// [`PacketError::UnknownNode`]; [`PacketError::Pairs`] for lists of different lengths, neither of one node.
pub fn pairs(network: &Network, from: &str, to: &str) -> Result<Vec<(u32, u32)>, PacketError> {
    let senders = network.select(from)?;
    if to == "opposite" {
        let hosts = network.hosts();
        let opposite = |node: &u32| {
            // What is no host is refused with its flow.
            let place = hosts.binary_search(node).unwrap_or(0);
            (*node, hosts[(place + hosts.len() / 2) % hosts.len()])
        };
        return Ok(senders.iter().map(opposite).collect());
    }
    let receivers = network.select(to)?;
    match (senders.len(), receivers.len()) {
        (one, other) if one == other => Ok(senders.into_iter().zip(receivers).collect()),
        (1, _) => Ok(receivers.into_iter().map(|receiver| (senders[0], receiver)).collect()),
        (_, 1) => Ok(senders.into_iter().map(|sender| (sender, receivers[0])).collect()),
        (one, other) => Err(PacketError::Pairs {
            from_pattern: from.to_owned(),
            from: one,
            to_pattern: to.to_owned(),
            to: other,
        }),
    }
}

/// Where a flow's state is: at hosts, and there in lists.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ends {
    pub from: u32,
    pub to: u32,
    /// Its place among the flows that `from` sends.
    pub from_slot: u32,
    /// Its place among the flows that `to` receives.
    pub to_slot: u32,
}

/// All flows of a model, as hosts look for them.
#[derive(Clone, Debug)]
pub(crate) struct Flows {
    pub list: Vec<Flow>,
    pub ends: Vec<Ends>,
    pub sources: Vec<Source>,
    outgoing: ByNode,
    incoming: ByNode,
}

/// Flows by node, those of each in their order.
#[derive(Clone, Debug)]
struct ByNode {
    /// By node, and one more: where its flows start.
    first: Vec<u32>,
    flows: Vec<u32>,
}

impl ByNode {
    /// `place` gives a flow's node, and which of the flows of that node it is.
    fn new(nodes: u32, ends: &[Ends], place: impl Fn(&Ends) -> (u32, u32)) -> Self {
        let mut first = vec![0; nodes as usize + 1];
        for ends in ends {
            first[place(ends).0 as usize + 1] += 1;
        }
        for node in 0..nodes as usize {
            first[node + 1] += first[node];
        }
        let mut flows = vec![0; ends.len()];
        for (flow, ends) in ends.iter().enumerate() {
            let (node, slot) = place(ends);
            flows[(first[node as usize] + slot) as usize] = flow as u32;
        }
        Self { first, flows }
    }

    fn of(&self, node: u32) -> &[u32] {
        &self.flows[self.first[node as usize] as usize..self.first[node as usize + 1] as usize]
    }
}

impl Flows {
    pub fn new(network: &Network, list: Vec<Flow>) -> Result<Self, PacketError> {
        if list.len() > u32::MAX as usize {
            return Err(PacketError::TooMany { what: "flows", count: list.len(), most: u32::MAX as usize });
        }
        let nodes = network.nodes() as usize;
        let (mut sent, mut received) = (vec![0u32; nodes], vec![0u32; nodes]);
        let (mut ends, mut sources) = (Vec::with_capacity(list.len()), Vec::with_capacity(list.len()));
        for (number, flow) in list.iter().enumerate() {
            check(network, number, flow)?;
            let (from_slot, to_slot) = (sent[flow.from as usize], received[flow.to as usize]);
            ends.push(Ends { from: flow.from, to: flow.to, from_slot, to_slot });
            sent[flow.from as usize] += 1;
            received[flow.to as usize] += 1;
            let Transport::Udp(udp) = &flow.transport;
            sources.push(Source::new(udp, flow.start_ps));
        }
        let outgoing = ByNode::new(network.nodes(), &ends, |ends| (ends.from, ends.from_slot));
        let incoming = ByNode::new(network.nodes(), &ends, |ends| (ends.to, ends.to_slot));
        Ok(Self { list, ends, sources, outgoing, incoming })
    }

    /// The flows that `node` sends.
    pub fn outgoing(&self, node: u32) -> &[u32] {
        self.outgoing.of(node)
    }

    /// The flows that `node` receives.
    pub fn incoming(&self, node: u32) -> &[u32] {
        self.incoming.of(node)
    }

    /// The length of the least packet of any flow.
    pub fn least_bytes(&self) -> u32 {
        self.list
            .iter()
            .map(|flow| match &flow.transport {
                Transport::Udp(udp) => udp.wire_bytes,
            })
            .min()
            .unwrap_or(1)
    }
}

/// Refuses what cannot be a flow of this network.
fn check(network: &Network, number: usize, flow: &Flow) -> Result<(), PacketError> {
    for node in [flow.from, flow.to] {
        if node >= network.nodes() {
            let allowed = format!("nodes from 0 to {}", network.nodes().saturating_sub(1));
            return Err(PacketError::UnknownNode { pattern: format!("node {node}"), allowed });
        }
        if network.kind(node) != NodeKind::Host {
            let (node, kind) = (network.name(node).to_owned(), network.kind(node).name());
            return Err(PacketError::NotAHost { flow: number, node, kind });
        }
    }
    if flow.from == flow.to {
        return Err(PacketError::FlowToItself { flow: number, host: network.name(flow.from).to_owned() });
    }
    if !network.has_route(flow.from, flow.to) {
        let (from, to) = (network.name(flow.from).to_owned(), network.name(flow.to).to_owned());
        return Err(PacketError::NoRoute { from, to });
    }
    let refuse = |key, value: u64, allowed| {
        Err(PacketError::FlowNumber { flow: number, key, value: value.to_string(), allowed })
    };
    let Transport::Udp(udp) = &flow.transport;
    if udp.rate == 0 || udp.rate > MOST_RATE {
        return refuse("rate", udp.rate, "from 1 to 10^15 bit/s");
    }
    if udp.wire_bytes == 0 || udp.wire_bytes > MOST_BYTES {
        return refuse("wire_bytes", u64::from(udp.wire_bytes), "from 1 to 1,000,000");
    }
    if flow.start_ps > crate::link::MOST_LATENCY_PS {
        return refuse("start", flow.start_ps, "at most 10^18 ps, 11 days");
    }
    Ok(())
}
