//! Drop-tail: a packet that finds the queue full is lost.

use paceline_kernel::Time;
use serde::{Deserialize, Serialize};

use super::{Admission, Backlog, DropReason, Ecn, QueueError, Verdict};

/// How much may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Limit {
    /// So many packets.
    Packets(u32),
    /// So many bytes on the wire.
    Bytes(u64),
    /// All that comes.
    Endless,
}

impl Limit {
    /// Whether a packet of `bytes` still has room.
    pub fn has_room(self, backlog: &Backlog, bytes: u32) -> bool {
        match self {
            Self::Packets(most) => backlog.packets < most as usize,
            Self::Bytes(most) => backlog.bytes + u64::from(bytes) <= most,
            Self::Endless => true,
        }
    }

    /// Refuses a limit of zero, under which no packet ever waits.
    pub(super) fn check(self) -> Result<(), QueueError> {
        match self {
            Self::Packets(0) | Self::Bytes(0) => {
                Err(QueueError { what: "a queue for nothing".into(), allowed: "a limit of 1 or more" })
            }
            _ => Ok(()),
        }
    }
}

/// The admission of drop-tail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct DropTail(pub Limit);

impl Admission for DropTail {
    #[inline]
    fn admit(&mut self, _now: Time, backlog: &Backlog, bytes: u32, _ecn: Ecn) -> Verdict {
        match self.0.has_room(backlog, bytes) {
            true => Verdict::Accepted,
            false => Verdict::Dropped(DropReason::Full),
        }
    }
}
