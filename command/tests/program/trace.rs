//! The traces that the program writes, read back.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use paceline_report::perfetto::packet::{EventType, Trace, TracePacket, TrackDescriptor, TrackEvent};
use prost::Message;
use serde_json::Value;

use crate::{PROTOCOLS, folder_of, paceline, stderr, stdout};

const PHOLD: &str = r#"[model]
kind = "phold"
lps = 64
messages_per_lp = 4.0

[run]
until = "60s"
federates = 5
threads = 3
"#;

/// A trace, taken apart.
struct Read {
    packets: Vec<TracePacket>,
    tracks: BTreeMap<u64, TrackDescriptor>,
    summary: Value,
}

/// Runs the scenario with `options`, and reads its trace.
fn traced(folder: &Path, options: &[&str]) -> Read {
    fs::write(folder.join("small.toml"), PHOLD).unwrap();
    let run = ["run", "small.toml", "--json", "--trace", "run.perfetto-trace"];
    let arguments: Vec<&str> = run.iter().chain(options).copied().collect();
    let output = paceline(folder, &arguments);
    assert!(output.status.success(), "{}", stderr(&output));
    let bytes = fs::read(folder.join("run.perfetto-trace")).unwrap();
    let packets = Trace::decode(bytes.as_slice()).expect("a trace").packet;
    let mut tracks = BTreeMap::new();
    for track in packets.iter().filter_map(|packet| packet.track_descriptor.clone()) {
        let again = tracks.insert(track.uuid.expect("a track has a number"), track);
        assert!(again.is_none(), "a track is introduced once");
    }
    Read { packets, tracks, summary: serde_json::from_slice(&output.stdout).unwrap() }
}

impl Read {
    /// The events of each track in the order of time; those of the same time in the order of the file, as
    /// readers take them.
    fn events(&self) -> BTreeMap<u64, Vec<(u64, &TrackEvent)>> {
        let mut events: BTreeMap<u64, Vec<(u64, &TrackEvent)>> = BTreeMap::new();
        for packet in &self.packets {
            if let Some(event) = &packet.track_event {
                let at_ns = packet.timestamp.expect("an event has a time");
                let track = event.track_uuid.expect("an event has a track");
                events.entry(track).or_default().push((at_ns, event));
            }
        }
        events.values_mut().for_each(|events| events.sort_by_key(|(at_ns, _)| *at_ns));
        events
    }

    fn name(&self, track: u64) -> &str {
        let track = &self.tracks[&track];
        let thread = track.thread.as_ref().and_then(|thread| thread.thread_name.as_deref());
        let process = track.process.as_ref().and_then(|process| process.process_name.as_deref());
        track.name.as_deref().or(thread).or(process).expect("a track has a name")
    }

    /// The number that a slice is annotated with under this name.
    fn noted(&self, event: &TrackEvent, name: &str) -> Option<u64> {
        let names = self.packets.iter().filter_map(|packet| packet.interned_data.as_ref());
        let mut names = names.flat_map(|names| &names.debug_annotation_names);
        let iid = names.find(|known| known.name.as_deref() == Some(name)).expect("the name is known").iid;
        event.debug_annotations.iter().find(|note| note.name_iid == iid).and_then(|note| note.uint_value)
    }
}

/// Those that never run ahead.
fn conservative() -> &'static [&'static str] {
    &PROTOCOLS[1..6]
}

#[test]
fn every_worker_and_federate_has_a_named_track_below_the_run() {
    for protocol in conservative() {
        let folder = tempfile::tempdir().unwrap();
        let read = traced(folder.path(), &["--set", &format!("run.protocol={protocol}")]);
        let mut names: Vec<&str> = read.tracks.keys().map(|track| read.name(*track)).collect();
        names.sort_unstable();
        let number = |key: &str| read.summary[key].as_u64().expect("the summary holds it");
        let mut expected = vec!["small".to_owned(), "run".to_owned(), "GVT".to_owned()];
        expected.extend((0..number("threads")).map(|worker| format!("worker {worker}")));
        for federate in 0..number("federates") {
            expected.extend([format!("federate {federate}"), format!("LVT of federate {federate}")]);
        }
        expected.sort_unstable();
        assert_eq!(names, expected, "{protocol}");
        let process =
            read.tracks.values().find(|track| track.process.is_some()).expect("the run is a process");
        for track in read.tracks.values() {
            let pid = |of: &TrackDescriptor| of.thread.as_ref().and_then(|thread| thread.pid);
            let pid_of = process.process.as_ref().and_then(|process| process.pid);
            let below = track.parent_uuid == process.uuid || pid(track) == pid_of || track == process;
            assert!(below, "{protocol}: {track:?}");
        }
    }
}

