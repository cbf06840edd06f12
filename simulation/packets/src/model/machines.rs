//! Real machines in the places of hosts.
//!
//! Invariant: what a machine sends and what comes to it passes its host's LP, as an event.

use std::sync::Arc;

use paceline_kernel::{Context, Partition};

use super::{NodeState, Packets};
use crate::PacketError;
use crate::clock::exact;
use crate::frame::route::Routed;
use crate::frame::{FrameBody, FrameCounts, LEAST_WIRE_BYTES};
use crate::network::NodeKind;
use crate::packet::FramePacket;
use crate::partition;
use crate::stations::{Fate, Stations};

impl Packets {
    /// The same with real machines in the places of hosts. Captures become files of Ethernet.
    ///
    /// # Errors
    ///
    /// [`PacketError::NoDelay`] where the least frame takes no time on a link.
    pub fn machines(mut self, stations: Stations) -> Result<Self, PacketError> {
        self.flows.least_bytes = match self.flows.list.is_empty() {
            true => LEAST_WIRE_BYTES,
            false => self.flows.least_bytes.min(LEAST_WIRE_BYTES),
        };
        self.network.check_delays(self.least_bytes())?;
        if let Some(capture) = &mut self.capture {
            Arc::make_mut(capture).is_ethernet = true;
        }
        self.stations = Some(Arc::new(stations));
        self.lookahead = self.least_delay();
        Ok(self)
    }

    /// Where real machines are, if there are any.
    pub fn stations(&self) -> Option<&Stations> {
        self.stations.as_deref()
    }

    /// Which node is in which federate: the hosts of a machine's cards in one of the last, in the order of
    /// their first nodes, and the others before them. With fewer federates than that takes, machines stand
    /// for nothing.
    pub(super) fn divide(&self, federates: u32) -> Partition {
        let machines: Vec<Vec<u32>> =
            self.stations.iter().flat_map(|stations| stations.machines_by_card()).collect();
        let others = federates.saturating_sub(machines.len() as u32);
        if machines.is_empty() || others == 0 {
            return partition::divide(&self.network, federates);
        }
        let mut owners = partition::divide(&self.network, others).owners();
        for (number, nodes) in (others..).zip(machines) {
            nodes.into_iter().for_each(|node| owners[node as usize] = number);
        }
        Partition::table(&owners)
    }

    pub(super) fn frames(state: &mut NodeState) -> &mut FrameCounts {
        &mut state.host.as_mut().expect("frames begin and end at hosts").frames
    }

    /// A frame has come to a node.
    #[inline(never)]
    pub(super) fn take_frame(&self, state: &mut NodeState, packet: &FramePacket, cx: &mut Context<'_, Self>) {
        let now_ps = exact(cx.now(), packet.slack);
        if packet.to != cx.lp().0 {
            if let Some(packet) = self.passed(state, now_ps, packet, cx.lp().0) {
                self.forward(state, now_ps, packet.to, packet, cx);
            }
            return;
        }
        let counts = Self::frames(state);
        counts.arrived += 1;
        counts.delay_sum_ps += u128::from(now_ps.saturating_sub(packet.body.sent_ps));
        if self.web.is_some() {
            self.web_take(state, now_ps, packet, cx);
        }
    }

    /// What goes on from a node that a frame passes: from a router the frame with less time to live, or the
    /// message that this has ended.
    pub(super) fn passed(
        &self,
        state: &mut NodeState,
        now_ps: u64,
        packet: &FramePacket,
        node: u32,
    ) -> Option<FramePacket> {
        if self.network.kind(node) != NodeKind::Router {
            return Some(packet.clone());
        }
        let message = match packet.body.routed(node, now_ps) {
            Routed::On(body) => return Some(FramePacket { body, ..packet.clone() }),
            Routed::Ended(message) => message,
        };
        // It is in the place of the frame, so that as many packets arrive as were sent.
        let stations = self.stations.as_ref().expect("frames are those of machines");
        let message =
            message.and_then(|(address, body)| Some(FramePacket::sent(body, stations.host(address)?)));
        let message = message.filter(|message| self.network.has_route(node, message.to));
        state.without_route += u64::from(message.is_none());
        message
    }

    /// The card of the machine here sends a frame.
    #[inline(never)]
    pub(super) fn emit_frame(
        &self,
        state: &mut NodeState,
        body: &Arc<FrameBody>,
        cx: &mut Context<'_, Self>,
    ) {
        let stations = self.stations.as_ref().expect("machines are at hosts of the model");
        let to = match stations.fate(cx.lp().0, body) {
            // The answer is an event of its own, when it has come.
            Fate::Answer => return,
            Fate::Forward(to) if self.network.has_route(cx.lp().0, to) => to,
            Fate::Forward(_) | Fate::Drop => {
                Self::frames(state).unforwarded += 1;
                return;
            }
        };
        Self::frames(state).sent += 1;
        self.forward(state, exact(cx.now(), 0), to, FramePacket::sent(body.clone(), to), cx);
    }

    /// The network has answered the machine here.
    #[inline(never)]
    pub(super) fn count_answer(state: &mut NodeState) {
        Self::frames(state).answered += 1;
    }
}
