//! What guest and coordinator say to each other: the coordinator's side of `plugin/wire.h`, which describes
//! the records, and which of them go over the socket.
//!
//! Both ends are on one machine, hence the machine's byte order.

pub(super) const PROTOCOL: u64 = 2;
const HEADER: usize = 24;
const CHUNK: usize = 1 << 16;
/// The longest frame that a card sends, with segmentation offload, has 64 KiB and headers.
const LONGEST: usize = 1 << 17;
const NEVER: u64 = u64::MAX;

const HELLO: u32 = u32::from_ne_bytes(*b"PCLG");
const FRAME: u32 = 1;
const STOPPED: u32 = 2;
const PAUSED: u32 = 3;
const ENDED: u32 = 4;
const REFUSED: u32 = 5;
const GRANT: u32 = 6;
const SAVE: u32 = 7;
const DROPPED: u32 = 8;

/// An Ethernet frame, without preamble and check sequence, at a card of a guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// When its last bit leaves or arrives, in nanoseconds of virtual time.
    pub time_ns: u64,
    /// The card, from 0.
    pub card: usize,
    /// From the destination address to the end of the data.
    pub bytes: Vec<u8>,
}

/// What comes from a guest.
#[derive(Debug, PartialEq)]
pub(super) enum Record {
    Hello { protocol: u64, page: u64 },
    Left(Frame),
    Dropped { count: u64 },
    Stopped { time_ns: u64, next_ns: Option<u64> },
    Paused { time_ns: u64 },
    Ended { time_ns: u64, cause: String },
    Refused { reason: String },
}

/// Bytes as they come, cut into records.
pub(super) struct Inbox {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    is_greeted: bool,
}

impl Default for Inbox {
    fn default() -> Self {
        Self { bytes: vec![0; CHUNK], start: 0, end: 0, is_greeted: false }
    }
}

impl Inbox {
    /// Where the next bytes go.
    pub(super) fn space(&mut self) -> &mut [u8] {
        // What is left is less than one record, so moving it to the front costs little.
        self.bytes.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        if self.bytes.len() < self.end + CHUNK {
            self.bytes.resize(self.end + CHUNK, 0);
        }
        &mut self.bytes[self.end..]
    }

    pub(super) fn received(&mut self, count: usize) {
        self.end += count;
    }

    /// The next record, if all of it has come; otherwise what is wrong with it.
    pub(super) fn next(&mut self) -> Result<Option<Record>, String> {
        let bytes = &self.bytes[self.start..self.end];
        let Some((kind, rest)) = bytes.split_first_chunk::<4>() else { return Ok(None) };
        let kind = u32::from_ne_bytes(*kind);
        // Before its length is believed: anything may have answered.
        if !self.is_greeted && kind != HELLO && kind != REFUSED {
            return Err("what answers is not the plugin".into());
        }
        let Some((length, rest)) = rest.split_first_chunk::<4>() else { return Ok(None) };
        let length = u32::from_ne_bytes(*length) as usize;
        if length > LONGEST {
            return Err(format!("a record of {length} bytes; at most {LONGEST} are allowed"));
        }
        let Some((time, rest)) = rest.split_first_chunk::<8>() else { return Ok(None) };
        let Some((value, rest)) = rest.split_first_chunk::<8>() else { return Ok(None) };
        let Some(bytes) = rest.get(..length) else { return Ok(None) };
        let (time_ns, value) = (u64::from_ne_bytes(*time), u64::from_ne_bytes(*value));
        let text = || String::from_utf8_lossy(bytes).into_owned();
        let record = match kind {
            HELLO => Record::Hello { protocol: time_ns, page: value },
            FRAME => Record::Left(Frame { time_ns, card: value as usize, bytes: bytes.to_vec() }),
            DROPPED => Record::Dropped { count: value },
            STOPPED => Record::Stopped { time_ns, next_ns: next_ns(value) },
            PAUSED => Record::Paused { time_ns },
            ENDED => Record::Ended { time_ns, cause: text() },
            REFUSED => Record::Refused { reason: text() },
            _ => return Err(format!("a record of the unknown kind {kind}")),
        };
        self.is_greeted = true;
        self.start += HEADER + length;
        Ok(Some(record))
    }
}

