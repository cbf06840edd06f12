//! BBR version 3 (draft-ietf-ccwg-bbr, 2025): a model of the path, bandwidth and least round trip, from which
//! come the rate of pacing and the window. Names of functions in quotes are those of the draft.
//!
//! Not taken from it: the undo of spurious recoveries, which the sender does not look for, and the budget for
//! offloading, since a segment here is a packet.

mod cycle;
mod model;
mod sampler;

use paceline_kernel::Time;
use serde::{Deserialize, Serialize};

use self::model::Filter;
use self::sampler::{Sample, Sampler};
use super::{Acked, Cause, CongestionControl, Signals, Window};
use crate::tcp::spans::Span;

/// `BBR.MinRTTFilterLen`.
const MIN_RTT_LENGTH: Time = Time::secs(10);
/// `BBR.ProbeRTTInterval`.
const PROBE_RTT_INTERVAL: Time = Time::secs(5);
/// `BBR.ProbeRTTDuration`.
const PROBE_RTT_DURATION: Time = Time::millis(200);
/// No bound, for windows and rates.
const INFINITE: u64 = u64::MAX;

/// `BBR.state`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Mode {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

impl Mode {
    /// `BBR.pacing_gain` in percent.
    const fn pacing_gain(self) -> u64 {
        match self {
            Self::Startup => 277,
            Self::Drain => 50,
            Self::Down => 90,
            Self::Cruise | Self::Refill | Self::ProbeRtt => 100,
            Self::Up => 125,
        }
    }

    /// `BBR.cwnd_gain` in percent.
    const fn window_gain(self) -> u64 {
        match self {
            Self::Up => 225,
            Self::ProbeRtt => 50,
            _ => 200,
        }
    }

    const fn is_probe_bw(self) -> bool {
        matches!(self, Self::Down | Self::Cruise | Self::Refill | Self::Up)
    }

    /// `IsProbingBW`.
    const fn is_probing(self) -> bool {
        matches!(self, Self::Startup | Self::Refill | Self::Up)
    }
}

/// `BBR.ack_phase`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum AckPhase {
    Init,
    Refilling,
    Starting,
    Feedback,
    Stopping,
}

/// The state of BBR, by the names of its draft.
#[derive(Clone, Debug, PartialEq, Hash, Serialize, Deserialize)]
pub(in crate::tcp) struct Bbr {
    mode: Mode,
    ack_phase: AckPhase,
    sampler: Sampler,
    /// The sample of the ACK that is being processed, then of the last one.
    sample: Sample,
    /// Bytes of a segment, of the first window, and what has SACK.
    mss: u64,
    initial: u64,
    has_sack: bool,
    /// The rate of pacing in bytes a second; 0 before the first transmission.
    rate: u64,
    /// The window before recovery or ProbeRTT (`BBR.prior_cwnd`).
    prior: u64,
    is_recovering: bool,
    is_idle_restart: bool,
    /// How many round trips have ended (`BBR.round_count`).
    round: u64,
    next_round: u64,
    is_round_start: bool,
    drain_round: u64,
    /// The window was the limit in this round, and in the last.
    is_limited: [bool; 2],
    /// Bandwidth in bytes a second: of the last two cycles, the bound of this cycle, and the least of both.
    max_bandwidth: [u64; 2],
    short_bandwidth: u64,
    bandwidth: u64,
    /// Bounds of what is under way (`inflight_longterm`, `inflight_shortterm`).
    long_inflight: u64,
    short_inflight: u64,
    /// The most of a round (`bw_latest`, `inflight_latest`).
    latest_bandwidth: u64,
    latest_inflight: u64,
    /// Losses of a round.
    loss_round: u64,
    is_loss_round_start: bool,
    has_loss: bool,
    losses: u32,
    /// Aggregation of ACKs.
    extra: Filter,
    extra_start: Time,
    extra_delivered: u64,
    /// Whether the pipe is full.
    full_bandwidth: u64,
    full_count: u8,
    is_full: bool,
    was_full: bool,
    /// Probing for bandwidth.
    probe_rounds: u8,
    probe_acked: u64,
    probe_step: u64,
    rounds_since_probe: u64,
    probe_wait: Time,
    cycle_start: Time,
    is_probe_sample: bool,
    was_too_high: bool,
    was_precautionary: bool,
    draws: u64,
    /// The least round trips.
    min_rtt: Time,
    min_rtt_at: Time,
    probe_rtt_delay: Time,
    probe_rtt_at: Time,
    is_probe_rtt_due: bool,
    probe_rtt_done: Time,
    is_probe_rtt_round_done: bool,
}

/// What the sender knows after an ACK and its losses.
pub(in crate::tcp) struct ModelAck {
    pub in_flight: u64,
    /// The window keeps more from leaving.
    pub is_limited: bool,
    /// The round trip of the last segment that arrived.
    pub rtt: Option<Time>,
}

