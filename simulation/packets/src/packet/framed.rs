//! Frames of real machines as packets.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Forwarded, NetEvent};
use crate::frame::FrameBody;
use crate::queue::Ecn;

/// A frame that has come to a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FramePacket {
    /// What is in it.
    pub body: Arc<FrameBody>,
    /// The host that it is for.
    pub to: u32,
    /// By how many picoseconds the event is later than the frame.
    pub(crate) slack: u16,
    /// Whether it may be marked, and is.
    pub ecn: Ecn,
}

impl FramePacket {
    /// A frame as its card sends it, to the host `to`.
    pub(crate) fn sent(body: Arc<FrameBody>, to: u32) -> Self {
        let ecn = body.ecn();
        Self { body, to, slack: 0, ecn }
    }

    /// Its bytes as it is now.
    pub fn bytes(&self) -> Vec<u8> {
        self.body.seen_with(self.ecn)
    }
}

impl Forwarded for FramePacket {
    fn wire_bytes(&self) -> u32 {
        self.body.wire_bytes()
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn flow(&self) -> Option<u32> {
        None
    }
    fn key(&self, spread: u64) -> u64 {
        self.body.key(spread)
    }
    fn arrives(self, slack: u16, ecn: Ecn) -> NetEvent {
        NetEvent::Frame(Self { slack, ecn, ..self })
    }
}
