//! Traces of processes, read back and compared with the summary.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use paceline_report::perfetto::TRACED;
use paceline_report::perfetto::packet::{EventType, Trace, TrackDescriptor, TrackEvent};
use prost::Message;
use serde_json::Value;

use crate::{paceline, stderr};

const CHORD: &str = r#"[model]
kind = "chord"
peers = 30
starts = "lockstep"

[network]
latency = "20ms"

[run]
until = "50s"
threads = 2
round = "static:8"
"#;

/// An event and when it was, in nanoseconds.
type Timed = (u64, TrackEvent);

/// A trace, taken apart.
struct Read {
    tracks: BTreeMap<u64, TrackDescriptor>,
    names: BTreeMap<u64, String>,
    /// By track: times and events, in the order of time, else of the file.
    events: BTreeMap<u64, Vec<Timed>>,
    summary: Value,
}

fn traced(folder: &Path, settings: &[&str]) -> Read {
    fs::write(folder.join("ring.toml"), CHORD).unwrap();
    let run = ["run", "ring.toml", "--json", "--trace", "ring.perfetto-trace"];
    let sets: Vec<String> = settings.iter().map(|setting| format!("--set={setting}")).collect();
    let arguments: Vec<&str> = run.into_iter().chain(sets.iter().map(String::as_str)).collect();
    let output = paceline(folder, &arguments);
    assert!(output.status.success(), "{}", stderr(&output));
    let bytes = fs::read(folder.join("ring.perfetto-trace")).unwrap();
    let packets = Trace::decode(bytes.as_slice()).expect("a trace").packet;
    let (mut tracks, mut names, mut events) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    for packet in packets {
        for name in packet.interned_data.into_iter().flat_map(|data| data.event_names) {
            names.insert(name.iid.unwrap(), name.name.unwrap());
        }
        if let Some(track) = packet.track_descriptor {
            assert!(tracks.insert(track.uuid.unwrap(), track).is_none(), "a track is introduced once");
        }
        if let Some(event) = packet.track_event {
            let track = event.track_uuid.unwrap();
            assert!(tracks.contains_key(&track), "a track is introduced before it is used");
            events.entry(track).or_insert_with(Vec::new).push((packet.timestamp.unwrap(), event));
        }
    }
    events.values_mut().for_each(|events| events.sort_by_key(|(at_ns, _)| *at_ns));
    Read { tracks, names, events, summary: serde_json::from_slice(&output.stdout).unwrap() }
}

impl Read {
    fn number(&self, key: &str) -> u64 {
        self.summary[key].as_u64().unwrap_or_else(|| panic!("{key}: {}", self.summary))
    }

    /// The events of the track of rounds, and those of each process.
    fn parted(&self) -> (&[Timed], Vec<&[Timed]>) {
        let is_rounds = |track: &u64| self.tracks[track].thread.is_some();
        let rounds = self.events.iter().find(|(track, _)| is_rounds(track)).expect("there are rounds");
        let others = self.events.iter().filter(|(track, _)| !is_rounds(track));
        (rounds.1, others.map(|(_, events)| events.as_slice()).collect())
    }

    fn name<'e>(&'e self, event: &'e TrackEvent) -> &'e str {
        event.name.as_deref().unwrap_or_else(|| &self.names[&event.name_iid.unwrap()])
    }
}

/// Pairs of a begin and its end.
fn slices<'e>(events: impl Iterator<Item = &'e Timed>) -> Vec<(&'e Timed, &'e Timed)> {
    let ends: Vec<_> = events.filter(|(_, event)| event.r#type() != EventType::Instant).collect();
    let pairs = ends.chunks(2).map(|pair| (pair[0], *pair.get(1).expect("a slice has an end")));
    let pairs: Vec<_> = pairs.collect();
    for ((from, begin), (to, end)) in &pairs {
        let types = (begin.r#type(), end.r#type());
        assert!(types == (EventType::SliceBegin, EventType::SliceEnd) && from <= to, "{types:?}");
    }
    pairs
}

#[test]
fn rounds_and_turns_are_as_many_as_the_summary_says() {
    let folder = tempfile::tempdir().unwrap();
    let read = traced(folder.path(), &[]);
    let (rounds, processes) = read.parted();
    let slices = slices(rounds.iter());
    let of = |name: &str| slices.iter().filter(|((_, begin), _)| read.name(begin) == name).count() as u64;
    let parallel = read.number("parallel_rounds");
    assert!(parallel > 0 && parallel < read.number("rounds"));
    assert_eq!((of("many threads"), of("one thread")), (parallel, read.number("rounds") - parallel));
    assert_eq!(of("answers"), read.number("rounds"));
    // Annotations: the number of the round, its size, its simulated time.
    let notes = |event: &TrackEvent| -> Vec<u64> {
        event.debug_annotations.iter().map(|note| note.uint_value.unwrap()).collect()
    };
    let code = slices.iter().map(|((_, begin), _)| notes(begin)).filter(|notes| !notes.is_empty());
    let sizes: BTreeMap<u64, u64> = code.map(|notes| (notes[0], notes[1])).collect();
    assert_eq!(sizes.values().sum::<u64>(), read.number("processes_run"));
    assert_eq!(sizes.values().max(), Some(&read.number("largest_round")));
    // The turns of processes are those of the rounds, one by one.
    let mut turns: BTreeMap<u64, u64> = BTreeMap::new();
    let all = processes.iter().flat_map(|events| events.iter());
    for (_, event) in all.filter(|(_, event)| event.r#type() == EventType::Instant) {
        assert_eq!(read.name(event), "goes on");
        *turns.entry(notes(event)[0]).or_default() += 1;
    }
    assert_eq!(turns, sizes);
}

#[test]
fn between_two_turns_a_process_waits_for_something_that_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let read = traced(folder.path(), &[]);
    let (_, processes) = read.parted();
    assert_eq!(processes.len() as u64, read.number("processes"));
    for events in processes {
        let turns: Vec<u64> = events
            .iter()
            .filter(|(_, event)| event.r#type() == EventType::Instant)
            .map(|(at_ns, _)| *at_ns)
            .collect();
        let waits = slices(events.iter());
        let spans: Vec<(u64, u64)> = waits.iter().map(|((from, _), (to, _))| (*from, *to)).collect();
        let until = turns.iter().skip(1).copied().chain([50_000_000_000]);
        assert_eq!(spans, turns.iter().copied().zip(until).collect::<Vec<_>>());
        let known =
            |name: &str| name.starts_with("a message ") || name.starts_with("time ") || name == "its turn";
        assert!(waits.iter().all(|((_, begin), _)| known(read.name(begin))));
        assert!(waits.iter().any(|((_, begin), _)| read.name(begin).starts_with("a message in mailbox")));
    }
}

#[test]
fn a_trace_changes_no_result_and_has_tracks_for_the_first_processes_only() {
    let folder = tempfile::tempdir().unwrap();
    let settings = ["model.peers=1200", "run.until=1s"];
    let read = traced(folder.path(), &settings);
    assert_eq!(read.parted().1.len(), TRACED as usize);
    let sets = settings.map(|setting| format!("--set={setting}"));
    let output = paceline(folder.path(), &["run", "ring.toml", "--json", &sets[0], &sets[1]]);
    let plain: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(plain["digest"], read.summary["digest"]);
}
