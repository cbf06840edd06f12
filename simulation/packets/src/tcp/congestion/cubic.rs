//! CUBIC (RFC 9438). Windows in segments and times in seconds are floats here, computed with the four basic
//! operations alone: those give the same bits on every machine, and the cube root is one of our own for that
//! reason.

use paceline_kernel::{Bits, Time};
use serde::{Deserialize, Serialize};

use super::hystart::{Exit, grow_in_slow_start};
use super::{Acked, Cause, CongestionControl, Signals, Window};
use crate::tcp::Settings;

/// C, in segments a cubed second (section 5).
pub(super) const C: f64 = 0.4;
/// The factor of a reduction (section 4.6).
const BETA: f64 = 0.7;
/// How fast the window of Reno that gives the same mean grows (section 4.3).
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

/// The state of CUBIC (RFC 9438).
#[derive(Clone, Debug, PartialEq, Hash, Serialize, Deserialize)]
pub(in crate::tcp) struct Cubic {
    /// When congestion avoidance began; `Time::MAX` before.
    epoch: Time,
    /// W_max: the window before the last reduction, in segments; 0 after a timeout.
    most: Bits,
    /// The window before the last reduction, without fast convergence (cwnd_prior).
    prior: Bits,
    /// K: when the window is at `most` again, in seconds after the epoch.
    rise: Bits,
    /// W_est: the window of Reno.
    estimate: Bits,
    /// Growth in bytes that is less than one.
    credit: Bits,
    exit: Option<Exit>,
}

impl Cubic {
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            epoch: Time::MAX,
            most: Bits(0.0),
            prior: Bits(0.0),
            rise: Bits(0.0),
            estimate: Bits(0.0),
            credit: Bits(0.0),
            exit: Exit::new(settings),
        }
    }

    /// Sections 4.2 and 4.7: congestion avoidance begins with the window `cwnd`.
    fn begin(&mut self, now: Time, cwnd: f64) {
        self.epoch = now;
        self.estimate = Bits(cwnd);
        if self.most.0 > cwnd {
            self.rise = Bits(cube_root((self.most.0 - cwnd) / C));
        } else {
            // Section 4.8: after a timeout, or slow start without a loss, from here upwards.
            self.rise = Bits(0.0);
            self.most = Bits(cwnd);
        }
    }

    /// Congestion avoidance (sections 4.2 to 4.5). Returns the growth in bytes.
    fn avoidance_growth(&mut self, window: &Window, signals: &Signals, acked: &Acked) -> u64 {
        let mss = signals.mss as f64;
        let cwnd = window.cwnd as f64 / mss;
        if self.epoch == Time::MAX {
            self.begin(signals.now, cwnd);
        }
        // What an ACK counts for: its bytes, or one segment without byte counting.
        let segments = if signals.abc == 0 { 1.0 } else { acked.bytes as f64 / mss };
        let time = signals.now.saturating_sub(self.epoch).as_secs_f64();
        let rtt = signals.smoothed_rtt.unwrap_or_default().as_secs_f64();
        let cubic = |time: f64| {
            let t = time - self.rise.0;
            C * t * t * t + self.most.0
        };
        // Section 4.3: as fast as Reno once the window before the reduction is reached.
        let alpha = if self.estimate.0 >= self.prior.0 { 1.0 } else { ALPHA };
        self.estimate = Bits(self.estimate.0 + alpha * segments / cwnd);
        let growth = if cubic(time) < self.estimate.0 {
            (self.estimate.0 - cwnd).max(0.0)
        } else {
            // Section 4.2: at most half of the window in a round trip.
            let target = cubic(time + rtt).clamp(cwnd, 1.5 * cwnd);
            (target - cwnd) / cwnd * segments
        };
        let bytes = self.credit.0 + growth * mss;
        let whole = bytes as u64;
        self.credit = Bits(bytes - whole as f64);
        whole
    }
}

impl CongestionControl for Cubic {
    fn on_ack(&mut self, window: &mut Window, signals: &Signals, acked: &Acked) {
        if !acked.may_grow {
            return;
        }
        if window.is_slow_start() {
            grow_in_slow_start(window, signals, acked, self.exit.as_mut());
        } else {
            window.cwnd += self.avoidance_growth(window, signals, acked);
        }
    }

    fn reduce(&mut self, window: &Window, signals: &Signals, cause: Cause) -> u64 {
        let cwnd = window.cwnd as f64 / signals.mss as f64;
        self.epoch = Time::MAX;
        self.credit = Bits(0.0);
        self.prior = Bits(cwnd);
        // Section 4.7, fast convergence: a flow that reaches less than before leaves room for new ones.
        self.most = Bits(if cwnd < self.most.0 { cwnd * (1.0 + BETA) / 2.0 } else { cwnd });
        if cause == Cause::Timeout {
            self.most = Bits(0.0);
        }
        // Section 4.6.
        ((signals.flight as f64 * BETA) as u64).max(2 * signals.mss)
    }

    fn on_idle(&mut self, idle: Time) {
        // Section 5.8: time without data does not make the window grow.
        if self.epoch < Time::MAX {
            self.epoch = self.epoch.saturating_add(idle);
        }
    }
}

