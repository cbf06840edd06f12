//! What hosts do with TCP connections: they give them segments and times, and send what comes out.
//!
//! Invariant: after every call a connection with a deadline has an event on its way that comes no later.
//! Events of deadlines that have moved to an earlier time come as well, and are known by their generation and
//! ignored.

use std::sync::Arc;

use paceline_kernel::Context;

use super::{NodeState, Packets};
use crate::clock::exact;
use crate::flow::Ends;
use crate::host::Endpoint;
use crate::packet::{NetEvent, TcpBody, TcpPacket};
use crate::queue::Ecn;
use crate::tcp::{Connection, Flags, Segment, State, Step};

impl Packets {
    /// A flow begins: its sender opens the connection, and has all it will send.
    pub(super) fn open(&self, state: &mut NodeState, flow: u32, cx: &mut Context<'_, Self>) {
        if self.flows.is_rdma(flow) {
            return self.open_rdma(state, flow, cx);
        }
        let (tcp, ends) = (self.flows.tcp(flow), self.flows.ends[flow as usize]);
        let mut out = Vec::new();
        let step = &mut Step::new(&tcp.sender, cx.now(), &mut out);
        let mut connection = Connection::connect(step, u64::from(flow));
        connection.write(step, tcp.bytes.unwrap_or(Connection::ENDLESS));
        if tcp.bytes.is_some() {
            connection.close(step);
        }
        let host = state.host.as_mut().expect("flows begin at hosts");
        host.connections[ends.from_slot as usize] = Some(Arc::new(Endpoint::new(connection)));
        self.send_segments(state, flow, ends, false, exact(cx.now(), 0), out, cx);
    }

    /// A segment has come to the host that it is for.
    pub(super) fn take_segment(
        &self,
        state: &mut NodeState,
        now_ps: u64,
        packet: &TcpPacket,
        cx: &mut Context<'_, Self>,
    ) {
        let (flow, is_receiver) = (packet.flow, !packet.is_back);
        let (tcp, ends) = (self.flows.tcp(flow), self.flows.ends[flow as usize]);
        let settings = if is_receiver { &tcp.receiver } else { &tcp.sender };
        let listen = || Arc::new(Endpoint::new(Connection::listen(settings, u64::from(flow))));
        let endpoint = Arc::make_mut(endpoint(state, ends, is_receiver).get_or_insert_with(listen));
        endpoint.take(&packet.body, now_ps);
        let mut out = Vec::new();
        let step = &mut Step::new(settings, cx.now(), &mut out);
        endpoint.connection.on_segment(step, &packet.body.segment, packet.ecn == Ecn::Congested);
        if is_receiver {
            let delivered = endpoint.connection.counters().delivered;
            if endpoint.done_ps.is_none() && tcp.bytes.is_some_and(|bytes| delivered >= bytes) {
                endpoint.done_ps = Some(now_ps);
            }
            // It has nothing to send: it closes as soon as its peer has.
            if endpoint.connection.state() == State::CloseWait {
                endpoint.connection.close(step);
            }
        }
        self.send_segments(state, flow, ends, is_receiver, now_ps, out, cx);
        if self.applications.is_some() {
            self.deliver(state, flow, is_receiver, &packet.body, now_ps, cx);
        }
    }

