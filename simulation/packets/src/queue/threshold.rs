//! Marking by the queue at the moment, as DCTCP asks of switches (Alizadeh et al., 2010, section 3.1; RFC
//! 8257, section 3.1).

use paceline_kernel::Time;
use serde::{Deserialize, Serialize};

use super::{Admission, Backlog, DropReason, Ecn, Limit, QueueError, Verdict};

/// The admission of a queue that marks beyond a threshold: a packet with which more than `mark` would wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Threshold {
    /// How much may wait.
    pub limit: Limit,
    /// How much may wait without a mark (K).
    pub mark: Limit,
    /// Packets that are not ECN-capable are dropped where others are marked, as by a switch that realises the
    /// threshold with RED (RFC 8257, section 4.2); otherwise they are dropped by `limit` alone.
    pub drops_incapable: bool,
}

impl Threshold {
    pub(super) fn check(&self) -> Result<(), QueueError> {
        self.limit.check()
    }
}

impl Admission for Threshold {
    fn admit(&mut self, _now: Time, backlog: &Backlog, bytes: u32, ecn: Ecn) -> Verdict {
        if !self.limit.has_room(backlog, bytes) {
            return Verdict::Dropped(DropReason::Full);
        }
        let is_above = !self.mark.has_room(backlog, bytes);
        match is_above {
            true if ecn.is_capable() => Verdict::Marked,
            true if self.drops_incapable => Verdict::Dropped(DropReason::Early),
            _ => Verdict::Accepted,
        }
    }
}
