//! Applications of hosts: what is sent because of what has been delivered before.
//!
//! A [`Transfer`] begins when other transfers have been delivered at the host that sends it: flows that wait
//! for flows, and the steps of collectives. A [`Client`] asks servers over connections that it keeps, waits
//! for responses and asks again: requests and responses, pages, incast, video.
//!
//! Invariants: an application knows what its own host has sent and received, and nothing else: no message
//! goes between hosts but on the network. A request says how long its response is to be, as a request for a
//! named object does; what is random is drawn from the numbers of the host that needs it.

mod client;
mod collective;
mod log;
mod result;
mod sizes;
mod state;
mod table;
mod video;

use std::sync::Arc;

use crate::udp::Span;

pub use client::{ClientState, Counts, Jobs};
pub use log::Log;
pub use result::ClientResult;
pub use sizes::{LogNormal, Pareto, Sizes};
pub use state::ApplicationState;
pub use video::{Playback, Video};

pub(crate) use client::Reaction;
pub(crate) use result::ApplicationOutput;
pub(crate) use sizes::length_ps;
pub(crate) use table::{Role, Table};

/// The applications of a run. Their connections are TCP flows of the model that belong to one transfer or
/// client alone, or to the transfers that share them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Applications {
    /// Those that ask and wait for responses.
    pub clients: Vec<Client>,
    /// What is sent once other transfers have been delivered.
    pub transfers: Vec<Transfer>,
    /// Transfers that belong together: a collective of several hosts.
    pub groups: Vec<Group>,
}

/// Something that a host sends when other transfers have come to it.
///
/// Transfers of one flow leave in the order of their numbers: one that may begin waits for those before it.
#[derive(Clone, Debug, PartialEq)]
pub struct Transfer {
    /// The TCP flow that it is sent on. If that has a number of bytes, the transfer is all of it.
    pub flow: u32,
    /// How much is sent.
    pub bytes: u64,
    /// It begins at this time (ps) or later.
    pub start_ps: u64,
    /// It begins when all these transfers have been delivered; they end at the host that sends this one.
    pub after: Box<[u32]>,
    /// How much later than the last of these (ps).
    pub pause_ps: u64,
    /// The group that it is of, and the round of that.
    pub group: Option<(u32, u32)>,
}

/// Transfers that belong together, in rounds.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// What it is called in results.
    pub name: Arc<str>,
    /// What it does, in a word.
    pub kind: &'static str,
    /// How many transfers a round has.
    pub of_round: u32,
    /// How many rounds there are.
    pub rounds: u32,
}

/// A host that asks servers.
#[derive(Clone, Debug, PartialEq)]
pub struct Client {
    /// What it is called in results.
    pub name: Arc<str>,
    /// What it does: results tell it so.
    pub kind: Kind,
    /// Its connections: TCP flows without a number of bytes from its host, each to the server at its end. A
    /// request goes to the first that has none.
    pub lines: Box<[u32]>,
    /// When it begins, in picoseconds.
    pub start_ps: u64,
    /// The bytes of a request.
    pub request_bytes: u64,
    /// How long a server works on a request before it answers.
    pub service: Span,
    /// What it asks for.
    pub habit: Habit,
}

/// What a client does, as results tell it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Jobs of one request each.
    RequestResponse,
    /// Jobs are pages.
    Http,
    /// Jobs are rounds of a question to many servers.
    Incast,
    /// A video that is fetched segment by segment.
    Video,
}

impl Kind {
    /// What it is called.
    pub const fn name(self) -> &'static str {
        match self {
            Self::RequestResponse => "request-response",
            Self::Http => "http",
            Self::Incast => "incast",
            Self::Video => "video",
        }
    }
}

/// What a client asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Habit {
    /// Jobs of one or more requests, with times between.
    Jobs(Jobs),
    /// The segments of a video.
    Video(Video),
}
