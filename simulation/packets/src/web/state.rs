//! What a host remembers of its web clients and servers.
//!
//! Invariant: there is a place in `groups` for each entry of [`WebClients`](super::WebClients) at the host,
//! in their order.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::connection::{Side, WebConnection};
use super::result::{WebCounts, WebResult};
use super::table::PORTS;
use crate::application::Log;
use crate::clock::MOST_COUNT;

/// A client that has requests left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct ClientState {
    /// Requests that were answered or have failed.
    pub done: u64,
    /// Its connection.
    pub key: Option<u64>,
}

/// What is known of the clients of an entry.
#[derive(Clone, Debug, Default, PartialEq, Hash, Serialize, Deserialize)]
pub(super) struct GroupState {
    /// Clients that have come.
    pub arrived: u32,
    pub clients: BTreeMap<u32, ClientState>,
    pub result: WebResult,
}

/// What a host remembers. What is shared is copied before it is changed, so that a copy of a host copies the
/// connection at work alone.
#[derive(Clone, Debug, Default, PartialEq, Hash, Serialize, Deserialize)]
pub struct WebState {
    /// By ports and the peer's address.
    pub(super) connections: BTreeMap<u64, Arc<WebConnection>>,
    pub(super) groups: Vec<GroupState>,
    pub(super) counts: WebCounts,
    /// The port that is tried next, from the first one on.
    pub(super) next_port: u16,
    /// IPv4's number of the next packet.
    pub(super) identification: u16,
    /// The number of the event that was asked for last.
    pub(super) generation: u32,
}

impl WebState {
    pub(crate) fn new(groups: usize) -> Self {
        Self { groups: vec![GroupState::default(); groups], ..Self::default() }
    }

    /// Whether it can be that of a host with so many entries and these servers: for states from a file.
    pub(crate) fn is_consistent(&self, groups: usize, is_server: impl Fn(u32) -> bool) -> bool {
        let is_connection = |connection: &Arc<WebConnection>| {
            connection.is_consistent()
                && match connection.side {
                    Side::Client { group, .. } => (group as usize) < groups,
                    Side::Server { server, .. } => is_server(server),
                }
        };
        self.groups.len() == groups
            && self.next_port < PORTS
            && self.counts.all().iter().all(|count| *count <= MOST_COUNT)
            && self.groups.iter().all(|group| {
                group.result.is_consistent() && group.clients.values().all(|client| client.done <= MOST_COUNT)
            })
            && self.connections.values().all(is_connection)
    }

    /// Requests of an entry's clients that were sent and not yet answered.
    pub(crate) fn waiting(&self, place: usize) -> u64 {
        let waits = |connection: &&Arc<WebConnection>| matches!(connection.side, Side::Client { group, asked_ps: Some(_), .. } if group as usize == place);
        self.connections.values().filter(waits).count() as u64
    }

    /// The heap memory of a copy, in bytes: of its connections, one is written again.
    pub(crate) fn heap_bytes(&self) -> usize {
        let of_group = |group: &GroupState| {
            size_of::<GroupState>()
                + group.clients.len() * size_of::<(u32, ClientState)>()
                + Log::heap_bytes(&group.result.responses)
        };
        size_of::<Self>()
            + self.connections.len() * size_of::<(u64, Arc<WebConnection>)>()
            + if self.connections.is_empty() { 0 } else { size_of::<WebConnection>() }
            + self.groups.iter().map(of_group).sum::<usize>()
    }
}
