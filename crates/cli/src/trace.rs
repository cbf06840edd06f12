//! `--trace`: the records of the engine's workers, written as a Perfetto trace.

use std::path::Path;
use std::sync::Arc;

use paceline_engine::{Record, RecordKind, TraceSink};
use paceline_kernel::Time;
use paceline_report::{Activity, Mark, PerfettoTrace, Slice};

use crate::failure::Failure;

/// A trace that is being written.
#[derive(Clone, Debug)]
pub struct Trace(Arc<Sink>);

#[derive(Debug)]
struct Sink(PerfettoTrace);

impl Trace {
    /// Makes the file, before a long run and not after it.
    pub fn open(path: &Path, run: &str) -> Result<Self, Failure> {
        Ok(Self(Arc::new(Sink(PerfettoTrace::create(path, run)?))))
    }

    /// Where the engine is to put its records.
    pub fn sink(&self) -> Arc<dyn TraceSink> {
        self.0.clone()
    }

    /// Writes what is left, or says what went wrong since the file was made.
    pub fn finish(&self) -> Result<(), Failure> {
        Ok(self.0.0.finish()?)
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
