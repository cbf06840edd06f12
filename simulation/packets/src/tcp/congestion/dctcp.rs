//! DCTCP (RFC 8257): the window shrinks by the share of bytes that were marked.

use paceline_kernel::Bits;
use serde::{Deserialize, Serialize};

use super::newreno::NewReno;
use super::{Acked, Cause, CongestionControl, Signals, Window};
use crate::tcp::Settings;

/// g: the weight of a new observation (section 4.2).
const GAIN: f64 = 1.0 / 16.0;

/// The state of DCTCP (RFC 8257).
#[derive(Clone, Debug, PartialEq, Hash, Serialize, Deserialize)]
pub(in crate::tcp) struct Dctcp {
    /// The mean share of marked bytes (DCTCP.Alpha).
    pub alpha: Bits,
    /// The observation window ends when this is acknowledged (DCTCP.WindowEnd).
    window_end: u64,
    /// Bytes acknowledged in it, and those of them with an echo.
    acknowledged: u64,
    marked: u64,
    /// It grows as NewReno does (section 3.3).
    growth: NewReno,
}

impl Dctcp {
    pub(super) fn new(settings: &Settings) -> Self {
        // Section 4.2: 1 at first, so that the first mark halves the window.
        Self { alpha: Bits(1.0), window_end: 0, acknowledged: 0, marked: 0, growth: NewReno::new(settings) }
    }
}

impl CongestionControl for Dctcp {
    fn on_ack(&mut self, window: &mut Window, signals: &Signals, acked: &Acked) {
        // Section 3.3, steps 1 to 7.
        self.acknowledged += acked.bytes;
        self.marked += if acked.has_echo { acked.bytes } else { 0 };
        if signals.una > self.window_end {
            if self.acknowledged > 0 {
                let share = self.marked as f64 / self.acknowledged as f64;
                self.alpha = Bits(self.alpha.0 * (1.0 - GAIN) + GAIN * share);
            }
            (self.window_end, self.acknowledged, self.marked) = (signals.next, 0, 0);
        }
        if acked.may_grow {
            self.growth.grow(window, signals, acked);
        }
    }

    fn reduce(&mut self, window: &Window, signals: &Signals, cause: Cause) -> u64 {
        if cause == Cause::Echo {
            // Step 8.
            let kept = window.cwnd as f64 * (1.0 - self.alpha.0 / 2.0);
            (kept as u64).max(2 * signals.mss)
        } else {
            // Section 3.4: a loss is answered as ever.
            self.growth.reduce(window, signals, cause)
        }
    }
}
