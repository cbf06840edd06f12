//! Applications as hosts look for them: by flow, by host, and by what waits for what.
//!
//! Invariants: a flow belongs to one client, or to transfers, or to nobody. No transfers wait for each other
//! in a circle, also not by the order in which a flow sends them.

mod check;

use super::state::{ApplicationState, Incoming, Outgoing, Round, Server};
use super::{Applications, Client, ClientState, Group, Transfer};
use crate::PacketError;
use crate::flow::{ByNode, Flows};
use std::sync::Arc;

/// What a flow is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// It begins at its time.
    Plain,
    /// It carries transfers.
    Carrier,
    /// It is a connection of a client, at this place.
    Line { client: u32, place: u32 },
}

/// The applications of a model.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub all: Applications,
    /// What each flow is to its application, by flow.
    roles: Vec<Role>,
    /// By flow: the places of its two ends in the lists of hosts.
    slots: Vec<[u32; 2]>,
    /// By transfer: its place among those of its flow.
    places: Vec<u32>,
    /// By client: its place at its host.
    client_slots: Vec<u32>,
    /// By flow: its transfers.
    of_flow: ByNode,
    /// By transfer: those that wait for it.
    waiting: ByNode,
    /// By host: carriers that begin there, and that end there; lines that end there; clients; groups.
    carriers_from: ByNode,
    carriers_to: ByNode,
    lines_to: ByNode,
    clients: ByNode,
    groups: ByNode,
}

impl Table {
    pub fn new(nodes: u32, flows: &Flows, all: Applications) -> Result<Self, PacketError> {
        check::clients(&all, flows)?;
        check::transfers(&all, flows)?;
        let mut roles = vec![Role::Plain; flows.list.len()];
        for (number, client) in (0..).zip(&all.clients) {
            for (place, line) in (0..).zip(&client.lines) {
                roles[*line as usize] = Role::Line { client: number, place };
            }
        }
        let mut places = vec![0; all.transfers.len()];
        let mut counts = vec![0; flows.list.len()];
        for (transfer, place) in all.transfers.iter().zip(&mut places) {
            roles[transfer.flow as usize] = Role::Carrier;
            *place = counts[transfer.flow as usize];
            counts[transfer.flow as usize] += 1;
        }
        let mut slots = vec![[0; 2]; roles.len()];
        let [carriers_from, carriers_to, lines_to] = by_host(nodes, flows, &roles, &mut slots);
        let host = |client: &Client| flows.list[client.lines[0] as usize].from;
        let clients: Vec<(u32, u32)> = (0..).zip(&all.clients).map(|(n, client)| (host(client), n)).collect();
        let mut seen = vec![0; nodes as usize];
        let client_slots = clients.iter().map(|(host, _)| {
            seen[*host as usize] += 1;
            seen[*host as usize] - 1
        });
        let numbered = || (0..).zip(&all.transfers);
        let of_flow: Vec<(u32, u32)> = numbered().map(|(number, transfer)| (transfer.flow, number)).collect();
        let waiting = numbered()
            .flat_map(|(number, transfer)| transfer.after.iter().map(move |before| (*before, number)));
        let waiting: Vec<(u32, u32)> = waiting.collect();
        Ok(Self {
            roles,
            slots,
            places,
            client_slots: client_slots.collect(),
            of_flow: ByNode::new(flows.list.len() as u32, &of_flow),
            waiting: ByNode::new(all.transfers.len() as u32, &waiting),
            carriers_from,
            carriers_to,
            lines_to,
            clients: ByNode::new(nodes, &clients),
            groups: groups(nodes, flows, &all),
            all,
        })
    }

    pub fn role(&self, flow: u32) -> Role {
        self.roles[flow as usize]
    }

    pub fn client(&self, number: u32) -> &Client {
        &self.all.clients[number as usize]
    }

    pub fn transfer(&self, number: u32) -> &Transfer {
        &self.all.transfers[number as usize]
    }

    pub fn group(&self, number: u32) -> &Group {
        &self.all.groups[number as usize]
    }

    /// The transfers of a flow.
    pub fn of_flow(&self, flow: u32) -> &[u32] {
        self.of_flow.of(flow)
    }

    /// The transfers that wait for this one.
    pub fn waiting(&self, transfer: u32) -> &[u32] {
        self.waiting.of(transfer)
    }

    /// The place of a transfer among those of its flow.
    pub fn place(&self, transfer: u32) -> u32 {
        self.places[transfer as usize]
    }

    /// The place of an end of a flow in the list of its host.
    pub fn slot(&self, flow: u32, is_receiver: bool) -> usize {
        self.slots[flow as usize][usize::from(is_receiver)] as usize
    }

    /// The place of a client at its host.
    pub fn client_slot(&self, client: u32) -> usize {
        self.client_slots[client as usize] as usize
    }

