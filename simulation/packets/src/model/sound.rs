//! What states, events and outputs that were read from a checkpoint must be, so that nothing runs over or
//! looks beyond the end of a list later.

use paceline_kernel::LpId;

use super::{NodeState, Packets};
use crate::clock::{LATEST, LATEST_PS, MOST_COUNT, PS_PER_TICK};
use crate::host::{Arrivals, HostState, Sending};
use crate::link::MOST_BYTES;
use crate::packet::{Carried, NetEvent};
use crate::port::Port;
use crate::results::NetOutput;
use crate::udp::Source;

/// More than the delays of all packets of a run add up to.
const MOST_DELAYS_PS: u128 = 1 << 100;

impl Packets {
    /// Whether the numbers in a state are such that the model can go on with them.
    pub(super) fn is_sound_state(&self, lp: LpId, state: &NodeState) -> bool {
        let wire = |port: u32| self.network.wire(self.network.hop(lp.0, port));
        let is_port =
            |(number, port): (u32, &Port)| port.is_consistent(wire(number), &self.fresh_port(lp.0, number));
        // What waits has not yet got its way in at the next node.
        let is_packet = |packet: &Carried| {
            let event = packet.event();
            self.has_flow_of(event) && self.is_sound_event(lp, event)
        };
        state.without_route <= MOST_COUNT
            && (0..).zip(&state.ports).all(is_port)
            && state.ports.iter().all(|port| port.is_all(is_packet))
            && state.host.as_ref().is_none_or(|host| self.is_sound_host(lp.0, host))
    }

    fn is_sound_host(&self, node: u32, host: &HostState) -> bool {
        let flows = &self.flows;
        let source = |flow: &u32| flows.sources[*flow as usize].as_ref();
        let sends = |(flow, sending): (&u32, &Sending)| {
            source(flow).is_some_and(|source| source.admits(sending)) && sending.packets <= MOST_COUNT
        };
        let arrives = |(flow, arrivals): (&u32, &Arrivals)| {
            let admits = |source: &Source| source.admits_sum(arrivals.packets, arrivals.bytes);
            arrivals.packets.max(arrivals.reordered) <= MOST_COUNT
                && source(flow).map_or(arrivals.bytes == 0, admits)
                && arrivals.delay_sum_ps <= MOST_DELAYS_PS
                && arrivals.last_ps <= LATEST_PS
        };
        let ends = flows.connections(node).iter().zip(&host.connections);
        let frames = &host.frames;
        let counts = [frames.sent, frames.arrived, frames.answered, frames.unforwarded];
        let has_frames = self.stations.is_some() || frames.is_zero();
        if !has_frames
            || counts.iter().any(|count| *count > MOST_COUNT)
            || frames.delay_sum_ps > MOST_DELAYS_PS
        {
            return false;
        }
        flows.sending(node).iter().zip(&host.sending).all(sends)
            && flows.arriving(node).iter().zip(&host.arrivals).all(arrives)
            && ends.filter_map(|(flow, end)| Some((*flow, end.as_ref()?))).all(|(flow, end)| {
                let start_ps = flows.list[flow as usize].start_ps;
                end.sent.max(end.arrived) <= MOST_COUNT
                    && end.delay_sum_ps <= MOST_DELAYS_PS
                    && end.done_ps.is_none_or(|done_ps| (start_ps..=LATEST_PS).contains(&done_ps))
            })
    }

    /// Whether the flow that a packet is of is one of its kind.
    fn has_flow_of(&self, event: &NetEvent) -> bool {
        let is_of = |flow: u32, kind: &str| {
            self.flows.list.get(flow as usize).is_some_and(|flow| flow.transport.name() == kind)
        };
        match event {
            NetEvent::Udp(packet) => is_of(packet.flow, "udp"),
            NetEvent::Tcp(packet) => is_of(packet.flow, "tcp"),
            NetEvent::Rdma(packet) => is_of(packet.flow, "rdma"),
            NetEvent::Frame(packet) => self.is_for_a_host(packet.to),
            _ => false,
        }
    }

    /// The same of an event: what it says of flows and ports is known to be so.
    pub(super) fn is_sound_event(&self, lp: LpId, event: &NetEvent) -> bool {
        let is_slack = |slack: u16| u64::from(slack) < PS_PER_TICK;
        match *event {
            NetEvent::Udp(ref packet) => {
                let source = self.flows.sources[packet.flow as usize].as_ref();
                let admits = |source: &Source| source.admits_packet(packet.number, packet.bytes);
                is_slack(packet.slack) && source.is_some_and(admits)
            }
            NetEvent::Tcp(ref packet) => is_slack(packet.slack) && packet.body.bytes <= MOST_BYTES,
            NetEvent::Rdma(ref packet) => is_slack(packet.slack) && packet.body.bytes <= MOST_BYTES,
            NetEvent::Frame(ref packet) => is_slack(packet.slack) && packet.body.is_consistent(),
            NetEvent::Emit(ref body) | NetEvent::Answer(ref body) => body.is_consistent(),
            NetEvent::Entering(ref entering) => self.is_sound_event(lp, &entering.packet),
            NetEvent::Send { slack, .. }
            | NetEvent::Pause { slack, .. }
            | NetEvent::Act { slack, .. }
            | NetEvent::WebArrive { slack, .. }
            | NetEvent::WebAsk { slack, .. } => is_slack(slack),
            NetEvent::Ready { port } => self.network.wire(self.network.hop(lp.0, port)).is_special,
            NetEvent::Open { .. }
            | NetEvent::Wake { .. }
            | NetEvent::WebWake { .. }
            | NetEvent::Sample { .. } => true,
        }
    }

    /// The same of what a part of a run has left behind that has not ended: samples alone.
    pub(super) fn is_sound_output(&self, output: &NetOutput) -> bool {
        let network = &self.network;
        output.is_unfinished()
            && output.samples.iter().all(|sample| {
                sample.at <= LATEST
                    && sample.node < network.nodes()
                    && sample.port < network.ports(sample.node)
            })
    }
}
