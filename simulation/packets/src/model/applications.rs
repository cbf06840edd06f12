//! What hosts do for the applications on them: transfers that begin when others have been delivered, clients
//! and servers.
//!
//! Invariant: what is sent because of a segment is sent after what TCP sends because of it.

use std::sync::Arc;

use paceline_kernel::Context;

use super::{NodeState, Packets};
use crate::PacketError;
use crate::application::{
    ApplicationState, Applications, ClientState, Reaction, Role, Table, Transfer, length_ps,
};
use crate::clock::{exact, tick_of};
use crate::flow::Transport;
use crate::packet::{Actor, NetEvent, TcpBody};

impl Packets {
    /// The same with applications, whose connections are flows of the model. Those flows begin when an
    /// application has something to send, whatever their own start is.
    ///
    /// # Errors
    ///
    /// [`PacketError::Application`], [`PacketError::WaitElsewhere`] and [`PacketError::WaitInCircle`].
    pub fn applications(mut self, applications: Applications) -> Result<Self, PacketError> {
        self.applications = Some(Arc::new(Table::new(self.network.nodes(), &self.flows, applications)?));
        Ok(self)
    }

    /// Whether a flow begins at its own time.
    pub(super) fn begins_by_itself(&self, flow: u32) -> bool {
        self.applications.as_ref().is_none_or(|table| table.role(flow) == Role::Plain)
    }

    /// What the applications of a host remember at first; they are woken when they begin.
    pub(super) fn prepare(&self, host: u32, cx: &mut Context<'_, Self>) -> Option<Box<ApplicationState>> {
        let table = self.applications.as_ref()?;
        let mut act = |actor: Actor, start_ps: u64| {
            let (tick, slack) = tick_of(start_ps);
            cx.schedule(tick, NetEvent::Act { actor, slack });
        };
        for transfer in table.first_transfers(host) {
            act(Actor::Transfer(transfer), table.transfer(transfer).start_ps);
        }
        for client in table.clients_at(host) {
            act(Actor::Client(*client), table.client(*client).start_ps);
        }
        Some(Box::new(table.state(host)))
    }

    /// A moment has come that an application waits for.
    pub(super) fn act(&self, state: &mut NodeState, actor: Actor, slack: u16, cx: &mut Context<'_, Self>) {
        let now_ps = exact(cx.now(), slack);
        let table = self.table();
        match actor {
            Actor::Transfer(number) => self.begin_transfer(table, state, number, now_ps, cx),
            Actor::Client(number) => {
                let client = table.client(number);
                let reaction =
                    cx.draw().with(|rng| remembered(table, state, number).wake(client, now_ps, rng));
                self.react(table, state, number, reaction, now_ps, cx);
            }
            Actor::Server(flow) => self.respond(table, state, flow, now_ps, cx),
        }
    }

    fn table(&self) -> &Table {
        self.applications.as_ref().expect("only models with applications have events of them")
    }

    /// A segment has come to an end of a flow, and TCP has taken it.
    #[inline(never)]
    pub(super) fn deliver(
        &self,
        state: &mut NodeState,
        flow: u32,
        is_receiver: bool,
        body: &TcpBody,
        now_ps: u64,
        cx: &mut Context<'_, Self>,
    ) {
        let table = self.table();
        match table.role(flow) {
            Role::Plain => {}
            Role::Carrier => {
                if is_receiver {
                    self.deliver_transfers(table, state, flow, now_ps, cx);
                }
            }
            Role::Line { client, .. } if is_receiver => {
                self.take_request(table, state, (flow, client), body, now_ps, cx);
            }
            Role::Line { client: number, place } => {
                let delivered = self.delivered(state, flow, is_receiver);
                let client = table.client(number);
                let react = |rng: &mut _| {
                    remembered(table, state, number).deliver(client, place, delivered, now_ps, rng)
                };
                if let Some(reaction) = cx.draw().with(react) {
                    self.react(table, state, number, reaction, now_ps, cx);
                }
            }
        }
    }

