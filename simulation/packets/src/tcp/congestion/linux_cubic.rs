//! CUBIC as Linux computes it. It differs from RFC 9438 in what shows at small windows: all is in whole
//! segments; the window of Reno grows by the same slope beyond the window before the last reduction, where
//! the RFC goes over to one segment a round trip (section 4.3); and the window follows it by one segment for
//! each of its own ACKs, not at once.
//!
//! Invariant: the window is a whole number of segments where it was one before.

use paceline_kernel::{Bits, Time};
use serde::{Deserialize, Serialize};

use super::cubic::{C, cube_root};
use super::hystart::{Exit, grow_in_slow_start};
use super::{Acked, Cause, CongestionControl, Signals, Window};
use crate::tcp::Settings;

/// The factor of a reduction, in 1024ths: 0.7.
const BETA: u64 = 717;
/// So many ACKs a segment of the window, in eighths, until the window of Reno has grown by one: 8 / 15 a
/// round trip, 3 (1 - beta) / (1 + beta).
const RENO_EIGHTHS: u64 = 15;
/// The fastest growth: a segment for each two that are acknowledged.
const LEAST_COUNT: u64 = 2;
/// Before the first loss at least a segment for so many.
const FIRST_COUNT: u64 = 20;
/// The cubic is looked at again when the window has changed, or after this time.
const LOOK: Time = Time::ticks(Time::TICKS_PER_SECOND / 32);

/// CUBIC of Linux. Windows are in segments.
#[derive(Clone, Debug, PartialEq, Hash, Serialize, Deserialize)]
pub(in crate::tcp) struct LinuxCubic {
    /// When congestion avoidance began; `Time::MAX` before.
    epoch: Time,
    /// The window before the last reduction; 0 before the first and after a timeout.
    most: u64,
    /// Where the cubic is flat, and when that is, in seconds after the epoch.
    origin: u64,
    rise: Bits,
    /// The window of Reno, and the ACKs since it has grown.
    reno: u64,
    acks: u64,
    /// So many segments that are acknowledged let the window grow by one.
    count: u64,
    /// Segments acknowledged since the window has grown.
    credit: u64,
    /// When the cubic was looked at, and the window then.
    looked: Time,
    seen: u64,
    /// The least round trip; `Time::MAX` before the first.
    least: Time,
    /// Acknowledged bytes that are no whole segment.
    rest: u64,
    exit: Option<Exit>,
}

impl LinuxCubic {
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            epoch: Time::MAX,
            most: 0,
            origin: 0,
            rise: Bits(0.0),
            reno: 0,
            acks: 0,
            count: 0,
            credit: 0,
            looked: Time::ZERO,
            seen: 0,
            least: Time::MAX,
            rest: 0,
            exit: Exit::new(settings),
        }
    }

    fn begin(&mut self, now: Time, cwnd: u64, acked: u64) {
        (self.epoch, self.reno, self.acks) = (now, cwnd, acked);
        (self.rise, self.origin) = match self.most.checked_sub(cwnd).filter(|below| *below > 0) {
            Some(below) => (Bits(cube_root(below as f64 / C)), self.most),
            None => (Bits(0.0), cwnd),
        };
    }

    /// After how many acknowledged segments the window grows by one.
    fn look(&mut self, now: Time, cwnd: u64, acked: u64) {
        self.acks += acked;
        if self.seen == cwnd && now.saturating_sub(self.looked) <= LOOK {
            return;
        }
        (self.seen, self.looked) = (cwnd, now);
        if self.epoch == Time::MAX {
            self.begin(now, cwnd, acked);
        }
        let least = if self.least == Time::MAX { Time::ZERO } else { self.least };
        let time = now.saturating_sub(self.epoch).as_secs_f64() + least.as_secs_f64() - self.rise.0;
        let change = (C * time * time * time).abs() as u64;
        let target =
            if time < 0.0 { self.origin.saturating_sub(change) } else { self.origin.saturating_add(change) };
        self.count = match target.checked_sub(cwnd).filter(|above| *above > 0) {
            Some(above) => cwnd / above,
            None => 100 * cwnd,
        };
        if self.most == 0 {
            self.count = self.count.min(FIRST_COUNT);
        }
        let step = (cwnd * RENO_EIGHTHS / 8).max(1);
        // As long as more ACKs than one step are left; the last stays for the next look.
        let steps = self.acks.saturating_sub(1) / step;
        self.acks -= steps * step;
        self.reno += steps;
        if self.reno > cwnd {
            self.count = self.count.min(cwnd / (self.reno - cwnd));
        }
        self.count = self.count.max(LEAST_COUNT);
    }

    /// By how many segments the window grows.
    fn growth(&mut self, acked: u64) -> u64 {
        let count = self.count.max(1);
        // What was enough for a count that has become less meanwhile counts for one.
        let mut grown = 0;
        if self.credit >= count {
            (self.credit, grown) = (0, 1);
        }
        self.credit += acked;
        grown += self.credit / count;
        self.credit %= count;
        grown
    }
}

