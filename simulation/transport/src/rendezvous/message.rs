//! The messages between the coordinator and the other processes. `docs/wire-format.md` describes them.
//!
//! Messages are frames in the postcard format. They come after the handshake, so only from processes that
//! know the secret.

use std::net::SocketAddr;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::host::{Host, Location};
use crate::tcp::handshake::{HandshakeError, io_error};
use crate::tcp::link::Link;

/// Identifies a run.
pub(super) type Run = [u8; 16];

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Message {
    /// To the coordinator: a process wants to take part.
    Join {
        /// Where it listens for the other processes.
        address: SocketAddr,
        /// Its host, if it can and may share memory.
        host: Option<Host>,
    },
    /// To a process that has joined: its place in the run.
    Place {
        run: Run,
        rank: u32,
        /// Where each process listens, by rank.
        addresses: Vec<SocketAddr>,
        /// The processes that share memory with it, including itself; empty if there are none.
        group: Vec<u32>,
        /// Bytes of the charge, which follows in frames of its own.
        charge_bytes: u64,
    },
    /// To the coordinator: where the shared memory is that this process has made, nothing if it has opened
    /// it; the error if it could not.
    Shared(Result<Option<Location>, String>),
    /// From the coordinator: open the shared memory that is there.
    Open(Location),
    /// From the coordinator: whether all of the group could open it, and so use it.
    Agreed(bool),
    /// Between two processes of a run, in both directions: the sender's identity.
    Peer { run: Run, rank: u32 },
    /// To the coordinator: it has links to all others.
    Ready,
    /// From the coordinator: all processes are ready.
    Go,
    /// From the coordinator: the run will not begin.
    Refused(String),
}

pub(super) fn send(link: &Link, message: &Message, by: Instant) -> Result<(), HandshakeError> {
    let bytes = postcard::to_stdvec(message).map_err(|error| HandshakeError::Io(error.to_string()))?;
    link.send_by(&bytes, by).map_err(io_error)
}

pub(super) fn receive(link: &Link, by: Instant) -> Result<Message, HandshakeError> {
    let bytes = link.receive_by(by).map_err(io_error)?;
    postcard::from_bytes(&bytes).map_err(|_| HandshakeError::Unexpected("no message of this version"))
}