    /// What the data that an end of a flow sends asks for: a client has one request at a time on a
    /// connection.
    pub(super) fn asks(&self, state: &mut NodeState, flow: u32, is_receiver: bool) -> u64 {
        match (self.table().role(flow), is_receiver) {
            (Role::Line { client, place }, false) => {
                applications(state).clients[self.table().client_slot(client)].asks(place)
            }
            _ => 0,
        }
    }

    /// A transfer may begin: it does, and those after it on its flow that may, unless one before it may not.
    fn begin_transfer(
        &self,
        table: &Table,
        state: &mut NodeState,
        number: u32,
        now_ps: u64,
        cx: &mut Context<'_, Self>,
    ) {
        let flow = table.transfer(number).flow;
        let all = table.of_flow(flow);
        let mut place = table.place(number);
        let slot = table.slot(flow, false);
        let outgoing = &mut applications(state).outgoing[slot];
        // TCP delivers in order: one before it on the flow is not ready yet, and begins this one as well.
        if place != outgoing.begun {
            let at = outgoing.early.partition_point(|early| *early < number);
            outgoing.early.insert(at, number);
            return;
        }
        loop {
            let number = all[place as usize];
            place += 1;
            applications(state).outgoing[slot].begun = place;
            self.send_transfer(table, state, number, place as usize == all.len(), now_ps, cx);
            let early = &mut applications(state).outgoing[slot].early;
            if early.first().is_none_or(|early| all.get(place as usize) != Some(early)) {
                return;
            }
            early.remove(0);
        }
    }

    fn send_transfer(
        &self,
        table: &Table,
        state: &mut NodeState,
        number: u32,
        is_last: bool,
        now_ps: u64,
        cx: &mut Context<'_, Self>,
    ) {
        let &Transfer { flow, bytes, group, ref after, .. } = table.transfer(number);
        if let Some((group, round)) = group {
            let slot = table.group_slot(cx.lp().0, group);
            let round = &mut Arc::make_mut(&mut applications(state).groups[slot])[round as usize];
            round.begin_ps = round.begin_ps.min(now_ps);
        }
        self.write(state, (flow, false), bytes, is_last, now_ps, cx);
        let is_flow =
            matches!(&self.flows.list[flow as usize].transport, Transport::Tcp(tcp) if tcp.bytes.is_some());
        if is_flow && !after.is_empty() {
            applications(state).outgoing[table.slot(flow, false)].opened_ps = Some(now_ps);
        }
    }

    /// Bytes have been delivered on a flow: the transfers that are whole now, and those that waited for them.
    fn deliver_transfers(
        &self,
        table: &Table,
        state: &mut NodeState,
        flow: u32,
        now_ps: u64,
        cx: &mut Context<'_, Self>,
    ) {
        let delivered = self.delivered(state, flow, true);
        let slot = table.slot(flow, true);
        loop {
            let incoming = &mut applications(state).incoming[slot];
            let Some(&number) = table.of_flow(flow).get(incoming.done as usize) else { return };
            let transfer = table.transfer(number);
            if delivered < incoming.bytes.saturating_add(transfer.bytes) {
                return;
            }
            incoming.done += 1;
            incoming.bytes += transfer.bytes;
            if let Some((group, round)) = transfer.group {
                let slot = table.group_slot(cx.lp().0, group);
                let round = &mut Arc::make_mut(&mut applications(state).groups[slot])[round as usize];
                round.end_ps = round.end_ps.max(now_ps);
                round.delivered += 1;
            }
            for &waiting in table.waiting(number) {
                let next = table.transfer(waiting);
                // It waits for others too; the last of them begins it.
                if !is_ready(table, applications(state), next) {
                    continue;
                }
                let begin_ps = now_ps.saturating_add(next.pause_ps).max(next.start_ps);
                if begin_ps == now_ps {
                    self.begin_transfer(table, state, waiting, now_ps, cx);
                } else {
                    let (tick, slack) = tick_of(begin_ps);
                    cx.schedule(tick - cx.now(), NetEvent::Act { actor: Actor::Transfer(waiting), slack });
                }
            }
        }
    }

