//! Gauges of federates that anybody may read while a run goes on: how far each has come, what it has done,
//! which worker had it last, and how many messages went from where to where.
//!
//! A run with gauges has workers that write to them after each turn, through the
//! [`Recorder`](super::trace::Recorder) that they have anyway; one without pays nothing for them.
//!
//! The program of a model attaches them for the live page only (`lp_model.rs` of `paceline-app`); the time
//! that all federates have reached is there without them ([`Monitor::time`](crate::Monitor::time)).
//!
//! Invariants: a federate's gauge is written by the worker that has the federate; what is read is a hint,
//! each number of which was true a moment ago; nothing here orders anything.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use paceline_kernel::{Outbox, Time};

/// The matrix of messages has at most this many rows: federates beyond share rows with their neighbours.
const SIDE_MAX: usize = 48;
/// Stands for no worker.
const NOBODY: u32 = u32::MAX;

/// Where a federate stands, and what it has done so far, see [`Gauges::look`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gauge {
    /// Nothing that it will do for good is before this.
    pub lvt: Time,
    /// How far it has run ahead; `lvt` where it does not run ahead.
    pub front: Time,
    /// Events run, those among them that were undone later.
    pub events: u64,
    /// Events undone, but for those beyond the end of a leg.
    pub undone: u64,
    /// How often it was rolled back.
    pub rollbacks: u64,
    /// Real time that workers spent on it, in nanoseconds.
    pub busy_ns: u64,
    /// The worker that had it last.
    pub worker: Option<u32>,
}

/// How many messages went from which federates to which, see [`Gauges::messages`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Messages {
    /// Rows, and columns. Federate `f` of `n` is in row `f * side / n`.
    pub side: usize,
    /// Messages by sender and receiver, row by row; those within a federate are not counted.
    pub counts: Vec<u64>,
}

/// Gauges of a run, see [`Simulation::gauges`](crate::Simulation::gauges). Clones are of the same run.
///
/// ```
/// use paceline_engine::{Gauges, Simulation};
/// use paceline_kernel::Time;
/// # use paceline_kernel::{Context, LpId, Model};
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
/// let gauges = Gauges::default();
/// let report = Simulation::new(Tick).until(Time::secs(100)).gauges(&gauges).run()?;
/// assert_eq!(gauges.look().iter().map(|gauge| gauge.events).sum::<u64>(), report.events);
/// # Ok::<(), paceline_engine::RunError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Gauges(Arc<Mutex<Arc<Table>>>);

impl Gauges {
    /// Where each federate stands. Federates may be merged or dealt anew at a pause: then the counts begin
    /// anew.
    pub fn look(&self) -> Vec<Gauge> {
        self.table().federates.iter().map(Slot::look).collect()
    }

    /// The messages between federates of this process so far. Counted where they are sent; anti-messages are
    /// not.
    pub fn messages(&self) -> Messages {
        let table = self.table();
        let counts = table.messages.iter().map(|count| count.load(Ordering::Relaxed)).collect();
        Messages { side: table.side, counts }
    }

    /// Real time that each worker of the leg has waited for something to do, in nanoseconds.
    pub fn waited_ns(&self) -> Vec<u64> {
        self.table().waited_ns.iter().map(|waited| waited.load(Ordering::Relaxed)).collect()
    }

    /// So many workers are about to run so many federates.
    pub(crate) fn start(&self, workers: u32, federates: u32) {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if (table.waited_ns.len(), table.federates.len()) != (workers as usize, federates as usize) {
            *table = Arc::new(Table::new(workers as usize, federates as usize));
        }
    }

