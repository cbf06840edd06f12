//! Writes slices and counters of a run as bytes of Perfetto's packets.
//!
//! There are five packets for a slice, and a run may have a million slices while its threads wait for each to
//! be written. So they are not made as messages of [`packet`](super::packet) first, but written field by
//! field, with the same numbers: none is longer than 127 bytes, so that its length is a single byte, put in
//! afterwards.

use paceline_kernel::Time;
use prost::encoding::{self, WireType};

use super::layout::{Note, Track, sequence};
use super::packet::{EventType, NEEDS_INCREMENTAL_STATE, TracePacket};
use super::{Activity, Slice};

/// The greatest length that takes a single byte.
const SHORT_BYTES: usize = 127;

/// Numbers of fields, as in [`packet`](super::packet).
mod tag {
    pub(super) const TRACE_PACKET: u32 = 1;
    pub(super) const PACKET_TIMESTAMP: u32 = 8;
    pub(super) const PACKET_SEQUENCE: u32 = 10;
    pub(super) const PACKET_EVENT: u32 = 11;
    pub(super) const PACKET_FLAGS: u32 = 13;
    pub(super) const EVENT_NOTE: u32 = 4;
    pub(super) const EVENT_TYPE: u32 = 9;
    pub(super) const EVENT_NAME: u32 = 10;
    pub(super) const EVENT_TRACK: u32 = 11;
    pub(super) const EVENT_VALUE: u32 = 44;
    pub(super) const NOTE_NAME: u32 = 1;
    pub(super) const NOTE_NUMBER: u32 = 3;
}

pub(super) fn packet(bytes: &mut Vec<u8>, packet: &TracePacket) {
    encoding::message::encode(tag::TRACE_PACKET, packet, bytes);
}

/// A slice on the tracks of its worker and its federate, and the LVT after it.
pub(super) fn slice(bytes: &mut Vec<u8>, slice: &Slice) {
    let Slice { activity, worker, federate, end_ns, lvt, .. } = *slice;
    let counts = matches!(activity, Activity::Run | Activity::Ahead | Activity::Rollback);
    let events = (Note::Events, counts.then_some(slice.events));
    let doer = worker.map_or(Track::Run, Track::Worker);
    begin(bytes, slice, doer, [(Note::Federate, federate.map(u64::from)), events]);
    if let Some(federate) = federate {
        let track = Track::Federate(federate);
        begin(bytes, slice, track, [(Note::Worker, worker.map(u64::from)), events]);
        end(bytes, slice, track);
    }
    end(bytes, slice, doer);
    if let (Some(federate), Some(lvt)) = (federate, lvt) {
        value(bytes, Track::Lvt(federate), worker, end_ns, lvt);
    }
}

/// A new value of a counter, in seconds.
pub(super) fn value(bytes: &mut Vec<u8>, track: Track, worker: Option<u32>, at_ns: u64, time: Time) {
    event(bytes, worker, at_ns, |bytes| {
        number(bytes, tag::EVENT_TYPE, EventType::Counter as u64);
        number(bytes, tag::EVENT_TRACK, track.uuid());
        encoding::double::encode(tag::EVENT_VALUE, &time.as_secs_f64(), bytes);
    });
}

/// The beginning of a slice, with what is to be said about it.
fn begin(bytes: &mut Vec<u8>, slice: &Slice, track: Track, notes: [(Note, Option<u64>); 2]) {
    event(bytes, slice.worker, slice.start_ns, |bytes| {
        for (note, said) in notes {
            let Some(said) = said else { continue };
            short(bytes, tag::EVENT_NOTE, |bytes| {
                number(bytes, tag::NOTE_NAME, note as u64);
                number(bytes, tag::NOTE_NUMBER, said);
            });
        }
        number(bytes, tag::EVENT_TYPE, EventType::SliceBegin as u64);
        number(bytes, tag::EVENT_NAME, slice.activity as u64);
        number(bytes, tag::EVENT_TRACK, track.uuid());
    });
}

/// The end of a slice.
fn end(bytes: &mut Vec<u8>, slice: &Slice, track: Track) {
    event(bytes, slice.worker, slice.end_ns, |bytes| {
        number(bytes, tag::EVENT_TYPE, EventType::SliceEnd as u64);
        number(bytes, tag::EVENT_TRACK, track.uuid());
    });
}

/// A packet with an event.
#[inline]
fn event(bytes: &mut Vec<u8>, worker: Option<u32>, at_ns: u64, content: impl FnOnce(&mut Vec<u8>)) {
    short(bytes, tag::TRACE_PACKET, |bytes| {
        number(bytes, tag::PACKET_TIMESTAMP, at_ns);
        number(bytes, tag::PACKET_SEQUENCE, u64::from(sequence(worker)));
        short(bytes, tag::PACKET_EVENT, content);
        number(bytes, tag::PACKET_FLAGS, u64::from(NEEDS_INCREMENTAL_STATE));
    });
}

/// A message within another, of at most [`SHORT_BYTES`].
#[inline]
fn short(bytes: &mut Vec<u8>, tag: u32, content: impl FnOnce(&mut Vec<u8>)) {
    encoding::encode_key(tag, WireType::LengthDelimited, bytes);
    let start = bytes.len();
    bytes.push(0);
    content(bytes);
    let length = bytes.len() - start - 1;
    assert!(length <= SHORT_BYTES, "an entry is short");
    bytes[start] = length as u8;
}

#[inline]
fn number(bytes: &mut Vec<u8>, tag: u32, value: u64) {
    encoding::encode_key(tag, WireType::Varint, bytes);
    encoding::encode_varint(value, bytes);
}

#[cfg(test)]
mod test {
    use prost::Message;

    use super::super::packet::Trace;
    use super::*;

    #[test]
    fn entries_with_the_greatest_numbers_are_short_and_can_be_read() {
        let (worker, federate) = (Some(u32::MAX), Some(u32::MAX));
        let (start_ns, end_ns, events) = (u64::MAX - 1, u64::MAX, u64::MAX);
        let lvt = Some(Time::nanos(u64::MAX - 1));
        let mut bytes = Vec::new();
        slice(
            &mut bytes,
            &Slice { activity: Activity::Run, worker, federate, start_ns, end_ns, lvt, events },
        );
        let packets = Trace::decode(bytes.as_slice()).expect("what is written can be read").packet;
        let stamps: Vec<_> = packets.iter().filter_map(|packet| packet.timestamp).collect();
        assert_eq!(stamps, [start_ns, start_ns, end_ns, end_ns, end_ns]);
        let mut again = Vec::new();
        packets.iter().for_each(|read| packet(&mut again, read));
        assert_eq!(bytes, again, "as the messages themselves are written");
    }
}