    /// A segment of a client has come to the server: a request that is whole is answered, at once or after
    /// the service.
    fn take_request(
        &self,
        table: &Table,
        state: &mut NodeState,
        (flow, client): (u32, u32),
        body: &TcpBody,
        now_ps: u64,
        cx: &mut Context<'_, Self>,
    ) {
        let delivered = self.delivered(state, flow, true);
        let client = table.client(client);
        let server = &mut applications(state).servers[table.slot(flow, true)];
        let segment = &body.segment;
        // Offset 0 is the SYN. A segment of a request that was answered already, sent again, says nothing.
        let is_new = segment.sequence + u64::from(segment.length) > server.taken + 1;
        if segment.length > 0 && is_new {
            server.wanted = body.asks;
        }
        if delivered < server.taken + client.request_bytes {
            return;
        }
        server.taken += client.request_bytes;
        match cx.draw().with(|rng| length_ps(client.service, rng)) {
            0 => self.respond(table, state, flow, now_ps, cx),
            service_ps => {
                let (tick, slack) = tick_of(now_ps.saturating_add(service_ps));
                cx.schedule(tick - cx.now(), NetEvent::Act { actor: Actor::Server(flow), slack });
            }
        }
    }

    fn respond(
        &self,
        table: &Table,
        state: &mut NodeState,
        flow: u32,
        now_ps: u64,
        cx: &mut Context<'_, Self>,
    ) {
        let bytes = applications(state).servers[table.slot(flow, true)].wanted;
        self.write(state, (flow, true), bytes, false, now_ps, cx);
    }

    /// Does what a client wants.
    fn react(
        &self,
        table: &Table,
        state: &mut NodeState,
        number: u32,
        reaction: Reaction,
        now_ps: u64,
        cx: &mut Context<'_, Self>,
    ) {
        let client = table.client(number);
        for place in reaction.closes {
            self.write(state, (client.lines[place as usize], false), 0, true, now_ps, cx);
        }
        for place in reaction.asks {
            let line = client.lines[place as usize];
            self.write(state, (line, false), client.request_bytes, false, now_ps, cx);
        }
        if let Some(wake_ps) = reaction.wake_ps {
            let (tick, slack) = tick_of(wake_ps);
            cx.schedule(tick - cx.now(), NetEvent::Act { actor: Actor::Client(number), slack });
        }
    }

    /// Whether a node can have this state: for states that come from a file.
    pub(super) fn admits_applications(
        &self,
        node: u32,
        is_host: bool,
        state: Option<&ApplicationState>,
    ) -> bool {
        match (&self.applications, state) {
            (Some(table), Some(state)) => is_host && table.admits(node, state),
            (table, None) => !is_host || table.is_none(),
            (None, Some(_)) => false,
        }
    }

    /// Whether an event of an application may happen at a host: for events that come from a file.
    pub(super) fn admits_act(&self, host: u32, actor: Actor) -> bool {
        let Some(table) = &self.applications else { return false };
        let ends = |flow: u32| self.flows.ends.get(flow as usize);
        match actor {
            Actor::Transfer(number) => {
                let transfer = table.all.transfers.get(number as usize);
                transfer.and_then(|transfer| ends(transfer.flow)).is_some_and(|ends| ends.from == host)
            }
            Actor::Client(number) => table.clients_at(host).contains(&number),
            Actor::Server(flow) => {
                ends(flow).is_some_and(|ends| ends.to == host)
                    && matches!(table.role(flow), Role::Line { .. })
            }
        }
    }
}

/// What a host remembers of its applications.
fn applications(state: &mut NodeState) -> &mut ApplicationState {
    state.applications.as_mut().expect("hosts of a model with applications have a state of them")
}

/// What a client remembers.
fn remembered<'a>(table: &Table, state: &'a mut NodeState, client: u32) -> &'a mut ClientState {
    Arc::make_mut(&mut applications(state).clients[table.client_slot(client)])
}

/// Whether all that a transfer waits for has been delivered.
fn is_ready(table: &Table, here: &ApplicationState, transfer: &Transfer) -> bool {
    transfer.after.iter().all(|before| {
        let slot = table.slot(table.transfer(*before).flow, true);
        here.incoming[slot].done > table.place(*before)
    })
}
