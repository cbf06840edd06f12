//! Waiting that never burns a core: a short bounded spin, then sleep.
//!
//! An event count. A worker that finds nothing to do reads the *epoch* while it still holds the lock under which it looked,
//! lets go, and calls [`Idle::wait`] with it. Whoever makes work changes what is under that lock first and calls
//! [`Idle::wake`] after, which moves the epoch on: the waiting worker either sees the new epoch or is asleep and gets woken.
//!
//! Nobody is woken in vain: of the workers wanted, those that still spin see the epoch by themselves; only the rest are
//! taken out of their sleep. Threads beyond the number of cores therefore just sleep.

use crate::sync::{AtomicU32, Condvar, Mutex, Ordering, lock};

/// Looks at the epoch before a worker goes to sleep: some microseconds, about what waking it up would cost.
#[cfg(not(paceline_shuttle))]
const SPINS: u32 = 2_000;
#[cfg(paceline_shuttle)]
const SPINS: u32 = 2;

#[derive(Debug)]
pub(crate) struct Idle {
    epoch: AtomicU32,
    spinning: AtomicU32,
    sleepers: Mutex<u32>,
    wake: Condvar,
}

impl Idle {
    pub(crate) fn new() -> Self {
        Self {
            epoch: AtomicU32::new(0),
            spinning: AtomicU32::new(0),
            sleepers: Mutex::new(0),
            wake: Condvar::new(),
        }
    }

    /// The epoch to wait beyond.
    pub(crate) fn epoch(&self) -> u32 {
        self.epoch.load(Ordering::Acquire)
    }

    /// Waits until the epoch is no longer `seen`.
    pub(crate) fn wait(&self, seen: u32) {
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
        while self.epoch() == seen {
            *sleepers += 1;
            sleepers = self.wake.wait(sleepers).unwrap_or_else(|poisoned| poisoned.into_inner());
            *sleepers -= 1;
        }
    }

    /// There is work for `workers` more; those that spin are counted among them.
    pub(crate) fn wake(&self, workers: u32) {
        if workers == 0 {
            return;
        }
        self.epoch.fetch_add(1, Ordering::SeqCst);
        let spinning = self.spinning.load(Ordering::SeqCst);
        if workers > spinning {
            let sleepers = lock(&self.sleepers);
            for _ in 0..(workers - spinning).min(*sleepers) {
                self.wake.notify_one();
            }
        }
    }

    /// It is over: everybody is to look.
    pub(crate) fn wake_all(&self) {
        self.epoch.fetch_add(1, Ordering::SeqCst);
        let _sleepers = lock(&self.sleepers);
        self.wake.notify_all();
    }
}
