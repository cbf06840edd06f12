//! When a world that is dealt to federates ends.
//!
//! A federate *lives* while it has a process that is no daemon, or one that comes back with its host. Once it does not live it never
//! does again: only daemons and messages are left in it, and what a daemon spawns is a daemon. So the world ends at the greatest
//! of the times at which a federate ceased to live, which is known when the last one has; or when a process fails, at the earliest
//! failure.
//!
//! Invariant: a federate that has not ended at a time handles all that happens to it until then.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use paceline_kernel::Time;

use super::agenda::lock;
use crate::report::RunError;

/// See the module.
pub(super) struct Ending {
    /// Federates that live.
    living: AtomicUsize,
    /// The greatest of the times at which one ceased to.
    last_ns: AtomicU64,
    failed_ns: AtomicU64,
    /// The earliest failure: when, whose by identity, and what.
    failed: Mutex<Option<(Time, u64, RunError)>>,
}

impl Ending {
    /// So many federates live.
    pub(super) fn new(living: usize) -> Self {
        let (last_ns, failed_ns) = (AtomicU64::new(0), AtomicU64::new(u64::MAX));
        Self { living: AtomicUsize::new(living), last_ns, failed_ns, failed: Mutex::new(None) }
    }

    /// A federate has ceased to live.
    pub(super) fn ceases(&self, now: Time) {
        self.last_ns.fetch_max(now.as_nanos(), Ordering::SeqCst);
        self.living.fetch_sub(1, Ordering::SeqCst);
    }

    /// A process has failed.
    pub(super) fn fails(&self, now: Time, identity: u64, error: RunError) {
        let mut failed = lock(&self.failed);
        let earlier = |known: &(Time, u64, RunError)| (now, identity) < (known.0, known.1);
        if failed.as_ref().is_none_or(earlier) {
            *failed = Some((now, identity, error));
            self.failed_ns.fetch_min(now.as_nanos(), Ordering::SeqCst);
        }
    }

    /// Whether all federates have ended.
    pub(super) fn is_over(&self) -> bool {
        self.living.load(Ordering::SeqCst) == 0
    }

    /// When the world ended, if it is over; before that, not after it will.
    pub(super) fn last(&self) -> Time {
        Time::nanos(self.last_ns.load(Ordering::SeqCst))
    }

    /// Whether what happens at `now` happens after the end.
    pub(super) fn is_past(&self, now: Time) -> bool {
        now.as_nanos() > self.failed_ns.load(Ordering::SeqCst) || (self.is_over() && now > self.last())
    }

    /// The earliest failure; one of a daemon after the end is none.
    pub(super) fn failed(&self) -> Option<RunError> {
        let failed = lock(&self.failed);
        let (at, _, error) = failed.as_ref()?;
        (!self.is_over() || *at <= self.last()).then(|| error.clone())
    }
}
