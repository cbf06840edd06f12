//! The sending half: what is to be sent, in which phase of recovery it is, and its timers.

use paceline_kernel::Time;
use serde::{Deserialize, Serialize};

use super::Settings;
use super::congestion::{Control, Signals, Window};
use super::prr::Prr;
use super::rack::Rack;
use super::rtt::Rtt;
use super::spans::Spans;

/// Where the sender is between losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) enum Phase {
    /// No congestion is known.
    Open,
    /// The window was reduced for an ECN echo, less than a round trip ago (RFC 3168, section 6.1.2).
    Reduced,
    /// Fast recovery (RFC 5681, section 3.2).
    Recovery,
    /// After a timeout, until all that was outstanding then is acknowledged.
    Loss,
}

#[derive(Clone, Debug, PartialEq, Hash, Serialize, Deserialize)]
pub(super) struct Sender {
    /// The first unacknowledged offset (SND.UNA).
    pub una: u64,
    /// The next offset to send (SND.NXT).
    pub next: u64,
    /// The offset after the last byte written; a FIN is there once the stream is closed.
    pub end: u64,
    /// The right edge of the peer's window.
    pub edge: u64,
    /// The segment of the last window update: its sequence and ACK (SND.WL1 and SND.WL2).
    pub update: (u64, u64),
    /// The largest window the peer announced.
    pub widest: u32,
    /// Bytes of data in a full segment, with timestamps but without SACK blocks.
    pub mss: u16,
    /// What was agreed on in the handshake.
    pub has_timestamps: bool,
    pub has_sack: bool,
    pub has_ecn: bool,
    /// The peer's windows are shifted; so are ours.
    pub has_scaling: bool,
    /// The application has closed the stream.
    pub is_closed: bool,
    /// The SYN was sent more than once.
    pub is_syn_repeated: bool,
    /// The next new data has CWR.
    pub owes_cwr: bool,
    /// The window was what kept more data from leaving.
    pub is_window_limited: bool,
    pub phase: Phase,
    /// Where recovery, or the phase after a timeout, ends (RecoveryPoint of RFC 6675; `recover` of RFC 6582).
    pub recover: u64,
    /// Where a reduction for an echo ends: above this.
    pub reduced_until: u64,
    /// No second rescue retransmission until this is acknowledged (RescueRxt of RFC 6675); 0 before the
    /// first.
    pub rescue: u64,
    /// The first partial ACK of a recovery has restarted the timer (RFC 6582, section 3.2).
    pub had_partial: bool,
    /// Duplicate ACKs in a row.
    pub duplicates: u32,
    /// How much wider the window is in recovery without SACK (RFC 6582, section 3.2), in bytes.
    pub inflation: i64,
    pub window: Window,
    pub spans: Spans,
    pub rtt: Rtt,
    pub control: Control,
    pub prr: Prr,
    pub rack: Rack,
    /// How often the first unacknowledged segment was sent again by the timer.
    pub tries: u8,
    /// When data last left.
    pub last_sent: Time,
    /// The retransmission timer, or that of window probes; `Time::MAX` where it does not run, as with those
    /// below.
    pub retransmit_at: Time,
    /// The tail loss probe (RFC 8985, section 7.2).
    pub probe_at: Time,
    /// The reordering timer (RFC 8985, section 6.2, step 5).
    pub reorder_at: Time,
    /// The first time that pacing lets another segment leave.
    pub paced_until: Time,
    /// Pacing keeps a segment back until then.
    pub pace_at: Time,
}

impl Sender {
    pub(super) fn new(settings: &Settings, number: u64) -> Self {
        let initial = u64::from(settings.initial_window) * u64::from(settings.mss);
        Self {
            una: 0,
            next: 0,
            end: 1,
            edge: 1,
            update: (0, 0),
            widest: 0,
            mss: settings.mss,
            has_timestamps: settings.timestamps,
            has_sack: settings.sack,
            has_ecn: settings.ecn != super::Ecn::Off,
            has_scaling: settings.window_scaling,
            is_closed: false,
            is_syn_repeated: false,
            owes_cwr: false,
            is_window_limited: false,
            phase: Phase::Open,
            recover: 0,
            reduced_until: 0,
            rescue: 0,
            had_partial: false,
            duplicates: 0,
            inflation: 0,
            // The initial threshold is arbitrarily high (RFC 5681, section 3.1).
            window: Window { cwnd: initial, ssthresh: u64::MAX },
            spans: Spans::default(),
            rtt: Rtt::new(settings),
            control: Control::new(settings, number),
            prr: Prr::default(),
            rack: Rack::default(),
            tries: 0,
            last_sent: Time::ZERO,
            retransmit_at: Time::MAX,
            probe_at: Time::MAX,
            reorder_at: Time::MAX,
            paced_until: Time::ZERO,
            pace_at: Time::MAX,
        }
    }

    /// The offset after all there is to send, with the FIN.
    pub(super) const fn limit(&self) -> u64 {
        self.end + self.is_closed as u64
    }

    pub(super) const fn has_unsent(&self) -> bool {
        self.next < self.limit()
    }

    /// Bytes without a cumulative ACK.
    pub(super) const fn outstanding(&self) -> u64 {
        self.next - self.una
    }

    /// Bytes under way (`pipe` of RFC 6675).
    pub(super) const fn in_flight(&self) -> u64 {
        self.spans.in_flight(self.outstanding())
    }

    /// RACK-TLP is in use.
    pub(super) const fn has_rack(&self, settings: &Settings) -> bool {
        settings.rack && self.has_sack
    }

    pub(super) fn signals(&self, now: Time, settings: &Settings) -> Signals {
        Signals {
            now,
            mss: u64::from(self.mss),
            una: self.una,
            next: self.next,
            flight: self.outstanding(),
            smoothed_rtt: self.rtt.smoothed(),
            abc: u64::from(settings.abc),
            is_paced: settings.pacing,
        }
    }

    /// How many bytes the congestion window lets leave now; `is_new`: of new data.
    pub(super) fn room(&self, is_new: bool, settings: &Settings) -> i64 {
        let (cwnd, mss) = (self.window.cwnd as i64, i64::from(self.mss));
        if self.has_sack || self.phase == Phase::Loss {
            return cwnd - self.in_flight() as i64;
        }
        // Without SACK nobody knows which segments have left the network: the window is what is outstanding.
        let outstanding = self.outstanding() as i64;
        match self.phase {
            Phase::Recovery => cwnd + self.inflation - outstanding,
            // RFC 3042, section 2: the first two duplicate ACKs let a new segment leave each, two beyond the
            // window.
            _ if is_new && settings.limited_transmit => {
                cwnd + i64::from(self.duplicates.min(2)) * mss - outstanding
            }
            _ => cwnd - outstanding,
        }
    }

    /// Whether the invariants hold.
    pub(super) fn is_consistent(&self) -> bool {
        let is_ordered = self.una <= self.next && self.next <= self.limit().max(1);
        is_ordered
            && (1..=super::Connection::ENDLESS).contains(&self.end)
            && self.edge <= u64::MAX / 2
            && self.window.cwnd > 0
            && self.mss > 0
            && self.spans.is_consistent(self.una, self.next)
            && self.control.is_consistent()
    }
}
