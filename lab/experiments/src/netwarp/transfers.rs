//! TCP connections in a capture: what left, what was acknowledged, and what was under way between the two.
//!
//! Guests and our own model are measured by the same code on files of the same form, at the sender's link.

use std::collections::BTreeMap;

use paceline_kernel::Time;

/// When flows start. Guests are up before.
pub(super) const START: Time = Time::secs(5);

/// A span of a run, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub from_ns: u64,
    pub until_ns: u64,
}

impl Span {
    /// So many seconds, beginning so many after flows start.
    pub fn after_start(from: u64, until: u64) -> Self {
        let start = START.as_ticks() / Time::TICKS_PER_NANO;
        Self { from_ns: start + from * 1_000_000_000, until_ns: start + until * 1_000_000_000 }
    }

    pub fn end(self) -> Time {
        Time::nanos(self.until_ns)
    }
}

/// A header of a file, and of a record.
const FILE_HEADER: usize = 24;
const RECORD_HEADER: usize = 16;
/// Where a file says which kind of link it is of, and the kind of Ethernet; all others here are PPP.
const LINK_TYPE: usize = 20;
const ETHERNET: u32 = 1;

/// Which end sends: its address and port, and those of the other end.
type Ends = ([u8; 6], [u8; 6]);

/// A segment in a capture.
struct Segment {
    time_ns: u64,
    ends: Ends,
    sequence: u32,
    ack: u32,
    bytes: u32,
    has_syn: bool,
    has_ack: bool,
}

/// One direction of a connection, as the link of the end that opened it saw it.
#[derive(Clone, Debug, Default)]
pub(super) struct Transfer {
    /// When data left, and the offset after it.
    sent: Vec<(u64, u64)>,
    /// When an ACK came, and the offset up to which all had arrived.
    acked: Vec<(u64, u64)>,
    /// When data left again.
    resent: Vec<u64>,
}

impl Transfer {
    /// Bytes that were acknowledged before a time.
    fn delivered(&self, at_ns: u64) -> u64 {
        last(&self.acked, at_ns)
    }

    /// Bytes acknowledged in a span, in Mb/s.
    pub fn goodput(&self, span: Span) -> f64 {
        let bytes = self.delivered(span.until_ns) - self.delivered(span.from_ns);
        bytes as f64 * 8e3 / (span.until_ns - span.from_ns) as f64
    }

    /// Bytes that have left and are not acknowledged, at each of `count` equal steps of a span.
    pub fn flight(&self, span: Span, count: u64) -> Vec<(f64, f64)> {
        let step = (span.until_ns - span.from_ns) / count;
        let at = |number: u64| {
            let at_ns = span.from_ns + number * step;
            let flight = last(&self.sent, at_ns).saturating_sub(self.delivered(at_ns));
            (at_ns as f64 * 1e-9, flight as f64)
        };
        (0..count).map(at).collect()
    }

    /// Segments that left again in a span.
    pub fn resent(&self, span: Span) -> usize {
        self.resent.iter().filter(|time| (span.from_ns..span.until_ns).contains(time)).count()
    }

    /// All that was acknowledged.
    pub fn bytes(&self) -> u64 {
        self.acked.last().map_or(0, |(_, offset)| *offset)
    }
}

/// What the greatest offset was before a time; points ascend in both.
fn last(points: &[(u64, u64)], at_ns: u64) -> u64 {
    let place = points.partition_point(|(time, _)| *time < at_ns);
    place.checked_sub(1).map_or(0, |place| points[place].1)
}

/// The connections in a capture at the link of the end that opens them, in the order of their first segments.
pub(super) fn transfers(file: &[u8]) -> Vec<Transfer> {
    let mut found: Vec<Transfer> = Vec::new();
    let mut places: BTreeMap<Ends, (usize, u32)> = BTreeMap::new();
    for segment in segments(file) {
        let Segment { time_ns, ends, sequence, ack, bytes, has_syn, has_ack } = segment;
        if has_syn && !has_ack {
            // Offset 0 is the first byte after the SYN.
            places.entry(ends).or_insert_with(|| {
                found.push(Transfer::default());
                (found.len() - 1, sequence.wrapping_add(1))
            });
        }
        if let Some(&(place, first)) = places.get(&ends) {
            let transfer = &mut found[place];
            let end = u64::from(sequence.wrapping_sub(first).wrapping_add(bytes));
            let most = transfer.sent.last().map_or(0, |(_, offset)| *offset);
            match bytes > 0 && !has_syn {
                true if end > most => transfer.sent.push((time_ns, end)),
                true => transfer.resent.push(time_ns),
                false => {}
            }
        } else if let Some(&(place, first)) = places.get(&(ends.1, ends.0))
            && has_ack
        {
            let transfer = &mut found[place];
            let offset = u64::from(ack.wrapping_sub(first));
            if offset > transfer.bytes() {
                transfer.acked.push((time_ns, offset));
            }
        }
    }
    found
}

fn segments(file: &[u8]) -> impl Iterator<Item = Segment> {
    let word = |at: usize| {
        let bytes = file.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
        bytes.map(u32::from_le_bytes)
    };
    let below = if word(LINK_TYPE) == Some(ETHERNET) { 14 } else { 2 };
    let mut at = FILE_HEADER;
    let records = std::iter::from_fn(move || {
        let length = word(at + 8)? as usize;
        let bytes = file.get(at + RECORD_HEADER..at + RECORD_HEADER + length)?;
        let time_ns = u64::from(word(at)?) * 1_000_000_000 + u64::from(word(at + 4)?);
        at += RECORD_HEADER + length;
        Some((time_ns, bytes))
    });
    records.filter_map(move |(time_ns, bytes)| segment(time_ns, bytes.get(below..)?))
}

/// A packet of IPv4 (RFC 791) with TCP (RFC 9293), from its first byte on.
fn segment(time_ns: u64, ip: &[u8]) -> Option<Segment> {
    const TCP: u8 = 6;
    let length = usize::from(ip.first()? & 15) * 4;
    if ip[0] >> 4 != 4 || *ip.get(9)? != TCP {
        return None;
    }
    let (tcp, total) = (ip.get(length..)?, u16::from_be_bytes([*ip.get(2)?, *ip.get(3)?]));
    let word = |at: usize| Some(u32::from_be_bytes(tcp.get(at..at + 4)?.try_into().ok()?));
    let end = |address: usize, port: usize| -> Option<[u8; 6]> {
        [ip.get(address..address + 4)?, tcp.get(port..port + 2)?].concat().try_into().ok()
    };
    let (header, flags) = (u32::from(tcp.get(12)? >> 4) * 4, *tcp.get(13)?);
    Some(Segment {
        time_ns,
        ends: (end(12, 0)?, end(16, 2)?),
        sequence: word(4)?,
        ack: word(8)?,
        bytes: u32::from(total).checked_sub(length as u32 + header)?,
        has_syn: flags & 2 != 0,
        has_ack: flags & 16 != 0,
    })
}
