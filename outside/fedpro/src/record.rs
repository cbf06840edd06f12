//! The record of a server: every call in the order in which it was answered, and at the end the digests of
//! what it led to. To replay it is to hand the same calls to an infrastructure without clients.
//!
//! The file begins with [`MAGIC`]. Entries follow, each with its length before it: first the limits that
//! answers depend on, then a client and its call, or a client that is gone, from where one is connected, the
//! host's time where somebody looks at it, and as the last one the digests.
//! Modules are recorded with their texts, so that a replay opens no other file.
//!
//! Invariant: an entry is written before its call is answered, and flushed before the answer is sent, so that
//! a server that is killed leaves a record of all that clients know.

use std::fmt;
use std::io::{self, BufRead, ErrorKind, Write};
use std::time::Duration;

use paceline_hla::{Call, CallRequest, Callback, Message};
use paceline_rti::{Client, Digests, FederateDigest, Rti, RtiLimits};
use thiserror::Error;

/// How a record begins: seven letters, and the version of what follows.
pub const MAGIC: [u8; 8] = *b"PLCALLS\x01";
/// The most bytes that an entry has: one call with all modules that fit in a frame and are unpacked.
const ENTRY_MAX: u64 = 1 << 30;

#[derive(Clone, PartialEq, prost::Message)]
struct Entry {
    #[prost(uint32, tag = 1)]
    client: u32,
    #[prost(oneof = "Event", tags = "2, 3, 4, 5, 6, 7")]
    event: Option<Event>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum Event {
    #[prost(message, tag = 2)]
    Call(CallRequest),
    #[prost(message, tag = 3)]
    Gone(Gone),
    #[prost(message, tag = 4)]
    End(End),
    #[prost(message, tag = 5)]
    Begin(Begin),
    /// From where a client is connected.
    #[prost(string, tag = 6)]
    From(String),
    /// The host's time, in nanoseconds; of no client.
    #[prost(uint64, tag = 7)]
    Now(u64),
}

/// What answers depend on besides calls.
#[derive(Clone, PartialEq, prost::Message)]
struct Begin {
    #[prost(uint64, tag = 1)]
    federations: u64,
    #[prost(uint64, tag = 2)]
    reserved_names: u64,
    /// 0 in a record of a server that did not have this limit.
    #[prost(uint64, tag = 3)]
    module_bytes: u64,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Gone {}

#[derive(Clone, PartialEq, prost::Message)]
struct End {
    #[prost(message, repeated, tag = 1)]
    federates: Vec<Row>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
struct Row {
    #[prost(string, tag = 1)]
    federation: String,
    #[prost(string, tag = 2)]
    federate: String,
    #[prost(uint64, tag = 3)]
    callbacks: u64,
    #[prost(fixed64, tag = 4)]
    callbacks_digest: u64,
    #[prost(uint64, tag = 5)]
    timestamped: u64,
    #[prost(fixed64, tag = 6)]
    timestamped_digest: u64,
}

fn rows(digests: &Digests) -> Vec<Row> {
    let row = |(federation, federate, digest): (&str, &str, FederateDigest)| Row {
        federation: federation.to_owned(),
        federate: federate.to_owned(),
        callbacks: digest.callbacks,
        callbacks_digest: digest.callbacks_digest.value(),
        timestamped: digest.timestamped,
        timestamped_digest: digest.timestamped_digest.value(),
    };
    digests.federates().map(row).collect()
}

/// What writes a record, and keeps the digests.
pub struct Recorder {
    out: Box<dyn Write + Send>,
    digests: Digests,
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Recorder").finish_non_exhaustive()
    }
}

impl Recorder {
    /// A record that begins here, of an infrastructure with these limits. `out` should gather what is
    /// written, as entries are small.
    pub fn begin(mut out: Box<dyn Write + Send>, limits: RtiLimits) -> io::Result<Self> {
        out.write_all(&MAGIC)?;
        let mut recorder = Self { out, digests: Digests::default() };
        let RtiLimits { federations, reserved_names, module_bytes } = limits;
        let [federations, reserved_names, module_bytes] =
            [federations, reserved_names, module_bytes].map(|limit| limit as u64);
        let begin = Begin { federations, reserved_names, module_bytes };
        recorder.write(0, Event::Begin(begin))?;
        Ok(recorder)
    }

    fn write(&mut self, client: u32, event: Event) -> io::Result<()> {
        self.out.write_all(&Entry { client, event: Some(event) }.encode_length_delimited_to_vec())
    }

    /// A call that is about to be answered, with its modules opened.
    pub(crate) fn call(&mut self, client: Client, call: &Call) -> io::Result<()> {
        self.write(client.0, Event::Call(CallRequest { call: Some(call.clone()) }))
    }

    /// From where a client is connected, which is about to be said.
    pub(crate) fn from(&mut self, client: Client, host: &str) -> io::Result<()> {
        self.write(client.0, Event::From(host.to_owned()))
    }

    /// The host's time, which is about to be said.
    pub(crate) fn now(&mut self, now: Duration) -> io::Result<()> {
        self.write(0, Event::Now(now.as_nanos() as u64))
    }

    /// A client that is about to be removed.
    pub(crate) fn gone(&mut self, client: Client) -> io::Result<()> {
        self.write(client.0, Event::Gone(Gone {}))
    }

