//! The bytes of a trace, against field numbers copied by hand from Perfetto's `.proto` files: a wrong number
//! would be read back as it was written by ourselves, and by nobody else.

use std::fs;
use std::time::Duration;

use paceline_kernel::Time;
use paceline_report::perfetto::packet::Trace;
use paceline_report::{
    Activity, MachineTrace, Mark, PerfettoTrace, ProcessTrace, Slice, TraceHost, TraceRound,
};
use prost::Message;

const VARINT: u64 = 0;
const FIXED64: u64 = 1;
const BYTES: u64 = 2;

fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

fn number(field: u64, value: u64) -> Vec<u8> {
    [varint(field << 3 | VARINT), varint(value)].concat()
}

fn double(field: u64, value: f64) -> Vec<u8> {
    [varint(field << 3 | FIXED64), value.to_le_bytes().to_vec()].concat()
}

fn bytes(field: u64, parts: &[Vec<u8>]) -> Vec<u8> {
    let content = parts.concat();
    [varint(field << 3 | BYTES), varint(content.len() as u64), content].concat()
}

fn text(field: u64, value: &str) -> Vec<u8> {
    bytes(field, &[value.as_bytes().to_vec()])
}

/// The bytes of a trace that `write` makes.
fn written(write: impl FnOnce(&PerfettoTrace)) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace");
    let trace = PerfettoTrace::create(&path, "a run").unwrap();
    write(&trace);
    trace.finish().unwrap();
    fs::read(path).unwrap()
}

/// `part` stands somewhere in `whole`.
fn holds(whole: &[u8], part: &[u8]) -> bool {
    whole.windows(part.len()).any(|window| window == part)
}

#[test]
fn counters_slices_and_tracks_have_perfettos_field_numbers() {
    let trace = written(|trace| {
        trace.tracks(1, 2);
        trace.write([
            Mark::Slice(Slice {
                activity: Activity::Rollback,
                worker: Some(0),
                federate: Some(1),
                start_ns: 1_000,
                end_ns: 2_000,
                lvt: None,
                events: 300,
            }),
            Mark::Gvt { worker: Some(0), at_ns: 3_000, time: Time::millis(2_500) },
        ]);
    });
    let packet = |at_ns, event: &[Vec<u8>]| {
        // Trace.packet = 1; TracePacket: timestamp = 8, trusted_packet_sequence_id = 10, track_event = 11,
        // sequence_flags = 13.
        bytes(1, &[number(8, at_ns), number(10, 2), bytes(11, event), number(13, 2)])
    };
    // TrackEvent: type = 9 (TYPE_COUNTER = 4), track_uuid = 11, double_counter_value = 44.
    assert!(trace.ends_with(&packet(3_000, &[number(9, 4), number(11, 3), double(44, 2.5)])));
    // TrackEvent: debug_annotations = 4 (name_iid = 1, uint_value = 3), type = 9 (TYPE_SLICE_BEGIN = 1),
    // name_iid = 10.
    let note = |name, value| bytes(4, &[number(1, name), number(3, value)]);
    let begin = [note(1, 1), note(2, 300), number(9, 1), number(10, 3), number(11, 4)];
    assert!(holds(&trace, &packet(1_000, &begin)), "a slice begins on the worker's track");
    // TYPE_SLICE_END = 2.
    assert!(holds(&trace, &packet(2_000, &[number(9, 2), number(11, 4)])), "and ends");
    // TracePacket.track_descriptor = 60; TrackDescriptor: uuid = 1, name = 2, parent_uuid = 5, counter = 8,
    // sibling_order_rank = 12; CounterDescriptor.unit_name = 6.
    let counter = [number(1, 3), text(2, "GVT"), number(5, 1), bytes(8, &[text(6, "s")]), number(12, 1)];
    assert!(holds(&trace, &bytes(60, &counter)), "GVT is a counter");
    // TrackDescriptor: process = 3 (pid = 1, process_name = 6), child_ordering = 11 (EXPLICIT = 3), thread =
    // 4 (pid = 1, tid = 2, thread_name = 5).
    let process = [number(1, 1), bytes(3, &[number(1, 1), text(6, "a run")]), number(11, 3)];
    assert!(holds(&trace, &bytes(60, &process)), "the run is a process");
    let thread = [number(1, 4), bytes(4, &[number(1, 1), number(2, 2), text(5, "worker 0")])];
    assert!(holds(&trace, &bytes(60, &thread)), "a worker is a thread");
    // InternedData: event_names = 2, debug_annotation_names = 3; both: iid = 1, name = 2.
    // TracePacket.interned_data = 12.
    assert!(holds(&trace, &bytes(2, &[number(1, 3), text(2, "rollback")])));
    assert!(holds(&trace, &bytes(3, &[number(1, 2), text(2, "events")])));
    let interned = varint(12 << 3 | BYTES);
    assert!(holds(&trace, &interned));
}

#[test]
fn tracks_are_made_once_however_often_they_are_asked_for() {
    let tracks = |trace: &[u8]| {
        let packets = Trace::decode(trace).unwrap().packet;
        packets.into_iter().filter(|packet| packet.track_descriptor.is_some()).count()
    };
    // The run's three, one for each worker, two for each federate.
    let more = written(|trace| {
        [(2, 3), (1, 3), (4, 2), (4, 5)].map(|(w, f)| trace.tracks(w, f)).into_iter().collect()
    });
    assert_eq!(tracks(&more), 3 + 4 + 2 * 5);
    assert_eq!(tracks(&written(|_| {})), 3);
}

