//! What processes in Python share beside mailboxes, and what they hold of it.
//!
//! Invariants: these objects are handles, which the core answers for; what a process holds is released once,
//! by `release` or when its object is freed, and by the process that holds it.

use std::mem::{ManuallyDrop, forget};
use std::sync::{Mutex, PoisonError};

use paceline_processes::{Barrier, Condition, Container, Process, Queue, Resource, Semaphore, Store};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::Payload;

/// The kinds of shared objects.
#[derive(Clone, Copy)]
pub enum Object {
    Mutex(paceline_processes::Mutex),
    Semaphore(Semaphore),
    Condition(Condition),
    Barrier(Barrier),
    Queue(Queue),
    Resource(Resource),
    Store(Store<Payload>),
    Container(Container),
}

/// A shared object, which the classes of `peers.py` have.
#[pyclass(frozen, module = "paceline._native")]
pub struct Shared(pub Object);

/// A mutex that a process holds.
#[pyclass(frozen, module = "paceline._native")]
pub struct Lock {
    mutex: paceline_processes::Mutex,
    process: Process<Payload>,
    is_held: Mutex<bool>,
}

impl Lock {
    /// For the guard of `mutex`, in whose place it is from now on.
    pub fn new(
        mutex: paceline_processes::Mutex,
        guard: paceline_processes::MutexGuard<'_, Payload>,
        process: &Process<Payload>,
    ) -> Self {
        forget(guard);
        Self { mutex, process: process.clone(), is_held: Mutex::new(true) }
    }

    /// The guard, for a wait for a condition; it must not release the mutex when it is dropped.
    pub fn guard(&self) -> PyResult<ManuallyDrop<paceline_processes::MutexGuard<'_, Payload>>> {
        if *self.is_held.lock().unwrap_or_else(PoisonError::into_inner) {
            return Ok(ManuallyDrop::new(self.mutex.guard(&self.process)));
        }
        Err(PyValueError::new_err("the mutex has been released"))
    }
}

#[pymethods]
impl Lock {
    fn release(&self) {
        let mut is_held = self.is_held.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::take(&mut *is_held) {
            drop(self.mutex.guard(&self.process));
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        self.release();
    }
}

/// Units that a process holds.
#[pyclass(frozen, module = "paceline._native")]
pub struct Held(Mutex<Option<paceline_processes::Held<Payload>>>);

impl Held {
    pub fn new(held: paceline_processes::Held<Payload>) -> Self {
        Self(Mutex::new(Some(held)))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<paceline_processes::Held<Payload>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Held {
    /// Releases so many units, or all.
    fn release(&self, units: Option<u32>) {
        let mut held = self.lock();
        match units {
            Some(units) => held.iter_mut().for_each(|held| held.release_some(units)),
            None => drop(held.take()),
        }
    }

    /// How long the process waited for them, in seconds; None where they are released.
    fn waited(&self) -> Option<f64> {
        self.lock().as_ref().map(|held| held.waited().as_secs_f64())
    }
}

/// What a process has begun. It is cancelled when this is freed, unless it is over or was let go.
#[pyclass(frozen, module = "paceline._native")]
pub struct Activity(Mutex<Option<paceline_processes::Activity<Payload>>>);

impl Activity {
    pub fn new(activity: paceline_processes::Activity<Payload>) -> Self {
        Self(Mutex::new(Some(activity)))
    }

    /// Takes it for a wait, or for good.
    pub fn take(&self) -> PyResult<paceline_processes::Activity<Payload>> {
        let taken = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        taken.ok_or_else(|| PyValueError::new_err("the activity was cancelled or detached, or is waited for"))
    }

    /// Brings it back after a wait.
    pub fn put_back(&self, activity: paceline_processes::Activity<Payload>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(activity);
    }
}

#[pymethods]
impl Activity {
    fn cancel(&self) -> PyResult<()> {
        self.take().map(paceline_processes::Activity::cancel)
    }
    fn detach(&self) -> PyResult<()> {
        self.take().map(paceline_processes::Activity::detach)
    }
}
