//! Waiting that never burns a core: a short bounded spin, then sleep.
//!
//! An event count. A worker that finds nothing to do reads the *epoch* while it still holds the lock under which it looked,
//! releases it, and calls [`Idle::wait`] with the epoch. A worker that adds work first changes what is under that lock and
//! then calls [`Idle::wake`], which advances the epoch: the waiting worker either sees the new epoch or is asleep and gets woken.
//!
//! No worker is woken in vain: of the workers wanted, those that still spin see the epoch by themselves; only the rest are
//! taken out of their sleep, the one that fell asleep last first, because its federates are still in the cache. Threads
//! beyond the number of cores therefore just sleep.
//!
//! Invariant: the stack holds exactly the workers that sleep and were not chosen to be woken.

use crate::sync::{Apart, AtomicU32, Condvar, Mutex, Ordering, lock};

/// Looks at the epoch before a worker goes to sleep: some microseconds, about what waking it up would cost.
#[cfg(not(paceline_shuttle))]
const SPINS: u32 = 2_000;
#[cfg(paceline_shuttle)]
const SPINS: u32 = 2;

#[derive(Debug)]
pub(crate) struct Idle {
    epoch: Apart<AtomicU32>,
    spinning: Apart<AtomicU32>,
    sleepers: Mutex<Vec<usize>>,
    /// One for each worker.
    wakes: Vec<Condvar>,
}

impl Idle {
    pub(crate) fn new(workers: u32) -> Self {
        Self {
            epoch: Apart(AtomicU32::new(0)),
            spinning: Apart(AtomicU32::new(0)),
            sleepers: Mutex::new(Vec::new()),
            wakes: (0..workers).map(|_| Condvar::new()).collect(),
        }
    }

    /// The epoch to wait beyond.
    pub(crate) fn epoch(&self) -> u32 {
        self.epoch.load(Ordering::Acquire)
    }

    /// Lets `worker` wait until the epoch is no longer `seen`.
    pub(crate) fn wait(&self, worker: usize, seen: u32) {
        self.spinning.fetch_add(1, Ordering::SeqCst);
        for _ in 0..SPINS {
            if self.epoch() != seen {
                self.spinning.fetch_sub(1, Ordering::SeqCst);
                return;
            }
            std::hint::spin_loop();
        }
        let mut sleepers = lock(&self.sleepers);
        self.spinning.fetch_sub(1, Ordering::SeqCst);
        if self.epoch() != seen {
            return;
        }
        sleepers.push(worker);
        // A worker that was chosen must check again, even at the epoch seen: its waker may have advanced the epoch before the
        // worker read it.
        while sleepers.contains(&worker) && self.epoch() == seen {
            sleepers = self.wakes[worker].wait(sleepers).unwrap_or_else(std::sync::PoisonError::into_inner);
        }
        // Still there if it woke up by itself.
        sleepers.retain(|sleeper| *sleeper != worker);
    }

    /// There is work for `workers` more; those that spin are counted among them.
    pub(crate) fn wake(&self, workers: u32) {
        if workers == 0 {
            return;
        }
        self.epoch.fetch_add(1, Ordering::SeqCst);
        let spinning = self.spinning.load(Ordering::SeqCst);
        if workers > spinning {
            let mut sleepers = lock(&self.sleepers);
            for _ in spinning..workers {
                let Some(worker) = sleepers.pop() else { break };
                self.wakes[worker].notify_one();
            }
        }
    }

    /// It is over: all workers must check.
    pub(crate) fn wake_all(&self) {
        self.epoch.fetch_add(1, Ordering::SeqCst);
        let mut sleepers = lock(&self.sleepers);
        for worker in sleepers.drain(..) {
            self.wakes[worker].notify_one();
        }
    }
}
