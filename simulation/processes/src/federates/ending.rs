//! When a world that is divided among federates ends.
//!
//! A federate *lives* while it has a process that is not a daemon. A process that ended with its host and
//! restarts with it counts, unless it is a daemon. Once a federate does not live, it never lives again: only
//! daemons and messages are left in it, and a process that a daemon spawns is a daemon. So the world ends at
//! the latest time at which a federate ceased to live, which is known when the last one has. If a process
//! fails no later than that, the world ends at the earliest failure.
//!
//! Invariant: a federate skips only instants after the end: [`Ending::is_past`] is true only for times later
//! than the earliest known failure, or later than the end once that is known.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use paceline_kernel::Time;

use super::agenda::lock;
use crate::report::RunError;

/// When the world ends, as far as it is known: see the module.
pub(super) struct Ending {
    /// The number of federates that live.
    living: AtomicUsize,
    /// The latest time at which one ceased to live.
    last_ns: AtomicU64,
    failed_ns: AtomicU64,
    /// The earliest failure: its time, the identity of the process, and the error.
    failed: Mutex<Option<(Time, u64, RunError)>>,
}

impl Ending {
    pub(super) fn new(living: usize) -> Self {
        let (last_ns, failed_ns) = (AtomicU64::new(0), AtomicU64::new(u64::MAX));
        Self { living: AtomicUsize::new(living), last_ns, failed_ns, failed: Mutex::new(None) }
    }

    /// Notes that a federate has ceased to live.
    pub(super) fn ceases(&self, now: Time) {
        self.last_ns.fetch_max(now.as_nanos(), Ordering::SeqCst);
        self.living.fetch_sub(1, Ordering::SeqCst);
    }

    pub(super) fn fails(&self, now: Time, identity: u64, error: RunError) {
        let mut failed = lock(&self.failed);
        let earlier = |known: &(Time, u64, RunError)| (now, identity) < (known.0, known.1);
        if failed.as_ref().is_none_or(earlier) {
            *failed = Some((now, identity, error));
            self.failed_ns.fetch_min(now.as_nanos(), Ordering::SeqCst);
        }
    }

    /// Whether no federate lives any more.
    pub(super) fn is_over(&self) -> bool {
        self.living.load(Ordering::SeqCst) == 0
    }

    /// When the world ended, if it is over; before that, a lower bound of that time.
    pub(super) fn last(&self) -> Time {
        Time::nanos(self.last_ns.load(Ordering::SeqCst))
    }

    /// Whether `now` is known to be after the end.
    pub(super) fn is_past(&self, now: Time) -> bool {
        now.as_nanos() > self.failed_ns.load(Ordering::SeqCst) || (self.is_over() && now > self.last())
    }

    /// The earliest failure; one after the end, which only a daemon can have, does not count.
    pub(super) fn failed(&self) -> Option<RunError> {
        let failed = lock(&self.failed);
        let (at, _, error) = failed.as_ref()?;
        (!self.is_over() || *at <= self.last()).then(|| error.clone())
    }
}