    /// What the last entry has caused.
    pub(crate) fn take_in(&mut self, rti: &Rti, client: Client, callbacks: &[(Client, Callback)]) {
        self.digests.take_in(rti, client, callbacks);
    }

    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Ends the record with the digests, and returns them.
    pub fn finish(mut self) -> io::Result<Digests> {
        self.write(0, Event::End(End { federates: rows(&self.digests) }))?;
        self.out.flush()?;
        Ok(self.digests)
    }
}

/// How a record ends, beside what its replay has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordEnd {
    /// With digests, which the replay has reached.
    Equal,
    /// With other digests than those of the replay.
    Different,
    /// Without digests: the server did not end by itself. Whether the replay did the same is not known.
    Missing,
}

/// What the calls of a record lead to.
#[derive(Debug)]
pub struct Replay {
    /// How many calls were made.
    pub calls: u64,
    /// Of all callbacks.
    pub digests: Digests,
    /// Whether the record says the same.
    pub end: RecordEnd,
}

/// A record that cannot be replayed.
#[derive(Debug, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the text of an error says what its fields are")]
pub enum RecordError {
    /// The file cannot be read.
    #[error("it cannot be read")]
    Read(#[from] io::Error),
    /// It is something else.
    #[error("it is no record of calls: those begin with {:?}, this with {:?}", text(&MAGIC), text(found))]
    Magic { found: Vec<u8> },
    /// An entry makes no sense.
    #[error("entry {number}, which ends at byte {end}, is damaged: {what}")]
    Entry { number: u64, end: u64, what: String },
}

fn text(bytes: &[u8]) -> String {
    bytes.escape_ascii().to_string()
}

/// Reads a record, an entry after the other.
struct Entries<R> {
    input: R,
    /// How many entries were read.
    number: u64,
    /// How many bytes were read.
    at: u64,
}

impl<R: BufRead> Entries<R> {
    fn begin(mut input: R) -> Result<Self, RecordError> {
        let mut found = Vec::new();
        let mut first = io::Read::take(&mut input, MAGIC.len() as u64);
        io::Read::read_to_end(&mut first, &mut found)?;
        if found != MAGIC {
            return Err(RecordError::Magic { found });
        }
        Ok(Self { input, number: 0, at: MAGIC.len() as u64 })
    }

    fn damaged(&self, what: impl fmt::Display) -> RecordError {
        RecordError::Entry { number: self.number, end: self.at, what: what.to_string() }
    }

    /// The length of the next entry, seven bits a byte, the lowest first; nothing at the end of the record,
    /// or where it was cut off.
    fn length(&mut self) -> Result<Option<u64>, RecordError> {
        let mut length = 0;
        for shift in (0..64).step_by(7) {
            let mut byte = [0];
            match io::Read::read_exact(&mut self.input, &mut byte) {
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
                result => result?,
            }
            self.at += 1;
            length |= u64::from(byte[0] & 0x7f) << shift;
            if length > ENTRY_MAX {
                break;
            }
            if byte[0] & 0x80 == 0 {
                return Ok(Some(length));
            }
        }
        Err(self.damaged(format_args!("it has {length} bytes or more, {ENTRY_MAX} are allowed")))
    }

    /// The next entry; nothing at the end, or if the rest is a part of one.
    fn next(&mut self) -> Result<Option<Entry>, RecordError> {
        self.number += 1;
        let Some(length) = self.length()? else { return Ok(None) };
        let mut bytes = Vec::new();
        // The vector grows with what is there: a damaged length takes no memory.
        let mut entry = io::Read::take(&mut self.input, length);
        let read = io::Read::read_to_end(&mut entry, &mut bytes)? as u64;
        self.at += read;
        if read < length {
            return Ok(None);
        }
        Entry::decode(&*bytes).map(Some).map_err(|error| self.damaged(error))
    }
}

/// Hands the calls of a record to an infrastructure, and compares where they lead.
pub fn replay(record: impl BufRead) -> Result<Replay, RecordError> {
    let mut entries = Entries::begin(record)?;
    let (mut rti, mut digests, mut calls) = (Rti::default(), Digests::default(), 0);
    while let Some(entry) = entries.next()? {
        let (client, mut callbacks) = (Client(entry.client), Vec::new());
        match entry.event {
            Some(Event::Call(CallRequest { call: Some(call) })) => {
                calls += 1;
                rti.call(client, call, &mut callbacks);
            }
            Some(Event::Begin(begin)) if calls == 0 => {
                // More than this machine can count is no limit.
                let limit = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
                let (federations, reserved_names) = (limit(begin.federations), limit(begin.reserved_names));
                let module_bytes = Some(limit(begin.module_bytes)).filter(|limit| *limit > 0);
                let module_bytes = module_bytes.unwrap_or(usize::MAX);
                rti = Rti::new(RtiLimits { federations, reserved_names, module_bytes });
            }
            Some(Event::Gone(Gone {})) => rti.remove(client, &mut callbacks),
            Some(Event::From(host)) => rti.set_host(client, &host),
            Some(Event::Now(now)) => rti.pass(Duration::from_nanos(now), &mut callbacks),
            Some(Event::End(end)) => {
                let is_equal = end.federates == rows(&digests);
                let end = if is_equal { RecordEnd::Equal } else { RecordEnd::Different };
                return Ok(Replay { calls, digests, end });
            }
            Some(Event::Call(CallRequest { call: None }) | Event::Begin(_)) | None => {
                return Err(entries.damaged("it is no call, no client that is gone, and not the end"));
            }
        }
        digests.take_in(&rti, client, &callbacks);
    }
    Ok(Replay { calls, digests, end: RecordEnd::Missing })
}
