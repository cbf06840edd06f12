//! BBR's model of the path: bandwidth, aggregation, whether the pipe is full, and what losses say.

use paceline_kernel::Time;
use serde::{Deserialize, Serialize};

use super::{Bbr, INFINITE, Mode, Window, percent};
use crate::tcp::spans::Span;

/// `BBR.LossThresh` is 2 %: a loss of one in fifty is too much.
const TOO_MANY_LOST: u64 = 50;
/// `BBR.Beta` in percent.
const BETA: u64 = 70;
/// `BBRStartupFullLossCnt`.
const STARTUP_LOSSES: u32 = 6;
/// Half of `BBR.ExtraAckedFilterLen`, in rounds.
const EXTRA_ROUNDS: u64 = 5;

/// The most of the last ten rounds, from two halves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Filter {
    halves: [u64; 2],
    since: u64,
}

impl Filter {
    pub(super) fn max(&self) -> u64 {
        self.halves[0].max(self.halves[1])
    }

    fn add(&mut self, value: u64, round: u64, length: u64) {
        if round >= self.since + length {
            // Within one round, in Startup, nothing of the one before is kept.
            self.halves = [if length > 1 { self.halves[1] } else { 0 }, 0];
            self.since = round;
        }
        self.halves[1] = self.halves[1].max(value);
    }
}

impl Bbr {
    /// `UpdateLatestDeliverySignals`.
    pub(super) fn update_latest(&mut self) {
        self.is_loss_round_start = self.sample.prior_delivered >= self.loss_round;
        self.latest_bandwidth = self.latest_bandwidth.max(self.sample.rate);
        self.latest_inflight = self.latest_inflight.max(self.sample.delivered);
        if self.is_loss_round_start {
            self.loss_round = self.sampler.delivered;
        }
    }

    /// `UpdateRound`.
    fn update_round(&mut self) {
        self.is_round_start = self.sample.prior_delivered >= self.next_round;
        if self.is_round_start {
            self.start_round();
            self.round += 1;
            self.rounds_since_probe += 1;
            self.is_limited = [false, self.is_limited[0]];
        }
    }

    /// `StartRound`.
    pub(super) const fn start_round(&mut self) {
        self.next_round = self.sampler.delivered;
    }

    /// `UpdateCongestionSignals`, `UpdateMaxBw`.
    pub(super) fn update_congestion(&mut self, window: &Window) {
        self.update_round();
        let rate = self.sample.rate;
        if rate > 0 && (rate >= self.max_bandwidth() || !self.sample.is_app_limited) {
            self.max_bandwidth[1] = self.max_bandwidth[1].max(rate);
        }
        if !self.is_loss_round_start {
            return;
        }
        // `AdaptLowerBoundsFromCongestion`: once a round.
        if self.has_loss && !self.mode.is_probing() {
            if self.short_bandwidth == INFINITE {
                self.short_bandwidth = self.max_bandwidth();
            }
            if self.short_inflight == INFINITE {
                self.short_inflight = window.cwnd;
            }
            self.short_bandwidth = self.latest_bandwidth.max(percent(self.short_bandwidth, BETA));
            self.short_inflight = self.latest_inflight.max(percent(self.short_inflight, BETA));
        }
        if !self.has_loss {
            self.losses = 0;
        }
        self.check_startup_losses();
        self.has_loss = false;
    }

    /// `AdvanceMaxBwFilter`.
    pub(super) fn advance_filter(&mut self) {
        // Without a sample in this cycle the last one still stands.
        if self.max_bandwidth[1] > 0 {
            self.max_bandwidth = [self.max_bandwidth[1], 0];
        }
    }

    /// `UpdateACKAggregation`.
    pub(super) fn update_aggregation(&mut self, window: &Window, now: Time) {
        let interval = u128::from(now.saturating_sub(self.extra_start).as_ticks());
        let expected = u128::from(self.bandwidth) * interval / u128::from(Time::TICKS_PER_SECOND);
        let mut expected = u64::try_from(expected).unwrap_or(INFINITE);
        if self.extra_delivered <= expected {
            (self.extra_delivered, self.extra_start, expected) = (0, now, 0);
        }
        self.extra_delivered += self.sample.newly_delivered;
        let extra = self.extra_delivered.saturating_sub(expected).min(window.cwnd);
        let length = if self.was_full { EXTRA_ROUNDS } else { 1 };
        self.extra.add(extra, self.round, length);
    }

    /// `ResetFullBW`.
    pub(super) const fn reset_full(&mut self, bandwidth: u64) {
        self.full_bandwidth = bandwidth;
        self.full_count = 0;
        self.is_full = false;
    }

    /// `CheckFullBWReached`: three rounds in which the rate grew by less than a quarter.
    pub(super) fn check_full(&mut self) {
        if self.is_full || !self.is_round_start || self.sample.is_app_limited {
            return;
        }
        if self.sample.rate >= percent(self.full_bandwidth, 125) {
            self.reset_full(self.sample.rate);
            return;
        }
        self.full_count += 1;
        self.is_full = self.full_count >= 3;
        self.was_full |= self.is_full;
    }

