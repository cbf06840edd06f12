//! TCP: a connection as a pure machine. Segments and expired timers go in, segments come out; the host model
//! moves them. Both ends of a connection are a [`Connection`] each.
//!
//! How a host uses it:
//!
//! ```
//! use paceline_kernel::Time;
//! use paceline_packets::tcp::{Connection, Settings, Step};
//!
//! let settings = Settings::default();
//! let mut out = vec![];
//! let mut server = Connection::listen(&settings, 7);
//! let mut client = Connection::connect(&mut Step::new(&settings, Time::ZERO, &mut out), 7);
//! // The client's SYN is in `out`. The host sends all of `out` in order, each segment as a packet.
//! client.write(&mut Step::new(&settings, Time::ZERO, &mut out), 100_000);
//! client.close(&mut Step::new(&settings, Time::ZERO, &mut out));
//! // At the other host, when the packet arrives; `false`: the packet has no congestion mark (CE).
//! let arrived = std::mem::take(&mut out);
//! server.on_segment(&mut Step::new(&settings, Time::millis(10), &mut out), &arrived[0], false);
//! // After every call, the host looks at the deadline and sends itself an event for it, unless one is on
//! // its way that comes no later. An event that comes early or late changes nothing: `on_timer` looks at
//! // the time.
//! assert!(client.deadline().is_some());
//! ```
//!
//! Invariants:
//! - Nothing of the state depends on the order of floating-point sums, on addresses or on hash order. Equal
//!   calls give equal states and equal segments.
//! - Calls come in the order of time. `Step::now` never goes back.
//! - The data has no content: a stream is a number of bytes. Offset 0 is the SYN, offset 1 the first byte of
//!   data, and the FIN has the offset after the last one.
//! - A connection that is idle, or sends without losses, keeps less than 1 KB. Congestion control and lists
//!   of spans take memory by what is in flight.

mod acks;
mod congestion;
mod counters;
mod handshake;
mod prr;
mod rack;
mod receiver;
mod recovery;
mod rtt;
mod segment;
mod sender;
mod settings;
mod spans;
mod timers;
mod transmit;

use paceline_kernel::Time;
use serde::{Deserialize, Serialize};

pub use counters::Counters;
pub use segment::{Block, Flags, Options, SackBlocks, Segment, offset_near, wire_number, wire_window};
pub use settings::{Algorithm, ClassicHyStart, Ecn, Settings, SettingsError};

use self::receiver::Receiver;
use self::sender::Sender;

/// What every call gets: the settings of this end, the time, and where segments to send are appended, in
/// order.
pub struct Step<'a> {
    /// The settings of this end: the same in every call.
    pub settings: &'a Settings,
    /// The time of the call.
    pub now: Time,
    /// Segments to send.
    pub out: &'a mut Vec<Segment>,
}

impl<'a> Step<'a> {
    /// A step at the time `now`.
    pub const fn new(settings: &'a Settings, now: Time, out: &'a mut Vec<Segment>) -> Self {
        Self { settings, now, out }
    }
}

/// The state of a connection (RFC 9293, section 3.3.2), and how it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum State {
    /// Waits for a SYN.
    Listen,
    /// Has sent a SYN.
    SynSent,
    /// Has sent and received a SYN, and waits for its ACK.
    SynReceived,
    /// Both ends have agreed, and data may flow.
    Established,
    /// Closed here; the FIN is not yet acknowledged.
    FinWait1,
    /// Closed here and acknowledged; the peer may still send.
    FinWait2,
    /// Closed by the peer; this end may still send.
    CloseWait,
    /// Both closed at the same time; the own FIN is not yet acknowledged.
    Closing,
    /// Closed by the peer, then here; the own FIN is not yet acknowledged.
    LastAck,
    /// Both closed; late segments of the peer are still answered.
    TimeWait,
    /// Ended: both streams were acknowledged whole.
    Closed,
    /// Given up, or reset by the peer.
    Aborted,
}

/// One end of a connection.
#[derive(Clone, Debug, PartialEq, Hash, Serialize, Deserialize)]
pub struct Connection {
    state: State,
    sender: Sender,
    receiver: Receiver,
    counters: Counters,
}

impl Connection {
    /// More bytes than any run sends.
    pub const ENDLESS: u64 = 1 << 62;

    /// Opens a connection: its SYN is appended to `step.out`. `number` is the seed of what the connection
    /// draws at random (BBR's times of probing); the number of the flow will do.
    pub fn connect(step: &mut Step<'_>, number: u64) -> Self {
        let mut connection = Self::listen(step.settings, number);
        connection.state = State::SynSent;
        connection.send_new(step, 1);
        connection
    }

