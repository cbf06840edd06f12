//! The doorbell of a process: a futex word that says whether it sleeps. Senders make a system call only if it does.
//!
//! Who goes to sleep stores [`ASLEEP`], then looks for something to do, then sleeps on the word. Who has something to be seen first
//! publishes it, then loads the word, and if it says `ASLEEP` takes that away and wakes the sleeper. A sequentially consistent fence
//! stands between store and load on both sides: either the sleeper sees what was published, or the sender sees that it sleeps. Between
//! its look and the sleep itself the word cannot be missed: the kernel compares it with `ASLEEP` before the thread sleeps.
//!
//! Under shuttle and loom, which know no futexes, a lock and a condition variable do the kernel's part.

use std::time::Duration;

#[cfg(not(any(paceline_shuttle, paceline_loom)))]
use rustix::thread::futex;

use crate::sync::{AtomicU32, Ordering, fence};
#[cfg(any(paceline_shuttle, paceline_loom))]
use crate::sync::{Condvar, Mutex, lock};

const AWAKE: u32 = 0;
const ASLEEP: u32 = 1;

/// Awake at the beginning, when all is zero.
#[derive(Debug, Default)]
#[repr(C)]
pub(super) struct Bell {
    word: AtomicU32,
    #[cfg(any(paceline_shuttle, paceline_loom))]
    sleeper: (Mutex<()>, Condvar),
}

impl Bell {
    /// Says that the process is about to sleep. What it looks for after this, senders ring for.
    pub(super) fn arm(&self) {
        self.word.store(ASLEEP, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// Says that the process does not sleep.
    pub(super) fn disarm(&self) {
        self.word.store(AWAKE, Ordering::Relaxed);
    }

    /// Whether someone has rung since [`Bell::arm`].
    pub(super) fn has_rung(&self) -> bool {
        self.word.load(Ordering::Acquire) == AWAKE
    }

    /// Wakes the process if it sleeps, after something was published that it looks for.
    #[inline]
    pub(super) fn ring(&self) {
        fence(Ordering::SeqCst);
        if self.word.load(Ordering::Relaxed) == ASLEEP && self.word.swap(AWAKE, Ordering::AcqRel) == ASLEEP {
            self.wake();
        }
    }

    #[cfg(not(any(paceline_shuttle, paceline_loom)))]
    fn wake(&self) {
        // The word lies in memory that is mapped here, so the call has no reason to fail.
        let _ = futex::wake(&self.word, futex::Flags::empty(), 1);
    }

    /// Sleeps until someone rings, or for `most`; possibly less.
    #[cfg(not(any(paceline_shuttle, paceline_loom)))]
    pub(super) fn sleep(&self, most: Duration) {
        let most = rustix::time::Timespec::try_from(most).ok();
        // Whether it rang, time is up or a signal came, the caller looks again.
        let _ = futex::wait(&self.word, futex::Flags::empty(), ASLEEP, most.as_ref());
    }

    #[cfg(any(paceline_shuttle, paceline_loom))]
    fn wake(&self) {
        drop(lock(&self.sleeper.0));
        self.sleeper.1.notify_all();
    }

    #[cfg(any(paceline_shuttle, paceline_loom))]
    pub(super) fn sleep(&self, _most: Duration) {
        let mut guard = lock(&self.sleeper.0);
        while self.word.load(Ordering::Acquire) == ASLEEP {
            guard = self.sleeper.1.wait(guard).unwrap_or_else(std::sync::PoisonError::into_inner);
        }
    }
}
