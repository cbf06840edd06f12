//! Names processes that keep the thread that runs them: who blocks outside of the simulation, or computes for
//! long, stops all others. Only with a callback: such a run has one more thread that checks.
//!
//! A thread that runs code writes into a slot of its own whose turn it is, and when the turn is over: three
//! atomic stores a turn, to memory that nobody else writes. The watchdog looks at all slots twice in the time
//! that a turn may take. Who is called what is [known] apart, since a process that never comes back cannot be
//! asked. Invariant: each turn is named at most once.

mod known;
#[cfg(test)]
mod test;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use crate::core::{Name, ProcessId};
use known::Known;
use paceline_kernel::Time;
use paceline_network::HostId;

/// A process that has had its turn for a second of real time or more, or that has resumed again and again for
/// some seconds at one simulated time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stall {
    /// The process, by its number.
    pub process: ProcessId,
    /// The name with which it was spawned.
    pub name: Name,
    /// The host that it runs on.
    pub host: HostId,
    /// The simulated time, which stands still.
    pub time: Time,
    /// How many rounds there have been at this time, where it resumes again and again; `None` where it has
    /// one long turn.
    pub rounds: Option<u64>,
}

impl fmt::Display for Stall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { process, name, host: HostId(host), time, rounds } = self;
        write!(f, "process {process} `{name}` on host {host} ")?;
        match rounds {
            None => write!(
                f,
                "keeps its thread at {time}: it blocks outside of the simulation, or computes for long; nothing else advances meanwhile"
            ),
            Some(rounds) => write!(
                f,
                "has resumed again and again at {time}, in {rounds} rounds: it yields, or waits for what takes no time; time stands still meanwhile"
            ),
        }
    }
}

/// A process that has ended the whole program by calling `exit`, which is about to be gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramExit {
    /// The process whose code called for it, by its number.
    pub process: ProcessId,
    /// The name with which it was spawned.
    pub name: Name,
    /// The host that it runs on.
    pub host: HostId,
    /// The simulated time.
    pub time: Time,
}

impl fmt::Display for ProgramExit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { process, name, host: HostId(host), time } = self;
        write!(
            f,
            "process {process} `{name}` on host {host} has ended the program at {time}, by calling `exit`; the run has no results"
        )
    }
}

/// No process has a turn.
const NOBODY: u32 = u32::MAX;
/// How often a turn is seen before it is named.
const LOOKS: u32 = 2;

/// Whose turn it is on a thread that runs code.
#[derive(Debug)]
pub(crate) struct Slot {
    /// The number of the turn, then the process.
    turn: AtomicU64,
    time_ns: AtomicU64,
    known: Arc<Mutex<Known>>,
    on_exit: ExitListener,
}

/// The callback for the end of the program.
type OnExit = Arc<dyn Fn(&ProgramExit) + Send + Sync>;

/// The same, if there is one.
#[derive(Clone, Default)]
pub(crate) struct ExitListener(pub(crate) Option<OnExit>);

impl fmt::Debug for ExitListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ExitListener")
    }
}

impl Slot {
    fn new(known: Arc<Mutex<Known>>, on_exit: ExitListener) -> Self {
        Self { turn: AtomicU64::new(NOBODY.into()), time_ns: AtomicU64::new(0), known, on_exit }
    }

    /// A process ends the program in its turn: that is reported.
    pub(crate) fn exits(&self, process: ProcessId, time: Time) {
        let known = self.on_exit.0.as_ref().zip(lock(&self.known).get(process));
        if let Some((listener, (name, host))) = known {
            listener(&ProgramExit { process, name, host, time });
        }
    }

    pub(crate) fn begin(&self, process: ProcessId, now: Time) {
        let number = (self.turn.load(Ordering::Relaxed) >> 32) as u32;
        // Whoever reads this turn's time has seen that the turn before is over; with `time_of` it is a
        // seqlock.
        fence(Ordering::Release);
        self.time_ns.store(now.as_nanos(), Ordering::Relaxed);
        self.turn.store(u64::from(number.wrapping_add(1)) << 32 | u64::from(process.0), Ordering::Release);
    }

    /// The time of a turn; nothing where that turn is over.
    fn time_of(&self, turn: u64) -> Option<Time> {
        let time = Time::nanos(self.time_ns.load(Ordering::Relaxed));
        fence(Ordering::Acquire);
        (self.turn.load(Ordering::Relaxed) == turn).then_some(time)
    }