    pub(crate) fn table(&self) -> Arc<Table> {
        Arc::clone(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The gauges of legs with as many workers and federates.
#[derive(Debug, Default)]
pub(crate) struct Table {
    federates: Vec<Slot>,
    side: usize,
    messages: Vec<AtomicU64>,
    waited_ns: Vec<AtomicU64>,
}

#[derive(Debug)]
struct Slot {
    lvt_ticks: AtomicU64,
    front_ticks: AtomicU64,
    events: AtomicU64,
    undone: AtomicU64,
    rollbacks: AtomicU64,
    busy_ns: AtomicU64,
    worker: AtomicU32,
}

impl Slot {
    fn new() -> Self {
        let zero = || AtomicU64::new(0);
        Self {
            lvt_ticks: zero(),
            front_ticks: zero(),
            events: zero(),
            undone: zero(),
            rollbacks: zero(),
            busy_ns: zero(),
            worker: AtomicU32::new(NOBODY),
        }
    }

    fn look(&self) -> Gauge {
        let read = |number: &AtomicU64| number.load(Ordering::Relaxed);
        let lvt = Time::ticks(read(&self.lvt_ticks));
        Gauge {
            lvt,
            front: lvt.max(Time::ticks(read(&self.front_ticks))),
            events: read(&self.events),
            undone: read(&self.undone),
            rollbacks: read(&self.rollbacks),
            busy_ns: read(&self.busy_ns),
            worker: Some(self.worker.load(Ordering::Relaxed)).filter(|worker| *worker != NOBODY),
        }
    }
}

/// Only one worker has the federate: it needs no read-modify-write.
fn add(to: &AtomicU64, number: u64) {
    to.store(to.load(Ordering::Relaxed) + number, Ordering::Relaxed);
}

impl Table {
    fn new(workers: usize, federates: usize) -> Self {
        let side = federates.min(SIDE_MAX);
        Self {
            federates: (0..federates).map(|_| Slot::new()).collect(),
            side,
            messages: (0..side * side).map(|_| AtomicU64::new(0)).collect(),
            waited_ns: (0..workers).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    /// A worker has waited for `ns`.
    pub(crate) fn note_wait(&self, worker: u32, ns: u64) {
        if let Some(waited) = self.waited_ns.get(worker as usize) {
            add(waited, ns);
        }
    }

    /// A worker, if it was one, has run `events` events of a federate in `ns`, which stands at `lvt` now.
    pub(crate) fn note_run(&self, worker: Option<u32>, federate: u32, ns: u64, lvt: Time, events: u64) {
        let Some(slot) = self.federates.get(federate as usize) else { return };
        add(&slot.busy_ns, ns);
        add(&slot.events, events);
        slot.worker.store(worker.unwrap_or(NOBODY), Ordering::Relaxed);
        slot.lvt_ticks.store(lvt.as_ticks(), Ordering::Relaxed);
    }

    /// A federate was rolled back to `time`, which took `ns` and undid `events` events.
    pub(crate) fn note_rollback(&self, federate: u32, ns: u64, time: Time, events: u64) {
        let Some(slot) = self.federates.get(federate as usize) else { return };
        add(&slot.busy_ns, ns);
        add(&slot.undone, events);
        add(&slot.rollbacks, 1);
        slot.front_ticks.store(time.as_ticks(), Ordering::Relaxed);
    }

    /// A federate has run ahead as far as `front`.
    pub(crate) fn note_front(&self, federate: u32, front: Time) {
        if let Some(slot) = self.federates.get(federate as usize) {
            slot.front_ticks.store(front.as_ticks(), Ordering::Relaxed);
        }
    }

    /// A federate has sent so many messages to another.
    pub(crate) fn note_sent(&self, from: u32, to: u32, messages: u64) {
        let row = |federate: u32| federate as usize * self.side / self.federates.len().max(1);
        if let Some(count) = self.messages.get(row(from) * self.side + row(to)) {
            // Neighbours may share a row, and be run by different workers.
            count.fetch_add(messages, Ordering::Relaxed);
        }
    }
}

/// What of the messages on a desk is already counted, by receiver.
#[derive(Debug, Default)]
pub(crate) struct Counted(Vec<usize>);

impl Counted {
    /// Counts for `federate` the messages that are new in the outbox since the last call.
    pub(crate) fn count<E>(&mut self, table: &Table, federate: u32, outbox: &Outbox<E>) {
        for to in outbox.filled() {
            if self.0.len() <= to as usize {
                self.0.resize(to as usize + 1, 0);
            }
            let (now, before) = (outbox.to(to).len(), &mut self.0[to as usize]);
            let sent = now.saturating_sub(std::mem::replace(before, now));
            if sent > 0 {
                table.note_sent(federate, to, sent as u64);
            }
        }
    }

    /// The outbox was handed over.
    pub(crate) fn clear(&mut self) {
        self.0.fill(0);
    }
}
