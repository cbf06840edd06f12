//! DCQCN, the rate control of RDMA over Ethernet (Zhu et al., 2015, section 3.1): the rate falls with the
//! estimate alpha when a notification of congestion comes, and rises by a timer and a counter of bytes.
//!
//! Timers are events of no one: before anything happens, the state is brought to the moment, timer by timer
//! in the order of their times. Rates are whole bits a second, alpha has 32 binary places.
//!
//! Invariants: the rate is between the least rate and that of the link; alpha is between 0 and 1; before the
//! first notification nothing changes.

use serde::{Deserialize, Serialize};

use crate::clock::PS_PER_SECOND;

/// The parameters, with the names of the paper in brackets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Dcqcn {
    /// The weight of a notification in alpha is one over this power of two (g).
    pub gain_shift: u32,
    /// Without a notification for so long alpha falls, in picoseconds (K).
    pub alpha_timer_ps: u64,
    /// The rate rises each time so much time has passed, in picoseconds (T).
    pub rate_timer_ps: u64,
    /// And each time so many bytes have been sent (B).
    pub byte_counter: u64,
    /// After so many rises towards the rate before the last fall it goes beyond (F).
    pub fast_recovery: u32,
    /// How much further each time, in bits a second (R_AI).
    pub additive_increase: u64,
    /// The same once both timer and counter have come so often (R_HAI).
    pub hyper_increase: u64,
    /// The rate does not fall further, in bits a second.
    pub least_rate: u64,
    /// A receiver sends a notification at most once in this time, in picoseconds (N).
    pub notification_ps: u64,
}

impl Default for Dcqcn {
    /// Those of the paper, section 5; it gives neither R_HAI, here ten times R_AI, nor a least rate, here
    /// R_AI.
    fn default() -> Self {
        let micro = PS_PER_SECOND / 1_000_000;
        Self {
            gain_shift: 8,
            alpha_timer_ps: 55 * micro,
            rate_timer_ps: 55 * micro,
            byte_counter: 10_000_000,
            fast_recovery: 5,
            additive_increase: 40_000_000,
            hyper_increase: 400_000_000,
            least_rate: 40_000_000,
            notification_ps: 50 * micro,
        }
    }
}

impl Dcqcn {
    /// What of it makes no sense: the key, its value and what is allowed.
    pub(crate) fn mistake(&self) -> Option<(&'static str, u64, &'static str)> {
        if self.gain_shift > 32 {
            return Some(("gain", u64::from(self.gain_shift), "1 / 2^0 to 1 / 2^32"));
        }
        let spans = [("alpha_timer", self.alpha_timer_ps), ("rate_timer", self.rate_timer_ps)];
        let most_ps = crate::link::MOST_LATENCY_PS;
        if let Some((key, value)) = spans.into_iter().find(|(_, ps)| *ps == 0 || *ps > most_ps) {
            return Some((key, value, "above 0, at most 10^18 ps"));
        }
        let counts = [("byte_counter", self.byte_counter), ("least_rate", self.least_rate)];
        let wrong = counts.into_iter().find(|(_, count)| *count == 0);
        wrong.map(|(key, value)| (key, value, "at least 1"))
    }
}

/// The whole of alpha.
const ONE: u64 = 1 << 32;

/// What the sender of a flow knows of its rate (the reaction point).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RateControl {
    /// The rate of the link, in bits a second: the rate at first, and the highest.
    line: u64,
    /// The rate at present (R_C).
    current: u64,
    /// The rate that it rises to (R_T).
    target: u64,
    alpha: u64,
    /// When alpha falls next, and when the timer of the rate comes; none before the first notification.
    due_ps: Option<(u64, u64)>,
    /// How often the timer has come since the last notification (T), and the counter of bytes (BC).
    times: u32,
    counts: u32,
    /// Bytes since the counter came last.
    bytes: u64,
}

impl RateControl {
    /// At the rate of the link, in bits a second.
    pub const fn new(line: u64) -> Self {
        let (times, counts, bytes) = (0, 0, 0);
        Self { line, current: line, target: line, alpha: ONE, due_ps: None, times, counts, bytes }
    }

    /// Whether its numbers are within their bounds: for states that come from a file.
    pub(crate) fn is_consistent(&self) -> bool {
        (1..=self.line).contains(&self.current)
            && self.current <= self.target
            && self.target <= self.line
            && self.alpha <= ONE
    }

    /// The rate, in bits a second.
    pub const fn rate(&self) -> u64 {
        self.current
    }

    /// The estimate of congestion, from 0 to 1, for people to read.
    pub fn alpha(&self) -> f64 {
        self.alpha as f64 / ONE as f64
    }

    /// A notification of congestion has come.
    pub fn on_notification(&mut self, settings: &Dcqcn, now_ps: u64) {
        self.advance(settings, now_ps);
        self.target = self.current;
        // By half of alpha.
        let cut = (u128::from(self.current) * u128::from(self.alpha)) >> 33;
        self.current = (self.current - cut as u64).max(settings.least_rate.min(self.line));
        self.alpha = self.alpha - (self.alpha >> settings.gain_shift) + (ONE >> settings.gain_shift);
        self.due_ps = Some((now_ps + settings.alpha_timer_ps, now_ps + settings.rate_timer_ps));
        (self.times, self.counts, self.bytes) = (0, 0, 0);
    }

