//! What the workers did when: records for a trace of the run.
//!
//! A run that is to be traced has a [`TraceSink`]. Each worker then keeps a [`Recorder`] on its desk, which
//! stamps what the worker does turn by turn and hands the records over in bunches. A run that is not traced
//! has recorders that are off: one branch a turn, and no look at the clock.
//!
//! What a board has to do: take `recorder.now()` before a turn's work, and call `recorder.slice(...)` after
//! it, while no other worker can take the federate yet.
//!
//! Invariants: the records of one worker are in the order of time and do not overlap; nor do those of one
//! federate, whichever workers ran it; a worker keeps at most [`BUNCH`] records.
//!
//! To record more, add a [`RecordKind`], and say in `mark` of `simulation/app/src/trace.rs` how it is shown.

use std::sync::Arc;
use std::time::Instant;

use paceline_kernel::{Outbox, Time};

use super::gauges::{Counted, Gauges, Table};

/// Records that a worker gathers before it hands them over.
const BUNCH: usize = 1 << 10;

/// What a [`Record`] is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecordKind {
    /// A federate ran a batch that was safe; `count` events, and nothing it will run is before `time`.
    Run,
    /// A federate ran a batch ahead of what is safe; `count` events, up to its LVT `time`.
    Ahead,
    /// A federate was rolled back to `time`; `count` events were undone.
    Rollback,
    /// A worker had nothing to do.
    Wait,
    /// The run wrote a checkpoint at `time`.
    Checkpoint,
    /// The run paused between two legs, at `time`.
    Pause,
    /// At `end_ns` no federate was before `time` any more (GVT).
    Gvt,
}

/// A record of something that workers did during a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// What happened; it also says what `time` and `count` mean.
    pub kind: RecordKind,
    /// The worker that did it; none where it was the run as a whole.
    pub worker: Option<u32>,
    /// The federate it was done to.
    pub federate: Option<u32>,
    /// When it began, in nanoseconds since the run began.
    pub start_ns: u64,
    /// When it ended, in nanoseconds since the run began.
    pub end_ns: u64,
    /// A simulated time; what it means depends on the kind. [`Time::MAX`] where there is none.
    pub time: Time,
    /// Events, where the kind counts any; else zero.
    pub count: u64,
}

/// Takes the records of a run. Called by all workers, at the same time.
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicU64, Ordering};
/// use paceline_engine::{Record, RecordKind, Simulation, TraceSink};
/// # use paceline_kernel::{Context, LpId, Model, Time};
/// # struct Tick;
/// # impl Model for Tick {
/// #     type State = ();
/// #     type Event = ();
/// #     type Output = ();
/// #     fn lps(&self) -> u32 { 4 }
/// #     fn lookahead(&self) -> Time { Time::secs(1) }
/// #     fn init(&self, _: LpId, cx: &mut Context<Self>) { cx.schedule(Time::ZERO, ()); }
/// #     fn handle(&self, _: &mut (), _: &(), cx: &mut Context<Self>) { cx.schedule(Time::secs(1), ()); }
/// # }
///
/// /// Adds up how many events the workers say they ran.
/// #[derive(Default)]
/// struct Count(AtomicU64);
///
/// impl TraceSink for Count {
///     fn record(&self, records: &[Record]) {
///         let run = records.iter().filter(|record| record.kind == RecordKind::Run);
///         self.0.fetch_add(run.map(|record| record.count).sum(), Ordering::Relaxed);
///     }
/// }
///
/// let count = Arc::new(Count::default());
/// let report = Simulation::new(Tick).until(Time::secs(100)).trace(count.clone()).run()?;
/// assert_eq!(count.0.load(Ordering::Relaxed), report.events);
/// # Ok::<(), paceline_engine::RunError>(())
/// ```
pub trait TraceSink: Send + Sync {
    /// The run has begun at `at`, from which the times of its records are counted. Called before
    /// [`start`](Self::start).
    fn begin(&self, at: Instant) {
        let _ = at;
    }

    /// So many workers will run so many federates from here on. Called before their first record.
    fn start(&self, workers: u32, federates: u32) {
        let _ = (workers, federates);
    }

    /// Takes the next records of one worker.
    fn record(&self, records: &[Record]);
}

/// Where the records of a run go, if anywhere, and when the run began.
#[derive(Clone, Default)]
pub(crate) struct Tracing {
    sink: Option<Arc<dyn TraceSink>>,
    gauges: Option<Gauges>,
    start: Option<Instant>,
}

impl Tracing {
    pub(crate) fn set_sink(&mut self, sink: Arc<dyn TraceSink>) {
        self.sink = Some(sink);
    }

    pub(crate) fn set_gauges(&mut self, gauges: Gauges) {
        self.gauges = Some(gauges);
    }

    pub(crate) fn begin(&mut self) {
        let start = *self.start.insert(Instant::now());
        if let Some(sink) = &self.sink {
            sink.begin(start);
        }
    }

    /// Workers are about to run federates.
    pub(crate) fn start(&self, workers: u32, federates: u32) {
        if let Some(sink) = &self.sink {
            sink.start(workers, federates);
        }
        if let Some(gauges) = &self.gauges {
            gauges.start(workers, federates);
        }
    }

