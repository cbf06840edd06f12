//! The model: a network and its flows, an LP for each node.
//!
//! Invariants: a packet that comes to a node that it is not for goes on at once, or is dropped; what a node
//! does depends on its own state, the event and the parameters alone.

use paceline_kernel::{Channels, Context, Digest, LpId, Model, Partition, Time};
use serde::{Deserialize, Serialize};

use crate::PacketError;
use crate::clock::{exact, tick_of, whole_ticks};
use crate::flow::{Flow, Flows};
use crate::host::HostState;
use crate::network::{Network, NodeKind};
use crate::packet::{Ecn, NetEvent, UdpPacket};
use crate::partition;
use crate::port::Port;
use crate::results::{LinkResult, NetOutput};
use crate::routing::{Ecmp, mix};

/// What a node remembers.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct NodeState {
    /// By port.
    pub ports: Vec<Port>,
    /// What hosts have besides.
    pub host: Option<Box<HostState>>,
}

/// A packet network and what is sent on it.
#[derive(Clone, Debug)]
pub struct Packets {
    network: Network,
    flows: Flows,
    lookahead: Time,
    /// The bits of a packet's number that count for its way: all, or none.
    spread: u64,
    /// What tells the ways of this run from those of another.
    seed: u64,
}

impl Packets {
    /// The model of `flows` on `network`.
    ///
    /// # Errors
    ///
    /// A flow that cannot be ([`PacketError::FlowToItself`], [`PacketError::NotAHost`],
    /// [`PacketError::NoRoute`], [`PacketError::FlowNumber`]), and [`PacketError::NoDelay`] where a link
    /// takes no time.
    pub fn new(network: Network, flows: Vec<Flow>) -> Result<Self, PacketError> {
        let flows = Flows::new(&network, flows)?;
        network.check_delays(flows.least_bytes())?;
        let mut model = Self { network, flows, lookahead: Time::MAX, spread: 0, seed: 0 };
        for node in 0..model.network.nodes() {
            let least = (0..model.network.ports(node)).map(|port| model.delay(node, port)).min();
            model.lookahead = model.lookahead.min(least.unwrap_or(Time::MAX));
        }
        // Without a link nothing is ever sent.
        model.lookahead = if model.lookahead == Time::MAX { Time::TICK } else { model.lookahead };
        Ok(model)
    }

    /// The same with another way to spread packets over ways of equal length.
    pub fn ecmp(mut self, ecmp: Ecmp) -> Self {
        self.spread = if ecmp == Ecmp::Packet { u64::from(u32::MAX) } else { 0 };
        self
    }

    /// The same with other ways drawn for packets or flows.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// The network.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// The flows.
    pub fn flows(&self) -> &[Flow] {
        &self.flows.list
    }

    /// The least delay of a packet from a node through one of its ports to the next node.
    fn delay(&self, node: u32, port: u32) -> Time {
        let wire = self.network.wire(self.network.hop(node, port));
        whole_ticks(wire.latency_ps + wire.transmission(self.flows.least_bytes(), &mut 0))
    }

    /// Chooses the way of a packet: a function of flow and number, so that the way does not depend on who
    /// asks.
    #[inline(always)]
    fn hash(&self, flow: u32, number: u32) -> u64 {
        mix((u64::from(flow) << 32 | u64::from(number) & self.spread) ^ self.seed)
    }

    /// Sends a packet on towards `to`.
    #[inline(always)]
    fn forward(
        &self,
        ports: &mut [Port],
        now_ps: u64,
        to: u32,
        packet: &UdpPacket,
        cx: &mut Context<'_, Self>,
    ) {
        let me = cx.lp().0;
        let port = self.network.routing.port(me, to, self.hash(packet.flow, packet.number));
        let hop = self.network.hop(me, port);
        let sent = ports[port as usize].send(self.network.wire(hop), now_ps, packet.bytes);
        if let Some(arrival_ps) = sent {
            let (tick, slack) = tick_of(arrival_ps);
            cx.send(LpId(hop.peer), tick - cx.now(), NetEvent::Udp(UdpPacket { slack, ..*packet }));
        }
    }

    /// Sends packet `number` of `flow`, and sees to it that the next one is.
    #[inline(always)]
    fn emit(&self, state: &mut NodeState, flow: u32, number: u32, slack: u16, cx: &mut Context<'_, Self>) {
        let now_ps = exact(cx.now(), slack);
        let (ends, source) = (&self.flows.ends[flow as usize], &self.flows.sources[flow as usize]);
        let host = state.host.as_mut().expect("flows begin at hosts");
        let sending = &mut host.sending[ends.from_slot as usize];
        sending.packets += 1;
        if let Some(next_ps) = source.next(number + 1, now_ps, sending, cx.draw()) {
            let (tick, slack) = tick_of(next_ps);
            cx.schedule(tick - cx.now(), NetEvent::Send { flow, number: number + 1, slack });
        }
        let packet =
            UdpPacket { sent_ps: now_ps, flow, number, bytes: source.bytes, slack, ecn: Ecn::NotCapable };
        self.forward(&mut state.ports, now_ps, ends.to, &packet, cx);
    }
}

