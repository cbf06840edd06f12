//! Flows: who sends to whom, from when on and how.
//!
//! Invariant: the ends of a flow are two hosts, and there is a route from one to the other.

mod check;

use std::sync::Arc;

use crate::PacketError;
use crate::network::Network;
use crate::rdma::Rdma;
use crate::tcp::Settings;
use crate::udp::{Source, Trace, Udp};
use check::check;

/// A TCP header without options, in bytes.
const LEAST_HEADER: u32 = 20;
/// The longest TCP header, in bytes.
const MOST_HEADER: u32 = 60;

/// How a flow sends.
#[derive(Clone, Debug, PartialEq)]
pub enum Transport {
    /// Packets without an answer.
    Udp(Udp),
    /// Packets without an answer, each when a trace says and as long as it says.
    Trace(Arc<Trace>),
    /// A stream of bytes over a connection of its own.
    Tcp(Tcp),
    /// Packets in order at a rate that DCQCN sets.
    Rdma(Arc<Rdma>),
}

impl Transport {
    /// The word for it.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Udp(_) | Self::Trace(_) => "udp",
            Self::Tcp(_) => "tcp",
            Self::Rdma(_) => "rdma",
        }
    }
}

/// A TCP connection on which one end sends. Flows that are alike share their settings.
#[derive(Clone, Debug, PartialEq)]
pub struct Tcp {
    /// The settings of the end that sends.
    pub sender: Arc<Settings>,
    /// The settings of the end that receives.
    pub receiver: Arc<Settings>,
    /// How many bytes are sent, and then the connection is closed; without a number, up to the end of the
    /// run.
    pub bytes: Option<u64>,
    /// The headers below TCP on the wire, in bytes: 22 for IPv4 and PPP.
    pub below_bytes: u32,
}

impl Tcp {
    /// A connection with these settings at both ends, for ever, over IPv4 and PPP.
    pub fn new(settings: Settings) -> Self {
        let settings = Arc::new(settings);
        Self { sender: settings.clone(), receiver: settings, bytes: None, below_bytes: 22 }
    }

    /// The same with so many bytes to send.
    pub fn bytes(mut self, bytes: u64) -> Self {
        self.bytes = Some(bytes);
        self
    }
}

/// A flow from one host to another.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// The node that sends.
    pub from: u32,
    /// The node that receives.
    pub to: u32,
    /// When it begins, in picoseconds.
    pub start_ps: u64,
    /// How it sends.
    pub transport: Transport,
    /// The class of its packets in both directions, from 0 to 7: queues of classes, and PFC.
    pub class: u8,
}

impl Flow {
    /// A flow of UDP packets that begins at time zero, of class 0.
    pub fn udp(from: u32, to: u32, udp: Udp) -> Self {
        Self { from, to, start_ps: 0, transport: Transport::Udp(udp), class: 0 }
    }

    /// A flow of UDP packets that follows a trace from time zero on, of class 0. Flows may share one trace.
    pub fn trace(from: u32, to: u32, trace: Arc<Trace>) -> Self {
        Self { from, to, start_ps: 0, transport: Transport::Trace(trace), class: 0 }
    }

    /// A TCP flow that begins at time zero, of class 0.
    pub fn tcp(from: u32, to: u32, tcp: Tcp) -> Self {
        Self { from, to, start_ps: 0, transport: Transport::Tcp(tcp), class: 0 }
    }

    /// An RDMA flow that begins at time zero, of class 0. Flows that are alike share their settings.
    pub fn rdma(from: u32, to: u32, rdma: Arc<Rdma>) -> Self {
        Self { from, to, start_ps: 0, transport: Transport::Rdma(rdma), class: 0 }
    }

    /// The same, beginning at `start_ps` picoseconds.
    pub fn starting(mut self, start_ps: u64) -> Self {
        self.start_ps = start_ps;
        self
    }

    /// The same, with packets of another class.
    pub fn class(mut self, class: u8) -> Self {
        self.class = class;
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
    /// Its place in the list of `from`: of UDP flows that it sends, or of its connections.
    pub from_slot: u32,
    /// Its place in the list of `to`: of UDP flows that it receives, or of its connections.
    pub to_slot: u32,
}

/// All flows of a model, as hosts look for them.
#[derive(Clone, Debug)]
pub(crate) struct Flows {
    pub list: Vec<Flow>,
    pub ends: Vec<Ends>,
    /// By flow; empty for TCP.
    pub sources: Vec<Option<Source>>,
    /// By node: the UDP flows that it sends.
    sending: ByNode,
    /// By node: the UDP flows that it receives.
    arriving: ByNode,
    /// By node: the flows of its connections.
    connections: ByNode,
    /// The length of the least packet of any flow.
    pub least_bytes: u32,
    /// By node: the RDMA flows that it sends, and those that it receives.
    rdma_sending: ByNode,
    rdma_arriving: ByNode,
}

/// Flows by node, those of each in their order.
#[derive(Clone, Debug)]
pub(crate) struct ByNode {
    /// By node, and one more: where its flows start.
    first: Vec<u32>,
    flows: Vec<u32>,
}

impl ByNode {
    /// Of (node, flow).
    pub fn new(nodes: u32, entries: &[(u32, u32)]) -> Self {
        let mut first = vec![0; nodes as usize + 1];
        for (node, _) in entries {
            first[*node as usize + 1] += 1;
        }
        for node in 0..nodes as usize {
            first[node + 1] += first[node];
        }
        let (mut free, mut flows) = (first.clone(), vec![0; entries.len()]);
        for &(node, flow) in entries {
            flows[free[node as usize] as usize] = flow;
            free[node as usize] += 1;
        }
        Self { first, flows }
    }

