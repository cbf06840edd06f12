//! Reno as Linux computes it. It differs from RFC 5681 in what shows at small windows: all is in whole
//! segments, and a reduction halves the window, not what is outstanding. A window with half a segment does
//! not let that half leave, and yet has to be acknowledged before the window grows. An ACK that advances
//! counts for what it reports by SACK, too: the first one after a loss may let the window grow once more.
//!
//! Invariant: the window is a whole number of segments where it was one before.

use serde::{Deserialize, Serialize};

use super::hystart::{Exit, grow_in_slow_start};
use super::{Acked, Cause, CongestionControl, Signals, Window};
use crate::tcp::Settings;

/// Reno of Linux (tcp_cong.c: `tcp_reno_cong_avoid`, `tcp_reno_ssthresh`). Windows are in segments.
#[derive(Clone, Debug, PartialEq, Hash, Serialize, Deserialize)]
pub(in crate::tcp) struct LinuxReno {
    /// Segments acknowledged since the window has grown.
    credit: u64,
    /// Acknowledged bytes that are no whole segment.
    rest: u64,
    exit: Option<Exit>,
}

impl LinuxReno {
    pub(super) fn new(settings: &Settings) -> Self {
        Self { credit: 0, rest: 0, exit: Exit::new(settings) }
    }
}

impl CongestionControl for LinuxReno {
    fn on_ack(&mut self, window: &mut Window, signals: &Signals, acked: &Acked) {
        if !acked.may_grow {
            return;
        }
        // tcp_cong_control passes on what was delivered, in whatever order.
        let acked = &Acked { bytes: acked.delivered, ..*acked };
        if window.is_slow_start() {
            return grow_in_slow_start(window, signals, acked, self.exit.as_mut());
        }
        let bytes = acked.bytes + self.rest;
        self.rest = bytes % signals.mss;
        let cwnd = (window.cwnd / signals.mss).max(1);
        self.credit += bytes / signals.mss;
        window.cwnd += self.credit / cwnd * signals.mss;
        self.credit %= cwnd;
    }

    fn reduce(&mut self, window: &Window, signals: &Signals, _cause: Cause) -> u64 {
        (self.credit, self.rest) = (0, 0);
        (window.cwnd / signals.mss / 2).max(2) * signals.mss
    }
}

#[cfg(test)]
mod test {
    use super::*;

    /// Half of 13 segments are 6, of which each round trip makes one more.
    #[test]
    fn windows_are_whole_segments() {
        let mut reno = LinuxReno::new(&Settings::default());
        let signals = Signals { mss: 1000, flight: 13_000, abc: 2, ..Signals::default() };
        let mut window = Window { cwnd: 13_000, ssthresh: 13_000 };
        window.ssthresh = reno.reduce(&window, &signals, Cause::Loss);
        assert_eq!(window.ssthresh, 6_000);
        window.cwnd = window.ssthresh;
        let acked = Acked { bytes: 2_000, delivered: 2_000, may_grow: true, ..Acked::default() };
        let mut grow = || {
            reno.on_ack(&mut window, &signals, &acked);
            window.cwnd / 1000
        };
        assert_eq!([(); 8].map(|()| grow()), [6, 6, 7, 7, 7, 7, 8, 8]);
        assert_eq!(reno.reduce(&Window { cwnd: 3_000, ssthresh: 0 }, &signals, Cause::Loss), 2_000);
    }

    /// The segment before a lost one is acknowledged together with the SACK of the one after it.
    #[test]
    fn what_sack_reports_counts() {
        let mut reno = LinuxReno::new(&Settings::default());
        let signals = Signals { mss: 1000, flight: 4_000, abc: 2, ..Signals::default() };
        let mut window = Window { cwnd: 4_000, ssthresh: 4_000 };
        let pair = Acked { bytes: 2_000, delivered: 2_000, may_grow: true, ..Acked::default() };
        reno.on_ack(&mut window, &signals, &pair);
        reno.on_ack(&mut window, &signals, &Acked { bytes: 1_000, ..pair });
        assert_eq!(window.cwnd, 5_000);
    }
}
