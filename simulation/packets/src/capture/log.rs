//! The packets that a port has begun to send.
//!
//! A log is part of a state, which optimistic runs copy before every event. Only the last records are copied
//! with it; those before stand in chunks that never change and that copies share. Where nothing is copied,
//! chunks are longer.
//!
//! Invariant: records are in the order in which their packets begin to be sent.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::packet::{NetEvent, RdmaPacket, TcpBody, UdpPacket};
use crate::queue::Ecn;

/// How many records are copied with a state at most, where it is copied often.
const LEAST_CHUNK: usize = 16;
/// How many records a chunk has at most.
const MOST_CHUNK: usize = 512;
/// The arrival of a packet that is lost on the link.
const LOST: u64 = u64::MAX;

/// A packet that a port has begun to send.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Record {
    /// When it begins to be sent, in picoseconds.
    pub start_ps: u64,
    arrival_ps: u64,
    pub packet: Packet,
}

/// What a file shows of a packet. One of RDMA shows as a UDP datagram.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Packet {
    Udp { flow: u32, number: u32, bytes: u32, ecn: Ecn, is_back: bool },
    Tcp { body: Arc<TcpBody>, flow: u32, ecn: Ecn, is_back: bool },
}

impl Record {
    /// Nothing for an event that is not the arrival of a packet.
    #[inline(always)]
    pub fn new(start_ps: u64, arrival_ps: Option<u64>, arrival: NetEvent) -> Option<Self> {
        let packet = match arrival {
            NetEvent::Udp(UdpPacket { flow, number, bytes, ecn, .. }) => {
                Packet::Udp { flow, number, bytes, ecn, is_back: false }
            }
            NetEvent::Rdma(RdmaPacket { body, flow, ecn, is_back, .. }) => {
                Packet::Udp { flow, number: body.count, bytes: body.bytes, ecn, is_back }
            }
            NetEvent::Tcp(packet) => {
                Packet::Tcp { body: packet.body, flow: packet.flow, ecn: packet.ecn, is_back: packet.is_back }
            }
            _ => return None,
        };
        Some(Self { start_ps, arrival_ps: arrival_ps.unwrap_or(LOST), packet })
    }

    /// When it is at the other end whole, in picoseconds, unless it is lost.
    pub fn arrival_ps(&self) -> Option<u64> {
        (self.arrival_ps != LOST).then_some(self.arrival_ps)
    }
}

/// A record takes four words: capturing is to cost little beside the hop itself.
const _: () = assert!(size_of::<Record>() <= 32, "a record is small");

/// A log; an empty one takes a word and no memory besides.
#[derive(Clone, Default)]
pub(crate) struct Log(Option<Box<Records>>);

#[derive(Clone)]
struct Records {
    /// The last ones.
    open: Vec<Record>,
    /// How many they may be before they become a chunk.
    most: usize,
    /// Those before.
    closed: Option<Arc<Chunk>>,
}

struct Chunk {
    records: Vec<Record>,
    previous: Option<Arc<Self>>,
}

impl Log {
    #[inline(always)]
    pub fn push(&mut self, record: Record) {
        let records = self.0.get_or_insert_with(Records::new);
        if records.open.len() >= records.most {
            records.close();
        }
        records.open.push(record);
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The heap memory that a copy takes, in bytes.
    pub fn copied_bytes(&self) -> usize {
        let open = |records: &Records| size_of::<Records>() + records.open.len() * size_of::<Record>();
        self.0.as_deref().map_or(0, open)
    }

    /// All records, in their order.
    pub fn records(&self) -> impl Iterator<Item = &Record> {
        let mut chunks = Vec::new();
        let mut chunk = self.0.as_deref().and_then(|records| records.closed.as_deref());
        while let Some(this) = chunk {
            chunks.push(&this.records[..]);
            chunk = this.previous.as_deref();
        }
        let open = self.0.as_deref().map_or(&[][..], |records| &records.open[..]);
        chunks.into_iter().rev().chain([open]).flatten()
    }
}

impl Records {
    fn new() -> Box<Self> {
        Box::new(Self { open: Vec::with_capacity(LEAST_CHUNK), most: LEAST_CHUNK, closed: None })
    }

    /// Makes a chunk of the open records.
    #[inline(never)]
    fn close(&mut self) {
        // A chunk that somebody else has is that of a copy.
        let is_shared = self.closed.as_ref().is_some_and(|last| Arc::strong_count(last) > 1);
        self.most = if is_shared { LEAST_CHUNK } else { (2 * self.most).min(MOST_CHUNK) };
        let records = std::mem::replace(&mut self.open, Vec::with_capacity(self.most));
        self.closed = Some(Arc::new(Chunk { records, previous: self.closed.take() }));
    }
}

/// A chain is taken apart link by link: dropped as it is, a long one would overflow the stack.
impl Drop for Records {
    fn drop(&mut self) {
        let mut next = self.closed.take();
        while let Some(chunk) = next {
            next = Arc::into_inner(chunk).and_then(|mut chunk| chunk.previous.take());
        }
    }
}

/// Not part of the digest, which is that of the run without captures.
impl Hash for Log {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl PartialEq for Log {
    fn eq(&self, other: &Self) -> bool {
        self.records().eq(other.records())
    }
}

impl Eq for Log {}

/// A count: states are shown in error messages.
impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} packets", self.records().count())
    }
}

impl Serialize for Log {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let records: Vec<&Record> = self.records().collect();
        records.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Log {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut log = Self::default();
        for record in Vec::deserialize(deserializer)? {
            log.push(record);
        }
        Ok(log)
    }
}

#[cfg(test)]
mod test {
    use super::*;

    fn record(number: u64) -> Record {
        let arrival_ps = (!number.is_multiple_of(7)).then_some(number + 1);
        let number = number as u32;
        let packet = UdpPacket { sent_ps: 5, flow: 1, number, bytes: 7, slack: 3, ecn: Ecn::Capable0 };
        Record::new(u64::from(number), arrival_ps, NetEvent::Udp(packet)).unwrap()
    }

    fn is_whole(log: &Log, count: u64) -> bool {
        log.records().eq((0..count).map(record).collect::<Vec<_>>().iter())
    }

    /// As in an optimistic run: a copy before each record, and some records taken back.
    #[test]
    fn copies_keep_what_they_had() {
        let mut copies = vec![Log::default()];
        for number in 0..3_000 {
            let mut log = copies.last().unwrap().clone();
            log.push(record(number));
            copies.push(log);
            if number % 5 == 4 {
                // Two records that are then taken back must not show in what was copied before.
                let mut other = copies[number as usize - 1].clone();
                (0..20).for_each(|_| other.push(record(1)));
            }
        }
        for (count, copy) in (0..).zip(&copies) {
            assert!(is_whole(copy, count), "{count} records");
        }
    }

    #[test]
    fn a_long_log_is_written_and_read() {
        let mut log = Log::default();
        assert!(log.is_empty() && is_whole(&log, 0));
        (0..100_000).for_each(|number| log.push(record(number)));
        assert!(is_whole(&log, 100_000));
        let bytes = postcard::to_stdvec(&log).unwrap();
        let read: Log = postcard::from_bytes(&bytes).unwrap();
        assert_eq!(read, log);
        assert_eq!(read.records().next().unwrap().arrival_ps(), None);
        assert_eq!(format!("{read:?}"), "100000 packets");
        let mut shorter = Log::default();
        (0..99_999).for_each(|number| shorter.push(record(number)));
        assert_ne!(shorter, log);
    }
}
