//! What nodes do in a network with shared buffers and flow control.
//!
//! Every hop costs two events: a packet comes in whole, and a port has sent one. Pause frames come besides.
//!
//! Invariants: what a switch counts is what waits or is being sent in it; a port that has a frame to send, or
//! a packet that is not paused, is busy.

use paceline_kernel::{Context, LpId};

use super::{NodeState, Packets};
use crate::PacketError;
use crate::capture::seen_in;
use crate::clock::{exact, tick_of};
use crate::network::NodeKind;
use crate::packet::{Carried, Entering, Forwarded, Held, NetEvent};
use crate::port::Port;
use crate::queue::pfc::PAUSE_BYTES;
use crate::queue::{Classes, Loss, Packet, PauseSignal};
use crate::switch::{SwitchSettings, Switches};

/// The bytes on the wire of an Ethernet frame with 1,500 bytes of data.
const USUAL_FRAME: u32 = 1_538;

/// What a queue has dropped.
type Losses = Vec<Loss<Carried>>;

impl Packets {
    /// The same with switches and routers whose ports share a buffer, and pause their neighbours where the
    /// settings say so. Hosts take in all that comes, and obey.
    ///
    /// # Errors
    ///
    /// [`PacketError::Switch`] where a switch cannot have such a buffer, and [`PacketError::NoDelay`] where a
    /// pause frame takes no time on a link.
    pub fn switches(mut self, settings: SwitchSettings) -> Result<Self, PacketError> {
        let switches = Switches::new(&self.network, settings, self.most_bytes())?;
        self.network.check_delays(self.flows.least_bytes.min(PAUSE_BYTES))?;
        self.network.control();
        self.switches = Some(switches);
        self.lookahead = self.least_delay();
        Ok(self)
    }

    /// A length that no packet exceeds, frames of machines with jumbo frames apart.
    fn most_bytes(&self) -> u32 {
        let most = self.flows.most_bytes();
        if self.stations.is_some() { most.max(USUAL_FRAME) } else { most }
    }

    /// The length of the least frame on any link.
    pub(super) fn least_bytes(&self) -> u32 {
        let least = self.flows.least_bytes;
        if self.switches.is_some() { least.min(PAUSE_BYTES) } else { least }
    }

    /// A packet that a host sends goes into the queue of its port.
    pub(super) fn send_controlled<P: Forwarded>(
        &self,
        port: &mut Port,
        now_ps: u64,
        number: u32,
        packet: &P,
        cx: &mut Context<'_, Self>,
    ) {
        let packet = Carried::new(packet, self.flows.class(packet.flow()));
        // What a host's queue drops counts nowhere else.
        let losses = &mut Losses::new();
        if port.enqueue(now_ps, packet, losses) {
            self.transmit(port, now_ps, number, losses, cx);
        }
    }

    /// Sends what a port has to send next, a frame first, and sees to it that it is served again.
    fn transmit(
        &self,
        port: &mut Port,
        now_ps: u64,
        number: u32,
        losses: &mut Losses,
        cx: &mut Context<'_, Self>,
    ) {
        if self.transmit_frame(port, now_ps, number, cx) {
            return;
        }
        let (me, hop) = (cx.lp().0, self.network.hop(cx.lp().0, number));
        let (wire, start_ps) = (self.network.wire(hop), port.next_start(now_ps));
        let Some((packet, sent)) = port.serve(wire, now_ps, losses) else { return };
        if wire.is_captured
            && let Some(seen) = seen_in(packet.event(), packet.ecn())
        {
            port.record(start_ps, sent.arrival_ps, seen);
        }
        cx.schedule(tick_of(sent.free_ps).0 - cx.now(), NetEvent::Ready { port: number });
        let Some(arrival_ps) = sent.arrival_ps else { return };
        let (tick, slack) = tick_of(arrival_ps);
        let mut event = packet.arrives(slack);
        if self.network.kind(hop.peer) != NodeKind::Host {
            event = NetEvent::Entering(Box::new(Entering { port: self.back(me, number), packet: event }));
        }
        cx.send(LpId(hop.peer), tick - cx.now(), event);
    }

    /// Sends the frame that is due at a port, if there is one.
    fn transmit_frame(&self, port: &mut Port, now_ps: u64, number: u32, cx: &mut Context<'_, Self>) -> bool {
        let (me, hop) = (cx.lp().0, self.network.hop(cx.lp().0, number));
        let Some((paused, sent)) = port.send_frame(self.network.wire(hop), now_ps) else { return false };
        cx.schedule(tick_of(sent.free_ps).0 - cx.now(), NetEvent::Ready { port: number });
        if let Some(arrival_ps) = sent.arrival_ps {
            let (tick, slack) = tick_of(arrival_ps);
            let frame = NetEvent::Pause { port: u32::from(self.back(me, number)), paused, slack };
            cx.send(LpId(hop.peer), tick - cx.now(), frame);
        }
        true
    }

