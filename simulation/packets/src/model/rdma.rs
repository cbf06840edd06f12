//! What hosts do with RDMA flows: they give senders and receivers packets and times, and send what comes out.
//!
//! Invariant: a sender that has not ended has an event on its way that comes no later than its deadline. An
//! event that was overtaken by an earlier one is known by its generation and ignored.

use std::sync::Arc;

use paceline_kernel::Context;

use super::{NodeState, Packets};
use crate::clock::{exact, tick_of};
use crate::hash::mix;
use crate::packet::{NetEvent, RdmaPacket};
use crate::queue::Ecn;
use crate::rdma::{RdmaBody, RdmaKind, RdmaSender};

/// A flow waits while so many packets wait at its host's port: a network card takes a packet from a flow when
/// it is about to send it. What waits is sent without a gap.
const MOST_WAITING: usize = 4;

impl Packets {
    /// An RDMA flow begins.
    pub(super) fn open_rdma(&self, state: &mut NodeState, flow: u32, cx: &mut Context<'_, Self>) {
        let (rdma, ends) = (self.flows.rdma(flow), self.flows.ends[flow as usize]);
        let line = self.network.link(ends.from, self.port_of(flow)).rate;
        let host = state.host.as_mut().expect("flows begin at hosts");
        let start_ps = self.flows.list[flow as usize].start_ps;
        host.rdma_senders[ends.from_slot as usize] = Some(RdmaSender::new(rdma, line, start_ps));
        self.run_sender(state, flow, cx);
    }

    /// A deadline of a sender has come, unless it has moved.
    pub(super) fn wake_rdma(
        &self,
        state: &mut NodeState,
        flow: u32,
        generation: u32,
        cx: &mut Context<'_, Self>,
    ) {
        let slot = self.flows.ends[flow as usize].from_slot;
        let host = state.host.as_mut().expect("flows begin at hosts");
        let sender = host.rdma_senders[slot as usize].as_mut();
        let Some(sender) = sender.filter(|sender| sender.generation == generation) else { return };
        sender.wake = None;
        self.run_sender(state, flow, cx);
    }

    /// A packet has come to the host that it is for.
    pub(super) fn take_rdma(
        &self,
        state: &mut NodeState,
        now_ps: u64,
        packet: &RdmaPacket,
        cx: &mut Context<'_, Self>,
    ) {
        let flow = packet.flow;
        let (rdma, ends) = (self.flows.rdma(flow), self.flows.ends[flow as usize]);
        let host = state.host.as_mut().expect("flows begin and end at hosts");
        if packet.is_back {
            if let Some(sender) = &mut host.rdma_senders[ends.from_slot as usize] {
                sender.take(rdma, now_ps, &packet.body);
                self.run_sender(state, flow, cx);
            }
            return;
        }
        let receiver = &mut host.rdma_receivers[ends.to_slot as usize];
        for body in receiver.take(rdma, now_ps, &packet.body, packet.ecn == Ecn::Congested) {
            self.send_rdma(state, now_ps, flow, true, body, cx);
        }
    }

    /// Sends what is due, and asks for the event of the sender's deadline.
    fn run_sender(&self, state: &mut NodeState, flow: u32, cx: &mut Context<'_, Self>) {
        let (rdma, ends) = (self.flows.rdma(flow), self.flows.ends[flow as usize]);
        let host = state.host.as_mut().expect("flows begin at hosts");
        let sender = host.rdma_senders[ends.from_slot as usize].as_mut().expect("it has begun");
        // The exact moment that the event stands for, so that no rounding adds up from packet to packet.
        let due_ps = sender.deadline_ps(rdma).filter(|due_ps| tick_of(*due_ps).0 == cx.now());
        let now_ps = due_ps.unwrap_or(exact(cx.now(), 0));
        let has_room = state.ports[self.port_of(flow) as usize].backlog(now_ps) < MOST_WAITING;
        let body = sender.on_timer(rdma, now_ps, has_room);
        if let Some(due_ps) = sender.deadline_ps(rdma) {
            let due = tick_of(due_ps).0.max(cx.now());
            if sender.wake.is_none_or(|wake| wake > due) {
                sender.wake = Some(due);
                sender.generation += 1;
                let generation = sender.generation;
                cx.schedule(due - cx.now(), NetEvent::Wake { flow, generation, is_back: false });
            }
        }
        if let Some(body) = body {
            self.send_rdma(state, now_ps, flow, false, body, cx);
        }
    }

    fn send_rdma(
        &self,
        state: &mut NodeState,
        now_ps: u64,
        flow: u32,
        is_back: bool,
        body: Arc<RdmaBody>,
        cx: &mut Context<'_, Self>,
    ) {
        let ends = self.flows.ends[flow as usize];
        let to = if is_back { ends.from } else { ends.to };
        // Only data is marked: nobody would hear of marks of answers.
        let ecn = if matches!(body.kind, RdmaKind::Data(_)) { Ecn::Capable0 } else { Ecn::NotCapable };
        self.forward(state, now_ps, to, RdmaPacket { body, flow, slack: 0, ecn, is_back }, cx);
    }

    /// The port of the sending host that a flow leaves by, if all its packets go one way.
    fn port_of(&self, flow: u32) -> u32 {
        let ends = self.flows.ends[flow as usize];
        self.network.next_port(ends.from, ends.to, mix(u64::from(flow) << 32 ^ self.seed))
    }
}