/// When a guest does something next, as it says so.
pub(super) fn next_ns(value: u64) -> Option<u64> {
    (value != NEVER).then_some(value)
}

/// An order to a guest that stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Order {
    /// To run up to a time, with so many frames, which follow on the socket.
    Grant { until_ns: u64, frames: u64 },
    /// To pause, so that it can be saved.
    Save,
}

impl Order {
    /// Kind, time and value of its record.
    pub(super) fn record(self) -> (u32, u64, u64) {
        match self {
            Self::Grant { until_ns, frames } => (GRANT, until_ns, frames),
            Self::Save => (SAVE, 0, 0),
        }
    }
}

fn put(message: &mut Vec<u8>, kind: u32, time_ns: u64, value: u64, bytes: &[u8]) {
    message.extend(kind.to_ne_bytes());
    message.extend((bytes.len() as u32).to_ne_bytes());
    message.extend(time_ns.to_ne_bytes());
    message.extend(value.to_ne_bytes());
    message.extend(bytes);
}

/// The order that lets a guest run, and the message with its frames.
pub(super) fn grant<'a>(until_ns: u64, frames: impl Iterator<Item = &'a Frame> + Clone) -> (Order, Vec<u8>) {
    let size = frames.clone().map(|frame| HEADER + frame.bytes.len()).sum();
    let (mut count, mut message) = (0, Vec::with_capacity(size));
    for frame in frames {
        count += 1;
        put(&mut message, FRAME, frame.time_ns, frame.card as u64, &frame.bytes);
    }
    (Order::Grant { until_ns, frames: count }, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn feed(inbox: &mut Inbox, bytes: &[u8]) {
        inbox.space()[..bytes.len()].copy_from_slice(bytes);
        inbox.received(bytes.len());
    }

    #[test]
    fn records_come_whole_however_they_are_cut() {
        let frame = Frame { time_ns: 7, card: 1, bytes: vec![9; 61] };
        let mut sent = Vec::new();
        put(&mut sent, HELLO, PROTOCOL, 17, &[]);
        put(&mut sent, FRAME, 7, 1, &frame.bytes);
        put(&mut sent, DROPPED, 8, 3, &[]);
        put(&mut sent, STOPPED, 8, NEVER, &[]);
        put(&mut sent, ENDED, 9, 0, b"guest-reset");
        let expected = [
            Record::Hello { protocol: PROTOCOL, page: 17 },
            Record::Left(frame),
            Record::Dropped { count: 3 },
            Record::Stopped { time_ns: 8, next_ns: None },
            Record::Ended { time_ns: 9, cause: "guest-reset".into() },
        ];
        for piece in [1, 5, 24, 25, 1000] {
            let (mut inbox, mut got) = (Inbox::default(), Vec::new());
            for bytes in sent.chunks(piece) {
                feed(&mut inbox, bytes);
                while let Some(record) = inbox.next().unwrap() {
                    got.push(record);
                }
            }
            assert_eq!(got, expected, "pieces of {piece} bytes");
        }
    }

    #[test]
    fn a_stranger_and_damaged_records_are_refused() {
        let mut inbox = Inbox::default();
        feed(&mut inbox, b"SSH-");
        assert!(inbox.next().unwrap_err().contains("not the plugin"));
        for (kind, length) in [(FRAME, LONGEST as u32 + 1), (99, 0)] {
            let mut inbox = Inbox::default();
            let mut sent = Vec::new();
            put(&mut sent, HELLO, PROTOCOL, 0, &[]);
            put(&mut sent, kind, 0, 0, &[]);
            sent[HEADER + 4..HEADER + 8].copy_from_slice(&length.to_ne_bytes());
            feed(&mut inbox, &sent);
            assert!(inbox.next().unwrap().is_some());
            inbox.next().unwrap_err();
        }
    }
}
