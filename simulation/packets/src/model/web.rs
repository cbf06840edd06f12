//! What hosts do for web clients and servers on them: frames and times go in, frames and events come out.
//!
//! Invariant: all of a host is in its state, and comes back into it after every event.

use std::sync::Arc;

use paceline_kernel::Context;

use super::{NodeState, Packets};
use crate::PacketError;
use crate::clock::{exact, tick_of};
use crate::frame::FrameBody;
use crate::packet::{FramePacket, NetEvent};
use crate::queue::Ecn;
use crate::web::{Turn, Web, WebState, WebTable};

impl Packets {
    /// The same with web clients and servers that exchange frames with machines, which stand already.
    ///
    /// # Errors
    ///
    /// [`PacketError::Application`] and [`PacketError::NoRoute`].
    pub fn web(mut self, web: &Web) -> Result<Self, PacketError> {
        self.web = Some(Arc::new(WebTable::new(&self.network, self.stations.as_deref(), web)?));
        Ok(self)
    }

    /// What the web clients and servers of a host remember at first. The first client of each entry comes at
    /// its time.
    pub(super) fn prepare_web(&self, host: u32, cx: &mut Context<'_, Self>) -> Option<Box<WebState>> {
        let table = self.web.as_ref().filter(|table| table.is_at(host))?;
        let groups = table.groups_at(host);
        for group in groups {
            let (tick, slack) = tick_of(table.start_ps(*group));
            cx.schedule(tick, NetEvent::WebArrive { group: *group, slack });
        }
        Some(Box::new(WebState::new(groups.len())))
    }

    /// The next client of an entry comes.
    #[inline(never)]
    pub(super) fn web_arrive(
        &self,
        state: &mut NodeState,
        group: u32,
        slack: u16,
        cx: &mut Context<'_, Self>,
    ) {
        self.web_turn(state, exact(cx.now(), slack), cx, |turn| turn.arrive(group));
    }

    /// A client of an entry asks again.
    #[inline(never)]
    pub(super) fn web_ask(
        &self,
        state: &mut NodeState,
        (group, client): (u32, u32),
        slack: u16,
        cx: &mut Context<'_, Self>,
    ) {
        self.web_turn(state, exact(cx.now(), slack), cx, |turn| turn.ask_of(group, client));
    }

    /// A deadline of a connection has come.
    #[inline(never)]
    pub(super) fn web_wake(
        &self,
        state: &mut NodeState,
        (key, generation): (u64, u32),
        cx: &mut Context<'_, Self>,
    ) {
        self.web_turn(state, exact(cx.now(), 0), cx, |turn| turn.wake(key, generation));
    }

    /// A frame has come to the host that it is for.
    pub(super) fn web_take(
        &self,
        state: &mut NodeState,
        now_ps: u64,
        packet: &FramePacket,
        cx: &mut Context<'_, Self>,
    ) {
        let (bytes, has_mark) = (&packet.body.bytes, packet.ecn == Ecn::Congested);
        self.web_turn(state, now_ps, cx, |turn| turn.take(bytes, has_mark));
    }

    /// Whether a host can have this state: for states that come from a file.
    pub(super) fn admits_web(&self, host: u32, state: Option<&WebState>) -> bool {
        let table = self.web.as_ref().filter(|table| table.is_at(host));
        match (table, state) {
            (Some(table), Some(state)) => {
                let is_server = |server| table.is_server_at(host, server);
                state.is_consistent(table.groups_at(host).len(), is_server)
            }
            (table, state) => table.is_none() && state.is_none(),
        }
    }

    fn web_turn(
        &self,
        state: &mut NodeState,
        now_ps: u64,
        cx: &mut Context<'_, Self>,
        act: impl FnOnce(&mut Turn<'_>),
    ) {
        let (Some(table), Some(web)) = (&self.web, &mut state.web) else { return };
        let (node, now) = (cx.lp().0, cx.now());
        let (frames, wakes, later) = cx.draw().with(|rng| {
            let mut turn = Turn::new(table, web, rng, node, now, now_ps);
            act(&mut turn);
            (turn.frames, turn.wakes, turn.later)
        });
        for (at, event) in wakes {
            cx.schedule(at - now, event);
        }
        for (at_ps, group, client) in later {
            let (tick, slack) = tick_of(at_ps);
            let event = match client {
                Some(client) => NetEvent::WebAsk { group, client, slack },
                None => NetEvent::WebArrive { group, slack },
            };
            cx.schedule(tick - now, event);
        }
        for (to, bytes) in frames {
            let counts = Self::frames(state);
            let body = FrameBody::new(bytes, now_ps, counts.sent as u32);
            // Only the state of a damaged checkpoint has segments that are too long.
            let Some(body) = body.filter(|_| self.network.has_route(node, to)) else {
                counts.unforwarded += 1;
                continue;
            };
            counts.sent += 1;
            self.forward(state, now_ps, to, FramePacket::sent(body, to), cx);
        }
    }
}
