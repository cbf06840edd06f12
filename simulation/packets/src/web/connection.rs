//! One end of a connection by frames: our TCP, the numbers that it has on the wire, and the bytes that come.
//!
//! Invariant: what this end writes is one message over and over, so that its bytes are known by their place.

use paceline_kernel::Time;
use serde::{Deserialize, Serialize};

use super::response::Response;
use super::stream::Stream;
use crate::frame::tcp::{Numbers, Place, WireSegment, write};
use crate::hash::mix;
use crate::tcp::{Connection, Flags, Segment, Settings, State, Step};

/// The most bytes of the head of a request.
pub(super) const MOST_HEAD: usize = 16 << 10;

/// What is done at this end.
#[derive(Clone, Debug, PartialEq, Hash, Serialize, Deserialize)]
pub(super) enum Side {
    /// A client asks; `group` is the place of its clients at the host.
    Client {
        group: u32,
        /// Who has the connection, unless that has done with it.
        client: Option<u32>,
        /// When it asked for what has not come whole, in picoseconds.
        asked_ps: Option<u64>,
        response: Response,
    },
    /// A server answers.
    Server {
        /// Its number in the model.
        server: u32,
        /// What of a request's head has come.
        head: Vec<u8>,
    },
}

/// One end of a connection.
#[derive(Clone, Debug, PartialEq, Hash, Serialize, Deserialize)]
pub(super) struct WebConnection {
    pub tcp: Connection,
    pub side: Side,
    /// The first sequence number of this end; of the peer, once its SYN has come.
    first: u32,
    first_of_peer: Option<u32>,
    /// The shift of the peer's windows, where both ends scale theirs.
    scale_of_peer: Option<u8>,
    stream: Stream,
    /// The event that is to wake it: when, and its number.
    pub wake: Option<Time>,
    pub generation: u32,
}

/// The first sequence number of a connection (RFC 6528): it grows by one in 4 us, from another start for each
/// connection.
fn first_number(place: Place, now_ps: u64) -> u32 {
    let [from, to] = place.addresses.map(u64::from);
    let [from_port, to_port] = place.ports.map(u64::from);
    let start = mix(mix(from << 32 | to) ^ (from_port << 16 | to_port)) as u32;
    start.wrapping_add((now_ps / 4_000_000) as u32)
}

impl WebConnection {
    /// Opens a connection: its SYN is appended to what the step sends.
    pub fn connect(step: &mut Step<'_>, place: Place, now_ps: u64, side: Side) -> Self {
        let first = first_number(place, now_ps);
        Self::new(Connection::connect(step, u64::from(first)), first, side)
    }

    /// Waits for a SYN.
    pub fn listen(settings: &Settings, place: Place, now_ps: u64, side: Side) -> Self {
        let first = first_number(place, now_ps);
        Self::new(Connection::listen(settings, u64::from(first)), first, side)
    }

    fn new(tcp: Connection, first: u32, side: Side) -> Self {
        let (stream, wake) = (Stream::default(), None);
        Self { tcp, side, first, first_of_peer: None, scale_of_peer: None, stream, wake, generation: 0 }
    }

    fn numbers(&self, settings: &Settings) -> Numbers {
        let scales = self.scale_of_peer.map_or([0, 0], |scale| [settings.scale(), scale]);
        Numbers { firsts: [self.first, self.first_of_peer.unwrap_or(0)], scales }
    }

    /// A segment has come, with a congestion mark of IP or not. What it delivers is read.
    pub fn take(
        &mut self,
        step: &mut Step<'_>,
        wire: &WireSegment<'_>,
        has_mark: bool,
        read: impl FnMut(&mut Side, &[u8]),
    ) {
        let waits = matches!(self.tcp.state(), State::Listen | State::SynSent);
        if wire.has(Flags::SYN) && waits {
            self.first_of_peer = Some(wire.sequence);
            self.scale_of_peer = wire.scale().filter(|_| step.settings.window_scaling);
        }
        let counters = self.tcp.counters();
        // Offset 0 is the SYN.
        let (expected, unacknowledged) = (counters.delivered + 1, counters.acknowledged + 1);
        let segment = wire.segment(&self.numbers(step.settings), expected, unacknowledged);
        self.tcp.on_segment(step, &segment, has_mark);
        let at = segment.sequence + u64::from(segment.has(Flags::SYN));
        let delivered = self.tcp.counters().delivered;
        let (side, mut read) = (&mut self.side, read);
        let window = u64::from(step.settings.receive_buffer);
        if self.first_of_peer.is_some() && at > 0 {
            self.stream.take(at - 1, wire.data, delivered, window, |bytes| read(side, bytes));
        }
    }

    /// A segment of this end as a frame; `message` is what it writes over and over.
    pub fn frame(
        &self,
        settings: &Settings,
        place: Place,
        segment: &Segment,
        message: &[u8],
        identification: u16,
    ) -> Vec<u8> {
        // The SYN has no data, so that data begin at offset 1.
        let start = segment.sequence.saturating_sub(1) % message.len() as u64;
        let data = message.iter().cycle().skip(start as usize).take(usize::from(segment.length));
        let data: Vec<u8> = data.copied().collect();
        write(place, &self.numbers(settings), segment, &data, identification)
    }

    /// Whether it can be one: for states that come from a file.
    pub fn is_consistent(&self) -> bool {
        let is_side = match &self.side {
            Side::Client { response, .. } => response.is_consistent(),
            Side::Server { head, .. } => head.len() <= MOST_HEAD,
        };
        is_side
            && self.tcp.is_consistent()
            && self.scale_of_peer.is_none_or(|scale| scale <= 14)
            && self.stream.is_consistent(self.tcp.counters().delivered)
    }
}