    pub(crate) fn end(&self) {
        self.turn.store(self.turn.load(Ordering::Relaxed) | u64::from(NOBODY), Ordering::Relaxed);
    }
}

/// What is watched, and how often each turn was seen.
#[derive(Debug, Default)]
struct Watched {
    slots: Vec<(Arc<Slot>, u64, u32)>,
    over: bool,
}

impl Watched {
    /// Looks at all slots: which processes have had their turns for too long since this look.
    fn look(&mut self) -> Vec<Stall> {
        let mut stalls = Vec::new();
        for (slot, seen, times) in &mut self.slots {
            let turn = slot.turn.load(Ordering::Acquire);
            if turn != *seen {
                (*seen, *times) = (turn, 0);
            }
            *times = times.saturating_add(1);
            let process = ProcessId(turn as u32);
            if process.0 == NOBODY || *times != LOOKS + 1 {
                continue;
            }
            let known = lock(&slot.known).get(process);
            if let Some(((name, host), time)) = known.zip(slot.time_of(turn)) {
                stalls.push(Stall { process, name, host, time, rounds: None });
            }
        }
        stalls
    }
}

/// Whoever panics while it holds one of these locks leaves nothing half done.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[derive(Debug, Default)]
struct Shared {
    watched: Mutex<Watched>,
    ends: Condvar,
    on_exit: ExitListener,
}

impl Shared {
    /// Looks until the run is over.
    fn watch(&self, limit: Duration, listener: &StallListener) {
        let mut watched = lock(&self.watched);
        while !watched.over {
            let waited = self.ends.wait_timeout_while(watched, limit / LOOKS, |watched| !watched.over);
            watched = waited.unwrap_or_else(PoisonError::into_inner).0;
            let stalls = watched.look();
            drop(watched);
            stalls.iter().for_each(|stall| listener(stall));
            watched = lock(&self.watched);
        }
    }
}

/// The callback for stalls.
pub(crate) type StallListener = Arc<dyn Fn(&Stall) + Send + Sync>;

/// The watchdog of a simulation, if there is one.
pub(crate) struct Watchdog {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Watchdog {
    /// Watches from now on, if turns that take longer than said are to be reported; where no thread is to be
    /// had, nobody watches. Threads report to `on_exit` by themselves.
    pub(crate) fn start((limit, listener): (Duration, Option<StallListener>), on_exit: ExitListener) -> Self {
        let shared = Arc::new(Shared { on_exit, ..Shared::default() });
        let thread = listener.and_then(|listener| {
            let shared = Arc::clone(&shared);
            let watch = move || shared.watch(limit, &listener);
            Builder::new().name("paceline-watchdog".into()).spawn(watch).ok()
        });
        Self { shared, thread }
    }

    /// What it needs of one run, of a whole world or a federate, whose processes have numbers from `first`
    /// on.
    pub(crate) fn watch(&self, first: u32) -> Watch {
        let known = Arc::new(Mutex::new(Known::from(first)));
        let has_reader = self.thread.is_some() || self.shared.on_exit.0.is_some();
        Watch(has_reader.then(|| (Arc::clone(&self.shared), known)))
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        lock(&self.shared.watched).over = true;
        self.shared.ends.notify_all();
        if let Some(thread) = self.thread.take() {
            // If the caller's function has panicked, Rust's hook has reported it.
            let _ = thread.join();
        }
    }
}

/// What a run tells the watchdog; nothing where there is none.
#[derive(Clone, Default)]
pub(crate) struct Watch(Option<(Arc<Shared>, Arc<Mutex<Known>>)>);

impl Watch {
    /// A slot for a thread that runs code.
    pub(crate) fn slot(&self) -> Option<Arc<Slot>> {
        let (shared, known) = self.0.as_ref()?;
        let slot = Arc::new(Slot::new(Arc::clone(known), shared.on_exit.clone()));
        lock(&shared.watched).slots.push((Arc::clone(&slot), NOBODY.into(), 0));
        Some(slot)
    }

    /// A process can be named from now on.
    pub(crate) fn know(&self, process: ProcessId, name: &Name, host: HostId) {
        if let Some((_, known)) = &self.0 {
            lock(known).know(process, name, host);
        }
    }

    /// A process has ended.
    pub(crate) fn forget(&self, process: ProcessId) {
        if let Some((_, known)) = &self.0 {
            lock(known).forget(process);
        }
    }
}
