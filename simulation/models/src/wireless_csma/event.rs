//! Frames, and the messages of hosts and regions to each other and to themselves.

use serde::{Deserialize, Serialize};

use crate::wireless::Point;

/// The receiver of a frame for all hosts.
pub(crate) const EVERYBODY: u32 = u32::MAX;

/// A frame on the air.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Frame {
    /// The sending host.
    pub sender: u32,
    /// The receiving host, or `u32::MAX` for all.
    pub receiver: u32,
    /// What the frame carries: data, or a message of the routing protocol.
    pub body: Body,
}

/// The content of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the variants say what their fields are")]
pub enum Body {
    /// Requests a route from `origin` to `target`.
    Request {
        origin: u32,
        target: u32,
        /// The number of this request among those of the origin.
        number: u32,
        /// Hops so far, this one included.
        hops: u8,
    },
    /// Replies that there is a route from `origin` to its target.
    Reply {
        origin: u32,
        /// The number of the request among those of the origin.
        number: u32,
        /// Hops from the origin to the target.
        hops: u8,
    },
    /// A frame was received.
    Acknowledgement,
}

/// A message of the model.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the variants say what their fields are")]
pub enum CsmaEvent {
    /// To a region: a host is in it, at this place.
    Enter { host: u32, at: Point },
    /// To a region: a host has left it.
    Leave { host: u32 },
    /// To a region: a frame begins.
    Sent { frame: Frame, from: Point },
    /// To a host: a frame that it detects begins.
    Signal {
        frame: Frame,
        /// Its power at the receiver, in hundredths of dBm.
        power: i32,
    },
    /// To a host, from itself: the frame being received ends.
    Received,
    /// From itself: the backoff is over, unless it has been replaced by a newer one.
    Attempt { backoff: u32 },
    /// From itself: the frame being sent has ended.
    SendingEnds,
    /// From itself: it is time to acknowledge a frame.
    Acknowledge {
        /// The host that sent the frame.
        receiver: u32,
    },
    /// From itself: the time limit for the acknowledgement of this transmission is over.
    AckTimeout { transmission: u32 },
    /// From itself: time to move.
    Move,
    /// From itself: time to request a route.
    Ask,
}
