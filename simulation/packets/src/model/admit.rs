//! Which states and events of a checkpoint can be those of a network: what comes from a file may be damaged.
//!
//! Invariant: what is admitted leads to no panic.

use std::iter::zip;
use std::sync::Arc;

use paceline_kernel::LpId;

use super::{NodeState, Packets};
use crate::host::{Endpoint, HostState};
use crate::network::NodeKind;
use crate::packet::{FramePacket, NetEvent};

impl Packets {
    /// Whether it can be the state of a node.
    pub(super) fn is_state_of(&self, lp: LpId, state: &NodeState) -> bool {
        let is_host = self.network.kind(lp.0) == NodeKind::Host;
        let fits = |host: &HostState| {
            let flows = &self.flows;
            let sane = |end: &Arc<Endpoint>| end.connection.is_consistent();
            host.sending.len() == flows.sending(lp.0).len()
                && host.arrivals.len() == flows.arriving(lp.0).len()
                && host.connections.len() == flows.connections(lp.0).len()
                && host.connections.iter().flatten().all(sane)
                && host.rdma_senders.len() == flows.rdma_sending(lp.0).len()
                && host.rdma_receivers.len() == flows.rdma_arriving(lp.0).len()
                && zip(flows.rdma_sending(lp.0), &host.rdma_senders)
                    .all(|(flow, sender)| sender.iter().all(|sender| sender.is_of(flows.rdma(*flow))))
                && zip(flows.rdma_arriving(lp.0), &host.rdma_receivers)
                    .all(|(flow, receiver)| receiver.is_of(flows.rdma(*flow)))
        };
        let wire = |port: u32| self.network.wire(self.network.hop(lp.0, port));
        state.ports.len() == self.network.ports(lp.0) as usize
            && self.admits_applications(lp.0, is_host, state.applications.as_deref())
            && self.admits_web(lp.0, state.web.as_deref())
            && (0..).zip(&state.ports).all(|(number, port)| port.fits(wire(number)))
            && state.ports.iter().all(|port| self.admits_log(port.log()))
            && state.host.as_ref().map_or(!is_host, |host| is_host && fits(host))
            && match &state.switch {
                Some(switch) => {
                    let fresh = self.switches.as_ref().filter(|_| !is_host);
                    let fresh = fresh.and_then(|switches| switches.switch(&self.network, lp.0).ok());
                    fresh.is_some_and(|fresh| switch.holds(&fresh, &state.ports))
                }
                None => is_host || self.switches.is_none(),
            }
    }

    /// Whether a frame for `to` can be at a node: a host forwards nothing.
    fn admits_frame(&self, node: u32, to: u32) -> bool {
        let passes = || self.network.kind(node) != NodeKind::Host && self.network.has_route(node, to);
        self.is_for_a_host(to) && (to == node || passes())
    }

    /// Whether there are frames, and hosts that they are for, of which this is one.
    pub(super) fn is_for_a_host(&self, to: u32) -> bool {
        self.stations.is_some() && self.network.hosts().binary_search(&to).is_ok()
    }

    /// Whether it can be an event of a node.
    pub(super) fn is_event_of(&self, lp: LpId, event: &NetEvent) -> bool {
        let is_of = |flow: u32, kind: &str| {
            self.flows.list.get(flow as usize).is_some_and(|flow| flow.transport.name() == kind)
        };
        // A host forwards nothing, and a switch only what it knows a way for.
        let passes = |flow: u32, is_back: bool| {
            let ends = &self.flows.ends[flow as usize];
            let to = if is_back { ends.from } else { ends.to };
            to == lp.0 || self.network.kind(lp.0) != NodeKind::Host && self.network.has_route(lp.0, to)
        };
        let ends = |flow: u32| self.flows.ends[flow as usize];
        // Where a switch counts what comes in, packets come to it with their way in.
        let is_counted = self.switches.is_some() && self.network.kind(lp.0) != NodeKind::Host;
        let (event, is_entering) = match event {
            NetEvent::Entering(entering) => {
                (&entering.packet, u32::from(entering.port) < self.network.ports(lp.0))
            }
            other => (other, false),
        };
        if event.is_packet() != is_entering && (is_counted || is_entering) {
            return false;
        }
        match *event {
            NetEvent::Udp(ref packet) => is_of(packet.flow, "udp") && passes(packet.flow, false),
            NetEvent::Tcp(ref packet) => is_of(packet.flow, "tcp") && passes(packet.flow, packet.is_back),
            NetEvent::Rdma(ref packet) => is_of(packet.flow, "rdma") && passes(packet.flow, packet.is_back),
            NetEvent::Frame(FramePacket { to, .. }) => self.admits_frame(lp.0, to),
            NetEvent::Emit(_) | NetEvent::Answer(_) => {
                self.stations.as_ref().is_some_and(|stations| stations.is_machine(lp.0))
            }
            NetEvent::Send { flow, .. } => is_of(flow, "udp") && ends(flow).from == lp.0,
            NetEvent::Open { flow } => (is_of(flow, "tcp") || is_of(flow, "rdma")) && ends(flow).from == lp.0,
            NetEvent::Wake { flow, is_back: false, .. } => {
                (is_of(flow, "tcp") || is_of(flow, "rdma")) && ends(flow).from == lp.0
            }
            NetEvent::Wake { flow, is_back: true, .. } => is_of(flow, "tcp") && ends(flow).to == lp.0,
            NetEvent::Act { actor, .. } => self.admits_act(lp.0, actor),
            NetEvent::WebArrive { group, .. } | NetEvent::WebAsk { group, .. } => {
                self.web.as_ref().is_some_and(|table| table.groups_at(lp.0).contains(&group))
            }
            NetEvent::WebWake { .. } => self.web.as_ref().is_some_and(|table| table.is_at(lp.0)),
            NetEvent::Ready { port } => port < self.network.ports(lp.0),
            NetEvent::Pause { port, .. } => self.switches.is_some() && port < self.network.ports(lp.0),
            NetEvent::Sample { port, .. } => self.sampling.has(lp.0, port),
            NetEvent::Entering(_) => false,
        }
    }
}
