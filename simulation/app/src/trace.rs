//! `--trace`: the records of the engine's workers, written as a Perfetto trace, for
//! <https://ui.perfetto.dev>.

use std::path::Path;
use std::sync::Arc;

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
struct Sink(PerfettoTrace);

impl Trace {
    /// Makes the file, before a long run and not after it.
    pub fn open(path: &Path, run: &str) -> Result<Self, TraceError> {
        Ok(Self(Arc::new(Sink(PerfettoTrace::create(path, run)?))))
    }

    /// Where the engine is to put its records.
    pub fn sink(&self) -> Arc<dyn TraceSink> {
        self.0.clone()
    }

    /// Writes what is left, or says what went wrong since the file was made.
    pub fn finish(&self) -> Result<(), TraceError> {
        self.0.0.finish()
    }
}

impl TraceSink for Sink {
    fn start(&self, workers: u32, federates: u32) {
        self.0.tracks(workers, federates);
    }

    fn record(&self, records: &[Record]) {
        self.0.write(records.iter().filter_map(mark));
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
