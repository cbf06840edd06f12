//! Federates of a run-time infrastructure as a Perfetto trace: a group for each federation, and in it for
//! each federate a track with what it did in real time, its logical time as a counter, and another counter
//! for the bound of what it may still be sent (GALT).
//!
//! An entry is written when what it shows is over; readers sort by time.
//!
//! Invariant: slices of a federate do not overlap if those given do not.

use std::collections::BTreeMap;
use std::path::Path;

use super::TraceError;
use super::file::{PacketFile, event};
use super::packet::{CounterDescriptor, EventType, InternedData, TrackDescriptor, TrackEvent};

/// A federate of a trace: the number of its first track.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracedFederate(u64);

impl TracedFederate {
    fn states(self) -> u64 {
        self.0
    }

    fn time(self) -> u64 {
        self.0 + 1
    }

    fn galt(self) -> u64 {
        self.0 + 2
    }
}

/// A trace of federates that is being written. Times are nanoseconds since it began.
///
/// ```
/// use paceline_report::FederationTrace;
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("federates.perfetto");
/// let mut trace = FederationTrace::create(&path)?;
/// let kitchen = trace.join("Restaurant", "kitchen");
/// trace.time(kitchen, 1_000, 0.0);
/// trace.did(kitchen, "granted", 1_000, 25_000);
/// trace.galt(kitchen, 25_000, 2.0);
/// trace.finish()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct FederationTrace {
    file: PacketFile,
    /// The next number of a track, and of a group.
    next: u64,
    /// By name: its number, and how many federates have joined it.
    federations: BTreeMap<String, (u64, u64)>,
}

impl FederationTrace {
    /// Makes the file, in place of one that may be there.
    pub fn create(path: &Path) -> Result<Self, TraceError> {
        let mut file = PacketFile::create(path)?;
        file.intern(InternedData::default());
        Ok(Self { file, next: 1, federations: BTreeMap::new() })
    }

    /// A federate has joined: it has tracks from now on. One that joins again has new ones.
    pub fn join(&mut self, federation: &str, name: &str) -> TracedFederate {
        if !self.federations.contains_key(federation) {
            self.file.group(self.next, federation.to_owned());
            self.federations.insert(federation.to_owned(), (self.next, 0));
            self.next += 1;
        }
        let (group, joined) = self.federations.get_mut(federation).expect("it is there by now");
        let federate = TracedFederate(self.next);
        let tracks = [
            (federate.states(), name.to_owned(), false),
            (federate.time(), format!("time of {name}"), true),
            (federate.galt(), format!("GALT of {name}"), true),
        ];
        for (rank, (uuid, name, is_counter)) in (3 * *joined..).zip(tracks) {
            self.file.track(TrackDescriptor {
                uuid: Some(uuid),
                name: Some(name),
                parent_uuid: Some(*group),
                counter: is_counter.then(CounterDescriptor::default),
                sibling_order_rank: Some(i32::try_from(rank).unwrap_or(i32::MAX)),
                ..TrackDescriptor::default()
            });
        }
        *joined += 1;
        self.next += 3;
        federate
    }

    /// A federate did something from `start_ns` to `end_ns`.
    pub fn did(&mut self, federate: TracedFederate, what: &str, start_ns: u64, end_ns: u64) {
        let track = federate.states();
        let begin = event(EventType::SliceBegin, track);
        self.file.event(start_ns, TrackEvent { name: Some(what.to_owned()), ..begin });
        self.file.event(end_ns, event(EventType::SliceEnd, track));
    }

    /// A federate was granted a time.
    pub fn time(&mut self, federate: TracedFederate, at_ns: u64, time: f64) {
        self.count(federate.time(), at_ns, time);
    }

    /// A federate has another GALT.
    pub fn galt(&mut self, federate: TracedFederate, at_ns: u64, galt: f64) {
        self.count(federate.galt(), at_ns, galt);
    }

    fn count(&mut self, track: u64, at_ns: u64, value: f64) {
        let counter = event(EventType::Counter, track);
        self.file.event(at_ns, TrackEvent { double_counter_value: Some(value), ..counter });
    }

    /// Writes what is left. The error is the first one that there was since the file was made.
    pub fn finish(self) -> Result<(), TraceError> {
        self.file.finish()
    }
}
