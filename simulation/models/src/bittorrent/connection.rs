//! What a peer knows of another peer that it is connected to.
//!
//! Invariant: a peer requests pieces only over a connection on which the other side has sent its bitfield.

use paceline_kernel::Time;
use paceline_processes::Activity;

use super::message::Message;

/// The state of a connection, seen from one of its two peers.
pub(super) struct Connection {
    /// The pieces that the other side has; empty until its bitfield has arrived.
    pub(super) remote: Box<[bool]>,
    /// How many of those pieces this peer still needs.
    pub(super) wanted: u32,
    /// Whether this side has sent its own bitfield.
    pub(super) bitfield_sent: bool,
    /// Whether this side has reported to the other side that it is interested, and the other side to this
    /// one.
    pub(super) am_interested: bool,
    pub(super) peer_interested: bool,
    /// Whether this side refuses to serve the other one, and the other one this side.
    pub(super) am_choking: bool,
    pub(super) peer_choking: bool,
    /// The piece being downloaded.
    pub(super) download: Option<u32>,
    /// The latest upload, with its piece.
    pub(super) upload: Option<(u32, Activity<Message>)>,
    /// Bytes received since the last round.
    received: u64,
    /// Recent average of bytes received per round.
    pub(super) rate: u64,
    /// The last round in which the other side was unchoked.
    pub(super) served: Time,
}

impl Connection {
    /// A connection on which neither side has sent anything.
    pub(super) fn new() -> Self {
        Self {
            remote: Box::default(),
            wanted: 0,
            bitfield_sent: false,
            am_interested: false,
            peer_interested: false,
            am_choking: true,
            peer_choking: true,
            download: None,
            upload: None,
            received: 0,
            rate: 0,
            served: Time::ZERO,
        }
    }

    /// Whether the other side has sent its bitfield.
    pub(super) fn is_open(&self) -> bool {
        !self.remote.is_empty()
    }

    pub(super) fn has(&self, piece: u32) -> bool {
        self.remote.get(piece as usize) == Some(&true)
    }

    /// Whether a piece could be downloaded from the other side, and no download is under way.
    pub(super) fn is_idle(&self) -> bool {
        !self.peer_choking && self.wanted > 0 && self.download.is_none()
    }

    pub(super) fn receive(&mut self, bytes: u64) {
        self.received += bytes;
    }

    /// Ends a round: the new rate is the mean of the old rate and the bytes of this round.
    pub(super) fn end_round(&mut self) {
        self.rate = u64::midpoint(self.rate, std::mem::take(&mut self.received));
    }
}
