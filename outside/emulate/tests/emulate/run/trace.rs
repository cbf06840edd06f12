//! The trace of machines: what they did covers the run, who waits names one that is behind, and every frame
//! that arrived has its arrow.

use std::collections::BTreeMap;
use std::fs;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use paceline_emulate::run::{FrameEnd, MachineObserver, MachineSlice};
use paceline_engine::Protocol;
use paceline_kernel::Time;
use paceline_packets::{LinkSpec, topology};
use paceline_report::perfetto::packet::{EventType, Trace, TrackEvent};
use paceline_report::{GuestFrame, GuestSlice, PerfettoTrace};
use prost::Message as _;

use crate::run::support::{Behaviour, How, PLAIN, Paired, Seen, model, observed};

/// Writes what it observes as a trace.
#[derive(Debug)]
struct Writer {
    file: PerfettoTrace,
    began: Instant,
    names: OnceLock<Vec<String>>,
    frames: std::sync::atomic::AtomicU64,
}

impl Writer {
    fn at_ns(&self, at: Instant) -> u64 {
        at.duration_since(self.began).as_nanos() as u64
    }
}

impl MachineObserver for Writer {
    fn machines(&self, names: &[String]) {
        self.file.guests(names.iter().map(|name| &**name));
        self.names.set(names.to_vec()).unwrap();
    }

    fn did(&self, slice: &MachineSlice) {
        let MachineSlice { machine, activity, start, end, next_ns, clock_ns } = *slice;
        let name = &*activity.describe(self.names.get().unwrap());
        let (start_ns, end_ns) = (self.at_ns(start), self.at_ns(end));
        self.file.guest_slice(&GuestSlice {
            guest: machine as u32,
            name,
            start_ns,
            end_ns,
            next_ns,
            clock_ns,
        });
    }

    fn frame(&self, from: &FrameEnd, to: &FrameEnd) {
        let number = 1 + self.frames.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let end = |end: &FrameEnd| (end.machine as u32, self.at_ns(end.at), end.time_ns);
        self.file.guest_frame(&GuestFrame { number, from: end(from), to: end(to) });
    }
}

/// A slice of a machine as it stands in the file.
#[derive(Clone, Debug)]
struct Slice {
    name: String,
    start_ns: u64,
    end_ns: u64,
    next_ns: Option<u64>,
}

impl Slice {
    fn is_at_work(&self) -> bool {
        ["starting", "running", "granted"].contains(&&*self.name)
    }
}

/// One end of an arrow: whose frame, when in real time, and when in simulated time.
type End = (String, u64, u64);

/// A trace, read back: what each machine did, and the ends of arrows by number: those that begin, and those
/// that end.
#[derive(Default)]
struct Read {
    slices: BTreeMap<String, Vec<Slice>>,
    arrows: BTreeMap<u64, [Vec<End>; 2]>,
}

fn read(bytes: &[u8]) -> Read {
    let packets = Trace::decode(bytes).unwrap().packet;
    let tracks = packets.iter().filter_map(|packet| packet.track_descriptor.as_ref());
    let tracks: BTreeMap<u64, String> =
        tracks.filter_map(|track| Some((track.uuid?, track.name.clone()?))).collect();
    let mut events: Vec<(u64, &TrackEvent)> =
        packets.iter().filter_map(|packet| packet.timestamp.zip(packet.track_event.as_ref())).collect();
    // Readers sort by time, and leave what is of one time as it is in the file.
    events.sort_by_key(|(at_ns, _)| *at_ns);
    let mut read = Read::default();
    for (at_ns, event) in events {
        let track = &tracks[&event.track_uuid.unwrap()];
        let value = event.debug_annotations.first().and_then(|note| note.uint_value);
        match EventType::try_from(event.r#type.unwrap()).unwrap() {
            EventType::SliceBegin => {
                let (slices, name) = (read.slices.entry(track.clone()), event.name.clone().unwrap());
                slices.or_default().push(Slice { name, start_ns: at_ns, end_ns: u64::MAX, next_ns: value });
            }
            EventType::SliceEnd => {
                let open = read.slices.get_mut(track).and_then(|slices| slices.last_mut()).unwrap();
                assert_eq!(open.end_ns, u64::MAX, "{track}: no slice is open at {at_ns}");
                open.end_ns = at_ns;
            }
            EventType::Instant => {
                let guest = track.strip_prefix("frames of ").unwrap().to_owned();
                for (end, numbers) in [&event.flow_ids, &event.terminating_flow_ids].into_iter().enumerate() {
                    for number in numbers {
                        let ends = read.arrows.entry(*number).or_default();
                        ends[end].push((guest.clone(), at_ns, value.unwrap()));
                    }
                }
            }
            _ => {}
        }
    }
    read
}

