//! Waiting that never burns a core: a short bounded spin, or where processes outnumber the cores a yield,
//! then sleep.
//!
//! An event count. A worker that finds nothing to do reads the *epoch* while it still holds the lock under
//! which it looked, releases it, and calls [`Idle::wait`] with the epoch. A worker that adds work first
//! changes what is under that lock and then calls [`Idle::wake`], which advances the epoch: the waiting
//! worker either sees the new epoch or is asleep and gets woken.
//!
//! No worker is woken in vain: of the workers wanted, those that still spin or yield see the epoch by
//! themselves; only the rest are taken out of their sleep, the one that fell asleep last first, because its
//! federates are still in the cache. Threads beyond the number of cores therefore just sleep.
//!
//! Where the run has other processes, what they send wakes a worker too: the first worker that falls asleep
//! sleeps in the transport ([`Transport::wait`]), the others here. While it is awake itself, workers that
//! take turns look for what has arrived.
//!
//! Processes that outnumber the cores take turns on them, and what a worker waits for is most likely for
//! another process to do. It yields the core first: that spares both the system calls of a sleep, and the
//! switches that follow a wake-up. Where other programs take the core for a time slice, workers sleep
//! instead, because a thread that wakes up runs soon.
//!
//! A run with federates outside mostly waits for their answers, which take other programs longer than a spin,
//! on cores that these need: after a spin in vain, its workers sleep at once for a while.
//!
//! Invariants: the stack holds exactly the workers that sleep and were not chosen to be woken; at most one of
//! them sleeps in the transport.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::peers::Transport;
use crate::sync::{Apart, AtomicU32, Condvar, Mutex, Ordering, lock, thread};
use crate::workers::cores;

/// Looks at the epoch before a worker goes to sleep: some microseconds, about what waking it up would cost.
#[cfg(not(paceline_shuttle))]
const SPINS: u32 = 2_000;
#[cfg(paceline_shuttle)]
const SPINS: u32 = 2;

/// Whether a worker yields before it goes to sleep: not under shuttle, where nothing may depend on a clock.
const YIELDS: bool = cfg!(not(paceline_shuttle));

/// A yield that takes longer has given the core to another program: time slices are longer, turns of a
/// process that outnumbers cores are shorter as a rule.
const LONGEST_YIELD: Duration = Duration::from_millis(2);

/// So many waits begin with a sleep after such a yield; then one tries again whether the other program is
/// gone.
const SLEEPS: u32 = 1_000;

/// So many waits begin with a sleep after a spin in vain where there are federates outside; then one tries
/// again whether they answer soon. A spin in 64 waits costs nothing that can be seen.
const SLEEPS_OUTSIDE: u32 = 63;

/// How long a worker sleeps in the transport before it looks again: a wake-up or an arrival ends it earlier.
const NAP: Duration = Duration::from_millis(100);

#[derive(Debug, Default)]
struct Sleepers {
    stack: Vec<usize>,
    /// The worker that sleeps in the transport.
    listener: Option<usize>,
}

#[derive(Debug)]
pub(crate) struct Idle {
    epoch: Apart<AtomicU32>,
    spinning: Apart<AtomicU32>,
    sleepers: Mutex<Sleepers>,
    /// One for each worker.
    wakes: Vec<Condvar>,
    /// How the other processes of the run are reached, if there are any.
    transport: Option<Arc<dyn Transport>>,
    /// Whether processes outnumber the cores, so that another one could run while this one spins.
    crowded: bool,
    /// Whether workers wait for answers from outside.
    hears_outside: bool,
    /// Waits that are still to begin with a sleep.
    sleeps: AtomicU32,
}

impl Idle {
    pub(crate) fn new(workers: u32, transport: Option<Arc<dyn Transport>>, hears_outside: bool) -> Self {
        let crowded = transport.as_ref().is_some_and(|transport| transport.ranks() > cores::available());
        Self {
            crowded,
            hears_outside,
            sleeps: AtomicU32::new(0),
            transport,
            epoch: Apart(AtomicU32::new(0)),
            spinning: Apart(AtomicU32::new(0)),
            sleepers: Mutex::default(),
            wakes: (0..workers).map(|_| Condvar::new()).collect(),
        }
    }

    /// The epoch to wait beyond.
    pub(crate) fn epoch(&self) -> u32 {
        // In one order with `spinning`: a worker that no longer counts as spinning sees what its waker has
        // advanced, or its waker sees that it no longer spins.
        self.epoch.load(Ordering::SeqCst)
    }