    /// Waits for the SYN of a peer. `number` as for [`Connection::connect`].
    pub fn listen(settings: &Settings, number: u64) -> Self {
        Self {
            state: State::Listen,
            sender: Sender::new(settings, number),
            receiver: Receiver::new(),
            counters: Counters::default(),
        }
    }

    /// The application hands `bytes` more bytes to the stream; [`Connection::ENDLESS`] for a stream without
    /// an end. It may do so in every state before [`Connection::close`]; after that it changes nothing.
    pub fn write(&mut self, step: &mut Step<'_>, bytes: u64) {
        if !self.sender.is_closed {
            self.note_application();
            self.sender.end = self.sender.end.saturating_add(bytes).min(Self::ENDLESS);
            self.transmit(step, false);
            self.expire(step);
        }
    }

    /// The application takes up to `bytes` bytes that are in order, and the window opens. Without an effect
    /// where [`Settings::reads_at_once`] is set.
    pub fn read(&mut self, step: &mut Step<'_>, bytes: u64) {
        if self.receiver.take(bytes, self.sender.mss, step.settings) && self.is_synchronized() {
            self.acknowledge(step);
        }
        self.expire(step);
    }

    /// The application sends no more: a FIN follows the last byte.
    pub fn close(&mut self, step: &mut Step<'_>) {
        self.state = match self.state {
            // Nobody has called: there is nothing to end.
            State::Listen => State::Closed,
            State::Established => State::FinWait1,
            State::CloseWait => State::LastAck,
            other => other,
        };
        self.sender.is_closed = true;
        self.transmit(step, false);
        self.expire(step);
    }

    /// A segment of the peer arrives; `ce`: with a congestion mark of the IP header.
    pub fn on_segment(&mut self, step: &mut Step<'_>, segment: &Segment, ce: bool) {
        self.arrive(step, segment, ce);
        // A timer may be due at this very time, so that the deadline lies ahead after every call.
        self.expire(step);
    }

    /// The time of [`Connection::deadline`] has come. Early or late, this does what is due at `step.now`.
    pub fn on_timer(&mut self, step: &mut Step<'_>) {
        self.expire(step);
    }

    /// When [`Connection::on_timer`] is to be called next: the least of all timers, `None` for never. It
    /// changes with every call, in both directions.
    pub fn deadline(&self) -> Option<Time> {
        Some(self.next_timer()).filter(|&time| time < Time::MAX)
    }

    /// Whether the state is one that a connection can have: for states that come from a file. One that is not
    /// might panic later.
    pub fn is_consistent(&self) -> bool {
        self.sender.is_consistent() && self.receiver.is_consistent() && self.counters.is_consistent()
    }

    /// Where the connection stands between its handshake and its end.
    pub const fn state(&self) -> State {
        self.state
    }

    /// What it counted.
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Bytes that are in order and not yet read by the application; 0 with [`Settings::reads_at_once`].
    pub const fn readable(&self) -> u64 {
        self.receiver.readable()
    }

    /// Whether the peer has ended its stream and all of it was delivered.
    pub const fn is_received_whole(&self) -> bool {
        self.receiver.is_whole()
    }

    /// Whether this end has closed its stream and all of it was acknowledged.
    pub const fn is_sent_whole(&self) -> bool {
        self.sender.is_closed && self.sender.una > self.sender.end
    }

    /// Whether the peer's window is closed, and keeps back what was written.
    pub const fn is_held_by_peer(&self) -> bool {
        self.sender.edge <= self.sender.una && self.sender.una < self.sender.end
    }

    /// Bytes written and not yet acknowledged.
    pub const fn backlog(&self) -> u64 {
        self.sender.end - 1 - self.counters.acknowledged
    }

    /// The congestion window in bytes.
    pub const fn congestion_window(&self) -> u64 {
        self.sender.window.cwnd
    }

    /// The threshold of slow start in bytes; `u64::MAX` before the first congestion.
    pub const fn slow_start_threshold(&self) -> u64 {
        self.sender.window.ssthresh
    }

    /// The mean share of marked bytes that DCTCP has found (DCTCP.Alpha of RFC 8257), for people to read;
    /// `None` under another congestion control.
    pub const fn marked_share(&self) -> Option<f64> {
        self.sender.control.marked_share()
    }

    /// Bytes that are estimated to be in the network (RFC 6675, `pipe`).
    pub const fn in_flight(&self) -> u64 {
        self.sender.in_flight()
    }

    /// The smoothed round-trip time (RFC 6298), or `None` before the first measurement.
    pub fn smoothed_rtt(&self) -> Option<Time> {
        self.sender.rtt.smoothed()
    }
}
