//! The doorbell of a process: a futex word that says whether the process sleeps. Senders make a system call
//! only if it does.
//!
//! A process that goes to sleep stores [`ASLEEP`], then checks for something to do, then sleeps on the word.
//! A sender first publishes its data, then loads the word; if the word is `ASLEEP`, the sender resets it and
//! wakes the sleeper. A sequentially consistent fence between store and load on both sides ensures that
//! either the sleeper sees the data, or the sender sees that it sleeps. A change of the word between the
//! check and the sleep is not missed: the kernel compares the word with `ASLEEP` before the thread sleeps.
//!
//! Under shuttle and loom, which do not support futexes, a lock and a condition variable replace the kernel.

use std::time::Duration;

#[cfg(not(any(paceline_shuttle, paceline_loom)))]
use rustix::thread::futex;

use crate::sync::{AtomicU32, Ordering, fence};
#[cfg(any(paceline_shuttle, paceline_loom))]
use crate::sync::{Condvar, Mutex, lock};

const AWAKE: u32 = 0;
const ASLEEP: u32 = 1;

/// Initially all zero: awake.
#[derive(Debug, Default)]
#[repr(C)]
pub(super) struct Bell {
    word: AtomicU32,
    #[cfg(any(paceline_shuttle, paceline_loom))]
    sleeper: (Mutex<()>, Condvar),
}

impl Bell {
    /// Announces that the process is about to sleep. From now on senders ring for what they publish.
    pub(super) fn arm(&self) {
        self.word.store(ASLEEP, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// Announces that the process does not sleep.
    pub(super) fn disarm(&self) {
        self.word.store(AWAKE, Ordering::Relaxed);
    }

    /// Whether any sender has rung since [`Bell::arm`].
    pub(super) fn has_rung(&self) -> bool {
        self.word.load(Ordering::Acquire) == AWAKE
    }

    /// Wakes the process if it sleeps. Called after publishing something that it waits for.
    #[inline]
    pub(super) fn ring(&self) {
        fence(Ordering::SeqCst);
        if self.word.load(Ordering::Relaxed) == ASLEEP && self.word.swap(AWAKE, Ordering::AcqRel) == ASLEEP {
            self.wake();
        }
    }

    #[cfg(not(any(paceline_shuttle, paceline_loom)))]
    fn wake(&self) {
        // The word is in mapped memory, so the call cannot fail.
        let _ = futex::wake(&self.word, futex::Flags::empty(), 1);
    }

    /// Sleeps until a sender rings, at most for `most`; may return early.
    #[cfg(not(any(paceline_shuttle, paceline_loom)))]
    pub(super) fn sleep(&self, most: Duration) {
        let most = rustix::time::Timespec::try_from(most).ok();
        // Whatever ended the sleep (ring, time limit, signal), the caller checks again.
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
