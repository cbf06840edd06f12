//! The few messages of Perfetto's trace format that a trace of ours consists of.
//!
//! Names and numbers are those of `protos/perfetto/trace/` in Perfetto's sources: `trace.proto`,
//! `trace_packet.proto`, `interned_data/interned_data.proto`, and in `track_event/` `track_event.proto`,
//! `track_descriptor.proto`, `process_descriptor.proto`, `thread_descriptor.proto`,
//! `counter_descriptor.proto` and `debug_annotation.proto`. Fields not listed here are not written; a reader
//! skips those it does not know.

#![expect(missing_docs, reason = "messages and fields are documented where Perfetto defines them")]

use prost::{Enumeration, Message};

/// [`TracePacket::sequence_flags`]: names of earlier packets of the sequence are forgotten.
pub const INCREMENTAL_STATE_CLEARED: u32 = 1;
/// [`TracePacket::sequence_flags`]: the packet uses names of earlier packets of its sequence.
pub const NEEDS_INCREMENTAL_STATE: u32 = 2;
/// [`TrackDescriptor::child_ordering`]: children are shown by their rank.
pub const EXPLICIT_ORDERING: i32 = 3;

/// A whole trace.
#[derive(Clone, PartialEq, Message)]
pub struct Trace {
    #[prost(message, repeated, tag = "1")]
    pub packet: Vec<TracePacket>,
}

/// One entry of a trace.
#[derive(Clone, PartialEq, Message)]
pub struct TracePacket {
    /// When, in nanoseconds.
    #[prost(uint64, optional, tag = "8")]
    pub timestamp: Option<u64>,
    /// Which sequence of packets it belongs to; names are known within a sequence.
    #[prost(uint32, optional, tag = "10")]
    pub trusted_packet_sequence_id: Option<u32>,
    #[prost(message, optional, tag = "11")]
    pub track_event: Option<TrackEvent>,
    /// Names that it and later packets of the sequence use by number.
    #[prost(message, optional, tag = "12")]
    pub interned_data: Option<InternedData>,
    /// How it depends on earlier packets of its sequence.
    #[prost(uint32, optional, tag = "13")]
    pub sequence_flags: Option<u32>,
    #[prost(message, optional, tag = "60")]
    pub track_descriptor: Option<TrackDescriptor>,
}

/// Names by number.
#[derive(Clone, PartialEq, Message)]
pub struct InternedData {
    #[prost(message, repeated, tag = "2")]
    pub event_names: Vec<InternedName>,
    #[prost(message, repeated, tag = "3")]
    pub debug_annotation_names: Vec<InternedName>,
}

/// A name and its number: `EventName` and `DebugAnnotationName`, which are alike.
#[derive(Clone, PartialEq, Message)]
pub struct InternedName {
    /// The number; not zero.
    #[prost(uint64, optional, tag = "1")]
    pub iid: Option<u64>,
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
}

/// What happens on a track.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enumeration)]
#[repr(i32)]
pub enum EventType {
    Unspecified = 0,
    SliceBegin = 1,
    /// The slice begun last ends.
    SliceEnd = 2,
    /// Something without a length.
    Instant = 3,
    /// A counter has a new value.
    Counter = 4,
}

/// Something that happened on a track.
#[derive(Clone, PartialEq, Message)]
pub struct TrackEvent {
    /// More about a slice.
    #[prost(message, repeated, tag = "4")]
    pub debug_annotations: Vec<DebugAnnotation>,
    /// What it is.
    #[prost(enumeration = "EventType", optional, tag = "9")]
    pub r#type: Option<i32>,
    #[prost(uint64, optional, tag = "10")]
    pub name_iid: Option<u64>,
    #[prost(uint64, optional, tag = "11")]
    pub track_uuid: Option<u64>,
    /// The slice's name itself, where it has no number.
    #[prost(string, optional, tag = "23")]
    pub name: Option<String>,
    #[prost(double, optional, tag = "44")]
    pub double_counter_value: Option<f64>,
    /// Arrows that go through it, by number.
    #[prost(fixed64, repeated, packed = "false", tag = "47")]
    pub flow_ids: Vec<u64>,
    /// Arrows that end at it.
    #[prost(fixed64, repeated, packed = "false", tag = "48")]
    pub terminating_flow_ids: Vec<u64>,
}

/// A name and a number.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct DebugAnnotation {
    #[prost(uint64, optional, tag = "1")]
    pub name_iid: Option<u64>,
    #[prost(uint64, optional, tag = "3")]
    pub uint_value: Option<u64>,
}

/// A track: a process, a thread, a counter, or, where it is none of these, one for slices.
#[derive(Clone, PartialEq, Message)]
pub struct TrackDescriptor {
    /// The track's number in the trace; not zero.
    #[prost(uint64, optional, tag = "1")]
    pub uuid: Option<u64>,
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
    #[prost(message, optional, tag = "3")]
    pub process: Option<ProcessDescriptor>,
    #[prost(message, optional, tag = "4")]
    pub thread: Option<ThreadDescriptor>,
    #[prost(uint64, optional, tag = "5")]
    pub parent_uuid: Option<u64>,
    #[prost(message, optional, tag = "8")]
    pub counter: Option<CounterDescriptor>,
    #[prost(int32, optional, tag = "11")]
    pub child_ordering: Option<i32>,
    /// Its place among the children of its parent.
    #[prost(int32, optional, tag = "12")]
    pub sibling_order_rank: Option<i32>,
}

/// `ProcessDescriptor` of the format: a process, by the name that is shown.
#[derive(Clone, PartialEq, Message)]
pub struct ProcessDescriptor {
    #[prost(int32, optional, tag = "1")]
    pub pid: Option<i32>,
    #[prost(string, optional, tag = "6")]
    pub process_name: Option<String>,
}

/// `ThreadDescriptor` of the format: a thread of a process.
#[derive(Clone, PartialEq, Message)]
pub struct ThreadDescriptor {
    /// The number of its process.
    #[prost(int32, optional, tag = "1")]
    pub pid: Option<i32>,
    #[prost(int64, optional, tag = "2")]
    pub tid: Option<i64>,
    #[prost(string, optional, tag = "5")]
    pub thread_name: Option<String>,
}

/// `CounterDescriptor` of the format: a track of numbers.
#[derive(Clone, PartialEq, Message)]
pub struct CounterDescriptor {
    /// The unit of its values.
    #[prost(string, optional, tag = "6")]
    pub unit_name: Option<String>,
}