    pub fn of(&self, node: u32) -> &[u32] {
        &self.flows[self.first[node as usize] as usize..self.first[node as usize + 1] as usize]
    }
}

/// Lists that are filled flow by flow: how many entries each node has so far, and all entries.
struct Filling {
    counts: Vec<u32>,
    entries: Vec<(u32, u32)>,
}

impl Filling {
    fn new(nodes: u32) -> Self {
        Self { counts: vec![0; nodes as usize], entries: Vec::new() }
    }

    /// Adds a flow, and gives its place in the list of its node.
    fn add(&mut self, node: u32, flow: usize) -> u32 {
        self.entries.push((node, flow as u32));
        self.counts[node as usize] += 1;
        self.counts[node as usize] - 1
    }

    fn done(self) -> ByNode {
        ByNode::new(self.counts.len() as u32, &self.entries)
    }
}

impl Flows {
    pub fn new(network: &Network, list: Vec<Flow>) -> Result<Self, PacketError> {
        if list.len() > u32::MAX as usize {
            return Err(PacketError::TooMany { what: "flows", count: list.len(), most: u32::MAX as usize });
        }
        let [mut sending, mut arriving, mut connections] = [(); 3].map(|()| Filling::new(network.nodes()));
        let [mut rdma_sending, mut rdma_arriving] = [(); 2].map(|()| Filling::new(network.nodes()));
        let (mut ends, mut sources) = (Vec::with_capacity(list.len()), Vec::with_capacity(list.len()));
        for (number, flow) in list.iter().enumerate() {
            check(network, number, flow)?;
            let &Flow { from, to, start_ps, ref transport, .. } = flow;
            let mut paired = |source| (sending.add(from, number), arriving.add(to, number), Some(source));
            let (from_slot, to_slot, source) = match transport {
                Transport::Udp(udp) => paired(Source::new(udp, start_ps)),
                Transport::Trace(trace) => paired(Source::of_trace(trace.clone(), start_ps)),
                Transport::Tcp(_) => (connections.add(from, number), connections.add(to, number), None),
                Transport::Rdma(_) => (rdma_sending.add(from, number), rdma_arriving.add(to, number), None),
            };
            ends.push(Ends { from, to, from_slot, to_slot });
            sources.push(source);
        }
        let (sending, arriving, connections) = (sending.done(), arriving.done(), connections.done());
        let least_bytes = list.iter().map(least_packet).min().unwrap_or(1);
        let (rdma_sending, rdma_arriving) = (rdma_sending.done(), rdma_arriving.done());
        Ok(Self {
            list,
            ends,
            sources,
            sending,
            arriving,
            connections,
            least_bytes,
            rdma_sending,
            rdma_arriving,
        })
    }

    /// The UDP flows that `node` sends.
    pub fn sending(&self, node: u32) -> &[u32] {
        self.sending.of(node)
    }

    /// The UDP flows that `node` receives.
    pub fn arriving(&self, node: u32) -> &[u32] {
        self.arriving.of(node)
    }

    /// The TCP flows that `node` sends or receives.
    pub fn connections(&self, node: u32) -> &[u32] {
        self.connections.of(node)
    }

    /// The TCP settings of a flow.
    #[inline(always)]
    pub fn tcp(&self, flow: u32) -> &Tcp {
        match &self.list[flow as usize].transport {
            Transport::Tcp(tcp) => tcp,
            Transport::Udp(_) | Transport::Trace(_) | Transport::Rdma(_) => {
                unreachable!("only TCP flows have connections")
            }
        }
    }

    /// Whether it is an RDMA flow.
    pub fn is_rdma(&self, flow: u32) -> bool {
        matches!(self.list[flow as usize].transport, Transport::Rdma(_))
    }

    /// The RDMA settings of a flow.
    pub fn rdma(&self, flow: u32) -> &Rdma {
        match &self.list[flow as usize].transport {
            Transport::Rdma(rdma) => rdma,
            Transport::Udp(_) | Transport::Trace(_) | Transport::Tcp(_) => {
                unreachable!("only RDMA flows have such settings")
            }
        }
    }

    /// The RDMA flows that `node` sends.
    pub fn rdma_sending(&self, node: u32) -> &[u32] {
        self.rdma_sending.of(node)
    }

    /// The RDMA flows that `node` receives.
    pub fn rdma_arriving(&self, node: u32) -> &[u32] {
        self.rdma_arriving.of(node)
    }

    /// The class of a flow's packets; what is of no flow has class 0.
    pub fn class(&self, flow: Option<u32>) -> u8 {
        flow.map_or(0, |flow| self.list[flow as usize].class)
    }

    /// A length that no packet of any flow exceeds.
    pub fn most_bytes(&self) -> u32 {
        let most = |flow: &Flow| match &flow.transport {
            Transport::Udp(udp) => udp.wire_bytes,
            Transport::Trace(trace) => trace.most_bytes(),
            Transport::Tcp(tcp) => {
                tcp.below_bytes + MOST_HEADER + u32::from(tcp.sender.mss.max(tcp.receiver.mss))
            }
            Transport::Rdma(rdma) => rdma.most_bytes(),
        };
        self.list.iter().map(most).max().unwrap_or(1)
    }
}

/// The length of the least packet of a flow.
fn least_packet(flow: &Flow) -> u32 {
    match &flow.transport {
        Transport::Udp(udp) => udp.wire_bytes,
        Transport::Trace(trace) => trace.least_bytes(),
        Transport::Tcp(tcp) => tcp.below_bytes + LEAST_HEADER,
        Transport::Rdma(rdma) => rdma.least_bytes(),
    }
}