    /// So many bytes are sent.
    pub fn on_sent(&mut self, settings: &Dcqcn, now_ps: u64, bytes: u32) {
        self.advance(settings, now_ps);
        if self.due_ps.is_none() {
            return;
        }
        self.bytes += u64::from(bytes);
        while self.bytes >= settings.byte_counter {
            self.bytes -= settings.byte_counter;
            self.counts += 1;
            self.rise(settings);
        }
    }

    /// Lets the timers come that are due up to now.
    fn advance(&mut self, settings: &Dcqcn, now_ps: u64) {
        while let Some((alpha_ps, rate_ps)) = self.due_ps.filter(|(one, other)| *one.min(other) <= now_ps) {
            if alpha_ps <= rate_ps {
                self.alpha -= self.alpha >> settings.gain_shift;
                self.due_ps = Some((alpha_ps + settings.alpha_timer_ps, rate_ps));
            } else {
                self.times += 1;
                self.due_ps = Some((alpha_ps, rate_ps + settings.rate_timer_ps));
                self.rise(settings);
            }
        }
    }

    /// The timer or the counter has come (figure 7 of the paper).
    fn rise(&mut self, settings: &Dcqcn) {
        let (more, less) = (self.times.max(self.counts), self.times.min(self.counts));
        // Up to there halfway back to the rate before the fall; then beyond it.
        let step = if more < settings.fast_recovery {
            0
        } else if less > settings.fast_recovery {
            settings.hyper_increase.saturating_mul(u64::from(less - settings.fast_recovery))
        } else {
            settings.additive_increase
        };
        self.target = self.target.saturating_add(step).min(self.line);
        self.current = self.target.midpoint(self.current);
    }
}

#[cfg(test)]
mod test {
    use super::*;

    const MICRO: u64 = 1_000_000;
    const LINE: u64 = 40_000_000_000;

    fn close(value: f64, wanted: f64) {
        assert!((value / wanted - 1.0).abs() < 1e-6, "{value} instead of {wanted}");
    }

    /// Equation 1: R_T = R_C, R_C = R_C (1 - alpha / 2), alpha = (1 - g) alpha + g; and equation 2 without
    /// notifications: alpha = (1 - g) alpha each 55 us.
    #[test]
    fn notifications_cut_the_rate_by_half_of_alpha() {
        let settings = Dcqcn { rate_timer_ps: 1 << 60, ..Dcqcn::default() };
        let (mut rate, g) = (RateControl::new(LINE), 1.0 / 256.0);
        rate.on_notification(&settings, 0);
        assert_eq!((rate.rate(), rate.alpha()), (LINE / 2, 1.0));
        rate.on_sent(&settings, 10 * 55 * MICRO - 1, 1_000);
        close(rate.alpha(), (1.0f64 - g).powi(9));
        rate.on_sent(&settings, 10 * 55 * MICRO, 1_000);
        let alpha = (1.0f64 - g).powi(10);
        close(rate.alpha(), alpha);
        assert_eq!(rate.rate(), LINE / 2, "neither timer nor counter has come");
        rate.on_notification(&settings, 10 * 55 * MICRO + 1);
        close(rate.rate() as f64, LINE as f64 / 2.0 * (1.0 - alpha / 2.0));
        close(rate.alpha(), (1.0 - g) * alpha + g);
        // The timer of alpha begins anew.
        let alpha = rate.alpha();
        rate.on_sent(&settings, 11 * 55 * MICRO, 1_000);
        assert_eq!(rate.alpha(), alpha);
    }

    /// Four halvings of the distance, then R_AI each time; with both above F, i R_HAI.
    #[test]
    fn rates_recover_then_rise_further() {
        let settings = Dcqcn::default();
        let mut rate = RateControl::new(LINE);
        rate.on_notification(&settings, 0);
        rate.on_notification(&settings, 1);
        let (mut target, mut current) = (LINE / 2, LINE / 4);
        assert_eq!(rate.rate(), current);
        for times in 1..=20u64 {
            rate.on_sent(&settings, 1 + times * 55 * MICRO, 1);
            target += if times < 5 { 0 } else { 40_000_000 };
            current = target.midpoint(current);
            assert_eq!(rate.rate(), current, "timer {times}");
        }
        // The counter comes as well: up to five times R_AI, then R_HAI, twice R_HAI and so on.
        for counts in 1..=9u64 {
            rate.on_sent(&settings, 2 + 20 * 55 * MICRO, 10_000_000 - u32::from(counts == 1) * 20);
            target += if counts <= 5 { 40_000_000 } else { (counts - 5) * 400_000_000 };
            current = target.midpoint(current);
            assert_eq!(rate.rate(), current, "counter {counts}");
        }
    }

    #[test]
    fn rates_stay_in_their_bounds() {
        let settings = Dcqcn::default();
        let mut rate = RateControl::new(LINE);
        rate.on_sent(&settings, 1 << 50, 4_000_000_000);
        assert_eq!(rate.rate(), LINE, "nothing changes before the first notification");
        for n in 0..10_000 {
            rate.on_notification(&settings, (1 << 50) + n);
        }
        assert_eq!((rate.rate(), rate.alpha()), (settings.least_rate, 1.0));
        rate.on_sent(&settings, (1 << 50) + PS_PER_SECOND, 4_000_000_000);
        assert!(rate.rate() > LINE - 100 && rate.rate() <= LINE, "{}", rate.rate());
    }
}