impl CongestionControl for LinuxCubic {
    fn on_ack(&mut self, window: &mut Window, signals: &Signals, acked: &Acked) {
        if let Some(rtt) = acked.rtt {
            self.least = self.least.min(rtt);
        }
        if !acked.may_grow {
            return;
        }
        if window.is_slow_start() {
            return grow_in_slow_start(window, signals, acked, self.exit.as_mut());
        }
        let bytes = acked.bytes + self.rest;
        self.rest = bytes % signals.mss;
        let (segments, cwnd) = (bytes / signals.mss, (window.cwnd / signals.mss).max(1));
        self.look(signals.now, cwnd, segments);
        window.cwnd += self.growth(segments) * signals.mss;
    }

    fn reduce(&mut self, window: &Window, signals: &Signals, cause: Cause) -> u64 {
        let cwnd = window.cwnd / signals.mss;
        self.epoch = Time::MAX;
        (self.credit, self.rest) = (0, 0);
        self.most = if cwnd < self.most { cwnd * (1024 + BETA) / 2048 } else { cwnd };
        if cause == Cause::Timeout {
            (self.most, self.count, self.seen) = (0, 0, 0);
        }
        (cwnd * BETA / 1024).max(2) * signals.mss
    }

    fn on_idle(&mut self, idle: Time) {
        if self.epoch < Time::MAX {
            self.epoch = self.epoch.saturating_add(idle);
        }
    }
}

#[cfg(test)]
mod test {
    use super::*;

    /// A round trip of 20 ms: at 20 segments the cubic takes seconds, and Reno decides.
    fn rounds(control: &mut dyn CongestionControl, window: &mut Window, from: u64, count: u64) {
        let (mss, rtt) = (1000, Some(Time::millis(20)));
        for round in from..from + count {
            for _ in 0..window.cwnd / mss / 2 {
                let now = Time::secs(1) + Time::millis(20 * round);
                let signals = Signals { now, mss, abc: 2, smoothed_rtt: rtt, ..Signals::default() };
                let acked = Acked { bytes: 2 * mss, may_grow: true, rtt, ..Acked::default() };
                control.on_ack(window, &signals, &acked);
            }
        }
    }

    /// Beyond the window before the reduction, RFC 9438 grows by a segment a round trip, Linux by 8 / 15.
    #[test]
    fn it_goes_on_as_slowly_as_before() {
        let signals = Signals { mss: 1000, flight: 20_000, ..Signals::default() };
        let grown = |control: &mut dyn CongestionControl| {
            let mut window = Window { cwnd: 20_000, ssthresh: u64::MAX };
            window.ssthresh = control.reduce(&window, &signals, Cause::Loss);
            assert_eq!(window.ssthresh, 14_000);
            window.cwnd = window.ssthresh;
            rounds(control, &mut window, 0, 16);
            let before = window.cwnd;
            rounds(control, &mut window, 16, 15);
            (window.cwnd - before) / 1000
        };
        let settings = Settings::default();
        let (linux, rfc) = (
            grown(&mut LinuxCubic::new(&settings)),
            grown(&mut crate::tcp::congestion::cubic::Cubic::new(&settings)),
        );
        assert!(
            (7..=9).contains(&linux) && (13..=15).contains(&rfc),
            "{linux} and {rfc} segments in 15 rounds"
        );
    }

    #[test]
    fn windows_are_whole_segments() {
        let mut cubic = LinuxCubic::new(&Settings::default());
        let signals = Signals { mss: 1000, flight: 25_000, ..Signals::default() };
        let mut window = Window { cwnd: 25_000, ssthresh: u64::MAX };
        // 25 * 717 / 1024 = 17.5.
        window.ssthresh = cubic.reduce(&window, &signals, Cause::Loss);
        assert_eq!(window.ssthresh, 17_000);
        window.cwnd = window.ssthresh;
        rounds(&mut cubic, &mut window, 0, 40);
        assert_eq!(window.cwnd % 1000, 0);
    }
}