    /// The port at the other end of the link at a port.
    fn back(&self, node: u32, port: u32) -> u16 {
        self.switches.as_ref().expect("it is a network with flow control").back(node, port)
    }

    /// A packet has come in at a switch.
    #[inline(never)]
    pub(super) fn enter(&self, state: &mut NodeState, entering: &Entering, cx: &mut Context<'_, Self>) {
        match &entering.packet {
            NetEvent::Udp(packet) => {
                let (now_ps, to) = (exact(cx.now(), packet.slack), self.flows.ends[packet.flow as usize].to);
                self.cross(state, entering.port, now_ps, to, packet, cx);
            }
            NetEvent::Tcp(packet) => {
                let ends = self.flows.ends[packet.flow as usize];
                let to = if packet.is_back { ends.from } else { ends.to };
                self.cross(state, entering.port, exact(cx.now(), packet.slack), to, packet, cx);
            }
            NetEvent::Rdma(packet) => {
                let ends = self.flows.ends[packet.flow as usize];
                let to = if packet.is_back { ends.from } else { ends.to };
                self.cross(state, entering.port, exact(cx.now(), packet.slack), to, packet, cx);
            }
            NetEvent::Frame(packet) => {
                let now_ps = exact(cx.now(), packet.slack);
                if let Some(packet) = self.passed(state, now_ps, packet, cx.lp().0) {
                    self.cross(state, entering.port, now_ps, packet.to, &packet, cx);
                }
            }
            _ => unreachable!("only packets come in"),
        }
    }

    fn cross<P: Forwarded>(
        &self,
        state: &mut NodeState,
        ingress: u16,
        now_ps: u64,
        to: u32,
        packet: &P,
        cx: &mut Context<'_, Self>,
    ) {
        let Some(egress) = self.port(cx.lp().0, now_ps, to, packet) else {
            state.without_route += 1;
            return;
        };
        let packet = Carried::new(packet, self.flows.class(packet.flow())).entering(ingress);
        let held = packet.held();
        let switch = state.switch.as_mut().expect("switches have it");
        let (is_accepted, signal) = switch.arrive(held, egress);
        if let Some(signal) = signal {
            self.signal(&mut state.ports, now_ps, held, signal, cx);
        }
        let port = &mut state.ports[egress as usize];
        if !is_accepted {
            port.dropped += 1;
            return;
        }
        let mut losses = Losses::new();
        if port.enqueue(now_ps, packet, &mut losses) {
            self.transmit(port, now_ps, egress, &mut losses, cx);
        }
        self.forget(state, now_ps, egress, losses, cx);
    }

    /// A port has sent what it was sending.
    #[inline(never)]
    pub(super) fn port_is_free(&self, state: &mut NodeState, number: u32, cx: &mut Context<'_, Self>) {
        let port = &mut state.ports[number as usize];
        // Exactly when the link is free: the port knows it better than the event.
        let now_ps = port.free_ps();
        let sent = port.take_sent();
        if let Some((switch, held)) = state.switch.as_mut().zip(sent)
            && let Some(signal) = switch.depart(held, number)
        {
            self.signal(&mut state.ports, now_ps, held, signal, cx);
        }
        self.serve_controlled(state, now_ps, number, cx);
    }

    /// A neighbour has said what is paused from now on.
    #[inline(never)]
    pub(super) fn obey(
        &self,
        state: &mut NodeState,
        number: u32,
        paused: Classes,
        slack: u16,
        cx: &mut Context<'_, Self>,
    ) {
        let port = &mut state.ports[number as usize];
        port.obey(paused);
        if !port.is_busy() {
            self.serve_controlled(state, exact(cx.now(), slack), number, cx);
        }
    }

    fn serve_controlled(&self, state: &mut NodeState, now_ps: u64, number: u32, cx: &mut Context<'_, Self>) {
        let mut losses = Losses::new();
        self.transmit(&mut state.ports[number as usize], now_ps, number, &mut losses, cx);
        self.forget(state, now_ps, number, losses, cx);
    }

    /// What the queue of a port has dropped counts no more.
    fn forget(
        &self,
        state: &mut NodeState,
        now_ps: u64,
        egress: u32,
        losses: Losses,
        cx: &mut Context<'_, Self>,
    ) {
        for loss in losses {
            let held = loss.packet.held();
            if let Some(signal) = state.switch.as_mut().and_then(|switch| switch.depart(held, egress)) {
                self.signal(&mut state.ports, now_ps, held, signal, cx);
            }
        }
    }

    /// Tells the neighbour from which a packet came to pause its class, or to go on: at once where the link
    /// is free, after the packet that is being sent otherwise.
    fn signal(
        &self,
        ports: &mut [Port],
        now_ps: u64,
        held: Held,
        signal: PauseSignal,
        cx: &mut Context<'_, Self>,
    ) {
        let port = &mut ports[usize::from(held.ingress)];
        port.want(held.class, signal == PauseSignal::Pause);
        if !port.is_busy() {
            self.transmit_frame(port, now_ps, u32::from(held.ingress), cx);
        }
    }
}