    /// The place of a group at a host that has part in it.
    pub fn group_slot(&self, host: u32, group: u32) -> usize {
        let place = self.groups.of(host).binary_search(&group);
        place.expect("hosts that send or receive a transfer of a group have part in it")
    }

    /// The groups that a host has part in.
    pub fn groups_at(&self, host: u32) -> &[u32] {
        self.groups.of(host)
    }

    /// The flows that a host sends transfers on.
    pub fn carriers_from(&self, host: u32) -> &[u32] {
        self.carriers_from.of(host)
    }

    /// The clients at a host.
    pub fn clients_at(&self, host: u32) -> &[u32] {
        self.clients.of(host)
    }

    /// The transfers that begin at a host and wait for nothing.
    pub fn first_transfers(&self, host: u32) -> impl Iterator<Item = u32> {
        let flows = self.carriers_from.of(host).iter();
        let all = flows.flat_map(|flow| self.of_flow(*flow).iter().copied());
        all.filter(|number| self.transfer(*number).after.is_empty())
    }

    /// What a host remembers at first.
    pub fn state(&self, host: u32) -> ApplicationState {
        let group = |group: &u32| Arc::new(vec![Round::default(); self.group(*group).rounds as usize]);
        let client = |client: &u32| Arc::new(ClientState::new(self.client(*client)));
        ApplicationState {
            outgoing: vec![Outgoing::default(); self.carriers_from.of(host).len()],
            incoming: vec![Incoming::default(); self.carriers_to.of(host).len()],
            servers: vec![Server::default(); self.lines_to.of(host).len()],
            clients: self.clients_at(host).iter().map(client).collect(),
            groups: self.groups_at(host).iter().map(group).collect(),
        }
    }

    /// Whether a host can have this state: for states that come from a file.
    pub fn admits(&self, host: u32, state: &ApplicationState) -> bool {
        let outgoing = |(flow, outgoing): (&u32, &Outgoing)| {
            let transfers = self.of_flow(*flow);
            let is_early =
                |early: &u32| transfers.binary_search(early).is_ok_and(|place| place as u32 > outgoing.begun);
            outgoing.begun as usize <= transfers.len() && outgoing.early.iter().all(is_early)
        };
        let rounds =
            |(group, rounds): (&u32, &Arc<Vec<Round>>)| rounds.len() == self.group(*group).rounds as usize;
        let client = |(client, state): (&u32, &Arc<ClientState>)| state.fits(self.client(*client));
        let (from, to) = (self.carriers_from.of(host), self.carriers_to.of(host));
        let incoming =
            |(flow, incoming): (&u32, &Incoming)| incoming.done as usize <= self.of_flow(*flow).len();
        state.outgoing.len() == from.len()
            && state.incoming.len() == to.len()
            && state.servers.len() == self.lines_to.of(host).len()
            && state.clients.len() == self.clients_at(host).len()
            && state.groups.len() == self.groups_at(host).len()
            && from.iter().zip(&state.outgoing).all(outgoing)
            && to.iter().zip(&state.incoming).all(incoming)
            && self.clients_at(host).iter().zip(&state.clients).all(client)
            && self.groups_at(host).iter().zip(&state.groups).all(rounds)
    }
}

/// Where the states of flows' ends are: carriers by the host that sends and by the one that receives, lines
/// by the one that serves.
fn by_host(nodes: u32, flows: &Flows, roles: &[Role], slots: &mut [[u32; 2]]) -> [ByNode; 3] {
    let mut counts = vec![[0; 3]; nodes as usize];
    let mut entries: [Vec<(u32, u32)>; 3] = Default::default();
    for (number, role) in (0..).zip(roles) {
        let ends = flows.ends[number as usize];
        let mut add = |list: usize, host: u32, end: usize| {
            let count: &mut u32 = &mut counts[host as usize][list];
            slots[number as usize][end] = *count;
            *count += 1;
            entries[list].push((host, number));
        };
        match role {
            Role::Plain => {}
            Role::Carrier => {
                add(0, ends.from, 0);
                add(1, ends.to, 1);
            }
            Role::Line { .. } => add(2, ends.to, 1),
        }
    }
    entries.map(|entries| ByNode::new(nodes, &entries))
}

/// By host: the groups that it has part in, ascending.
fn groups(nodes: u32, flows: &Flows, all: &Applications) -> ByNode {
    let mut entries: Vec<(u32, u32)> = Vec::new();
    for transfer in &all.transfers {
        if let Some((group, _)) = transfer.group {
            let ends = flows.ends[transfer.flow as usize];
            entries.extend([(ends.from, group), (ends.to, group)]);
        }
    }
    entries.sort_unstable();
    entries.dedup();
    ByNode::new(nodes, &entries)
}