/// Four machines, of which one computes all the time, around a switch.
fn traced(how: How) -> (Read, [Paired; 4], Vec<Seen>) {
    let network = topology::star(5, &LinkSpec::new(10_000_000, 700_000_000).drop_tail(3)).unwrap();
    let model = model(network, vec![], &["host-0", "host-1", "host-2", "host-3"]);
    let pings = |first, interval| Behaviour { pings: Some((first, interval)), ..Behaviour::default() };
    let machines = [
        ("host-0", "host-1", pings(0, 300_000)),
        ("host-1", "host-2", pings(100_000, 410_000)),
        ("host-2", "host-0", Behaviour { computes: true, ..pings(0, 900_000) }),
        ("host-3", "host-0", Behaviour::default()),
    ];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace");
    let file = PerfettoTrace::create(&path, "machines").unwrap();
    let writer = Writer { file, began: Instant::now(), names: OnceLock::new(), frames: Default::default() };
    let writer = Arc::new(writer);
    let (simulation, seen) = observed(&model, &machines, Time::millis(30), how, (None, Some(writer.clone())));
    simulation.run().unwrap();
    writer.file.finish().unwrap();
    let seen = seen.iter().map(|seen| seen.lock().unwrap().clone()).collect();
    (read(&fs::read(path).unwrap()), machines, seen)
}

fn ways() -> impl Iterator<Item = How> {
    let protocols = [Protocol::Window, Protocol::NullMessage, Protocol::NullMessageOnDemand];
    protocols.into_iter().flat_map(|protocol| {
        [(1, 1, 1), (3, 2, 2)].map(|(at_once, threads, federates)| How {
            protocol,
            at_once,
            threads,
            federates,
            delay: 2,
            ..PLAIN
        })
    })
}

#[test]
fn what_machines_did_covers_the_run_and_who_waits_names_one_that_is_behind() {
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for how in ways() {
        let (Read { slices, .. }, machines, _) = traced(how);
        assert_eq!(slices.len(), machines.len());
        let work = || slices.values().flatten().filter(|slice| slice.name == "running");
        let first = work().map(|slice| slice.start_ns).min().unwrap();
        let last = work().map(|slice| slice.end_ns).max().unwrap();
        for (name, track) in &slices {
            assert!(track[0].start_ns <= first && track.last().unwrap().end_ns >= last, "{how:?}: {name}");
            for pair in track.windows(2) {
                assert_eq!(pair[0].end_ns, pair[1].start_ns, "{how:?}: {name} has no gap, and no overlap");
            }
            for slice in track.iter().filter(|slice| slice.end_ns > slice.start_ns) {
                *kinds.entry(slice.name.clone()).or_default() += 1;
                let Some(whom) = slice.name.strip_prefix("waits for ") else { continue };
                let next_ns = slice.next_ns.unwrap();
                // Who is behind at that moment, of all others.
                let behind =
                    slices.iter().filter(|(other, _)| *other != name).filter_map(|(other, theirs)| {
                        let now = theirs
                            .iter()
                            .find(|it| it.start_ns <= slice.start_ns && it.end_ns > slice.start_ns)?;
                        (now.is_at_work() && now.next_ns.is_some_and(|ns| ns < next_ns))
                            .then_some((now.next_ns, other.clone()))
                    });
                let expected = behind.min().map_or("the network".to_owned(), |(_, name)| name);
                assert_eq!(whom, expected, "{how:?}: {name} {slice:?}");
            }
        }
    }
    // All that there is has been seen.
    let waits = kinds.iter().filter(|(name, _)| name.starts_with("waits for host-"));
    assert!(waits.map(|(_, count)| count).sum::<usize>() > 20, "{kinds:?}");
    for name in ["running", "granted", "idle", "waits for the network"] {
        assert!(kinds.get(name).is_some_and(|count| *count > 5), "{name}: {kinds:?}");
    }
}

#[test]
fn every_frame_that_arrived_has_one_arrow() {
    for how in ways() {
        let (Read { arrows, slices }, machines, seen) = traced(how);
        let mut arrived: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
        for (number, [begins, ends]) in &arrows {
            let ([(from, left_ns, left)], [(to, at_ns, at)]) = (&begins[..], &ends[..]) else {
                panic!("{how:?}: arrow {number} from {begins:?} to {ends:?}");
            };
            // Two links, and nobody sends to itself.
            assert!(from != to && left_ns <= at_ns && left + 1_400_000 < *at, "{how:?}: {begins:?} {ends:?}");
            let is_end = slices[from].iter().any(|it| it.name == "running" && it.end_ns == *left_ns);
            let is_start = slices[to].iter().any(|it| it.name == "running" && it.start_ns == *at_ns);
            assert!(is_end && is_start, "{how:?}: {begins:?} {ends:?}");
            let (_, peer, _) = machines.iter().find(|(name, ..)| name == from).unwrap();
            let is_answer = machines.iter().any(|(name, peer, _)| name == to && peer == from);
            assert!(peer == to || is_answer, "{how:?}: {from} sends nothing to {to}");
            arrived.entry(to).or_default().push(*at);
        }
        let expected = machines.iter().zip(&seen).map(|((name, ..), seen)| {
            // The network has answered requests for addresses; no machine has.
            let mut times = seen.arrivals.clone();
            seen.answers.iter().for_each(|at| {
                let place = times.iter().position(|time| time == at).unwrap();
                times.remove(place);
            });
            (*name, times)
        });
        let expected: BTreeMap<_, _> = expected.filter(|(_, times)| !times.is_empty()).collect();
        arrived.values_mut().for_each(|times| times.sort_unstable());
        assert!(expected.len() == 3 && expected.values().all(|times| times.len() > 10), "{expected:?}");
        assert_eq!(arrived, expected, "{how:?}");
    }
}
