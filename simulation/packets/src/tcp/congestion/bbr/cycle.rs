//! BBR's states: Startup and Drain, the cycle that probes for bandwidth, and ProbeRTT.

use paceline_kernel::Time;

use super::{AckPhase, Bbr, INFINITE, MIN_RTT_LENGTH, Mode, PROBE_RTT_DURATION, PROBE_RTT_INTERVAL, Window};

impl Bbr {
    /// `CheckStartupDone`, `CheckDrainDone`.
    pub(super) fn check_startup(&mut self, now: Time, in_flight: u64) {
        if self.mode == Mode::Startup && self.was_full {
            self.mode = Mode::Drain;
            self.drain_round = self.round;
        }
        if self.mode == Mode::Drain {
            let is_drained = in_flight <= self.full_pipe(self.bandwidth);
            if is_drained || self.round > self.drain_round + 3 {
                self.start_down(now);
            }
        }
    }

    /// `StartProbeBW_DOWN`.
    pub(super) fn start_down(&mut self, now: Time) {
        // `ResetCongestionSignals`.
        self.has_loss = false;
        (self.latest_bandwidth, self.latest_inflight) = (0, 0);
        self.probe_step = INFINITE;
        // `PickProbeWait`.
        self.rounds_since_probe = self.draw() % 2;
        self.probe_wait = Time::secs(2) + Time::micros(self.draw() % 1_000_000);
        self.cycle_start = now;
        self.ack_phase = AckPhase::Stopping;
        self.start_round();
        self.mode = Mode::Down;
    }

    /// A number that looks random, from the connection's number alone (SplitMix64).
    const fn draw(&mut self) -> u64 {
        self.draws = self.draws.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.draws;
        x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ x >> 31
    }

    /// `StartProbeBW_REFILL`.
    const fn start_refill(&mut self) {
        self.reset_short();
        self.probe_rounds = 0;
        self.probe_acked = 0;
        self.was_precautionary = false;
        self.ack_phase = AckPhase::Refilling;
        self.start_round();
        self.mode = Mode::Refill;
    }

    /// `ResetShortTermModel`.
    const fn reset_short(&mut self) {
        (self.short_bandwidth, self.short_inflight) = (INFINITE, INFINITE);
    }

    /// `StartProbeBW_UP`.
    fn start_up(&mut self, window: &Window) {
        self.ack_phase = AckPhase::Starting;
        self.start_round();
        self.reset_full(self.sample.rate);
        self.mode = Mode::Up;
        self.raise_slope(window);
    }

    /// `RaiseInflightLongtermSlope`: twice as fast every round.
    fn raise_slope(&mut self, window: &Window) {
        self.probe_step = (window.cwnd >> self.probe_rounds).max(self.mss);
        self.probe_rounds = (self.probe_rounds + 1).min(30);
    }

    /// `UpdateProbeBWCyclePhase`.
    pub(super) fn update_cycle(&mut self, window: &Window, now: Time, in_flight: u64) {
        if !self.was_full || self.adapt_long(window) || !self.mode.is_probe_bw() {
            return;
        }
        let mode = self.mode;
        match mode {
            Mode::Down | Mode::Cruise if self.is_time_to_probe(window, now) => self.start_refill(),
            Mode::Down => {
                // `IsTimeToCruise`.
                let has_room = in_flight <= self.inflight_with_headroom();
                if has_room && in_flight <= self.full_pipe(self.max_bandwidth()) {
                    self.mode = Mode::Cruise;
                }
            }
            Mode::Refill if self.is_round_start => {
                self.is_probe_sample = true;
                self.start_up(window);
            }
            Mode::Up if self.is_time_to_go_down(window, in_flight) => {
                self.was_too_high = false;
                self.start_down(now);
            }
            _ => {}
        }
    }

    /// `IsTimeToProbeBW`: after some seconds, or as often as Reno would reach the same window.
    fn is_time_to_probe(&self, window: &Window, now: Time) -> bool {
        let reno = (self.target(window) / self.mss).min(63);
        now > self.cycle_start.saturating_add(self.probe_wait) || self.rounds_since_probe >= reno
    }

    /// The window was the limit in this round or the one before, and the bound was the window.
    const fn is_bounded(&self, window: &Window) -> bool {
        (self.is_limited[0] || self.is_limited[1]) && window.cwnd >= self.long_inflight
    }

