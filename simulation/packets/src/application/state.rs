//! What a host remembers of the applications on it.
//!
//! Invariant: each list has a place for each of the host's flows, clients and groups that the table lists.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::client::ClientState;

/// A flow that transfers are sent on, at the host that sends.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Outgoing {
    /// How many of its transfers have begun.
    pub begun: u32,
    /// Transfers that may begin once those before them have, ascending.
    pub early: Vec<u32>,
    /// When it began (ps), of a flow that is one transfer, which waited for others.
    pub opened_ps: Option<u64>,
}

/// The same at the host that receives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Incoming {
    /// How many of its transfers have been delivered.
    pub done: u32,
    /// The bytes of the transfers delivered.
    pub bytes: u64,
}

/// The end of a client's connection at a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Server {
    /// Bytes of requests that have come whole.
    pub taken: u64,
    /// How long the response to the request that comes, or came last, is to be.
    pub wanted: u64,
}

/// A round of a group, as far as a host has part in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Round {
    /// When the first transfer from here began, in picoseconds; `u64::MAX` before.
    pub begin_ps: u64,
    /// When the last one to here was delivered.
    pub end_ps: u64,
    /// How many were delivered here.
    pub delivered: u32,
}

impl Default for Round {
    fn default() -> Self {
        Self { begin_ps: u64::MAX, end_ps: 0, delivered: 0 }
    }
}

/// What a host remembers of applications. What is shared is copied before it is changed.
#[derive(Clone, Debug, Default, PartialEq, Hash, Serialize, Deserialize)]
pub struct ApplicationState {
    pub(crate) outgoing: Vec<Outgoing>,
    pub(crate) incoming: Vec<Incoming>,
    pub(crate) servers: Vec<Server>,
    pub(crate) clients: Vec<Arc<ClientState>>,
    pub(crate) groups: Vec<Arc<Vec<Round>>>,
}

impl ApplicationState {
    /// The heap memory of a copy, in bytes: of clients and groups, one is written again.
    pub(crate) fn heap_bytes(&self) -> usize {
        let early: usize = self.outgoing.iter().map(|flow| flow.early.len()).sum();
        let client = self.clients.first().map_or(0, |client| size_of::<ClientState>() + client.heap_bytes());
        let group = self.groups.first().map_or(0, |rounds| rounds.len() * size_of::<Round>());
        size_of::<Self>()
            + self.outgoing.len() * size_of::<Outgoing>()
            + early * size_of::<u32>()
            + self.incoming.len() * size_of::<Incoming>()
            + self.servers.len() * size_of::<Server>()
            + (self.clients.len() + self.groups.len()) * size_of::<Arc<ClientState>>()
            + client
            + group
    }
}
