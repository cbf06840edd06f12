//! A run as a Perfetto trace: a file in Perfetto's protobuf format, to be opened at
//! <https://ui.perfetto.dev>.
//!
//! Tracks: the run as a process, with GVT as a counter; each worker as a thread with slices of what it did;
//! each federate with slices of what was done to it, and its local virtual time (LVT) as a counter.
//!
//! A simulated machine has tracks of its own: see [`MachineTrace`]; so has a run of processes: see
//! [`ProcessTrace`], and the federates of a run-time infrastructure: see [`FederationTrace`]. Guests of an
//! emulation are a second group in the trace of their run: [`PerfettoTrace::guests`].
//!
//! Packets are written as they come, so memory stays bounded. Many threads may write at once: each encodes
//! for itself, and only the bytes go through a lock. Nothing that goes wrong while writing disturbs the run:
//! the first failure is kept, writing stops after the last packets that are whole, and
//! [`PerfettoTrace::finish`] returns it.
//!
//! Invariants: within what one worker writes, time stamps never fall; slices of one track never overlap if
//! those given do not.

mod encode;
mod federation;
mod file;
mod guests;
mod layout;
mod machine;
pub mod packet;
mod processes;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use paceline_files::{CutError, Entries};
use paceline_kernel::Time;
use thiserror::Error;

pub use federation::{FederationTrace, TracedFederate};
pub use guests::{GuestFrame, GuestSlice};
use layout::Track;
pub use machine::{MachineTrace, TraceHost};
pub use processes::{ProcessTrace, TRACED, TraceRound};

/// What an entry comes to, about.
const MARK_BYTES: usize = 160;
/// Entries for which memory is made ready at once.
const MARKS: usize = 1 << 12;

/// What a slice says was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// Events were run that are safe.
    Run = 1,
    /// Events were run ahead of what is safe.
    Ahead = 2,
    /// Events were undone.
    Rollback = 3,
    /// There was nothing to do.
    Wait = 4,
    /// A checkpoint was written.
    Checkpoint = 5,
    /// The run paused.
    Pause = 6,
}

impl Activity {
    /// All of them, with the names of their slices.
    pub const ALL: [(Self, &'static str); 6] = [
        (Self::Run, "run"),
        (Self::Ahead, "run ahead"),
        (Self::Rollback, "rollback"),
        (Self::Wait, "wait"),
        (Self::Checkpoint, "checkpoint"),
        (Self::Pause, "pause"),
    ];
}

/// Something that took a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// What was done.
    pub activity: Activity,
    /// By which worker; none where it was the run as a whole.
    pub worker: Option<u32>,
    /// To which federate.
    pub federate: Option<u32>,
    /// When it began, in nanoseconds since the run began.
    pub start_ns: u64,
    /// When it ended, in nanoseconds since the run began; not before it began.
    pub end_ns: u64,
    /// The federate's LVT after it.
    pub lvt: Option<Time>,
    /// How many events were run or undone.
    pub events: u64,
}

/// An entry of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Something that took a while.
    Slice(Slice),
    /// A new GVT, as a worker found it.
    Gvt {
        /// By which worker; none where it was the run as a whole.
        worker: Option<u32>,
        /// When, in nanoseconds since the run began.
        at_ns: u64,
        /// No federate is before it any more.
        time: Time,
    },
}

/// A trace could not be written. The run that it shows goes on, and its results stay valid.
#[derive(Debug, Error)]
#[error("cannot write {}: {reason}", path.display())]
pub struct TraceError {
    /// The trace that could not be written.
    pub path: PathBuf,
    /// What the system said, and what is left of an earlier trace.
    #[source]
    pub reason: io::Error,
}

/// A trace that is being written.
///
/// ```
/// use paceline_kernel::Time;
/// use paceline_report::{Activity, Mark, PerfettoTrace, Slice};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("run.perfetto");
/// let trace = PerfettoTrace::create(&path, "a short run")?;
/// trace.tracks(1, 1);
/// trace.write([Mark::Slice(Slice {
///     activity: Activity::Run,
///     worker: Some(0),
///     federate: Some(0),
///     start_ns: 100,
///     end_ns: 350,
///     lvt: Some(Time::secs(2)),
///     events: 7,
/// })]);
/// trace.finish()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct PerfettoTrace {
    path: PathBuf,
    run: String,
    file: Mutex<Output>,
}

#[derive(Debug)]
struct Output {
    file: Entries,
    /// How many of them have tracks.
    workers: u32,
    federates: u32,
}

/// The failure of a trace, whose name is `path`.
fn failed(path: PathBuf, cut: CutError) -> TraceError {
    let CutError { reason, kept, entries, .. } = cut;
    let text = match kept {
        0 => format!("{reason}; nothing of the trace is there"),
        _ => format!(
            "{reason}; the trace is cut short after {kept} of {entries} writes, and holds the first part of the run"
        ),
    };
    TraceError { path, reason: io::Error::new(reason.kind(), text) }
}

impl PerfettoTrace {
    /// Makes the file, in place of one that may be there, for the trace of a run named `run`.
    pub fn create(path: &Path, run: &str) -> Result<Self, TraceError> {
        let failed = |reason| TraceError { path: path.to_owned(), reason };
        let file = Entries::create(path).map_err(failed)?;
        let output = Output { file, workers: 0, federates: 0 };
        let trace = Self { path: path.to_owned(), run: run.to_owned(), file: Mutex::new(output) };
        let mut bytes = Vec::new();
        for track in [Track::Process, Track::Run, Track::Gvt] {
            encode::packet(&mut bytes, &track.packet(run));
        }
        encode::value(&mut bytes, Track::Gvt, None, 0, Time::ZERO);
        trace.output().file.write(&bytes);
        Ok(trace)
    }

    /// Makes tracks for so many workers and federates, where there are none yet. To be called before anything
    /// is written that names them.
    pub fn tracks(&self, workers: u32, federates: u32) {
        let mut output = self.output();
        let new_workers = (output.workers..workers).map(Track::Worker);
        let new_federates = output.federates..federates;
        let tracks = new_federates.flat_map(|federate| [Track::Federate(federate), Track::Lvt(federate)]);
        let mut bytes = Vec::new();
        for track in new_workers.chain(tracks) {
            bytes.clear();
            encode::packet(&mut bytes, &track.packet(&self.run));
            output.file.write(&bytes);
        }
        output.workers = output.workers.max(workers);
        output.federates = output.federates.max(federates);
    }

    /// Writes entries, each worker's in the order of time. What was done to a federate must be written with
    /// its end: no slice of the same worker or federate may overlap it.
    pub fn write(&self, marks: impl IntoIterator<Item = Mark>) {
        let marks = marks.into_iter();
        let mut bytes = Vec::with_capacity(marks.size_hint().1.unwrap_or(0).min(MARKS) * MARK_BYTES);
        for mark in marks {
            match mark {
                Mark::Slice(slice) => encode::slice(&mut bytes, &slice),
                Mark::Gvt { worker, at_ns, time } => {
                    encode::value(&mut bytes, Track::Gvt, worker, at_ns, time);
                }
            }
        }
        self.output().file.write(&bytes);
    }

    /// Writes what is left. The error is the first one that there was since the file was made.
    pub fn finish(&self) -> Result<(), TraceError> {
        self.output().file.finish().map_err(|cut| failed(self.path.clone(), cut))
    }

    fn output(&self) -> MutexGuard<'_, Output> {
        self.file.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
