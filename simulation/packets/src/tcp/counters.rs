//! What a connection counts of what it did, for results and for comparisons with traces.

use serde::{Deserialize, Serialize};

/// Counts since the connection began. Those of data count in the direction of this end's stream, and
/// `delivered`, `out_of_order`, `duplicate_segments` and `marks_received` in the other direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Counters {
    /// Bytes that were delivered in order to this end's application, or are ready for it.
    pub delivered: u64,
    /// Bytes of this end's stream that the peer has acknowledged.
    pub acknowledged: u64,
    /// Segments sent, with pure ACKs and retransmissions.
    pub segments_sent: u64,
    /// Segments with data sent, with retransmissions.
    pub data_segments_sent: u64,
    /// Segments sent again, of whatever cause, with SYN and FIN.
    pub retransmissions: u32,
    /// Duplicate ACKs that arrived (RFC 5681, section 2).
    pub duplicate_acks: u32,
    /// Fast recoveries entered.
    pub recoveries: u32,
    /// How often the retransmission timer ran out.
    pub timeouts: u32,
    /// Tail loss probes (RFC 8985, section 7).
    pub loss_probes: u32,
    /// Zero-window probes (RFC 9293, section 3.8.6.1).
    pub window_probes: u32,
    /// Segments that arrived beyond the next expected byte.
    pub out_of_order: u32,
    /// Segments that arrived without a new byte.
    pub duplicate_segments: u32,
    /// Data segments that arrived with a congestion mark (CE).
    pub marks_received: u32,
    /// ACKs that arrived with an ECN echo.
    pub echoes_received: u32,
    /// Reductions of the window for ECN.
    pub ecn_reductions: u32,
}

/// More than an end sends, receives or decides in a run, and room to count on.
const MOST_SEGMENTS: u64 = 1 << 48;
const MOST_TIMES: u32 = 1 << 31;

impl Counters {
    /// Whether a connection can have counted so much: for states that come from a file.
    pub(super) fn is_consistent(&self) -> bool {
        let &Self { delivered, acknowledged, segments_sent, data_segments_sent, .. } = self;
        let times = [
            self.retransmissions,
            self.duplicate_acks,
            self.recoveries,
            self.timeouts,
            self.loss_probes,
            self.window_probes,
            self.out_of_order,
            self.duplicate_segments,
            self.marks_received,
            self.echoes_received,
            self.ecn_reductions,
        ];
        delivered.max(acknowledged) <= super::Connection::ENDLESS
            && segments_sent.max(data_segments_sent) <= MOST_SEGMENTS
            && times.iter().all(|times| *times <= MOST_TIMES)
    }
}
