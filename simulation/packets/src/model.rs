//! The model: a network and its flows, an LP for each node.
//!
//! Invariants: a packet that comes to a node that it is not for goes on at once, or is dropped; what a node
//! does depends on its own state, the event and the parameters alone.

mod admit;
mod applications;
mod captured;
mod connections;
mod machines;
mod rdma;
mod samples;
mod sound;
mod special;
mod state;
mod switches;
mod web;

use std::sync::{Arc, OnceLock};

use paceline_kernel::{Channels, Context, Digest, LpId, Model, Partition, Time};

use crate::PacketError;
use crate::application::Table;
use crate::capture::{Capture, Seen};
use crate::clock::{LATEST, exact, tick_of, whole_ticks};
use crate::flow::{Flow, Flows};
use crate::hash::mix;
use crate::host::HostState;
use crate::network::{Network, NodeKind};
use crate::packet::{Forwarded, NetEvent, UdpPacket};
use crate::port::Port;
use crate::queue::Ecn;
use crate::results::NetOutput;
use crate::routing::{Ecmp, Routing};
use crate::sample::Sampling;
use crate::stations::Stations;
use crate::switch::Switches;
use crate::web::WebTable;

pub use state::NodeState;

/// A packet network and what is sent on it.
#[derive(Clone, Debug)]
pub struct Packets {
    network: Network,
    pub(crate) flows: Flows,
    /// How switches share buffers, if they do.
    pub(crate) switches: Option<Switches>,
    lookahead: Time,
    /// The bits of a packet's number that count for its way: all, or none.
    pub(crate) spread: u64,
    /// What tells the ways of this run from those of another.
    pub(crate) seed: u64,
    /// What was taken that the source of the network does not say: for the summary.
    pub(crate) notices: Vec<String>,
    pub(crate) applications: Option<Arc<Table>>,
    pub(crate) sampling: Sampling,
    /// Which packets are captured.
    pub(crate) capture: Option<Arc<Capture>>,
    /// Where real machines are, if there are any.
    pub(crate) stations: Option<Arc<Stations>>,
    /// Web clients and servers that exchange frames with them.
    pub(crate) web: Option<Arc<WebTable>>,
    /// Where nodes are drawn, once they are.
    pub(crate) places: OnceLock<Vec<(f64, f64)>>,
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
        network.check_delays(flows.least_bytes)?;
        let mut model = Self {
            network,
            flows,
            switches: None,
            lookahead: Time::TICK,
            spread: 0,
            seed: 0,
            notices: Vec::new(),
            applications: None,
            sampling: Sampling::default(),
            capture: None,
            stations: None,
            web: None,
            places: OnceLock::new(),
        };
        model.lookahead = model.least_delay();
        Ok(model)
    }

    /// The least delay of any packet on any link.
    fn least_delay(&self) -> Time {
        let ports = |node| (0..self.network.ports(node)).map(move |port| self.delay(node, port));
        // Without a link nothing is ever sent.
        (0..self.network.nodes()).flat_map(ports).min().unwrap_or(Time::TICK)
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

    /// The same with what the summary is to say of where the network comes from.
    pub fn notices(mut self, notices: Vec<String>) -> Self {
        self.notices = notices;
        self
    }

    /// The network on which the flows run.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// The flows, by the number that packets have.
    pub fn flows(&self) -> &[Flow] {
        &self.flows.list
    }

    /// The least delay of a packet from a node through one of its ports to the next node.
    fn delay(&self, node: u32, port: u32) -> Time {
        let wire = self.network.wire(self.network.hop(node, port));
        whole_ticks(wire.latency_ps + wire.transmission(self.least_bytes(), &mut 0))
    }

    /// The port through which a node sends a packet towards `to`; nothing while there is no way.
    #[inline(always)]
    fn port<P: Forwarded>(&self, node: u32, now_ps: u64, to: u32, packet: &P) -> Option<u32> {
        // The way is a function of flow and number, so that it does not depend on who asks.
        let hash = mix(packet.key(self.spread) ^ self.seed);
        match &self.network.routing {
            Routing::Epochs(epochs) => epochs.port(now_ps, node, to, hash),
            routing => Some(routing.port(node, to, hash)),
        }
    }

    /// A port of a node at which nothing has happened yet.
    fn fresh_port(&self, node: u32, port: u32) -> Port {
        let (hop, spec) = (self.network.hop(node, port), self.network.link(node, port));
        Port::new(self.network.wire(hop), spec, self.seed, u64::from(node) << 16 | u64::from(port))
    }

    /// Sends a packet on towards `to`.
    #[inline(always)]
    fn forward<P: Forwarded + Seen>(
        &self,
        state: &mut NodeState,
        now_ps: u64,
        to: u32,
        packet: P,
        cx: &mut Context<'_, Self>,
    ) {
        let me = cx.lp().0;
        let Some(port) = self.port(me, now_ps, to, &packet) else {
            state.without_route += 1;
            return;
        };
        let ports = &mut state.ports[..];
        let hop = self.network.hop(me, port);
        let wire = self.network.wire(hop);
        if !wire.is_plain {
            if wire.is_special {
                return self.forward_specially(ports, now_ps, port, packet, cx);
            }
            // The packet itself is sent below, as from ports that nobody captures: a second copy of that code
            // would make all hops slower.
            let (bytes, seen) = (packet.wire_bytes(), packet.seen(packet.ecn()));
            ports[port as usize].record_next(wire, now_ps, bytes, seen);
        }
        if let Some(arrival_ps) = ports[port as usize].send(wire, now_ps, packet.wire_bytes()) {
            let (tick, slack) = tick_of(arrival_ps);
            let ecn = packet.ecn();
            cx.send(LpId(hop.peer), tick - cx.now(), packet.arrives(slack, ecn));
        }
    }

    /// Sends packet `number` of `flow`, and sees to it that the next one is.
    #[inline(always)]
    fn emit(&self, state: &mut NodeState, flow: u32, number: u32, slack: u16, cx: &mut Context<'_, Self>) {
        let now_ps = exact(cx.now(), slack);
        let ends = &self.flows.ends[flow as usize];
        let source = self.flows.sources[flow as usize].as_ref().expect("UDP flows have sources");
        let host = state.host.as_mut().expect("flows begin at hosts");
        let sending = &mut host.sending[ends.from_slot as usize];
        let length = source.bytes(sending.packets);
        sending.packets += 1;
        if let Some(next_ps) = source.next(sending.packets, now_ps, sending, cx.draw()) {
            // Never back, whatever a checkpoint says of the number of packets.
            let (tick, slack) = tick_of(next_ps.max(now_ps));
            let number = number.wrapping_add(1);
            cx.schedule(tick - cx.now(), NetEvent::Send { flow, number, slack });
        }
        let (bytes, ecn) = (length, Ecn::NotCapable);
        let packet = UdpPacket { sent_ps: now_ps, flow, number, bytes, slack, ecn };
        self.forward(state, now_ps, ends.to, packet, cx);
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
        // Settings of TCP have no hash, and all of them show. Flow by flow: the text of a million of them
        // would take more memory than the run.
        let mut shown = Digest::default();
        for flow in self.flows.list.iter().enumerate() {
            shown.join(Digest::of(&format!("{flow:?}")));
        }
        let applications = self.applications.as_ref().map(|table| format!("{:?}", table.all));
        let digest = Digest::of(&(&links, shown.value(), applications));
        let (nodes, flows) = (self.network.nodes(), self.flows.list.len());
        let machines =
            self.stations.as_ref().map_or(String::new(), |stations| format!(", machines {stations:?}"));
        let web = self.web.as_ref().map_or(String::new(), |table| table.parameters());
        let captured = self.capture.as_ref().map_or(String::new(), |capture| capture.parameters());
        format!(
            "{nodes} nodes, {} ports, {flows} flows, {digest}, {}, {}, {:?}, {:?}, {:?}{captured}{machines}{web}",
            links.len(),
            self.spread,
            self.seed,
            self.switches.as_ref().map(|switches| &switches.settings),
            self.network.convergence(),
            self.sampling,
        )
    }

    fn lps(&self) -> u32 {
        self.network.nodes()
    }

    fn lookahead(&self) -> Time {
        self.lookahead
    }

    fn latest_horizon(&self) -> Time {
        LATEST
    }

    fn channels(&self, lp: LpId) -> Channels {
        let ports = 0..self.network.ports(lp.0);
        Channels::Only(
            ports.map(|port| (LpId(self.network.peer(lp.0, port)), self.delay(lp.0, port))).collect(),
        )
    }

    fn partition(&self, federates: u32) -> Partition {
        self.divide(federates)
    }

    fn init(&self, lp: LpId, cx: &mut Context<'_, Self>) -> NodeState {
        let node = lp.0;
        let ports = (0..self.network.ports(node)).map(|port| self.fresh_port(node, port)).collect();
        self.begin_samples(node, cx);
        if self.network.kind(node) != NodeKind::Host {
            let switch = self.switches.as_ref().map(|switches| switches.switch(&self.network, node));
            let switch = switch.map(|switch| Box::new(switch.expect("the settings of switches are checked")));
            return NodeState { ports, host: None, switch, applications: None, web: None, without_route: 0 };
        }
        let flows = &self.flows;
        let connections = flows.connections(node);
        let (sending, arriving) = (flows.sending(node), flows.arriving(node));
        let mut host = HostState::new(sending.len(), arriving.len(), connections.len());
        host.add_rdma(flows.rdma_sending(node).len(), flows.rdma_arriving(node).len());
        for (flow, sending) in sending.iter().zip(&mut host.sending) {
            let source = flows.sources[*flow as usize].as_ref().expect("UDP flows have sources");
            if let Some(first_ps) = source.first(sending, cx.draw()) {
                let (tick, slack) = tick_of(first_ps);
                cx.schedule(tick, NetEvent::Send { flow: *flow, number: 0, slack });
            }
        }
        let begins = |flow: &&u32| flows.ends[**flow as usize].from == node && self.begins_by_itself(**flow);
        for &flow in connections.iter().filter(begins).chain(flows.rdma_sending(node)) {
            cx.schedule(tick_of(flows.list[flow as usize].start_ps).0, NetEvent::Open { flow });
        }
        let applications = self.prepare(node, cx);
        let web = self.prepare_web(node, cx);
        NodeState { ports, host: Some(Box::new(host)), switch: None, applications, web, without_route: 0 }
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
                    self.forward(state, now_ps, ends.to, *packet, cx);
                }
            }
            NetEvent::Tcp(packet) => {
                let now_ps = exact(cx.now(), packet.slack);
                let ends = &self.flows.ends[packet.flow as usize];
                let to = if packet.is_back { ends.from } else { ends.to };
                if to == cx.lp().0 {
                    self.take_segment(state, now_ps, packet, cx);
                } else {
                    self.forward(state, now_ps, to, packet.clone(), cx);
                }
            }
            NetEvent::Rdma(packet) => {
                let now_ps = exact(cx.now(), packet.slack);
                let ends = &self.flows.ends[packet.flow as usize];
                let to = if packet.is_back { ends.from } else { ends.to };
                if to == cx.lp().0 {
                    self.take_rdma(state, now_ps, packet, cx);
                } else {
                    self.forward(state, now_ps, to, packet.clone(), cx);
                }
            }
            NetEvent::Frame(packet) => self.take_frame(state, packet, cx),
            NetEvent::Emit(body) => self.emit_frame(state, body, cx),
            NetEvent::Answer(_) => Self::count_answer(state),
            NetEvent::Send { flow, number, slack } => self.emit(state, *flow, *number, *slack, cx),
            NetEvent::Open { flow } => self.open(state, *flow, cx),
            NetEvent::Act { actor, slack } => self.act(state, *actor, *slack, cx),
            NetEvent::Wake { flow, generation, is_back } => {
                self.wake(state, *flow, *generation, *is_back, cx)
            }
            NetEvent::Ready { port } if self.switches.is_some() => self.port_is_free(state, *port, cx),
            NetEvent::Ready { port } => {
                // Exactly when the link is free: the port knows it better than the event.
                self.serve(&mut state.ports[*port as usize], 0, *port, cx);
            }
            NetEvent::Entering(entering) => self.enter(state, entering, cx),
            NetEvent::Pause { port, paused, slack } => self.obey(state, *port, *paused, *slack, cx),
            NetEvent::WebArrive { group, slack } => self.web_arrive(state, *group, *slack, cx),
            NetEvent::WebAsk { group, client, slack } => self.web_ask(state, (*group, *client), *slack, cx),
            NetEvent::WebWake { key, generation } => self.web_wake(state, (*key, *generation), cx),
            NetEvent::Sample { port, .. } => self.take_sample(state, *port, cx),
        }
    }

    fn state_bytes(&self, state: &NodeState) -> usize {
        let ports: usize = state.ports.iter().map(|port| size_of::<Port>() + port.heap_bytes()).sum();
        let host = state.host.as_ref().map_or(0, |host| size_of::<HostState>() + host.heap_bytes());
        let switch = state.switch.as_ref().map_or(0, |switch| switch.heap_bytes());
        let applications = state.applications.as_ref().map_or(0, |state| state.heap_bytes());
        let web = state.web.as_ref().map_or(0, |web| web.heap_bytes());
        size_of::<NodeState>() + ports + host + switch + applications + web
    }

    fn commit(&self, lp: LpId, at: Time, event: &NetEvent, output: &mut NetOutput) {
        self.note_sample(lp, at, event, output);
    }

    fn finish(&self, lp: LpId, state: &NodeState, output: &mut NetOutput) {
        output.add_node(&self.flows, lp.0, &state.ports, state.host.as_deref());
        output.switches.add_node(lp.0, &state.ports, state.switch.as_deref());
        output.without_route += state.without_route;
        if let (Some(table), Some(web)) = (&self.web, &state.web) {
            output.web.add(table, lp.0, web);
        }
        if let (Some(table), Some(state)) = (&self.applications, &state.applications) {
            output.applications.add(table, lp.0, state);
        }
    }

    fn left_over(&self, lp: LpId, at: Time, event: &NetEvent, output: &mut NetOutput) {
        self.note_sample(lp, at, event, output);
        output.in_flight += u64::from(event.is_packet());
        output.is_cut = true;
    }

    fn admits_state(&self, lp: LpId, state: &NodeState) -> bool {
        self.is_state_of(lp, state) && self.is_sound_state(lp, state)
    }

    fn admits_event(&self, lp: LpId, event: &NetEvent) -> bool {
        self.is_event_of(lp, event) && self.is_sound_event(lp, event)
    }

    fn admits_output(&self, output: &NetOutput) -> bool {
        self.is_sound_output(output)
    }
}
