//! Congestion control behind one trait: how the window grows, what a congestion event takes from it, and how
//! fast segments leave. What was lost, and what is sent again, is not decided here.
//!
//! To add one, implement [`CongestionControl`] in a file below, with a variant of [`Control`] here and of
//! `Algorithm` in `settings.rs`; its name is in `simulation/models/src/packets/tcp.rs`. The tests of TCP list
//! all.

mod bbr;
mod cubic;
mod dctcp;
mod hystart;
mod linux_cubic;
mod linux_reno;
mod newreno;

use paceline_kernel::Time;
use serde::{Deserialize, Serialize};

use self::bbr::Bbr;
pub(super) use self::bbr::ModelAck;
use self::cubic::Cubic;
use self::dctcp::Dctcp;
use self::linux_cubic::LinuxCubic;
use self::linux_reno::LinuxReno;
use self::newreno::NewReno;
use super::{Algorithm, Settings};

/// The congestion window and the threshold of slow start, in bytes (RFC 5681, section 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Window {
    pub cwnd: u64,
    pub ssthresh: u64,
}

impl Window {
    pub(super) const fn is_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }
}

/// What the sender knows at an event.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Signals {
    pub now: Time,
    /// Bytes of data in a full segment.
    pub mss: u64,
    /// The first unacknowledged offset, and the next to send.
    pub una: u64,
    pub next: u64,
    /// FlightSize of RFC 5681, section 2: what is outstanding.
    pub flight: u64,
    pub smoothed_rtt: Option<Time>,
    /// L of RFC 3465; 0 for none.
    pub abc: u64,
    /// Segments are paced.
    pub is_paced: bool,
}

/// What an ACK said.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Acked {
    /// Bytes newly acknowledged cumulatively.
    pub bytes: u64,
    /// Bytes that were not known to have arrived: those that SACK reports as well.
    pub delivered: u64,
    /// The ACK has an ECN echo.
    pub has_echo: bool,
    /// The round trip of the last segment that arrived, where it is known.
    pub rtt: Option<Time>,
    /// The window may grow: no recovery, no reduction in this round trip, and the window was the limit.
    pub may_grow: bool,
    /// Slow start after a timeout (RFC 3465, section 2.3).
    pub is_after_timeout: bool,
}

/// Why the window is to be reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// Loss found by duplicate ACKs, SACK or RACK.
    Loss,
    /// An ECN echo.
    Echo,
    /// A retransmission timeout.
    Timeout,
}

/// A congestion control.
pub(super) trait CongestionControl {
    /// An ACK of new data has arrived.
    fn on_ack(&mut self, window: &mut Window, signals: &Signals, acked: &Acked);

    /// The new threshold of slow start (RFC 5681, equation 4). The sender sets the window itself: it knows
    /// how recovery goes on.
    fn reduce(&mut self, window: &Window, signals: &Signals, cause: Cause) -> u64;

    /// The rate of pacing in bytes a second; `None` for no pacing.
    fn pacing_rate(&self, window: &Window, signals: &Signals) -> Option<u64> {
        if !signals.is_paced {
            return None;
        }
        let round = signals.smoothed_rtt?.as_ticks().max(1);
        // A window a round trip, and more so that pacing does not keep the window from being used: twice in
        // slow start, where the window doubles in a round trip, else a fifth more.
        let fifths = if window.is_slow_start() { 10 } else { 6 };
        let bytes = u128::from(window.cwnd) * fifths * u128::from(Time::TICKS_PER_SECOND) / 5;
        Some(u64::try_from(bytes / u128::from(round)).unwrap_or(u64::MAX))
    }

    /// The sender goes on after `idle` without data to send.
    fn on_idle(&mut self, _idle: Time) {}
}

/// The congestion control of a connection. Large ones are behind a pointer.
#[derive(Clone, Debug, PartialEq, Hash, Serialize, Deserialize)]
pub(super) enum Control {
    NewReno(NewReno),
    Cubic(Box<Cubic>),
    Dctcp(Box<Dctcp>),
    Bbr(Box<Bbr>),
    /// From here on in the order in which they came: a variant before others would change their digests,
    /// which have its place.
    LinuxCubic(Box<LinuxCubic>),
    LinuxReno(Box<LinuxReno>),
}

impl Control {
    pub(super) fn new(settings: &Settings, number: u64) -> Self {
        match settings.algorithm {
            Algorithm::Cubic if settings.linux_windows => {
                Self::LinuxCubic(Box::new(LinuxCubic::new(settings)))
            }
            Algorithm::NewReno if settings.linux_windows => {
                Self::LinuxReno(Box::new(LinuxReno::new(settings)))
            }
            Algorithm::Cubic => Self::Cubic(Box::new(Cubic::new(settings))),
            Algorithm::Dctcp => Self::Dctcp(Box::new(Dctcp::new(settings))),
            Algorithm::Bbr => Self::Bbr(Box::new(Bbr::new(number))),
            Algorithm::NewReno => Self::NewReno(NewReno::new(settings)),
        }
    }

    /// The congestion control as what all have in common.
    pub(super) fn any(&mut self) -> &mut dyn CongestionControl {
        match self {
            Self::NewReno(control) => control,
            Self::Cubic(control) => &mut **control,
            Self::LinuxCubic(control) => &mut **control,
            Self::LinuxReno(control) => &mut **control,
            Self::Dctcp(control) => &mut **control,
            Self::Bbr(control) => &mut **control,
        }
    }

    /// Whether it sets the window itself, by a model, in recovery too.
    pub(super) const fn is_model_based(&self) -> bool {
        matches!(self, Self::Bbr(_))
    }

    /// The model, which wants to know of every transmission, arrival and loss.
    #[inline]
    pub(super) fn model(&mut self) -> Option<&mut Bbr> {
        match self {
            Self::Bbr(model) => Some(model),
            _ => None,
        }
    }

    /// Whether the invariants of its state hold.
    pub(super) fn is_consistent(&self) -> bool {
        match self {
            Self::Bbr(model) => model.is_consistent(),
            _ => true,
        }
    }

    /// The mean share of marked bytes, for DCTCP.
    pub(super) const fn marked_share(&self) -> Option<f64> {
        match self {
            Self::Dctcp(control) => Some(control.alpha.0),
            _ => None,
        }
    }
}

/// Slow start: what `acked` adds to the window (RFC 5681, equation 2; RFC 3465, section 2.2).
pub(super) fn slow_start_growth(signals: &Signals, acked: &Acked) -> u64 {
    // RFC 3465, section 2.3: after a timeout an ACK may cover what had arrived before, hence L = 1.
    let limit = if acked.is_after_timeout { 1 } else { signals.abc.max(1) };
    acked.bytes.min(limit * signals.mss)
}