impl Bbr {
    /// `number` is the seed of its random waits.
    pub(super) fn new(number: u64) -> Self {
        Self {
            mode: Mode::Startup,
            ack_phase: AckPhase::Init,
            sampler: Sampler::default(),
            sample: Sample::default(),
            mss: 1,
            initial: 0,
            has_sack: true,
            rate: 0,
            prior: 0,
            is_recovering: false,
            is_idle_restart: false,
            round: 0,
            next_round: 0,
            is_round_start: false,
            drain_round: 0,
            is_limited: [false; 2],
            max_bandwidth: [0; 2],
            short_bandwidth: INFINITE,
            bandwidth: 0,
            long_inflight: INFINITE,
            short_inflight: INFINITE,
            latest_bandwidth: 0,
            latest_inflight: 0,
            loss_round: 0,
            is_loss_round_start: false,
            has_loss: false,
            losses: 0,
            extra: Filter::default(),
            extra_start: Time::ZERO,
            extra_delivered: 0,
            full_bandwidth: 0,
            full_count: 0,
            is_full: false,
            was_full: false,
            probe_rounds: 0,
            probe_acked: 0,
            probe_step: INFINITE,
            rounds_since_probe: 0,
            probe_wait: Time::ZERO,
            cycle_start: Time::ZERO,
            is_probe_sample: false,
            was_too_high: false,
            was_precautionary: false,
            draws: number.wrapping_mul(0x9e37_79b9_7f4a_7c15),
            min_rtt: Time::MAX,
            min_rtt_at: Time::ZERO,
            probe_rtt_delay: Time::MAX,
            probe_rtt_at: Time::ZERO,
            is_probe_rtt_due: false,
            probe_rtt_done: Time::ZERO,
            is_probe_rtt_round_done: false,
        }
    }

    /// Data leaves (`OnTransmit`, `OnPacketSent`); `after`: bytes under way with it.
    pub(in crate::tcp) fn on_sent(
        &mut self,
        window: &mut Window,
        signals: &Signals,
        bytes: u64,
        after: u64,
        has_sack: bool,
    ) {
        let now = signals.now;
        if self.rate == 0 {
            // `OnInit`, `InitPacingRate`: the handshake has measured a round trip.
            (self.mss, self.initial, self.has_sack) = (signals.mss, window.cwnd, has_sack);
            let rtt = signals.smoothed_rtt.unwrap_or(Time::millis(1));
            self.min_rtt = signals.smoothed_rtt.unwrap_or(Time::MAX);
            self.probe_rtt_delay = self.min_rtt;
            (self.min_rtt_at, self.probe_rtt_at, self.extra_start) = (now, now, now);
            let nominal =
                u128::from(window.cwnd) * u128::from(Time::TICKS_PER_SECOND) / u128::from(rtt.as_ticks());
            self.rate =
                percent(u64::try_from(nominal).unwrap_or(INFINITE), Mode::Startup.pacing_gain()).max(1);
        }
        let before = after.saturating_sub(bytes);
        if before == 0 && self.sampler.is_app_limited() {
            // `HandleRestartFromIdle`.
            self.is_idle_restart = true;
            self.extra_start = now;
            if self.mode.is_probe_bw() {
                self.set_rate(100);
            } else if self.mode == Mode::ProbeRtt {
                self.check_probe_rtt_done(window, now);
            }
        }
        self.sampler.on_sent(now, before, after);
    }

    /// A span has been delivered.
    pub(in crate::tcp) fn on_arrival(&mut self, span: &Span, now: Time) {
        self.sampler.on_arrival(&mut self.sample, span, now);
    }

    /// The sender looks whether the application is the limit (`CheckIfApplicationLimited`); `is_out`: it has
    /// nothing to send and nothing to send again.
    pub(in crate::tcp) const fn note_application(&mut self, window: &Window, in_flight: u64, is_out: bool) {
        if is_out && in_flight < window.cwnd {
            self.sampler.mark_app_limited(in_flight);
        }
    }

    /// An ACK with its losses was processed (`UpdateOnACK`).
    pub(in crate::tcp) fn on_model(&mut self, window: &mut Window, signals: &Signals, ack: &ModelAck) {
        self.sampler.complete(&mut self.sample, self.min_rtt);
        if self.sample.has_data {
            self.is_limited[0] |= ack.is_limited;
            self.update_latest();
            self.update_congestion(window);
            self.update_aggregation(window, signals.now);
            self.check_full();
            self.check_startup(signals.now, ack.in_flight);
            self.update_cycle(window, signals.now, ack.in_flight);
            self.update_min_rtt(signals.now, ack.rtt);
            self.check_probe_rtt(window, signals.now, ack.in_flight);
            if self.is_loss_round_start {
                // `AdvanceLatestDeliverySignals`.
                (self.latest_bandwidth, self.latest_inflight) = (self.sample.rate, self.sample.delivered);
            }
            // `BoundBWForModel`.
            self.bandwidth = self.max_bandwidth().min(self.short_bandwidth);
            self.set_rate(self.mode.pacing_gain());
            self.set_window(window);
        }
        self.sample = Sample::default();
    }

