//! The round-trip time and the retransmission timeout (RFC 6298), in integers.

use paceline_kernel::Time;
use serde::{Deserialize, Serialize};

use super::Settings;

/// The estimate of the round-trip time and the timeout that follows from it (RFC 6298).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Rtt {
    /// SRTT in eighths of a tick; 0 before the first measurement.
    smoothed8: u64,
    /// RTTVAR in quarters of a tick.
    variation4: u64,
    /// The timeout without backoff.
    base: Time,
    /// How often the timeout was doubled (section 5.5).
    backoff: u8,
    /// The least round trip seen; `Time::MAX` before the first.
    pub least: Time,
}

impl Rtt {
    pub(super) const fn new(settings: &Settings) -> Self {
        Self { smoothed8: 0, variation4: 0, base: settings.initial_rto, backoff: 0, least: Time::MAX }
    }

    pub(super) fn smoothed(&self) -> Option<Time> {
        (self.smoothed8 > 0).then(|| Time::ticks(self.smoothed8 / 8))
    }

    /// The timeout with its backoff (sections 2.5 and 5.5).
    pub(super) fn timeout(&self, settings: &Settings) -> Time {
        let doubled = self.base.as_ticks().saturating_mul(1 << self.backoff.min(40));
        Time::ticks(doubled).min(settings.max_rto.max(self.base))
    }

    /// Section 5.5: the timer has expired.
    pub(super) const fn back_off(&mut self) {
        self.backoff = self.backoff.saturating_add(1);
    }

    /// New data was acknowledged: the path works.
    pub(super) const fn end_backoff(&mut self) {
        self.backoff = 0;
    }

    /// Section 5.7: the SYN was sent more than once, hence data begins with at least three seconds.
    pub(super) fn distrust(&mut self) {
        self.base = self.base.max(Time::secs(3));
        self.backoff = 0;
    }

    /// A measurement (sections 2.2 and 2.3).
    pub(super) fn measure(&mut self, sample: Time, settings: &Settings) {
        // A round trip of zero would look like none: the clock's least step stands for it. What no clock
        // shows, of a damaged echo, does not run over.
        let sample = sample.as_ticks().clamp(1, u64::MAX / 16);
        self.least = self.least.min(Time::ticks(sample));
        if self.smoothed8 == 0 {
            self.smoothed8 = sample * 8;
            self.variation4 = sample * 2;
        } else {
            let error = (self.smoothed8 / 8).abs_diff(sample);
            // The variation first, with the old mean (section 2.3).
            self.variation4 = self.variation4 - self.variation4 / 4 + error;
            self.smoothed8 = (self.smoothed8 - self.smoothed8 / 8 + sample).max(8);
        }
        // max(G, 4 RTTVAR); the field holds quarters.
        let margin = self.variation4.max(settings.granularity.as_ticks());
        self.base = Time::ticks(self.smoothed8 / 8 + margin).max(settings.min_rto).min(settings.max_rto);
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn the_timeout_follows_the_rfc() {
        let settings = Settings { min_rto: Time::millis(1), ..Settings::default() };
        let mut rtt = Rtt::new(&settings);
        assert_eq!(rtt.timeout(&settings), Time::secs(1));
        rtt.measure(Time::millis(100), &settings);
        // 100 + 4 * 50.
        assert_eq!(rtt.timeout(&settings), Time::millis(300));
        rtt.measure(Time::millis(180), &settings);
        // RTTVAR = 3/4 * 50 + 1/4 * 80 = 57.5; SRTT = 7/8 * 100 + 1/8 * 180 = 110.
        assert_eq!((rtt.smoothed(), rtt.timeout(&settings)), (Some(Time::millis(110)), Time::millis(340)));
        rtt.back_off();
        rtt.back_off();
        assert_eq!(rtt.timeout(&settings), Time::millis(1360));
        (0..60).for_each(|_| rtt.back_off());
        assert_eq!(rtt.timeout(&settings), Time::secs(60));
        rtt.end_backoff();
        (0..200).for_each(|_| rtt.measure(Time::millis(110), &settings));
        assert_eq!(
            rtt.timeout(&settings),
            Time::millis(111),
            "the variation goes to zero, the granularity stays"
        );
        let linux = Settings { min_rto: Time::millis(200), ..Settings::default() };
        rtt.measure(Time::millis(110), &linux);
        assert_eq!(rtt.timeout(&linux), Time::millis(200));
    }
}