#[test]
fn slices_do_not_overlap_and_add_up_to_the_events_of_the_run() {
    for protocol in conservative() {
        let folder = tempfile::tempdir().unwrap();
        let read = traced(folder.path(), &["--set", &format!("run.protocol={protocol}")]);
        let events = read.summary["events_committed"].as_u64().unwrap();
        let mut sums = BTreeMap::from([("worker", 0), ("federate", 0)]);
        for (track, happened) in read.events() {
            let name = read.name(track);
            let slices: Vec<_> =
                happened.iter().filter(|(_, event)| event.r#type() != EventType::Counter).collect();
            for pair in slices.chunks(2) {
                let [(from_ns, begin), (to_ns, end)] = pair else {
                    panic!("{protocol}, {name}: a slice has no end")
                };
                let types = (begin.r#type(), end.r#type());
                assert_eq!(types, (EventType::SliceBegin, EventType::SliceEnd), "{protocol}, {name}");
                assert!(from_ns <= to_ns && begin.name_iid.is_some_and(|iid| iid > 0), "{protocol}, {name}");
                let kind = name.split(' ').next().unwrap();
                *sums.get_mut(kind).expect("workers and federates have slices") +=
                    read.noted(begin, "events").unwrap_or(0);
            }
        }
        assert_eq!(sums, BTreeMap::from([("worker", events), ("federate", events)]), "{protocol}");
    }
}

#[test]
fn time_never_falls_within_a_sequence_nor_do_lvt_and_gvt() {
    for protocol in conservative() {
        let folder = tempfile::tempdir().unwrap();
        let read = traced(folder.path(), &["--set", &format!("run.protocol={protocol}")]);
        let mut clocks: BTreeMap<u32, u64> = BTreeMap::new();
        for packet in &read.packets {
            let sequence = packet.trusted_packet_sequence_id.expect("a packet has a sequence");
            if let Some(at_ns) = packet.timestamp {
                let before_ns = clocks.insert(sequence, at_ns).unwrap_or(0);
                assert!(before_ns <= at_ns, "{protocol}: sequence {sequence}");
            }
        }
        let mut counters = 0;
        for (track, happened) in read.events() {
            let name = read.name(track);
            let values: Vec<f64> =
                happened.iter().filter_map(|(_, event)| event.double_counter_value).collect();
            assert!(values.is_sorted(), "{protocol}, {name}: {values:?}");
            assert_eq!(values.is_empty(), read.tracks[&track].counter.is_none(), "{protocol}, {name}");
            assert!(values.iter().all(|seconds| (0.0..=60.0).contains(seconds)), "{protocol}, {name}");
            counters += usize::from(values.last().is_some_and(|last| *last > 0.0));
        }
        assert!(
            counters as u64 > read.summary["federates"].as_u64().unwrap(),
            "{protocol}: GVT and every LVT rise"
        );
    }
}

#[test]
fn names_are_known_before_they_are_used() {
    let folder = tempfile::tempdir().unwrap();
    let read = traced(folder.path(), &[]);
    let mut known: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    let mut used = 0;
    for packet in &read.packets {
        let names = known.entry(packet.trusted_packet_sequence_id.unwrap()).or_default();
        if let Some(data) = &packet.interned_data {
            assert_eq!(packet.sequence_flags, Some(1), "a sequence begins with its names");
            names.extend(data.event_names.iter().filter_map(|name| name.iid));
        }
        if let Some(iid) = packet.track_event.as_ref().and_then(|event| event.name_iid) {
            assert!(names.contains(&iid) && packet.sequence_flags == Some(2), "{packet:?}");
            used += 1;
        }
    }
    assert!(used > 0);
}

#[test]
fn a_trace_changes_no_result_and_is_named_in_the_summary() {
    let folder = tempfile::tempdir().unwrap();
    let digest = traced(folder.path(), &[]).summary["digest"].clone();
    let plain = paceline(folder.path(), &["run", "small.toml", "--json"]);
    let plain: Value = serde_json::from_slice(&plain.stdout).unwrap();
    assert_eq!(plain["digest"], digest);
    let page = stdout(&paceline(folder.path(), &["run", "small.toml", "--trace", "again.perfetto-trace"]));
    assert!(page.contains("again.perfetto-trace"), "{page}");
}

#[test]
fn a_trace_that_cannot_be_written_is_status_1_and_names_the_file() {
    let folder = folder_of(&[("small.toml", PHOLD)]);
    let output = paceline(folder.path(), &["run", "small.toml", "--out", "out", "--trace", "no/folder"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).starts_with("error: cannot write no/folder: "), "{}", stderr(&output));
    assert!(output.stdout.is_empty() && !folder.path().join("out").exists(), "before anything runs");
    if Path::new("/dev/full").exists() {
        let output = paceline(folder.path(), &["run", "small.toml", "--quiet", "--trace", "/dev/full"]);
        assert_eq!(output.status.code(), Some(1));
        assert!(stderr(&output).starts_with("error: cannot write /dev/full: "), "{}", stderr(&output));
        assert_eq!(stdout(&output).lines().count(), 1, "the run has its summary all the same");
    }
}