    /// How many snapshots it keeps; more than spans means that some can go.
    pub(in crate::tcp) fn log_length(&self) -> usize {
        self.sampler.log_length()
    }

    /// Nothing that is outstanding was sent before `oldest`.
    pub(in crate::tcp) fn forget_before(&mut self, oldest: Time) {
        self.sampler.forget_before(oldest);
    }

    /// Recovery has ended (`RestoreCwnd`).
    pub(in crate::tcp) fn on_recovered(&mut self, window: &mut Window) {
        self.is_recovering = false;
        window.cwnd = window.cwnd.max(self.prior);
    }

    fn max_bandwidth(&self) -> u64 {
        self.max_bandwidth[0].max(self.max_bandwidth[1])
    }

    /// `SetPacingRateWithGain`: one percent below the bandwidth.
    fn set_rate(&mut self, gain: u64) {
        let rate = percent(percent(self.bandwidth, gain), 99);
        if self.was_full || rate > self.rate {
            self.rate = rate.max(1);
        }
    }

    /// `BDPMultiple`, the gain in percent.
    fn bdp(&self, bandwidth: u64, gain: u64) -> u64 {
        if self.min_rtt == Time::MAX {
            return self.initial;
        }
        let bytes = u128::from(bandwidth) * u128::from(self.min_rtt.as_ticks()) * u128::from(gain);
        u64::try_from(bytes / (100 * u128::from(Time::TICKS_PER_SECOND))).unwrap_or(INFINITE)
    }

    /// `BBR.MinPipeCwnd`.
    const fn least(&self) -> u64 {
        4 * self.mss
    }

    /// `QuantizationBudget`.
    fn budget(&self, bytes: u64) -> u64 {
        let bytes = bytes.max(self.least());
        if self.mode == Mode::Up { bytes + 2 * self.mss } else { bytes }
    }

    /// `Inflight(1.0)`.
    fn full_pipe(&self, bandwidth: u64) -> u64 {
        self.budget(self.bdp(bandwidth, 100))
    }

    /// `SetCwnd`.
    fn set_window(&self, window: &mut Window) {
        let newly = self.sample.newly_delivered;
        let most = self.bdp(self.bandwidth, self.mode.window_gain()).saturating_add(self.extra.max());
        let most = self.budget(most);
        if self.was_full {
            window.cwnd = (window.cwnd + newly).min(most);
        } else if window.cwnd < most || self.sampler.delivered < self.initial {
            window.cwnd += newly;
        }
        window.cwnd = window.cwnd.max(self.least());
        if self.mode == Mode::ProbeRtt {
            window.cwnd = window.cwnd.min(self.probe_rtt_window());
        }
        // `BoundCwndForModel`.
        let cap = match self.mode {
            Mode::ProbeRtt | Mode::Cruise => self.inflight_with_headroom(),
            mode if mode.is_probe_bw() => self.long_inflight,
            _ => INFINITE,
        };
        window.cwnd = window.cwnd.min(cap.min(self.short_inflight).max(self.least()));
    }

    /// `SaveCwnd`.
    fn save_window(&mut self, window: &Window) {
        let is_modulated = self.is_recovering || self.mode == Mode::ProbeRtt;
        self.prior = if is_modulated { self.prior.max(window.cwnd) } else { window.cwnd };
    }
}

impl CongestionControl for Bbr {
    /// It sets the window by its model, after the losses of an ACK are known.
    fn on_ack(&mut self, _window: &mut Window, _signals: &Signals, _acked: &Acked) {}

    fn reduce(&mut self, window: &Window, _signals: &Signals, cause: Cause) -> u64 {
        // `OnEnterFastRecovery`, `OnEnterRTO`. Echoes of marks are no signal (section "ECN").
        if cause != Cause::Echo {
            self.save_window(window);
            self.is_recovering = true;
        }
        INFINITE
    }

    fn pacing_rate(&self, _window: &Window, signals: &Signals) -> Option<u64> {
        // The draft has no floor: where much is lost for long, the rate would go to zero. A segment a round
        // trip is what other senders keep (RFC 5681, section 3.1, the loss window).
        let round = signals.smoothed_rtt.map_or(u64::MAX, Time::as_ticks);
        let least = signals.mss.saturating_mul(Time::TICKS_PER_SECOND) / round.max(1);
        (self.rate > 0).then_some(self.rate.max(least))
    }
}

/// A part of a number, in percent.
fn percent(number: u64, part: u64) -> u64 {
    u64::try_from(u128::from(number) * u128::from(part) / 100).unwrap_or(INFINITE)
}