    /// `IsTimeToGoDown`.
    fn is_time_to_go_down(&mut self, window: &Window, in_flight: u64) -> bool {
        if self.was_too_high && in_flight >= self.long_inflight {
            self.was_precautionary = true;
            return true;
        }
        if self.is_bounded(window) {
            // The bound hides the bandwidth.
            self.reset_full(self.sample.rate);
            return false;
        }
        self.is_full
    }

    /// `AdaptLongTermModel`. Returns whether it has changed the state.
    fn adapt_long(&mut self, window: &Window) -> bool {
        if self.ack_phase == AckPhase::Starting && self.is_round_start {
            self.ack_phase = AckPhase::Feedback;
        }
        if self.ack_phase == AckPhase::Stopping && self.is_round_start {
            self.is_probe_sample = false;
            self.ack_phase = AckPhase::Init;
            if self.mode.is_probe_bw() && !self.sample.is_app_limited {
                self.advance_filter();
            }
            if self.mode.is_probe_bw() && self.was_precautionary && !self.was_too_high {
                self.start_refill();
                return true;
            }
        }
        if !self.is_inflight_too_high() && self.long_inflight < INFINITE {
            self.long_inflight = self.long_inflight.max(self.sample.in_flight);
            if self.mode == Mode::Up {
                self.probe_upward(window);
            }
        }
        false
    }

    /// `ProbeInflightLongtermUpward`.
    fn probe_upward(&mut self, window: &Window) {
        if !self.is_bounded(window) {
            return;
        }
        self.probe_acked += self.sample.newly_delivered;
        let steps = self.probe_acked / self.probe_step;
        self.probe_acked -= steps * self.probe_step;
        self.long_inflight += steps * self.mss;
        if self.is_round_start {
            self.raise_slope(window);
        }
    }

    /// `UpdateMinRTT`.
    pub(super) fn update_min_rtt(&mut self, now: Time, rtt: Option<Time>) {
        self.is_probe_rtt_due = now > self.probe_rtt_at.saturating_add(PROBE_RTT_INTERVAL);
        if let Some(rtt) = rtt.filter(|&rtt| rtt < self.probe_rtt_delay || self.is_probe_rtt_due) {
            // A round trip of zero would make a pipe of nothing.
            self.probe_rtt_delay = rtt.max(Time::TICK);
            self.probe_rtt_at = now;
        }
        let is_old = now > self.min_rtt_at.saturating_add(MIN_RTT_LENGTH);
        if self.probe_rtt_delay < self.min_rtt || is_old {
            (self.min_rtt, self.min_rtt_at) = (self.probe_rtt_delay, self.probe_rtt_at);
        }
    }

    /// `CheckProbeRTT`.
    pub(super) fn check_probe_rtt(&mut self, window: &mut Window, now: Time, in_flight: u64) {
        if self.mode != Mode::ProbeRtt && self.is_probe_rtt_due && !self.is_idle_restart {
            self.save_window(window);
            self.mode = Mode::ProbeRtt;
            self.probe_rtt_done = Time::ZERO;
            self.ack_phase = AckPhase::Stopping;
            self.start_round();
        }
        if self.mode == Mode::ProbeRtt {
            // `HandleProbeRTT`: low rates are not those of the path.
            self.sampler.mark_app_limited(in_flight);
            if self.probe_rtt_done == Time::ZERO {
                if in_flight <= self.probe_rtt_window() {
                    self.probe_rtt_done = now.saturating_add(PROBE_RTT_DURATION);
                    self.is_probe_rtt_round_done = false;
                    self.start_round();
                }
            } else {
                self.is_probe_rtt_round_done |= self.is_round_start;
                if self.is_probe_rtt_round_done {
                    self.check_probe_rtt_done(window, now);
                }
            }
        }
        if self.sample.delivered > 0 {
            self.is_idle_restart = false;
        }
    }

    /// `ProbeRTTCwnd`.
    pub(super) fn probe_rtt_window(&self) -> u64 {
        self.bdp(self.bandwidth, Mode::ProbeRtt.window_gain()).max(self.least())
    }

    /// `CheckProbeRTTDone`, `ExitProbeRTT`.
    pub(super) fn check_probe_rtt_done(&mut self, window: &mut Window, now: Time) {
        if self.probe_rtt_done == Time::ZERO || now <= self.probe_rtt_done {
            return;
        }
        self.probe_rtt_at = now;
        window.cwnd = window.cwnd.max(self.prior);
        self.reset_short();
        if self.was_full {
            self.start_down(now);
            self.mode = Mode::Cruise;
        } else {
            self.mode = Mode::Startup;
        }
    }
}
