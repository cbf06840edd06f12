//! The window of NewReno (RFC 5681, section 3.1), with appropriate byte counting (RFC 3465).

use serde::{Deserialize, Serialize};

use super::hystart::{Exit, grow_in_slow_start};
use super::{Acked, Cause, CongestionControl, Signals, Window};
use crate::tcp::Settings;

/// The state of NewReno's window (RFC 5681, RFC 6582).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(in crate::tcp) struct NewReno {
    /// Bytes acknowledged since the window last grew (RFC 3465, section 2.1).
    acknowledged: u64,
    exit: Option<Box<Exit>>,
}

impl NewReno {
    pub(super) fn new(settings: &Settings) -> Self {
        Self { acknowledged: 0, exit: Exit::new(settings).map(Box::new) }
    }

    /// Slow start, or congestion avoidance.
    pub(super) fn grow(&mut self, window: &mut Window, signals: &Signals, acked: &Acked) {
        if window.is_slow_start() {
            grow_in_slow_start(window, signals, acked, self.exit.as_deref_mut());
        } else {
            window.cwnd += self.avoidance_growth(window, signals, acked);
        }
    }

    /// Congestion avoidance: a segment a round trip.
    fn avoidance_growth(&mut self, window: &Window, signals: &Signals, acked: &Acked) -> u64 {
        if signals.abc == 0 {
            // RFC 5681, equation 3, for each ACK.
            return (signals.mss * signals.mss / window.cwnd).max(1);
        }
        // RFC 3465, section 2.1: a segment for each window of bytes.
        self.acknowledged += acked.bytes;
        if self.acknowledged < window.cwnd {
            return 0;
        }
        self.acknowledged -= window.cwnd;
        signals.mss
    }
}

impl CongestionControl for NewReno {
    fn on_ack(&mut self, window: &mut Window, signals: &Signals, acked: &Acked) {
        if acked.may_grow {
            self.grow(window, signals, acked);
        }
    }

    fn reduce(&mut self, _window: &Window, signals: &Signals, _cause: Cause) -> u64 {
        self.acknowledged = 0;
        // RFC 5681, equation 4. RFC 3168, section 6.1.2, wants the same for an echo as for a loss.
        (signals.flight / 2).max(2 * signals.mss)
    }
}

#[cfg(test)]
mod test {
    use super::*;

    /// RFC 3465, section 2.1: what is acknowledged beyond a window counts for the next.
    #[test]
    fn bytes_beyond_a_window_are_kept() {
        let mut control = NewReno::new(&Settings::default());
        let mut window = Window { cwnd: 5000, ssthresh: 5000 };
        let signals = Signals { mss: 1000, abc: 2, ..Signals::default() };
        let acked = Acked { bytes: 3000, may_grow: true, ..Acked::default() };
        let mut grow = || {
            control.on_ack(&mut window, &signals, &acked);
            window.cwnd
        };
        assert_eq!([(); 6].map(|()| grow()), [5000, 6000, 6000, 7000, 7000, 8000]);
    }
}
