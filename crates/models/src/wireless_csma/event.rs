//! Frames, and what hosts and regions tell each other and themselves.

use serde::{Deserialize, Serialize};

use crate::wireless::Point;

/// To all who hear it, in place of a receiver.
pub(crate) const EVERYBODY: u32 = u32::MAX;

/// A frame on the air.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Frame {
    /// Who sends it.
    pub sender: u32,
    /// Who is to take it, or `u32::MAX` for all.
    pub receiver: u32,
    /// What is in it.
    pub body: Body,
}

/// What is in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Body {
    /// Who knows the way from `origin` to `target`?
    Request {
        /// Who wants to know.
        origin: u32,
        /// To whom.
        target: u32,
        /// Which of the origin's requests it is.
        number: u32,
        /// Hops so far, this one included.
        hops: u8,
    },
    /// The way from `origin` to its target is known.
    Reply {
        /// Who wants to know.
        origin: u32,
        /// Which of the origin's requests it answers.
        number: u32,
        /// Hops from the origin to the target.
        hops: u8,
    },
    /// A frame was received.
    Acknowledgement,
}

/// A message of the model.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum CsmaEvent {
    /// To a region: a host is in it, here.
    Enter {
        /// The host.
        host: u32,
        /// Where it is.
        at: Point,
    },
    /// To a region: a host has left it.
    Leave {
        /// The host.
        host: u32,
    },
    /// To a region: a frame begins.
    Sent {
        /// The frame.
        frame: Frame,
        /// Where its sender is.
        from: Point,
    },
    /// To a host: a frame begins to be noticed.
    Signal {
        /// The frame.
        frame: Frame,
        /// How strong it is, in hundredths of dBm.
        power: i32,
    },
    /// To a host, from itself: the frame that it is receiving ends.
    Received,
    /// From itself: the backoff is over, if it is still this one.
    Attempt {
        /// The number of the backoff.
        backoff: u32,
    },
    /// From itself: the frame that it sends has ended.
    SendingEnds,
    /// From itself: it is time to acknowledge a frame.
    Acknowledge {
        /// To whom.
        receiver: u32,
    },
    /// From itself: no acknowledgement has come, if it still waits for this one.
    AckTimeout {
        /// The number of the transmission.
        transmission: u32,
    },
    /// From itself: time to move.
    Move,
    /// From itself: time to ask for a route.
    Ask,
}
