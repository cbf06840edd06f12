//! What web clients have done, and what was no segment.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::application::Log;
use crate::clock::MOST_COUNT;

/// What the clients of an entry have done.
#[derive(Clone, Debug, Default, PartialEq, Hash, Serialize, Deserialize)]
pub struct WebResult {
    /// How long each answer took (ps), from the request being sent to being whole; with the handshake, where
    /// the connection is new.
    pub responses: Log,
    /// Answers by status.
    pub statuses: BTreeMap<u16, u64>,
    /// Bytes of the bodies of answers.
    pub body_bytes: u64,
    /// Requests whose connection ended before the answer had, or brought none.
    pub failed: u64,
    /// Requests without an answer at the end of the run.
    pub waiting: u64,
    /// Connections that were opened.
    pub connections: u64,
}

impl WebResult {
    pub(super) fn is_consistent(&self) -> bool {
        let counts = [self.failed, self.waiting, self.connections];
        counts.iter().chain(self.statuses.values()).all(|count| *count <= MOST_COUNT)
            && self.body_bytes <= u64::MAX / 2
    }
}

/// What came to the web clients and servers of a host and was no segment of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct WebCounts {
    /// Frames that were neither IPv4 nor TCP, such as pings.
    pub other_protocol: u64,
    /// Parts of packets.
    pub fragments: u64,
    /// Frames with headers that end beyond what there is.
    pub malformed: u64,
    /// Frames with a wrong checksum.
    pub checksum: u64,
    /// Segments of no connection that is there: each is answered with a reset, unless it is one.
    pub without_connection: u64,
}

impl WebCounts {
    pub(super) fn all(&self) -> [u64; 5] {
        let &Self { other_protocol, fragments, malformed, checksum, without_connection } = self;
        [other_protocol, fragments, malformed, checksum, without_connection]
    }

    /// The sum of both.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            other_protocol: self.other_protocol + other.other_protocol,
            fragments: self.fragments + other.fragments,
            malformed: self.malformed + other.malformed,
            checksum: self.checksum + other.checksum,
            without_connection: self.without_connection + other.without_connection,
        }
    }
}