#[test]
fn many_threads_may_write_at_once() {
    let mark = |worker| Mark::Gvt { worker: Some(worker), at_ns: 1, time: Time::secs(1) };
    let trace = written(|trace| {
        trace.tracks(8, 1);
        std::thread::scope(|scope| {
            for worker in 0..8 {
                scope.spawn(move || (0..200).for_each(|_| trace.write([mark(worker); 10])));
            }
        });
    });
    let packets = Trace::decode(trace.as_slice()).expect("no bytes are torn apart").packet;
    for worker in 0..8 {
        let of_worker = packets.iter().filter(|packet| {
            packet.track_event.is_some() && packet.trusted_packet_sequence_id == Some(worker + 2)
        });
        assert_eq!(of_worker.count(), 2_000, "worker {worker}");
    }
}

#[test]
fn a_machine_has_tracks_for_pcpus_and_arrows_between_domains() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace");
    let hosts = [("left", 1), ("right", 2)].map(|(name, pcpus)| TraceHost { name: name.into(), pcpus });
    let mut trace = MachineTrace::create(&path, &hosts, &["one".into(), "two".into()]).unwrap();
    trace.ran(2, 1, 5, 1_000, 2_000);
    trace.lvt(1, 1_500, Time::millis(2_500));
    trace.message(0, 1, 1_200, 1_600);
    trace.finish().unwrap();
    let trace = fs::read(path).unwrap();
    // Tracks: 1 the domains, 2 and 3 the hosts, 4 to 6 the PCPUs, 7 and 8 domain one, 9 and 10 domain two.
    let packet = |at_ns, event: &[Vec<u8>]| {
        bytes(1, &[number(8, at_ns), number(10, 1), bytes(11, event), number(13, 2)])
    };
    // Names: 3 and 4 are the domains; annotation 1 is the VCPU.
    let note = bytes(4, &[number(1, 1), number(3, 5)]);
    assert!(holds(&trace, &packet(1_000, &[note, number(9, 1), number(10, 4), number(11, 6)])));
    assert!(holds(&trace, &packet(2_000, &[number(9, 2), number(11, 6)])));
    assert!(holds(&trace, &packet(1_500, &[number(9, 4), number(11, 9), double(44, 2.5)])));
    // TrackEvent: type = 9 (TYPE_INSTANT = 3), flow_ids = 47, terminating_flow_ids = 48, both fixed64 and not
    // packed.
    let flow = |field: u64| [varint(field << 3 | FIXED64), 1u64.to_le_bytes().to_vec()].concat();
    let ends = [(1_200, 1, 8, 47), (1_600, 2, 10, 48)];
    for (at_ns, name, track, field) in ends {
        let event = [number(9, 3), number(10, name), number(11, track), flow(field)];
        assert!(holds(&trace, &packet(at_ns, &event)), "an end of an arrow at {at_ns}");
    }
    let thread = [number(1, 3), number(2, 6), text(5, "PCPU 1")];
    assert!(holds(&trace, &bytes(60, &[number(1, 6), bytes(4, &thread)])), "PCPU 1 of the right host");
    assert!(holds(&trace, &bytes(2, &[number(1, 4), text(2, "two")])), "slices have the domain's name");
}

#[test]
fn rounds_have_a_track_and_each_process_what_it_waits_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace");
    let mut trace = ProcessTrace::create(&path, "a ring").unwrap();
    let [start, code, answers] = [1_000, 500, 20].map(Duration::from_nanos);
    trace.round(&TraceRound { time: Time::secs(3), size: 2, is_parallel: true, start, code, answers });
    trace.goes_on(7, "peer", Time::secs(3), Some("a message".into()));
    trace.goes_on(7, "peer", Time::millis(3_500), Some("time 9s".into()));
    trace.finish(Time::secs(4)).unwrap();
    let trace = fs::read(path).unwrap();
    let packet = |at_ns, event: &[Vec<u8>]| {
        bytes(1, &[number(8, at_ns), number(10, 1), bytes(11, event), number(13, 2)])
    };
    // Annotations: 1 the round's number, 2 its size, 3 its simulated time. Names: 2 many threads, 3 answers,
    // 4 goes on.
    let note = |name, value| bytes(4, &[number(1, name), number(3, value)]);
    let notes = [note(1, 1), note(2, 2), note(3, 3_000_000_000)].concat();
    assert!(holds(&trace, &packet(1_000, &[notes, number(9, 1), number(10, 2), number(11, 2)])));
    assert!(holds(&trace, &packet(1_500, &[number(9, 1), number(10, 3), number(11, 2)])), "answers begin");
    assert!(holds(&trace, &packet(1_520, &[number(9, 2), number(11, 2)])), "and end");
    let turn = [note(1, 1), number(9, 3), number(10, 4), number(11, 11)];
    assert!(holds(&trace, &packet(3_000_000_000, &turn)));
    // TrackEvent.name = 23.
    assert!(holds(&trace, &packet(3_000_000_000, &[number(9, 1), number(11, 11), text(23, "a message")])));
    assert!(holds(&trace, &packet(3_500_000_000, &[number(9, 2), number(11, 11)])), "until it goes on");
    assert!(holds(&trace, &packet(4_000_000_000, &[number(9, 2), number(11, 11)])), "it waits to the end");
    let track = [number(1, 11), text(2, "peer 7"), number(5, 3), number(12, 7)];
    assert!(holds(&trace, &bytes(60, &track)));
}
