//! Names processes that keep the thread that runs them: who blocks outside of the simulation, or computes for
//! long, stops all others. Only in debug builds with a callback: such a run has one more thread that checks.
//!
//! A thread that runs code writes into a slot of its own whose turn it is, and when the turn is over: three
//! atomic stores a turn. The watchdog looks at all slots twice in the time that a turn may take. Invariant:
//! each turn is named at most once.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use crate::core::ProcessId;
use paceline_kernel::Time;
use paceline_network::HostId;

/// A process that has had its turn for a second of real time or more, or that has resumed again and again for
/// some seconds at one simulated time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stall {
    /// The process, by its number.
    pub process: ProcessId,
    /// The name with which it was spawned.
    pub name: Arc<str>,
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

/// No process has a turn.
const NOBODY: u32 = u32::MAX;
/// How often a turn is seen before it is named.
const LOOKS: u32 = 2;

/// Whose turn it is.
#[derive(Debug)]
pub(crate) struct Slot {
    /// The number of the turn, then the process.
    turn: AtomicU64,
    time_ns: AtomicU64,
}

impl Slot {
    fn new() -> Self {
        Self { turn: AtomicU64::new(NOBODY.into()), time_ns: AtomicU64::new(0) }
    }

    pub(crate) fn begin(&self, process: ProcessId, now: Time) {
        let number = (self.turn.load(Ordering::Relaxed) >> 32) as u32;
        self.time_ns.store(now.as_nanos(), Ordering::Relaxed);
        self.turn.store(u64::from(number.wrapping_add(1)) << 32 | u64::from(process.0), Ordering::Relaxed);
    }

    pub(crate) fn end(&self) {
        self.turn.store(self.turn.load(Ordering::Relaxed) | u64::from(NOBODY), Ordering::Relaxed);
    }
}

/// What is watched, and how often each turn was seen.
#[derive(Debug, Default)]
struct Watched {
    slots: Vec<(Arc<Slot>, u64, u32)>,
    names: BTreeMap<ProcessId, (Arc<str>, HostId)>,
    over: bool,
}

impl Watched {
    /// Looks at all slots: which processes have had their turns for too long since this look.
    fn look(&mut self) -> Vec<Stall> {
        let mut stalls = Vec::new();
        for (slot, seen, times) in &mut self.slots {
            let turn = slot.turn.load(Ordering::Relaxed);
            if turn != *seen {
                (*seen, *times) = (turn, 0);
            }
            *times = times.saturating_add(1);
            let process = ProcessId(turn as u32);
            if process.0 == NOBODY || *times != LOOKS + 1 {
                continue;
            }
            if let Some((name, host)) = self.names.get(&process) {
                let time = Time::nanos(slot.time_ns.load(Ordering::Relaxed));
                let (name, host) = (Arc::clone(name), *host);
                stalls.push(Stall { process, name, host, time, rounds: None });
            }
        }
        stalls
    }
}

#[derive(Debug, Default)]
struct Shared {
    watched: Mutex<Watched>,
    ends: Condvar,
}

impl Shared {
    fn watched(&self) -> MutexGuard<'_, Watched> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks until the run is over.
    fn watch(&self, limit: Duration, listener: &StallListener) {
        let mut watched = self.watched();
        while !watched.over {
            let waited = self.ends.wait_timeout_while(watched, limit / LOOKS, |watched| !watched.over);
            watched = waited.unwrap_or_else(PoisonError::into_inner).0;
            let stalls = watched.look();
            drop(watched);
            stalls.iter().for_each(|stall| listener(stall));
            watched = self.watched();
        }
    }
}

/// The callback for stalls.
pub(crate) type StallListener = Arc<dyn Fn(&Stall) + Send + Sync>;

/// The watchdog of a run, if there is one.
#[derive(Default)]
pub(crate) struct Watchdog {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Watchdog {
    /// Watches from now on, in debug builds, if turns that take longer than said are to be reported. Where no
    /// thread is to be had, nobody watches.
    pub(crate) fn start((limit, listener): (Duration, Option<StallListener>)) -> Self {
        let mut watchdog = Self::default();
        if let Some(listener) = listener.filter(|_| cfg!(debug_assertions)) {
            let shared = Arc::clone(&watchdog.shared);
            let watch = move || shared.watch(limit, &listener);
            watchdog.thread = Builder::new().name("paceline-watchdog".into()).spawn(watch).ok();
        }
        watchdog
    }

