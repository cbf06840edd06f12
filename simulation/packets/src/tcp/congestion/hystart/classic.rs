//! HyStart as its authors published it (Ha and Rhee, 2011) and as CUBIC of Linux and of ns-3 has it: the
//! first slow start ends for good when a train of ACKs is long, or when the round trip has grown.

use paceline_kernel::Time;
use serde::{Deserialize, Serialize};

use super::super::{Acked, Signals, Window, slow_start_growth};
use crate::tcp::ClassicHyStart;

/// The least window in segments (hystart_low_window of Linux).
const LOW_WINDOW: u64 = 16;
/// ACKs that come no further apart are one train (hystart_ack_delta of Linux).
const SPACING: Time = Time::millis(2);
/// How many round trips of a round are looked at (HYSTART_MIN_SAMPLES of Linux).
const SAMPLES: u8 = 8;
/// The least growth of the round trip that counts (HYSTART_DELAY_MIN of Linux).
const LEAST_GROWTH: Time = Time::millis(4);

/// The state of one slow start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(in crate::tcp::congestion) struct Classic {
    settings: ClassicHyStart,
    /// The round ends when this is acknowledged.
    round_end: u64,
    round_start: Time,
    /// The last ACK of the train.
    last_ack: Time,
    /// The least round trips of the connection and of this round; `Time::MAX` for none.
    least: Time,
    current: Time,
    /// Samples in this round.
    samples: u8,
}

impl Classic {
    pub(super) const fn new(settings: ClassicHyStart) -> Self {
        let (least, current) = (Time::MAX, Time::MAX);
        let (round_start, last_ack) = (Time::ZERO, Time::ZERO);
        Self { settings, round_end: 0, round_start, last_ack, least, current, samples: 0 }
    }

    /// An ACK in the first slow start: grows the window, and ends slow start where it is time.
    pub(super) fn on_ack(&mut self, window: &mut Window, signals: &Signals, acked: &Acked) {
        if signals.una > self.round_end {
            self.round_end = signals.next;
            (self.round_start, self.last_ack) = (signals.now, signals.now);
            (self.current, self.samples) = (Time::MAX, 0);
        }
        window.cwnd += slow_start_growth(signals, acked);
        let Some(rtt) = acked.rtt else { return };
        self.least = self.least.min(rtt);
        if window.cwnd >= LOW_WINDOW * signals.mss
            && (self.is_train_long(signals.now) || self.has_delay_grown(rtt))
        {
            window.ssthresh = window.cwnd;
        }
    }

    /// The ACKs of a round arrive as fast as the bottleneck sends: a train as long as the empty path fills
    /// it.
    fn is_train_long(&mut self, now: Time) -> bool {
        if now.saturating_sub(self.last_ack) > SPACING {
            return false;
        }
        self.last_ack = now;
        let length = now.saturating_sub(self.round_start);
        length.as_ticks() > self.least.as_ticks() / u64::from(self.settings.train_divisor.max(1))
    }

    fn has_delay_grown(&mut self, rtt: Time) -> bool {
        if self.samples < SAMPLES {
            self.current = self.current.min(rtt);
            self.samples += 1;
            return false;
        }
        let part = Time::ticks(self.least.as_ticks() / u64::from(self.settings.delay_divisor.max(1)));
        let growth = part.max(LEAST_GROWTH).min(self.settings.most_growth.max(LEAST_GROWTH));
        self.current > self.least.saturating_add(growth)
    }
}

#[cfg(test)]
mod test {
    use super::*;

    /// Rounds of `count` ACKs of a segment, a millisecond apart; returns the window in segments at which slow
    /// start ended.
    fn exit(settings: ClassicHyStart, rtt: impl Fn(u64) -> u64) -> Option<u64> {
        let mut hystart = Classic::new(settings);
        let mut window = Window { cwnd: 10_000, ssthresh: u64::MAX };
        let (mut una, mut start) = (1, 0);
        for round in 0..8 {
            let count = window.cwnd / 1000;
            let next = una + count * 1000;
            for ack in 0..count {
                una += 1000;
                let now = Time::millis(start + ack);
                let signals = Signals { now, mss: 1000, una, next, abc: 2, ..Signals::default() };
                let rtt = Some(Time::millis(rtt(round)));
                hystart.on_ack(&mut window, &signals, &Acked { bytes: 1000, rtt, ..Acked::default() });
                if !window.is_slow_start() {
                    return Some(window.cwnd / 1000);
                }
            }
            start += 100;
        }
        None
    }

    /// With a round trip of 50 ms and an ACK each millisecond: in the round that begins with 40 segments the
    /// 27th ACK is more than half of it after the first; in the next one the 52nd more than all of it.
    #[test]
    fn a_long_train_of_acks_ends_slow_start() {
        assert_eq!(exit(ClassicHyStart::LINUX, |_| 50), Some(40 + 27));
        assert_eq!(exit(ClassicHyStart::NS3, |_| 50), Some(80 + 52));
    }

    /// The ninth ACK of a round is the first after eight samples: a growth by more than an eighth of the
    /// least round trip ends slow start in Linux; ns-3 wants it to double.
    #[test]
    fn a_grown_round_trip_ends_slow_start() {
        let without_trains = ClassicHyStart { train_divisor: 1, ..ClassicHyStart::LINUX };
        assert_eq!(exit(without_trains, |round| if round < 2 { 400 } else { 417 }), Some(40 + 9));
        assert_eq!(exit(without_trains, |round| if round < 2 { 400 } else { 416 }), Some(640 + 402));
        let grown = |round| if round < 2 { 300 } else { 590 };
        assert!(exit(ClassicHyStart::NS3, grown) > Some(40 + 9));
    }
}