    /// Lets `worker` wait until the epoch is no longer `seen`.
    pub(crate) fn wait(&self, worker: usize, seen: u32) {
        self.spinning.fetch_add(1, Ordering::SeqCst);
        // Workers may count their sleeps at the same time: nothing depends on how many there are.
        let sleeps = self.sleeps.load(Ordering::Relaxed);
        let is_over = if sleeps > 0 {
            self.sleeps.store(sleeps - 1, Ordering::Relaxed);
            false
        } else if self.crowded {
            self.yields(seen)
        } else {
            self.spins(seen)
        };
        if is_over {
            // Also where something has arrived, and the epoch is still the same: a waker that counts on this
            // worker has changed the state before, and the worker looks at that again before it next waits.
            self.spinning.fetch_sub(1, Ordering::SeqCst);
            return;
        }
        let mut sleepers = lock(&self.sleepers);
        // Before the epoch is read: a waker that still counts this worker as spinning has advanced the epoch
        // by then.
        self.spinning.fetch_sub(1, Ordering::SeqCst);
        if self.epoch() != seen {
            return;
        }
        sleepers.stack.push(worker);
        // One worker waits for other processes, and the rest for it: a frame wakes one thread, not all.
        let listens = self.transport.as_ref().filter(|_| sleepers.listener.is_none());
        if listens.is_some() {
            sleepers.listener = Some(worker);
        }
        // A worker that was chosen must check again, even at the epoch seen: its waker may have advanced the
        // epoch before the worker read it.
        while sleepers.stack.contains(&worker) && self.epoch() == seen {
            sleepers = match listens {
                Some(transport) => {
                    // A wake-up that comes between these two ends the wait all the same (`Transport::wake`).
                    drop(sleepers);
                    transport.wait(NAP);
                    sleepers = lock(&self.sleepers);
                    // Whatever has ended the sleep, the worker looks what there is.
                    break;
                }
                None => self.wakes[worker].wait(sleepers).unwrap_or_else(std::sync::PoisonError::into_inner),
            };
        }
        // Still there if it woke up by itself.
        sleepers.stack.retain(|sleeper| *sleeper != worker);
        if listens.is_some() {
            // Others may sleep on: whoever is awake looks for frames between two turns, and the next worker
            // that falls asleep listens.
            sleepers.listener = None;
        }
    }

    /// Looks for a while. Says whether the wait is over.
    fn spins(&self, seen: u32) -> bool {
        for _ in 0..SPINS {
            if self.epoch() != seen || self.has_arrived() {
                return true;
            }
            std::hint::spin_loop();
        }
        if self.hears_outside {
            self.sleeps.store(SLEEPS_OUTSIDE, Ordering::Relaxed);
        }
        false
    }

    /// Lets other processes run once. Says whether the wait is over.
    fn yields(&self, seen: u32) -> bool {
        if !YIELDS {
            return false;
        }
        let start = Instant::now();
        thread::yield_now();
        // It gave the core to somebody for long: for a while, sleeping is the quicker way to be woken.
        if start.elapsed() > LONGEST_YIELD {
            self.sleeps.store(SLEEPS, Ordering::Relaxed);
        }
        self.epoch() != seen || self.has_arrived()
    }

    /// Whether another process may have sent something.
    fn has_arrived(&self) -> bool {
        self.transport.as_ref().is_some_and(|transport| transport.is_pending())
    }

    /// Wakes a worker that was taken off the stack.
    fn rouse(&self, worker: usize, listener: Option<usize>) {
        match &self.transport {
            Some(transport) if listener == Some(worker) => transport.wake(),
            _ => self.wakes[worker].notify_one(),
        }
    }

    /// There is work for `workers` more; those that spin are counted among them.
    pub(crate) fn wake(&self, workers: u32) {
        if workers == 0 {
            return;
        }
        // The epoch first: whoever is counted as spinning after this sees it before it sleeps.
        self.epoch.fetch_add(1, Ordering::SeqCst);
        let spinning = self.spinning.load(Ordering::SeqCst);
        // Whoever spins sees the epoch by itself; waking a sleeper for the same work costs a system call. One
        // that is just leaving may be counted by two wakers: then fewer workers run than there is work for,
        // but nothing stays undone, since each finds nothing ready before it waits again.
        if workers > spinning {
            let mut sleepers = lock(&self.sleepers);
            for _ in spinning..workers {
                let Some(worker) = sleepers.stack.pop() else { break };
                self.rouse(worker, sleepers.listener);
            }
        }
    }

    /// It is over: all workers must check.
    pub(crate) fn wake_all(&self) {
        self.epoch.fetch_add(1, Ordering::SeqCst);
        let mut sleepers = lock(&self.sleepers);
        let listener = sleepers.listener;
        for worker in sleepers.stack.drain(..) {
            self.rouse(worker, listener);
        }
    }
}