/// The cube root of a number above zero, by Newton's method from above.
pub(super) fn cube_root(x: f64) -> f64 {
    let mut root = if x > 1.0 { x } else { 1.0 };
    // From above it falls until rounding ends it: by a third a step at first, so a few dozen for any window.
    loop {
        let next = root - (root - x / (root * root)) / 3.0;
        if next >= root || next <= 0.0 {
            return root;
        }
        root = next;
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn cube_roots_are_right() {
        for x in [1e-9, 0.001, 0.5, 1.0, 2.0, 27.0, 1e6, 3e12] {
            let root = cube_root(x);
            assert!((root * root * root / x - 1.0).abs() < 1e-12, "{x}: {root}");
        }
    }

    /// RFC 9438, figure 1: concave up to W_max at K, convex beyond it.
    #[test]
    fn the_window_is_a_cubic_of_time() {
        let (mss, rtt) = (1000, Time::millis(100));
        let mut cubic = Cubic::new(&Settings::default());
        let mut signals =
            Signals { mss, abc: 2, flight: 500_000, smoothed_rtt: Some(rtt), ..Signals::default() };
        let mut window = Window { cwnd: 500_000, ssthresh: u64::MAX };
        window.ssthresh = cubic.reduce(&window, &signals, Cause::Loss);
        window.cwnd = window.ssthresh;
        assert_eq!(window.cwnd, 350_000);
        // K = cbrt(500 * 0.3 / 0.4) = 7.211 s.
        let start = Time::secs(100);
        for round in 0..140 {
            let now = start + Time::millis(100 * round);
            let before = window.cwnd;
            for ack in 0..before / 2000 {
                let part = Time::ticks(rtt.as_ticks() * ack * 2000 / before);
                signals.now = now + part;
                cubic.on_ack(
                    &mut window,
                    &signals,
                    &Acked { bytes: 2000, may_grow: true, ..Acked::default() },
                );
            }
            // The window at the end of a round is that of the function then.
            let t = 0.1 * (round as f64 + 1.0) - 7.211;
            let expected = 0.4 * t * t * t + 500.0;
            let found = window.cwnd as f64 / mss as f64;
            assert!((found / expected - 1.0).abs() < 0.02, "round {round}: {found}, expected {expected}");
        }
    }

    #[test]
    fn it_is_no_slower_than_reno() {
        let mut cubic = Cubic::new(&Settings::default());
        // With a round trip of 1 ms and 20 segments, the cubic needs 3 s to the old window, and Reno 0.025 s.
        let mut signals = Signals {
            mss: 1000,
            abc: 2,
            flight: 20_000,
            smoothed_rtt: Some(Time::millis(1)),
            ..Signals::default()
        };
        let mut window = Window { cwnd: 20_000, ssthresh: u64::MAX };
        window.ssthresh = cubic.reduce(&window, &signals, Cause::Loss);
        window.cwnd = window.ssthresh;
        for round in 0..100 {
            signals.now = Time::secs(1) + Time::millis(round);
            for _ in 0..window.cwnd / 1000 {
                cubic.on_ack(
                    &mut window,
                    &signals,
                    &Acked { bytes: 1000, may_grow: true, ..Acked::default() },
                );
            }
            let (slow, fast) = (14.0 + 0.529 * round as f64, 14.0 + 0.56 * (round + 1) as f64);
            let found = window.cwnd as f64 / 1000.0;
            let is_before = found < 20.0;
            assert!(
                !is_before || (slow - 0.5..fast + 0.5).contains(&found),
                "{round}: {found}, {slow} to {fast}"
            );
            // Beyond the old window a segment a round trip.
            assert!(round < 30 || found > 20.0 + (round - 15) as f64 * 0.9, "{round}: {found}");
        }
    }

    /// RFC 9438, section 4.7.
    #[test]
    fn a_flow_that_reaches_less_leaves_room() {
        let mut cubic = Cubic::new(&Settings::default());
        let mut reduce = |segments: u64| {
            let signals = Signals { mss: 1000, flight: segments * 1000, ..Signals::default() };
            let window = Window { cwnd: segments * 1000, ssthresh: 0 };
            (cubic.reduce(&window, &signals, Cause::Loss), cubic.most.0)
        };
        assert_eq!([reduce(100), reduce(60)], [(70_000, 100.0), (42_000, 51.0)]);
    }

    /// RFC 9438, section 5.8.
    #[test]
    fn idle_time_does_not_count() {
        let run = |idle: Time| {
            let mut cubic = Cubic::new(&Settings::default());
            let mut signals = Signals { mss: 1000, abc: 2, flight: 500_000, ..Signals::default() };
            let mut window = Window { cwnd: 500_000, ssthresh: u64::MAX };
            window.ssthresh = cubic.reduce(&window, &signals, Cause::Loss);
            window.cwnd = window.ssthresh;
            let acked = Acked { bytes: 100_000, may_grow: true, ..Acked::default() };
            signals.now = Time::secs(1);
            cubic.on_ack(&mut window, &signals, &acked);
            cubic.on_idle(idle);
            signals.now = Time::secs(2) + idle;
            cubic.on_ack(&mut window, &signals, &acked);
            window.cwnd
        };
        assert_eq!(run(Time::ZERO), run(Time::secs(3)));
    }
}
