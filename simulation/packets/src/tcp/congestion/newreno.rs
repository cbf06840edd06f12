//! The window of NewReno (RFC 5681, section 3.1), with appropriate byte counting (RFC 3465).

use serde::{Deserialize, Serialize};

use super::{Acked, Cause, CongestionControl, Signals, Window, slow_start_growth};
use crate::tcp::Settings;

/// NewReno.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(in crate::tcp) struct NewReno {
    /// Bytes acknowledged since the window last grew (RFC 3465, section 2.1).
    acknowledged: u64,
}

impl NewReno {
    pub(super) const fn new(_settings: &Settings) -> Self {
        Self { acknowledged: 0 }
    }
}

impl CongestionControl for NewReno {
    fn on_ack(&mut self, window: &mut Window, signals: &Signals, acked: &Acked) {
        if !acked.may_grow {
            return;
        }
        if window.is_slow_start() {
            window.cwnd += slow_start_growth(signals, acked);
        } else {
            window.cwnd += avoidance_growth(window, &mut self.acknowledged, signals, acked);
        }
    }

    fn reduce(&mut self, _window: &Window, signals: &Signals, _cause: Cause) -> u64 {
        self.acknowledged = 0;
        // RFC 5681, equation 4. RFC 3168, section 6.1.2, wants the same for an echo as for a loss.
        (signals.flight / 2).max(2 * signals.mss)
    }
}

/// Congestion avoidance: a segment a round trip.
fn avoidance_growth(window: &Window, acknowledged: &mut u64, signals: &Signals, acked: &Acked) -> u64 {
    if signals.abc == 0 {
        // RFC 5681, equation 3, for each ACK.
        return (signals.mss * signals.mss / window.cwnd).max(1);
    }
    // RFC 3465, section 2.1: a segment for each window of bytes.
    *acknowledged += acked.bytes;
    if *acknowledged < window.cwnd {
        return 0;
    }
    *acknowledged -= window.cwnd;
    signals.mss
}
