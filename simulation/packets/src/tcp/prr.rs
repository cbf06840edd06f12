//! Proportional rate reduction (RFC 9937): how many bytes each ACK lets leave in fast recovery.

use serde::{Deserialize, Serialize};

/// The state of an episode (RFC 9937, section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Prr {
    /// Bytes that arrived since recovery began.
    delivered: u64,
    /// Bytes that were sent since.
    out: u64,
    /// FlightSize when recovery began (RecoverFS).
    flight: u64,
}

/// What an ACK in recovery said.
pub(super) struct PrrAck {
    /// Bytes newly delivered, cumulatively or by SACK.
    pub delivered: u64,
    /// Bytes under way.
    pub in_flight: u64,
    pub ssthresh: u64,
    pub mss: u64,
    /// The ACK advanced and no further loss was found (SafeACK).
    pub is_safe: bool,
}

impl Prr {
    /// Recovery begins. `outstanding`: bytes without a cumulative ACK; `sacked`: those with the receiver
    /// before this ACK; `acknowledged`: what this ACK acknowledges cumulatively.
    pub(super) fn begin(&mut self, outstanding: u64, sacked: u64, acknowledged: u64) {
        // What had been delivered before recovery is not delivered again in it (section 6.1).
        let flight = (outstanding + acknowledged).saturating_sub(sacked).max(1);
        *self = Self { delivered: 0, out: 0, flight };
    }

    pub(super) const fn on_sent(&mut self, bytes: u64) {
        self.out += bytes;
    }

    /// The window after an ACK, the one that begins recovery too (section 6.2).
    pub(super) fn window(&mut self, ack: &PrrAck) -> u64 {
        self.delivered += ack.delivered;
        let allowed = if ack.in_flight > ack.ssthresh {
            // In proportion: the whole reduction is spread over what was in flight.
            let share = u128::from(self.delivered) * u128::from(ack.ssthresh);
            (share.div_ceil(u128::from(self.flight)) as u64).saturating_sub(self.out)
        } else {
            // Conservative bound: no more than has been delivered; in slow start where the ACK is safe.
            let bound = self.delivered.saturating_sub(self.out).max(ack.delivered);
            let bound = bound + if ack.is_safe { ack.mss } else { 0 };
            bound.min(ack.ssthresh - ack.in_flight)
        };
        // A retransmission always leaves on entry.
        let forced = if self.out == 0 && allowed == 0 { ack.mss } else { allowed };
        ack.in_flight + forced
    }
}

#[cfg(test)]
mod test {
    use super::*;

    /// RFC 9937, section 8, in segments: 20 in flight, one lost, 19 ACKs. Every second one lets a segment
    /// leave.
    #[test]
    fn half_of_the_flight_leaves_over_a_round_trip() {
        let mut prr = Prr::default();
        // Three were delivered before: recovery begins with the third duplicate ACK.
        prr.begin(20_000, 2_000, 0);
        let (mut in_flight, mut sent) = (16_000, vec![]);
        for ack in 0..17 {
            let step = PrrAck { delivered: 1000, in_flight, ssthresh: 10_000, mss: 1000, is_safe: false };
            let mut room = prr.window(&step) - in_flight;
            let mut count = 0;
            while room >= 1000 {
                (room, count) = (room - 1000, count + 1);
                prr.on_sent(1000);
                in_flight += 1000;
            }
            sent.push(count);
            in_flight -= 1000;
            assert!(in_flight >= 9_000, "at ACK {ack}: {in_flight}");
        }
        assert_eq!(sent.iter().sum::<i32>(), 10, "{sent:?}: half of 18 and the forced one at most");
        assert!(sent.iter().all(|&count| count < 2), "no bursts: {sent:?}");
    }
}
