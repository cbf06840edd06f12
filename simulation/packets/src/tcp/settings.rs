//! What can be set of a connection. Settings stand outside of the connection's state, since thousands of
//! flows share them: every call gets a reference, and both ends may have different ones.

mod check;

use paceline_kernel::Time;
use serde::{Deserialize, Serialize};

pub use check::SettingsError;

/// The congestion control of the sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Algorithm {
    /// RFC 5681 and RFC 6582.
    #[default]
    NewReno,
    /// RFC 9438.
    Cubic,
    /// RFC 8257. Set [`Settings::ecn`] to [`Ecn::Dctcp`] at both ends.
    Dctcp,
    /// BBR version 3, draft-ietf-ccwg-bbr. It paces whatever [`Settings::pacing`] says.
    Bbr,
}

/// Explicit congestion notification.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Ecn {
    /// Not asked for and refused.
    #[default]
    Off,
    /// RFC 3168: the receiver repeats the echo until the sender has reduced its window.
    Classic,
    /// RFC 8257, section 3.2: the receiver echoes exactly what was marked.
    Dctcp,
}

/// HyStart as it was before HyStart++ (Ha and Rhee, 2011): when the first slow start ends. CUBIC of Linux and
/// that of ns-3 have it with other thresholds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ClassicHyStart {
    /// A train of ACKs is too long if it lasts longer than the least round trip divided by this.
    pub train_divisor: u8,
    /// The round trip has grown too much if it did by more than the least one divided by this, at least 4 ms.
    pub delay_divisor: u8,
    /// The largest growth that is waited for.
    pub most_growth: Time,
}

impl ClassicHyStart {
    /// Half of the round trip, and an eighth, at most 16 ms: as published, and in Linux.
    pub const LINUX: Self = Self { train_divisor: 2, delay_divisor: 8, most_growth: Time::millis(16) };
    /// A whole round trip for both (tcp-cubic.cc of ns-3 3.37).
    pub const NS3: Self = Self { train_divisor: 1, delay_divisor: 1, most_growth: Time::secs(1) };
}

/// Settings of one end of a connection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// The largest segment in bytes without options, as the MSS option has it (RFC 6691): with timestamps a
    /// segment has 12 bytes of data less, 1448 of 1460.
    pub mss: u16,
    /// The initial window in segments (RFC 6928: 10).
    pub initial_window: u16,
    /// The bytes that the receiver holds for its application.
    pub receive_buffer: u32,
    /// Whether the application takes data as soon as it is in order. If not, it takes it by
    /// [`Connection::read`](super::Connection::read).
    pub reads_at_once: bool,
    /// After how many full segments an ACK is sent (RFC 9293, section 3.8.6.3: 2; 1 for no delay).
    pub ack_every: u8,
    /// How long an ACK is delayed at most (RFC 9293, section 3.8.6.3: less than 0.5 s).
    pub ack_delay: Time,
    /// The retransmission timeout before the first measurement (RFC 6298, section 2.1: 1 s).
    pub initial_rto: Time,
    /// The least retransmission timeout (RFC 6298, section 2.4: 1 s; Linux: 200 ms).
    pub min_rto: Time,
    /// The largest retransmission timeout (RFC 6298, section 2.5: at least 60 s).
    pub max_rto: Time,
    /// The granularity of the clock of timeouts, G (RFC 6298, section 2).
    pub granularity: Time,
    /// Timestamps (RFC 7323, section 3).
    pub timestamps: bool,
    /// The tick of the timestamp clock (RFC 7323, section 5.4: 1 ms to 1 s).
    pub timestamp_tick: Time,
    /// Window scaling (RFC 7323, section 2). Without it a window is at most 65,535 bytes.
    pub window_scaling: bool,
    /// Selective acknowledgements (RFC 2018), with recovery by RFC 6675. Without them: RFC 6582.
    pub sack: bool,
    /// One new segment for each of the first two duplicate ACKs (RFC 3042).
    pub limited_transmit: bool,
    /// Loss detection by time and tail loss probes (RFC 8985). It needs SACK, and is off without.
    pub rack: bool,
    /// Proportional rate reduction in recovery (RFC 9937). It needs SACK, and is off without.
    pub prr: bool,
    /// How many segments an ACK counts for at most in slow start, L (RFC 3465, section 2.2; 1 or 2). With 0,
    /// every ACK counts as one segment, however many bytes it acknowledges (RFC 5681, section 3.1).
    pub abc: u8,
    /// Explicit congestion notification.
    pub ecn: Ecn,
    /// The congestion control.
    pub algorithm: Algorithm,
    /// HyStart++ in slow start (RFC 9406), for NewReno and CUBIC.
    pub hystart: bool,
    /// The predecessor of HyStart++, which then takes its place.
    pub classic_hystart: Option<ClassicHyStart>,
    /// CUBIC and Reno as Linux 6 computes them, in whole segments, in place of RFC 9438 and RFC 5681.
    pub linux_windows: bool,
    /// Segments are spread over the round trip (pacing), and do not leave in bursts.
    pub pacing: bool,
    /// A segment that is not full waits for the ACK of all data before it (Nagle; RFC 9293, section 3.7.4).
    pub nagle: bool,
    /// The window shrinks to the initial one after an idle time of a timeout (RFC 5681, section 4.1).
    pub restart_after_idle: bool,
    /// How long a closed connection answers its peer (RFC 9293, section 3.6.1: four minutes. The model has no
    /// second connection with the same ports, hence a second).
    pub time_wait: Time,
    /// After how many retransmissions of one SYN the connection is given up (RFC 9293, section 3.8.3, R2).
    pub syn_retries: u8,
    /// After how many retransmissions of one segment the connection is given up (RFC 9293, section 3.8.3,
    /// R2).
    pub retries: u8,
}

impl Default for Settings {
    /// The values of the RFCs, and a receive buffer of 6 MiB.
    fn default() -> Self {
        Self {
            mss: 1460,
            initial_window: 10,
            receive_buffer: 6 << 20,
            reads_at_once: true,
            ack_every: 2,
            ack_delay: Time::millis(40),
            initial_rto: Time::secs(1),
            min_rto: Time::secs(1),
            max_rto: Time::secs(60),
            granularity: Time::millis(1),
            timestamps: true,
            timestamp_tick: Time::millis(1),
            window_scaling: true,
            sack: true,
            limited_transmit: true,
            rack: true,
            prr: true,
            abc: 2,
            ecn: Ecn::Off,
            algorithm: Algorithm::NewReno,
            hystart: false,
            classic_hystart: None,
            linux_windows: false,
            pacing: false,
            nagle: true,
            restart_after_idle: true,
            time_wait: Time::secs(1),
            syn_retries: 6,
            retries: 15,
        }
    }
}

impl Settings {
    /// The shift of the receiver's windows: the least one that shows the whole buffer (RFC 7323, section 2.3:
    /// at most 14).
    pub(crate) fn scale(&self) -> u8 {
        let mut scale = 0;
        while scale < 14 && self.receive_buffer >> scale > 0xffff {
            scale += 1;
        }
        scale
    }

    /// The timestamp clock at a time.
    #[inline]
    pub(crate) fn stamp(&self, now: Time) -> u32 {
        // A tick of zero would divide by zero: every time would have the same stamp, hence the least tick.
        (now.as_ticks() / self.timestamp_tick.as_ticks().max(1)) as u32
    }
}