    /// The recorder of a worker, or of the run as a whole.
    pub(crate) fn recorder(&self, worker: Option<u32>) -> Recorder {
        let Self { sink, gauges, start } = self;
        let records = if sink.is_some() { Vec::with_capacity(BUNCH) } else { Vec::new() };
        // Boxed, so that a recorder that is off is a word.
        let tape = (sink.is_some() || gauges.is_some()).then(|| {
            Box::new(Tape {
                sink: sink.clone(),
                gauges: gauges.as_ref().map(Gauges::table),
                counted: Counted::default(),
                start: start.unwrap_or_else(Instant::now),
                worker,
                gvt: Time::ZERO,
                records,
            })
        });
        Recorder { tape }
    }
}

impl Tracing {
    /// The track of an outside federate.
    pub(crate) fn track(&self) -> Track {
        Track(self.recorder(None).tape)
    }
}

impl std::fmt::Debug for Tracing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (sink, gauges) = (self.sink.is_some(), self.gauges.is_some());
        f.write_str(if sink || gauges { "on" } else { "off" })
    }
}

struct Tape {
    sink: Option<Arc<dyn TraceSink>>,
    gauges: Option<Arc<Table>>,
    counted: Counted,
    start: Instant,
    worker: Option<u32>,
    /// The GVT recorded last.
    gvt: Time,
    records: Vec<Record>,
}

impl Tape {
    fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    fn push(&mut self, record: Record) {
        if let Some(gauges) = &self.gauges {
            note(gauges, &record);
        }
        if self.sink.is_none() {
            return;
        }
        self.records.push(record);
        if self.records.len() >= BUNCH {
            self.hand_over();
        }
    }

    fn hand_over(&mut self) {
        if let Some(sink) = &self.sink
            && !self.records.is_empty()
        {
            sink.record(&self.records);
            self.records.clear();
        }
    }
}

/// Moves the gauges by what a record says.
fn note(gauges: &Table, record: &Record) {
    let Record { kind, worker, federate, start_ns, end_ns, time, count } = *record;
    let ns = end_ns.saturating_sub(start_ns);
    match (kind, worker, federate) {
        (RecordKind::Wait, Some(worker), _) => gauges.note_wait(worker, ns),
        (RecordKind::Run | RecordKind::Ahead, _, Some(federate)) => {
            gauges.note_run(worker, federate, ns, time, count);
        }
        (RecordKind::Rollback, _, Some(federate)) => gauges.note_rollback(federate, ns, time, count),
        _ => {}
    }
}

impl Drop for Tape {
    fn drop(&mut self) {
        self.hand_over();
    }
}

/// Stamps what one worker does; hands the rest of its records over when dropped.
pub(crate) struct Recorder {
    tape: Option<Box<Tape>>,
}

impl Recorder {
    /// Nanoseconds since the run began; zero when off.
    #[inline]
    pub(crate) fn now(&self) -> u64 {
        self.tape.as_ref().map_or(0, |tape| tape.now())
    }

    /// Something that began at `start_ns` has ended now.
    #[inline]
    pub(crate) fn slice(
        &mut self,
        kind: RecordKind,
        federate: Option<u32>,
        start_ns: u64,
        time: Time,
        count: u64,
    ) {
        if let Some(tape) = &mut self.tape {
            let (worker, end_ns) = (tape.worker, tape.now());
            tape.push(Record { kind, worker, federate, start_ns, end_ns, time, count });
        }
    }

    /// The worker has waited since `start_ns`.
    #[inline]
    pub(crate) fn waited(&mut self, start_ns: u64) {
        self.slice(RecordKind::Wait, None, start_ns, Time::MAX, 0);
    }

    /// Federate `federate` has sent what is new in the outbox since the last call.
    #[inline]
    pub(crate) fn sent<E>(&mut self, federate: u32, outbox: &Outbox<E>) {
        if let Some(tape) = &mut self.tape
            && let Some(gauges) = &tape.gauges
        {
            tape.counted.count(gauges, federate, outbox);
        }
    }

    /// What was in the outbox is handed over.
    #[inline]
    pub(crate) fn flushed(&mut self) {
        if let Some(tape) = &mut self.tape {
            tape.counted.clear();
        }
    }

    /// Federate `federate` has run ahead as far as `front`.
    #[inline]
    pub(crate) fn front(&self, federate: u32, front: Time) {
        if let Some(gauges) = self.tape.as_ref().and_then(|tape| tape.gauges.as_ref()) {
            gauges.note_front(federate, front);
        }
    }

    /// No federate is before `time` any more. To be called under the lock under which that is known, so that
    /// time never falls; records only what is new to this recorder.
    #[inline]
    pub(crate) fn gvt(&mut self, time: Time) {
        if let Some(tape) = &mut self.tape
            && time > tape.gvt
        {
            let (worker, now_ns) = (tape.worker, tape.now());
            tape.gvt = time;
            let (kind, federate) = (RecordKind::Gvt, None);
            tape.push(Record { kind, worker, federate, start_ns: now_ns, end_ns: now_ns, time, count: 0 });
        }
    }
}

/// Stamps what is done outside; it publishes nothing, and may go from thread to thread.
pub(crate) struct Track(Option<Box<Tape>>);

impl Track {
    /// The time for records, in nanoseconds; 0 without a sink ([`Recorder::now`]).
    pub(crate) fn now(&self) -> u64 {
        self.0.as_ref().map_or(0, |tape| tape.now())
    }

    /// Federate `federate` was run outside since `start_ns`, and does nothing before `time` any more.
    pub(crate) fn ran(&mut self, federate: u32, start_ns: u64, time: Time, count: u64) {
        if let Some(tape) = &mut self.0 {
            let (worker, federate, end_ns) = (None, Some(federate), tape.now());
            tape.push(Record { kind: RecordKind::Run, worker, federate, start_ns, end_ns, time, count });
        }
    }
}
