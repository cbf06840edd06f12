//! The primitives that the worker threads share: the standard library's, or, built with `--cfg
//! paceline_shuttle`, those of shuttle, which runs a test under thousands of interleavings.

#[cfg(not(paceline_shuttle))]
pub(crate) use std::{
    sync::atomic::{AtomicI64, AtomicU32, Ordering},
    sync::{Condvar, Mutex, MutexGuard, mpsc},
    thread,
};

#[cfg(paceline_shuttle)]
pub(crate) use shuttle::{
    sync::atomic::{AtomicI64, AtomicU32, Ordering},
    sync::{Condvar, Mutex, MutexGuard, mpsc},
    thread,
};

// Counts of messages between processes: without those, the import would be unused.
#[cfg(all(feature = "net", paceline_shuttle))]
pub(crate) use shuttle::sync::atomic::AtomicU64;
#[cfg(all(feature = "net", not(paceline_shuttle)))]
pub(crate) use std::sync::atomic::AtomicU64;

/// Locks, even what a panic has poisoned: one of the model in an event is caught in the kernel, before it
/// passes a lock; any other ends the run, and the workers take locks only to leave.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Keeps what is in it on cache lines of its own, away from what other workers write: 128 bytes, since
/// processors fetch lines of 64 bytes in pairs.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Apart<T>(pub(crate) T);

impl<T> std::ops::Deref for Apart<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}
