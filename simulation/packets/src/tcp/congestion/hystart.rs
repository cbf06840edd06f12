//! HyStart++ (RFC 9406): the first slow start ends when the round trip grows, not only by a loss. Its
//! predecessor is beside it.

mod classic;

use paceline_kernel::Time;
use serde::{Deserialize, Serialize};

use self::classic::Classic;
use super::{Acked, Signals, Window, slow_start_growth};
use crate::tcp::Settings;

/// MIN_RTT_THRESH and MAX_RTT_THRESH: by how much the round trip has to grow.
const THRESHOLDS: (Time, Time) = (Time::millis(4), Time::millis(16));
/// MIN_RTT_DIVISOR: or by this part of the last round's.
const DIVISOR: u64 = 8;
/// N_RTT_SAMPLE: how many samples a round needs.
const SAMPLES: u8 = 8;
/// CSS_GROWTH_DIVISOR: growth is that much slower in conservative slow start.
const SLOWER: u64 = 4;
/// CSS_ROUNDS: how long conservative slow start lasts.
const ROUNDS: u8 = 5;
/// L: how many segments an ACK counts for at most, without pacing.
const LIMIT: u64 = 8;

/// An ACK in slow start. HyStart++ is for the first slow start only: later ones have a threshold that a loss
/// has set (RFC 9406, section 4.2).
pub(super) fn grow_in_slow_start(
    window: &mut Window,
    signals: &Signals,
    acked: &Acked,
    exit: Option<&mut Exit>,
) {
    match exit.filter(|_| window.ssthresh == u64::MAX) {
        Some(Exit::PlusPlus(hystart)) => hystart.on_ack(window, signals, acked),
        Some(Exit::Classic(hystart)) => hystart.on_ack(window, signals, acked),
        None => window.cwnd += slow_start_growth(signals, acked),
    }
}

/// What ends the first slow start before a loss does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) enum Exit {
    PlusPlus(HyStart),
    Classic(Classic),
}

impl Exit {
    pub(super) fn new(settings: &Settings) -> Option<Self> {
        let classic = settings.classic_hystart.map(|classic| Self::Classic(Classic::new(classic)));
        classic.or_else(|| settings.hystart.then(|| Self::PlusPlus(HyStart::new())))
    }
}

/// The state of section 4.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct HyStart {
    /// The round ends when this is acknowledged (windowEnd).
    round_end: u64,
    /// The least round trips of the last round and of this one; `Time::MAX` for none.
    last: Time,
    current: Time,
    /// The round trip with which conservative slow start began.
    baseline: Time,
    /// Samples in this round (rttSampleCount).
    samples: u8,
    /// Rounds of conservative slow start that began; 0 in slow start.
    rounds: u8,
}

impl HyStart {
    pub(super) const fn new() -> Self {
        Self { round_end: 0, last: Time::MAX, current: Time::MAX, baseline: Time::MAX, samples: 0, rounds: 0 }
    }

    /// An ACK in the first slow start: grows the window, and ends slow start where it is time.
    pub(super) fn on_ack(&mut self, window: &mut Window, signals: &Signals, acked: &Acked) {
        if signals.una > self.round_end {
            self.begin_round(signals.next);
            if self.rounds > ROUNDS {
                window.ssthresh = window.cwnd;
                return;
            }
        }
        let limit = if signals.is_paced { u64::MAX } else { LIMIT * signals.mss };
        let growth = acked.bytes.min(limit);
        window.cwnd += if self.rounds > 0 { growth / SLOWER } else { growth };
        if let Some(rtt) = acked.rtt {
            self.current = self.current.min(rtt);
            self.samples = self.samples.saturating_add(1);
        }
        if self.samples < SAMPLES || self.last == Time::MAX {
            return;
        }
        if self.rounds == 0 {
            let eighth = Time::ticks(self.last.as_ticks() / DIVISOR);
            if self.current >= self.last.saturating_add(eighth.clamp(THRESHOLDS.0, THRESHOLDS.1)) {
                // The queue grows: slowly on, to see whether it stays.
                self.baseline = self.current;
                self.rounds = 1;
            }
        } else if self.current < self.baseline {
            // It was jitter.
            self.baseline = Time::MAX;
            self.rounds = 0;
        }
    }

    const fn begin_round(&mut self, next: u64) {
        self.round_end = next;
        self.last = self.current;
        self.current = Time::MAX;
        self.samples = 0;
        if self.rounds > 0 {
            self.rounds += 1;
        }
    }
}

#[cfg(test)]
mod test {
    use super::*;

    /// Rounds of ten ACKs, each with the round trip of `rtts` in milliseconds. Returns the window after each.
    fn rounds(rtts: &[u64]) -> Vec<(u64, bool)> {
        let (mut hystart, mut window) = (HyStart::new(), Window { cwnd: 10_000, ssthresh: u64::MAX });
        let mut una = 1;
        let one = |&rtt| {
            let next = una + 10_000;
            for _ in 0..10 {
                una += 1000;
                let acked =
                    Acked { bytes: 1000, rtt: Some(Time::millis(rtt)), may_grow: true, ..Acked::default() };
                let signals = Signals { mss: 1000, una, next, ..Signals::default() };
                if window.is_slow_start() {
                    hystart.on_ack(&mut window, &signals, &acked);
                }
            }
            (window.cwnd, window.is_slow_start())
        };
        rtts.iter().map(one).collect()
    }

    #[test]
    fn slow_start_ends_after_five_slow_rounds() {
        let found = rounds(&[40, 40, 46, 46, 46, 46, 46, 46, 46]);
        let growth: Vec<u64> = found.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
        // The eighth sample of the third round ends it; a round then adds a fourth.
        assert_eq!(growth[..2], [10_000, 8_500]);
        assert_eq!(growth[2..6], [2_500; 4]);
        assert!(!found[8].1, "{found:?}");
    }

    #[test]
    fn jitter_does_not_end_it() {
        let found = rounds(&[40, 40, 46, 40, 40, 40, 40, 40, 40]);
        assert!(found.iter().all(|round| round.1), "{found:?}");
        assert_eq!(found[8].0 - found[7].0, 10_000);
        let found = rounds(&[40, 40, 43, 46, 49, 52, 55, 58, 61, 64]);
        assert!(found.iter().all(|round| round.1), "4 ms at least, or an eighth: {found:?}");
    }

    #[test]
    fn an_ack_counts_for_eight_segments_unless_they_are_paced() {
        for (is_paced, cwnd) in [(false, 18_000), (true, 30_000)] {
            let (mut hystart, mut window) = (HyStart::new(), Window { cwnd: 10_000, ssthresh: u64::MAX });
            let signals = Signals { mss: 1000, una: 20_001, next: 30_001, is_paced, ..Signals::default() };
            hystart.on_ack(
                &mut window,
                &signals,
                &Acked { bytes: 20_000, may_grow: true, ..Acked::default() },
            );
            assert_eq!(window.cwnd, cwnd);
        }
    }
}
