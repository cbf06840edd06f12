//! Guests of an emulation in the trace of their run, in a group of their own: for each guest a track with
//! what it did in real time, its simulated time as a counter, and a track of its frames, with an arrow from
//! each frame that left to where it arrived.
//!
//! An entry is written when what it shows is over, and an arrow when its frame has arrived; readers sort by
//! time.
//!
//! Invariants: numbers of tracks are none of those of the run's other tracks, whatever workers and federates
//! it has; slices of a guest do not overlap if those given do not.

use super::packet::{
    CounterDescriptor, DebugAnnotation, EXPLICIT_ORDERING, EventType, INCREMENTAL_STATE_CLEARED,
    InternedData, InternedName, NEEDS_INCREMENTAL_STATE, ProcessDescriptor, TracePacket, TrackDescriptor,
    TrackEvent,
};
use super::{PerfettoTrace, encode, file::event};

/// The number of the process under which guests are shown; the run is 1.
const PID: i32 = 2;
/// The sequence of packets of guests: that of no worker.
const SEQUENCE: u32 = u32::MAX;
/// The number of the group. Tracks of a run are 1 to 3, or 0 to 2 modulo 4.
const GROUP: u64 = 7;
/// Names of the ends of arrows.
const LEAVES: u64 = 1;
const ARRIVES: u64 = 2;
/// Names of annotations.
const NEXT_NS: u64 = 1;
const SIMULATED_NS: u64 = 2;

/// What a guest did for a while, in real time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GuestSlice<'n> {
    /// Which guest, by its place in [`PerfettoTrace::guests`].
    pub guest: u32,
    /// What it did.
    pub name: &'n str,
    /// When it began, in nanoseconds since the run began.
    pub start_ns: u64,
    /// When it ended, in nanoseconds since the run began; not before it began.
    pub end_ns: u64,
    /// The earliest simulated time at which the guest did anything by itself, as it began; in nanoseconds,
    /// `None` for never.
    pub next_ns: Option<u64>,
    /// How far the guest had come in simulated time as it began, in nanoseconds.
    pub clock_ns: u64,
}

/// A frame from one guest to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GuestFrame {
    /// Its number in the trace: no other frame has it.
    pub number: u64,
    /// The guest that sent it, and when: in nanoseconds of real time since the run began, and of simulated
    /// time.
    pub from: (u32, u64, u64),
    /// The guest that received it, and when.
    pub to: (u32, u64, u64),
}

#[derive(Clone, Copy)]
enum Track {
    States(u32),
    Clock(u32),
    Frames(u32),
}

impl Track {
    fn place(self) -> u64 {
        match self {
            Self::States(guest) => 3 * u64::from(guest),
            Self::Clock(guest) => 3 * u64::from(guest) + 1,
            Self::Frames(guest) => 3 * u64::from(guest) + 2,
        }
    }

    fn uuid(self) -> u64 {
        GROUP + 4 * (self.place() + 1)
    }

    fn descriptor(self, guest: &str) -> TrackDescriptor {
        let name = match self {
            Self::States(_) => guest.to_owned(),
            Self::Clock(_) => format!("simulated time of {guest}"),
            Self::Frames(_) => format!("frames of {guest}"),
        };
        let is_clock = matches!(self, Self::Clock(_));
        TrackDescriptor {
            uuid: Some(self.uuid()),
            name: Some(name),
            parent_uuid: Some(GROUP),
            counter: is_clock.then(|| CounterDescriptor { unit_name: Some("s".to_owned()) }),
            sibling_order_rank: Some(i32::try_from(self.place()).unwrap_or(i32::MAX)),
            ..TrackDescriptor::default()
        }
    }
}

impl PerfettoTrace {
    /// Makes tracks for guests of these names. To be called once, before anything is written of them.
    pub fn guests<'n>(&self, names: impl IntoIterator<Item = &'n str>) {
        let mut bytes = Vec::new();
        let name = |(iid, name): (u64, &str)| InternedName { iid: Some(iid), name: Some(name.to_owned()) };
        let data = InternedData {
            event_names: [(LEAVES, "leaves"), (ARRIVES, "arrives")].map(name).into(),
            debug_annotation_names: [(NEXT_NS, "next_ns"), (SIMULATED_NS, "simulated_ns")].map(name).into(),
        };
        let process = ProcessDescriptor { pid: Some(PID), process_name: Some("guests".to_owned()) };
        let group = TrackDescriptor {
            uuid: Some(GROUP),
            process: Some(process),
            child_ordering: Some(EXPLICIT_ORDERING),
            ..TrackDescriptor::default()
        };
        let names_and_group = TracePacket {
            sequence_flags: Some(INCREMENTAL_STATE_CLEARED),
            interned_data: Some(data),
            track_descriptor: Some(group),
            ..TracePacket::default()
        };
        write(&mut bytes, names_and_group);
        for (name, guest) in names.into_iter().zip(0..) {
            for track in [Track::States(guest), Track::Clock(guest), Track::Frames(guest)] {
                let track = Some(track.descriptor(name));
                write(&mut bytes, TracePacket { track_descriptor: track, ..TracePacket::default() });
            }
        }
        self.output().file.write(&bytes);
    }

    /// Writes what a guest did. No slice of the same guest may overlap it.
    pub fn guest_slice(&self, slice: &GuestSlice<'_>) {
        let GuestSlice { guest, name, start_ns, end_ns, next_ns, clock_ns } = *slice;
        let track = Track::States(guest).uuid();
        let begin = TrackEvent {
            name: Some(name.to_owned()),
            debug_annotations: next_ns.map(|ns| note(NEXT_NS, ns)).into_iter().collect(),
            ..event(EventType::SliceBegin, track)
        };
        let clock = TrackEvent {
            double_counter_value: Some(clock_ns as f64 / 1e9),
            ..event(EventType::Counter, Track::Clock(guest).uuid())
        };
        let end = event(EventType::SliceEnd, track);
        self.events([(start_ns, begin), (start_ns, clock), (end_ns, end)]);
    }

    /// Writes the arrow of a frame.
    pub fn guest_frame(&self, frame: &GuestFrame) {
        let GuestFrame { number, from: (from, left_ns, left), to: (to, arrived_ns, arrived) } = *frame;
        let end = |guest, name, simulated_ns| TrackEvent {
            name_iid: Some(name),
            debug_annotations: vec![note(SIMULATED_NS, simulated_ns)],
            ..event(EventType::Instant, Track::Frames(guest).uuid())
        };
        let leaves = TrackEvent { flow_ids: vec![number], ..end(from, LEAVES, left) };
        let arrives = TrackEvent { terminating_flow_ids: vec![number], ..end(to, ARRIVES, arrived) };
        self.events([(left_ns, leaves), (arrived_ns, arrives)]);
    }

    fn events<const COUNT: usize>(&self, events: [(u64, TrackEvent); COUNT]) {
        let mut bytes = Vec::new();
        for (at_ns, event) in events {
            write(
                &mut bytes,
                TracePacket {
                    timestamp: Some(at_ns),
                    track_event: Some(event),
                    sequence_flags: Some(NEEDS_INCREMENTAL_STATE),
                    ..TracePacket::default()
                },
            );
        }
        self.output().file.write(&bytes);
    }
}

fn note(name: u64, value: u64) -> DebugAnnotation {
    DebugAnnotation { name_iid: Some(name), uint_value: Some(value) }
}

fn write(bytes: &mut Vec<u8>, packet: TracePacket) {
    encode::packet(bytes, &TracePacket { trusted_packet_sequence_id: Some(SEQUENCE), ..packet });
}
