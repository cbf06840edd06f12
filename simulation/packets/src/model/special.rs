//! Ports that do more than to send what comes: with other queues, loss, flow control or captures.
//!
//! Invariant: what is captured goes on as it would without.

use paceline_kernel::{Context, LpId};

use super::Packets;
use crate::capture::{Seen, seen_in};
use crate::clock::tick_of;
use crate::packet::{Carried, Forwarded, NetEvent};
use crate::port::Port;
use crate::queue::Packet;

impl Packets {
    /// Sends a packet on through a port that does more than to send what comes, and to log it.
    #[inline(never)]
    pub(super) fn forward_specially<P: Forwarded + Seen>(
        &self,
        ports: &mut [Port],
        now_ps: u64,
        number: u32,
        packet: P,
        cx: &mut Context<'_, Self>,
    ) {
        let hop = self.network.hop(cx.lp().0, number);
        let port = &mut ports[number as usize];
        if port.is_controlled() {
            return self.send_controlled(port, now_ps, number, &packet, cx);
        }
        if port.is_queue() {
            let packet = Carried::new(&packet, self.flows.class(packet.flow()));
            if port.enqueue(now_ps, packet, &mut Vec::new()) {
                self.serve(port, now_ps, number, cx);
            }
            return;
        }
        let (wire, start_ps) = (self.network.wire(hop), port.next_start(now_ps));
        let sent = port.send_admitted(wire, now_ps, packet.wire_bytes(), packet.ecn());
        if let Some((arrival_ps, ecn)) = sent
            && wire.is_captured
        {
            port.record(start_ps, arrival_ps, packet.seen(ecn));
        }
        if let Some((Some(arrival_ps), ecn)) = sent {
            let (tick, slack) = tick_of(arrival_ps);
            cx.send(LpId(hop.peer), tick - cx.now(), packet.arrives(slack, ecn));
        }
    }

    /// Sends the next packet of a port's queue, and sees to it that the port is served again.
    pub(super) fn serve(&self, port: &mut Port, now_ps: u64, number: u32, cx: &mut Context<'_, Self>) {
        let hop = self.network.hop(cx.lp().0, number);
        let (wire, start_ps) = (self.network.wire(hop), port.next_start(now_ps));
        let Some((packet, sent)) = port.serve(wire, now_ps, &mut Vec::new()) else { return };
        if wire.is_captured
            && let Some(seen) = seen_in(packet.event(), packet.ecn())
        {
            port.record(start_ps, sent.arrival_ps, seen);
        }
        cx.schedule(tick_of(sent.free_ps).0 - cx.now(), NetEvent::Ready { port: number });
        if let Some(arrival_ps) = sent.arrival_ps {
            let (tick, slack) = tick_of(arrival_ps);
            cx.send(LpId(hop.peer), tick - cx.now(), packet.arrives(slack));
        }
    }
}
