//! A run of processes as a Perfetto trace: its rounds in real time, and its processes in simulated time.
//!
//! Two groups of tracks share one axis, which is real time for the one and simulated time for the other:
//! "rounds" has a track with a slice for the code of each round, on one thread or on many, and one for the
//! answers of the core after it; "processes" has a track for each of the first [`TRACED`] processes, with an
//! instant for each time it goes on and a slice for what it waits for between two of them. A round is
//! annotated with its number, its size and its simulated time, each instant with the number of its round.
//!
//! Entries are written as they come; what is kept is one wait for each process that has a track.
//!
//! Invariant: slices of one track do not overlap if times never fall.

use std::path::Path;
use std::time::Duration;

use paceline_kernel::Time;

use super::TraceError;
use super::file::{PacketFile, event};
use super::packet::{
    DebugAnnotation, EventType, InternedData, InternedName, ThreadDescriptor, TrackDescriptor, TrackEvent,
};

/// Processes that have a track: those of lower numbers than this.
pub const TRACED: u32 = 1000;

/// Numbers of tracks, in the order in which they are shown.
const ROUNDS: u64 = 1;
const CODE: u64 = 2;
const PROCESSES: u64 = 3;
const FIRST_PROCESS: u64 = 4;
/// Names of what happens.
const ONE_THREAD: u64 = 1;
const MANY_THREADS: u64 = 2;
const ANSWERS: u64 = 3;
const GOES_ON: u64 = 4;
const EVENTS: [(u64, &str); 4] =
    [(ONE_THREAD, "one thread"), (MANY_THREADS, "many threads"), (ANSWERS, "answers"), (GOES_ON, "goes on")];
/// Names of annotations.
const ROUND: u64 = 1;
const SIZE: u64 = 2;
const TIME_NS: u64 = 3;
const NOTES: [(u64, &str); 3] = [(ROUND, "round"), (SIZE, "processes"), (TIME_NS, "simulated_ns")];

/// A round as a trace shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceRound {
    /// The simulated time.
    pub time: Time,
    /// How many processes ran in it.
    pub size: u64,
    /// Whether their code ran on many threads.
    pub is_parallel: bool,
    /// When it began, in real time since the run began.
    pub start: Duration,
    /// How long the code of its processes took, in real time.
    pub code: Duration,
    /// How long the answers after it took, in real time.
    pub answers: Duration,
}

/// What a process waits for, since when.
type Wait = Option<(Time, String)>;

/// A trace of processes that is being written.
///
/// ```
/// use std::time::Duration;
/// use paceline_kernel::Time;
/// use paceline_report::{ProcessTrace, TraceRound};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("processes.perfetto");
/// let mut trace = ProcessTrace::create(&path, "a ring")?;
/// let [start, code, answers] = [10, 20, 5].map(Duration::from_micros);
/// trace.round(&TraceRound { time: Time::ZERO, size: 1, is_parallel: false, start, code, answers });
/// trace.goes_on(0, "peer", Time::ZERO, Some("a message in mailbox 0".into()));
/// trace.finish(Time::secs(60))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ProcessTrace {
    file: PacketFile,
    rounds: u64,
    /// By process; `None` before its first round.
    waits: Vec<Option<Wait>>,
}

impl ProcessTrace {
    /// Makes the file, in place of one that may be there, for a run called `run`.
    pub fn create(path: &Path, run: &str) -> Result<Self, TraceError> {
        let mut trace = Self { file: PacketFile::create(path)?, rounds: 0, waits: Vec::new() };
        let names = |names: &[(u64, &str)]| {
            let name =
                |&(iid, name): &(u64, &str)| InternedName { iid: Some(iid), name: Some(name.to_owned()) };
            names.iter().map(name).collect()
        };
        let data = InternedData { event_names: names(&EVENTS), debug_annotation_names: names(&NOTES) };
        trace.file.intern(data);
        trace.file.group(ROUNDS, format!("{run}: rounds, in real time"));
        let thread_name = Some("rounds".to_owned());
        let thread = ThreadDescriptor { pid: Some(ROUNDS as i32), tid: Some(CODE as i64), thread_name };
        trace.file.track(TrackDescriptor {
            uuid: Some(CODE),
            thread: Some(thread),
            ..TrackDescriptor::default()
        });
        trace.file.group(PROCESSES, format!("{run}: processes, in simulated time"));
        Ok(trace)
    }

    /// A round is over; the processes that ran in it are reported after it.
    pub fn round(&mut self, round: &TraceRound) {
        let TraceRound { time, size, is_parallel, start, code, answers } = *round;
        self.rounds += 1;
        let name = if is_parallel { MANY_THREADS } else { ONE_THREAD };
        let notes = vec![note(ROUND, self.rounds), note(SIZE, size), note(TIME_NS, time.as_nanos())];
        let [start, code, answers] = [start, start + code, start + code + answers].map(nanos);
        let begin = event(EventType::SliceBegin, CODE);
        self.file
            .event(start, TrackEvent { name_iid: Some(name), debug_annotations: notes, ..begin.clone() });
        self.file.event(code, event(EventType::SliceEnd, CODE));
        self.file.event(code, TrackEvent { name_iid: Some(ANSWERS), ..begin });
        self.file.event(answers, event(EventType::SliceEnd, CODE));
    }

    /// In the last reported round, a process ran at `time` and now waits for something, or has ended. Those
    /// without a track are left out.
    pub fn goes_on(&mut self, process: u32, name: &str, time: Time, waits_for: Option<String>) {
        let Some(track) = track(process) else { return };
        let place = process as usize;
        if self.waits.len() <= place {
            self.waits.resize(place + 1, None);
        }
        if self.waits[place].is_none() {
            self.file.track(TrackDescriptor {
                uuid: Some(track),
                name: Some(format!("{name} {process}")),
                parent_uuid: Some(PROCESSES),
                sibling_order_rank: Some(process as i32),
                ..TrackDescriptor::default()
            });
        }
        self.waited(process, time);
        let notes = vec![note(ROUND, self.rounds)];
        let instant = event(EventType::Instant, track);
        self.file.event(
            time.as_nanos(),
            TrackEvent { name_iid: Some(GOES_ON), debug_annotations: notes, ..instant },
        );
        self.waits[place] = Some(waits_for.map(|what| (time, what)));
    }

    /// A process waits no longer, at `time`: it runs, or it was ended.
    pub fn waited(&mut self, process: u32, time: Time) {
        let wait = self.waits.get_mut(process as usize).and_then(Option::as_mut).and_then(Option::take);
        let Some((track, (since, what))) = track(process).zip(wait) else { return };
        let begin = event(EventType::SliceBegin, track);
        self.file.event(since.as_nanos(), TrackEvent { name: Some(what), ..begin });
        self.file.event(time.as_nanos(), event(EventType::SliceEnd, track));
    }

    /// The run has ended at `time`; waiting processes have waited until then. Writes what is left. The error
    /// is the first one that there was since the file was made.
    pub fn finish(mut self, time: Time) -> Result<(), TraceError> {
        (0..self.waits.len() as u32).for_each(|process| self.waited(process, time));
        self.file.finish()
    }
}

/// The track of a process, if it has one.
fn track(process: u32) -> Option<u64> {
    (process < TRACED).then(|| FIRST_PROCESS + u64::from(process))
}

fn nanos(span: Duration) -> u64 {
    span.as_nanos() as u64
}

fn note(name: u64, value: u64) -> DebugAnnotation {
    DebugAnnotation { name_iid: Some(name), uint_value: Some(value) }
}
