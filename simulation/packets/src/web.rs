//! Simulated web clients and servers that speak HTTP over TCP in frames, with programs of real machines.
//!
//! - [`WebClients`] ask: many on one host, each with a connection that it keeps or one for each request.
//! - [`WebServer`] answers at a host where no machine is.
//! - `response` reads answers, `connection` is one end of a connection: our TCP, and the bytes that real
//!   programs need besides. `host` is all of a host; `table` is what a host knows of the model.
//!
//! A client sends real bytes, and counts those that come: the model's TCP moves numbers of bytes alone. That
//! is possible since each end writes one message over and over: its n-th byte is known without a buffer.
//!
//! Invariants: pure, as the model is. What comes from a machine may be anything: what is no segment is
//! counted and left out, what is no HTTP ends its connection.

mod connection;
mod host;
mod output;
mod response;
mod result;
mod state;
mod stream;
mod table;

use std::sync::Arc;

use crate::tcp::Settings;
use crate::udp::Span;

pub(crate) use host::Turn;
pub(crate) use output::WebOutput;
pub(crate) use state::WebState;
pub(crate) use table::WebTable;

pub use result::{WebCounts, WebResult};

/// Clients at a host that ask one server.
///
/// Clients come one after the other, and each asks until it has had as many answers as it wants. With one
/// request each and a time between clients, requests come whether or not those before are answered; with a
/// number of clients that come at once, each waits for its answer.
#[derive(Clone, Debug, PartialEq)]
pub struct WebClients {
    /// What they are called in results.
    pub name: Arc<str>,
    /// The host at which they are. No machine is there.
    pub host: u32,
    /// The host that they ask: of a machine, or of a [`WebServer`].
    pub server: u32,
    /// The port of the server.
    pub port: u16,
    /// What they ask for: from its slash on.
    pub path: String,
    /// How many come; without a number, up to the end of the run.
    pub clients: Option<u32>,
    /// The time from one that comes to the next one.
    pub interval: Span,
    /// How many requests each has; without a number, up to the end of the run.
    pub requests: Option<u64>,
    /// The time from an answer to the next request.
    pub think: Span,
    /// A client keeps its connection. Else each request has a new one, and says that it is the last.
    pub is_kept: bool,
    /// When the first of them comes, in picoseconds.
    pub start_ps: u64,
    /// How they do TCP.
    pub tcp: Settings,
}

/// A simulated server.
#[derive(Clone, Debug, PartialEq)]
pub struct WebServer {
    /// The host at which it is. No machine is there.
    pub host: u32,
    /// The TCP port at which it is called.
    pub port: u16,
    /// The bytes of what it answers, besides the header.
    pub body_bytes: u32,
    /// How it does TCP.
    pub tcp: Settings,
}

/// All that speak HTTP over frames in a model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Web {
    /// Those who ask.
    pub clients: Vec<WebClients>,
    /// Those who answer.
    pub servers: Vec<WebServer>,
}
