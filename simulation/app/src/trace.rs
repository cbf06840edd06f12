//! `--trace`: the records of the engine's workers, written as a Perfetto trace, for
//! <https://ui.perfetto.dev>.
//!
//! `run.rs` and `processes.rs` open and finish it. Traces of machines, guests and federates of HLA are
//! those of their commands, on `simulation/report/src/perfetto.rs` as well.

use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use paceline_engine::{Record, RecordKind, TraceSink};
use paceline_kernel::Time;
use paceline_report::{Activity, Mark, PerfettoTrace, Slice, TraceError};

/// A trace that is being written.
///
/// ```
/// use paceline_app::trace::Trace;
/// use paceline_engine::{Protocol, Simulation};
/// # use paceline_kernel::{Context, LpId, Model, Time};
/// # struct Ring;
/// # impl Model for Ring {
/// #     type State = ();
/// #     type Event = ();
/// #     type Output = ();
/// #     fn lps(&self) -> u32 { 2 }
/// #     fn lookahead(&self) -> Time { Time::secs(1) }
/// #     fn init(&self, _: LpId, cx: &mut Context<Self>) { cx.schedule(Time::secs(1), ()); }
/// #     fn handle(&self, _: &mut (), _: &(), cx: &mut Context<Self>) { cx.schedule(Time::secs(1), ()); }
/// # }
///
/// # let folder = std::env::temp_dir().join(format!("paceline-trace-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// let path = folder.join("ring.perfetto-trace");
/// let trace = Trace::open(&path, "ring")?;
/// Simulation::new(Ring).until(Time::secs(100)).protocol(Protocol::Window).trace(trace.sink()).run()?;
/// trace.finish()?;
/// # assert!(path.metadata()?.len() > 0);
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Trace(Arc<Sink>);

#[derive(Debug)]
struct Sink {
    file: PerfettoTrace,
    /// When the run began, once it has.
    began: OnceLock<Instant>,
}

impl Trace {
    /// Makes the file, before a long run and not after it.
    pub fn open(path: &Path, run: &str) -> Result<Self, TraceError> {
        Ok(Self(Arc::new(Sink { file: PerfettoTrace::create(path, run)?, began: OnceLock::new() })))
    }

    /// Where the engine is to put its records.
    pub fn sink(&self) -> Arc<dyn TraceSink> {
        self.0.clone()
    }

    /// Where others than the engine put what they have to show.
    pub fn file(&self) -> &PerfettoTrace {
        &self.0.file
    }

    /// A time as the trace has it: in nanoseconds since the run began; zero for times before that.
    pub fn at_ns(&self, at: Instant) -> u64 {
        let since = self.0.began.get().map(|began| at.saturating_duration_since(*began).as_nanos());
        since.map_or(0, |ns| ns as u64)
    }

    /// Writes what is left, or says what went wrong since the file was made.
    pub fn finish(&self) -> Result<(), TraceError> {
        self.0.file.finish()
    }
}

impl TraceSink for Sink {
    fn begin(&self, at: Instant) {
        self.began.get_or_init(|| at);
    }

    fn start(&self, workers: u32, federates: u32) {
        self.file.tracks(workers, federates);
    }

    fn record(&self, records: &[Record]) {
        self.file.write(records.iter().filter_map(mark));
    }
}

/// What of a record is shown.
fn mark(record: &Record) -> Option<Mark> {
    let Record { kind, worker, federate, start_ns, end_ns, time, count } = *record;
    let known = (time != Time::MAX).then_some(time);
    let activity = match kind {
        RecordKind::Run => Activity::Run,
        RecordKind::Ahead => Activity::Ahead,
        RecordKind::Rollback => Activity::Rollback,
        RecordKind::Wait => Activity::Wait,
        RecordKind::Checkpoint => Activity::Checkpoint,
        RecordKind::Pause => Activity::Pause,
        RecordKind::Gvt => return known.map(|time| Mark::Gvt { worker, at_ns: end_ns, time }),
        _ => return None,
    };
    Some(Mark::Slice(Slice { activity, worker, federate, start_ns, end_ns, lvt: known, events: count }))
}