impl Model for Packets {
    type State = NodeState;
    type Event = NetEvent;
    type Output = NetOutput;

    fn parameters(&self) -> String {
        let ports = |node| (0..self.network.ports(node)).map(move |port| (node, port));
        let links: Vec<_> = (0..self.network.nodes())
            .flat_map(ports)
            .map(|(node, port)| (self.network.peer(node, port), self.network.link(node, port)))
            .collect();
        let digest = Digest::of(&(&links, &self.flows.list));
        let (nodes, flows) = (self.network.nodes(), self.flows.list.len());
        format!(
            "{nodes} nodes, {} ports, {flows} flows, {digest}, {}, {}",
            links.len(),
            self.spread,
            self.seed
        )
    }

    fn lps(&self) -> u32 {
        self.network.nodes()
    }

    fn lookahead(&self) -> Time {
        self.lookahead
    }

    fn channels(&self, lp: LpId) -> Channels {
        let ports = 0..self.network.ports(lp.0);
        Channels::Only(
            ports.map(|port| (LpId(self.network.peer(lp.0, port)), self.delay(lp.0, port))).collect(),
        )
    }

    fn partition(&self, federates: u32) -> Partition {
        partition::divide(&self.network, federates)
    }

    fn init(&self, lp: LpId, cx: &mut Context<'_, Self>) -> NodeState {
        let node = lp.0;
        let ports = vec![Port::default(); self.network.ports(node) as usize];
        let outgoing = self.flows.outgoing(node);
        if self.network.kind(node) != NodeKind::Host {
            return NodeState { ports, host: None };
        }
        let mut host = HostState::new(outgoing.len(), self.flows.incoming(node).len());
        for (flow, sending) in outgoing.iter().zip(&mut host.sending) {
            if let Some(first_ps) = self.flows.sources[*flow as usize].first(sending, cx.draw()) {
                let (tick, slack) = tick_of(first_ps);
                cx.schedule(tick, NetEvent::Send { flow: *flow, number: 0, slack });
            }
        }
        NodeState { ports, host: Some(Box::new(host)) }
    }

    #[inline(always)]
    fn handle(&self, state: &mut NodeState, event: &NetEvent, cx: &mut Context<'_, Self>) {
        match event {
            NetEvent::Udp(packet) => {
                let now_ps = exact(cx.now(), packet.slack);
                let ends = &self.flows.ends[packet.flow as usize];
                if ends.to == cx.lp().0 {
                    let host = state.host.as_mut().expect("flows end at hosts");
                    host.arrivals[ends.to_slot as usize].take(packet, now_ps);
                } else {
                    self.forward(&mut state.ports, now_ps, ends.to, packet, cx);
                }
            }
            NetEvent::Send { flow, number, slack } => self.emit(state, *flow, *number, *slack, cx),
        }
    }

    fn state_bytes(&self, state: &NodeState) -> usize {
        let ports: usize = state.ports.iter().map(|port| size_of::<Port>() + port.heap_bytes()).sum();
        let host = state.host.as_ref().map_or(0, |host| size_of::<HostState>() + host.heap_bytes());
        size_of::<NodeState>() + ports + host
    }

    fn finish(&self, lp: LpId, state: &NodeState, output: &mut NetOutput) {
        for (port, of) in (0..).zip(&state.ports) {
            let &Port { sent, sent_bytes, dropped, most_waiting, .. } = of;
            output.links.push(LinkResult { node: lp.0, port, sent, sent_bytes, dropped, most_waiting });
        }
        let Some(host) = &state.host else { return };
        let outgoing = self.flows.outgoing(lp.0).iter().copied();
        output.sending.extend(outgoing.zip(host.sending.iter().cloned()));
        let incoming = self.flows.incoming(lp.0).iter().copied();
        output.arrivals.extend(incoming.zip(host.arrivals.iter().cloned()));
    }

    fn left_over(&self, _lp: LpId, _at: Time, event: &NetEvent, output: &mut NetOutput) {
        output.in_flight += u64::from(matches!(event, NetEvent::Udp(_)));
    }

    fn admits_state(&self, lp: LpId, state: &NodeState) -> bool {
        let host = match &state.host {
            None => self.network.kind(lp.0) != NodeKind::Host,
            Some(host) => {
                self.network.kind(lp.0) == NodeKind::Host
                    && host.sending.len() == self.flows.outgoing(lp.0).len()
                    && host.arrivals.len() == self.flows.incoming(lp.0).len()
            }
        };
        host && state.ports.len() == self.network.ports(lp.0) as usize
    }

    fn admits_event(&self, lp: LpId, event: &NetEvent) -> bool {
        match event {
            NetEvent::Udp(packet) => self.flows.ends.get(packet.flow as usize).is_some_and(|ends| {
                let forwards =
                    self.network.kind(lp.0) != NodeKind::Host && self.network.has_route(lp.0, ends.to);
                ends.to == lp.0 || forwards
            }),
            NetEvent::Send { flow, .. } => {
                self.flows.ends.get(*flow as usize).is_some_and(|ends| ends.from == lp.0)
            }
        }
    }
}
