//! A trace that one thread writes: packets go to the file as they come.
//!
//! Invariants: all packets are of one sequence; after a failure nothing is written, and
//! [`PacketFile::finish`] returns the first.

use std::path::{Path, PathBuf};

use paceline_files::Entries;

use super::encode::packet;
use super::packet::{
    EXPLICIT_ORDERING, EventType, INCREMENTAL_STATE_CLEARED, InternedData, NEEDS_INCREMENTAL_STATE,
    ProcessDescriptor, TracePacket, TrackDescriptor, TrackEvent,
};
use super::{TraceError, failed};

/// The only sequence of packets.
const SEQUENCE: u32 = 1;

/// A trace of one sequence of packets, which one thread writes.
#[derive(Debug)]
pub(super) struct PacketFile {
    path: PathBuf,
    file: Entries,
    bytes: Vec<u8>,
}

impl PacketFile {
    /// Makes the file, in place of one that may be there.
    pub(super) fn create(path: &Path) -> Result<Self, TraceError> {
        let path = path.to_owned();
        match Entries::create(&path) {
            Ok(file) => Ok(Self { path, file, bytes: Vec::new() }),
            Err(reason) => Err(TraceError { path, reason }),
        }
    }

    /// Names that events and annotations are called by from now on.
    pub(super) fn intern(&mut self, data: InternedData) {
        self.write(TracePacket {
            sequence_flags: Some(INCREMENTAL_STATE_CLEARED),
            interned_data: Some(data),
            ..TracePacket::default()
        });
    }

    /// A group of tracks.
    pub(super) fn group(&mut self, uuid: u64, name: String) {
        let process = ProcessDescriptor { pid: Some(uuid as i32), process_name: Some(name) };
        self.track(TrackDescriptor {
            uuid: Some(uuid),
            process: Some(process),
            child_ordering: Some(EXPLICIT_ORDERING),
            ..TrackDescriptor::default()
        });
    }

    pub(super) fn track(&mut self, track: TrackDescriptor) {
        self.write(TracePacket { track_descriptor: Some(track), ..TracePacket::default() });
    }

    pub(super) fn event(&mut self, at_ns: u64, event: TrackEvent) {
        self.write(TracePacket {
            timestamp: Some(at_ns),
            track_event: Some(event),
            sequence_flags: Some(NEEDS_INCREMENTAL_STATE),
            ..TracePacket::default()
        });
    }

    fn write(&mut self, entry: TracePacket) {
        self.bytes.clear();
        packet(&mut self.bytes, &TracePacket { trusted_packet_sequence_id: Some(SEQUENCE), ..entry });
        self.file.write(&self.bytes);
    }

    /// Writes what is left. The error is the first one that there was since the file was made.
    pub(super) fn finish(mut self) -> Result<(), TraceError> {
        self.file.finish().map_err(|cut| failed(self.path, cut))
    }
}

/// An event of a kind on a track, without more.
pub(super) fn event(kind: EventType, track: u64) -> TrackEvent {
    TrackEvent { r#type: Some(kind as i32), track_uuid: Some(track), ..TrackEvent::default() }
}