    /// A slot for a thread that runs code, if there is a watchdog.
    pub(crate) fn slot(&self) -> Option<Arc<Slot>> {
        self.thread.as_ref()?;
        let slot = Arc::new(Slot::new());
        self.shared.watched().slots.push((Arc::clone(&slot), NOBODY.into(), 0));
        Some(slot)
    }

    /// A process has ended.
    pub(crate) fn forget(&self, process: ProcessId) {
        if self.thread.is_some() {
            self.shared.watched().names.remove(&process);
        }
    }

    /// A process can be named from now on.
    pub(crate) fn know(&self, process: ProcessId, name: &Arc<str>, host: HostId) {
        if self.thread.is_some() {
            self.shared.watched().names.insert(process, (Arc::clone(name), host));
        }
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.shared.watched().over = true;
        self.shared.ends.notify_all();
        if let Some(thread) = self.thread.take() {
            // If the caller's function has panicked, Rust's hook has reported it.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod test {
    use std::sync::mpsc::channel;

    use paceline_network::Constant;

    use super::*;
    use crate::{ContextKind, Process, Rounds, Simulation};

    #[test]
    fn a_turn_is_named_once_when_it_was_seen_for_long() {
        let slot = Arc::new(Slot::new());
        let mut watched = Watched::default();
        watched.slots.push((Arc::clone(&slot), NOBODY.into(), 0));
        watched.names.insert(ProcessId(7), ("slow".into(), HostId(3)));
        let mut look = || watched.look().len();
        assert_eq!([look(), look(), look(), look()], [0; 4], "nobody has a turn");
        for _ in 0..2 {
            slot.begin(ProcessId(7), Time::secs(2));
            assert_eq!([look(), look(), look(), look()], [0, 0, 1, 0]);
            slot.end();
            assert_eq!([look(), look(), look(), look()], [0; 4]);
        }
        // The same process again and again, each time for short.
        for _ in 0..9 {
            slot.begin(ProcessId(7), Time::secs(2));
            assert_eq!(look(), 0);
            slot.end();
        }
        assert_eq!([look(), look(), look(), look()], [0; 4], "the last turn was short, too");
        slot.begin(ProcessId(7), Time::secs(5));
        let stall = (0..3).flat_map(|_| watched.look()).next().unwrap();
        assert_eq!((stall.time, stall.host), (Time::secs(5), HostId(3)));
        let text = stall.to_string();
        assert!(text.starts_with("process 7 `slow` on host 3 keeps its thread at 5s"), "{text}");
    }

    #[test]
    #[cfg_attr(not(debug_assertions), ignore = "only debug builds have a watchdog")]
    fn who_keeps_a_thread_is_named_on_any_thread_and_context() {
        for (threads, context) in
            [(1, ContextKind::Future), (2, ContextKind::Coroutine), (2, ContextKind::Thread)]
        {
            let mut world = Simulation::<(), _>::new(Constant::new(1.0), &[(1e9, 1); 2])
                .threads(threads)
                .rounds(Rounds::Always)
                .context(context);
            let (sink, stalls) = channel();
            world.settings.stall.0 = Duration::from_millis(2);
            let mut world = world.on_stall(move |stall| sink.send(stall.clone()).unwrap_or(()));
            world.spawn("quick", HostId(0), async |cx: Process<()>| cx.sleep(Time::secs(9)).await);
            let stalls = Mutex::new(stalls);
            world.spawn("slow", HostId(1), async move |cx: Process<()>| {
                cx.sleep(Time::secs(3)).await;
                // Blocks until it was reported.
                let named = |stall: &Stall| stall.process == cx.id();
                let stall = stalls.lock().unwrap().iter().find(named).expect("it is reported");
                assert_eq!((&*stall.name, stall.host, stall.time), ("slow", HostId(1), Time::secs(3)));
            });
            assert_eq!(world.run().unwrap().end_time, Time::secs(9));
        }
    }
}