    /// An application writes `bytes` at an end of a flow and, where `is_last`, closes it. A connection that
    /// is not there yet is opened.
    pub(super) fn write(
        &self,
        state: &mut NodeState,
        (flow, is_receiver): (u32, bool),
        bytes: u64,
        is_last: bool,
        now_ps: u64,
        cx: &mut Context<'_, Self>,
    ) {
        let (tcp, ends) = (self.flows.tcp(flow), self.flows.ends[flow as usize]);
        let settings = if is_receiver { &tcp.receiver } else { &tcp.sender };
        let mut out = Vec::new();
        let step = &mut Step::new(settings, cx.now(), &mut out);
        let open = |step: &mut Step<'_>| match is_receiver {
            true => Connection::listen(settings, u64::from(flow)),
            false => Connection::connect(step, u64::from(flow)),
        };
        let place = endpoint(state, ends, is_receiver);
        let endpoint = Arc::make_mut(place.get_or_insert_with(|| Arc::new(Endpoint::new(open(step)))));
        if bytes > 0 {
            endpoint.connection.write(step, bytes);
        }
        if is_last {
            endpoint.connection.close(step);
        }
        self.send_segments(state, flow, ends, is_receiver, now_ps, out, cx);
    }

    /// The bytes that were delivered at an end of a flow.
    pub(super) fn delivered(&self, state: &mut NodeState, flow: u32, is_receiver: bool) -> u64 {
        let place = endpoint(state, self.flows.ends[flow as usize], is_receiver);
        place.as_ref().map_or(0, |endpoint| endpoint.connection.counters().delivered)
    }

    /// A deadline of a connection has come, unless it has moved.
    pub(super) fn wake(
        &self,
        state: &mut NodeState,
        flow: u32,
        generation: u32,
        is_receiver: bool,
        cx: &mut Context<'_, Self>,
    ) {
        if self.flows.is_rdma(flow) {
            return self.wake_rdma(state, flow, generation, cx);
        }
        let (tcp, ends) = (self.flows.tcp(flow), self.flows.ends[flow as usize]);
        let Some(shared) = endpoint(state, ends, is_receiver) else { return };
        if shared.generation != generation {
            return;
        }
        let endpoint = Arc::make_mut(shared);
        endpoint.wake = None;
        let mut out = Vec::new();
        let settings = if is_receiver { &tcp.receiver } else { &tcp.sender };
        endpoint.connection.on_timer(&mut Step::new(settings, cx.now(), &mut out));
        self.send_segments(state, flow, ends, is_receiver, exact(cx.now(), 0), out, cx);
    }

    /// Sends `out` in its order, and asks for the event of the connection's deadline.
    #[expect(
        clippy::too_many_arguments,
        reason = "one place where all that a call has led to comes together"
    )]
    fn send_segments(
        &self,
        state: &mut NodeState,
        flow: u32,
        ends: Ends,
        is_receiver: bool,
        now_ps: u64,
        out: Vec<Segment>,
        cx: &mut Context<'_, Self>,
    ) {
        let asks = if self.applications.is_some() { self.asks(state, flow, is_receiver) } else { 0 };
        let shared = endpoint(state, ends, is_receiver).as_mut().expect("it was just at work");
        let endpoint = Arc::make_mut(shared);
        let first = endpoint.sent;
        endpoint.sent += out.len() as u64;
        if let Some(deadline) = endpoint.connection.deadline()
            && endpoint.wake.is_none_or(|wake| wake > deadline)
        {
            let deadline = deadline.max(cx.now());
            endpoint.wake = Some(deadline);
            endpoint.generation = endpoint.generation.wrapping_add(1);
            let generation = endpoint.generation;
            cx.schedule(deadline - cx.now(), NetEvent::Wake { flow, generation, is_back: is_receiver });
        }
        let (below_bytes, to) =
            (self.flows.tcp(flow).below_bytes, if is_receiver { ends.from } else { ends.to });
        for (number, segment) in (first..).zip(out) {
            let number = number as u32;
            let bytes = below_bytes + segment.header_bytes() + u32::from(segment.length);
            let ecn = if segment.has(Flags::ECT) { Ecn::Capable0 } else { Ecn::NotCapable };
            let body = Arc::new(TcpBody { segment, sent_ps: now_ps, number, bytes, asks });
            let packet = TcpPacket { body, flow, slack: 0, ecn, is_back: is_receiver };
            self.forward(state, now_ps, to, packet, cx);
        }
    }
}

/// The place of one end of a flow's connection.
fn endpoint(state: &mut NodeState, ends: Ends, is_receiver: bool) -> &mut Option<Arc<Endpoint>> {
    let host = state.host.as_mut().expect("flows begin and end at hosts");
    let slot = if is_receiver { ends.to_slot } else { ends.from_slot };
    &mut host.connections[slot as usize]
}