    /// `CheckStartupHighLoss`: at the end of a round of losses.
    fn check_startup_losses(&mut self) {
        if self.mode != Mode::Startup || !self.has_loss || !self.is_recovering {
            return;
        }
        let is_high = self.losses >= STARTUP_LOSSES && self.is_inflight_too_high();
        if is_high || !self.has_sack {
            self.was_full = true;
            self.long_inflight = self.bdp(self.max_bandwidth(), 100).max(self.latest_inflight);
        }
        self.losses = 0;
    }

    /// `IsInflightTooHigh`.
    pub(super) const fn is_inflight_too_high(&self) -> bool {
        let sample = &self.sample;
        sample.lost * TOO_MANY_LOST > sample.in_flight || sample.lost > 0 && !self.has_sack
    }

    /// A span was lost (`HandleLostPacket`).
    pub(in crate::tcp) fn on_lost(&mut self, window: &Window, now: Time, span: &Span) {
        let found = self.sampler.on_lost(span);
        // `NoteLoss`.
        if !self.has_loss {
            self.loss_round = self.sampler.delivered;
        }
        self.has_loss = true;
        self.losses += 1;
        let Some((in_flight, lost, is_app_limited)) = found.filter(|_| self.is_probe_sample) else { return };
        // The sample of the ACK stays as it is: this is one of the lost span.
        let kept = self.sample;
        (self.sample.in_flight, self.sample.lost, self.sample.is_app_limited) =
            (in_flight, lost, is_app_limited);
        if self.is_inflight_too_high() {
            // `InflightAtLoss`: how much of it would have been within the limit.
            let size = u64::from(span.length);
            let (before, lost_before) = (in_flight.saturating_sub(size), lost.saturating_sub(size));
            let prefix = (2 * before).saturating_sub(100 * lost_before) / 98;
            self.sample.in_flight = before + prefix;
            self.handle_too_high(window, now);
        }
        self.sample = kept;
    }

    /// `HandleInflightTooHigh`: once a probe.
    fn handle_too_high(&mut self, window: &Window, now: Time) {
        self.was_too_high = true;
        self.is_probe_sample = false;
        if !self.sample.is_app_limited {
            self.long_inflight = self.sample.in_flight.max(percent(self.target(window), BETA));
        }
        if self.mode == Mode::Up {
            self.start_down(now);
        }
    }

    /// `TargetInflight`.
    pub(super) fn target(&self, window: &Window) -> u64 {
        self.bdp(self.bandwidth, 100).min(window.cwnd)
    }

    /// Whether what is divided by is not zero, and the sampler's log is one.
    pub(in crate::tcp) fn is_consistent(&self) -> bool {
        self.mss > 0 && self.probe_step > 0 && self.probe_rounds <= 30 && self.sampler.is_consistent()
    }

    /// `InflightWithHeadroom`: 15 % are left to others.
    pub(super) fn inflight_with_headroom(&self) -> u64 {
        if self.long_inflight == INFINITE {
            return INFINITE;
        }
        let headroom = percent(self.long_inflight, 15).max(self.mss);
        self.long_inflight.saturating_sub(headroom).max(self.least())
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn pacing_is_one_percent_below_the_bandwidth() {
        let mut bbr = Bbr::new(1);
        bbr.bandwidth = 1_000_000;
        bbr.set_rate(125);
        assert_eq!(bbr.rate, 1_237_500);
        // In Startup it only rises.
        bbr.set_rate(90);
        assert_eq!(bbr.rate, 1_237_500);
        bbr.was_full = true;
        bbr.set_rate(90);
        assert_eq!(bbr.rate, 891_000);
    }

    /// `InflightAtLoss`: of a burst of 5,000 bytes behind 95,000, losses pass two percent with byte 1,938.
    #[test]
    fn the_bound_is_what_was_in_flight_when_losses_became_too_many() {
        let mut bbr = Bbr { mss: 1000, mode: Mode::Up, is_probe_sample: true, ..Bbr::new(1) };
        bbr.sampler.on_sent(Time::millis(1), 95_000, 100_000);
        let window = Window { cwnd: 120_000, ssthresh: INFINITE };
        let span = Span { start: 1, sent: Time::millis(1), length: 5000, state: 0 };
        bbr.on_lost(&window, Time::millis(50), &span);
        assert_eq!((bbr.long_inflight, bbr.mode), (95_000 + 190_000 / 98, Mode::Down));
        assert!(bbr.was_too_high);
    }

    #[test]
    fn aggregation_is_the_most_of_ten_rounds() {
        let mut filter = Filter::default();
        filter.add(7, 0, 5);
        (1..10).for_each(|round| filter.add(1, round, 5));
        assert_eq!(filter.max(), 7);
        filter.add(1, 10, 5);
        assert_eq!(filter.max(), 1);
    }
}
