//! What a process in Python acts by while it is its turn: `peers.Context` has it.
//!
//! Invariant: what is asked here takes no simulated time, and is asked of the process whose code runs; from
//! elsewhere it is an error.

use std::sync::Mutex;
use std::thread::{self, ThreadId};

use paceline_kernel::{Rng, Time};
use paceline_processes::resources::Spec;
use paceline_processes::{Mailbox, Process, ProcessId};
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::Payload;
use super::shared::{Activity, Object, Shared};

/// See the module.
#[pyclass(frozen, name = "Turn", module = "paceline._native")]
pub struct Turn {
    process: Process<Payload>,
    /// The thread whose turn of this process it is.
    thread: Mutex<Option<ThreadId>>,
}

impl Turn {
    pub fn new(process: Process<Payload>) -> Self {
        Self { process, thread: Mutex::new(None) }
    }

    pub fn set(&self, thread: Option<ThreadId>) {
        *self.thread.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = thread;
    }

    pub fn act<T>(&self, act: impl FnOnce(&Process<Payload>) -> T) -> PyResult<T> {
        let turn = *self.thread.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if turn == Some(thread::current().id()) {
            return Ok(act(&self.process));
        }
        let name = self.process.name();
        Err(PyRuntimeError::new_err(format!(
            "the context of process \"{name}\" was used outside of its code"
        )))
    }

    fn draw<T>(&self, draw: impl FnOnce(&mut Rng) -> T) -> PyResult<T> {
        self.act(|process| process.draw(draw))
    }

    fn shared(&self, make: impl FnOnce(&Process<Payload>) -> Object) -> PyResult<Shared> {
        self.act(make).map(Shared)
    }

    fn start(
        &self,
        start: impl FnOnce(&Process<Payload>) -> paceline_processes::Activity<Payload>,
    ) -> PyResult<Activity> {
        self.act(start).map(Activity::new)
    }
}

/// A mailbox: its name, its number, or receiver, sender and tag.
pub fn mailbox(mailbox: &Bound<'_, PyAny>) -> PyResult<Mailbox> {
    if let Ok(name) = mailbox.extract::<&str>() {
        return Ok(Mailbox::named(name));
    }
    if let Ok(matched) = mailbox.cast::<PyTuple>() {
        let (to, from, tag) = matched.extract::<(u32, Option<u32>, Option<u32>)>()?;
        let or_any = |number: Option<u32>| number.unwrap_or(Mailbox::ANY);
        return Ok(Mailbox::Matched { to, from: or_any(from), tag: or_any(tag) });
    }
    Ok(Mailbox::Number(mailbox.extract::<u64>()?))
}

pub fn amount(what: &str, amount: f64) -> PyResult<f64> {
    if amount >= 0.0 && amount.is_finite() {
        return Ok(amount);
    }
    Err(PyValueError::new_err(format!("{what}: {amount}; allowed: zero or more, and finite")))
}

pub fn time(what: &str, seconds: f64) -> PyResult<Time> {
    Time::try_from_secs_f64(seconds).map_err(|error| PyValueError::new_err(format!("{what}: {error}")))
}

#[pymethods]
impl Turn {
    fn now_ns(&self) -> PyResult<u64> {
        self.act(|process| process.now().as_nanos())
    }
    fn id(&self) -> u32 {
        self.process.id().0
    }
    fn name(&self) -> &str {
        self.process.name()
    }
    fn host(&self) -> u32 {
        self.process.host().0
    }
    fn record(&self, number: u64) -> PyResult<()> {
        self.act(|process| process.record(number))
    }
    fn kill(&self, process: u32) -> PyResult<()> {
        self.act(|this| this.kill(ProcessId(process)))
    }
    fn interrupt(&self, process: u32, cause: Payload) -> PyResult<()> {
        self.act(|this| this.interrupt(ProcessId(process), cause))
    }
    fn daemonize(&self) -> PyResult<()> {
        self.act(Process::daemonize)
    }
    fn send_detached(&self, to: &Bound<'_, PyAny>, payload: Payload, bytes: f64) -> PyResult<()> {
        let (to, bytes) = (mailbox(to)?, amount("bytes", bytes)?);
        self.act(|process| process.send_detached(&to, payload, bytes))
    }
    fn unit(&self) -> PyResult<f64> {
        self.draw(Rng::unit)
    }
    fn below(&self, n: u64) -> PyResult<u64> {
        self.draw(|rng| rng.below(n))
    }
    fn chance(&self, probability: f64) -> PyResult<bool> {
        self.draw(|rng| rng.chance(probability))
    }
    fn exponential(&self, mean: f64) -> PyResult<f64> {
        self.draw(|rng| rng.exponential(mean))
    }
    fn normal(&self, mean: f64, deviation: f64) -> PyResult<f64> {
        self.draw(|rng| rng.normal(mean, deviation))
    }

    fn start_send(&self, to: &Bound<'_, PyAny>, payload: Payload, bytes: f64) -> PyResult<Activity> {
        let (to, bytes) = (mailbox(to)?, amount("bytes", bytes)?);
        self.start(|process| process.start_send(&to, payload, bytes))
    }
    fn start_receive(&self, from: &Bound<'_, PyAny>) -> PyResult<Activity> {
        let from = mailbox(from)?;
        self.start(|process| process.start_receive(&from))
    }
    fn start_compute(&self, flops: f64) -> PyResult<Activity> {
        let flops = amount("flops", flops)?;
        self.start(|process| process.start_compute(flops))
    }

    fn mutex(&self) -> PyResult<Shared> {
        self.shared(|process| Object::Mutex(process.mutex()))
    }
    fn semaphore(&self, permits: u32) -> PyResult<Shared> {
        self.shared(|process| Object::Semaphore(process.semaphore(permits)))
    }
    fn condition(&self) -> PyResult<Shared> {
        self.shared(|process| Object::Condition(process.condition()))
    }
    fn barrier(&self, size: u32) -> PyResult<Shared> {
        if size == 0 {
            return Err(PyValueError::new_err("a barrier for 0 processes; allowed: from 1"));
        }
        self.shared(|process| Object::Barrier(process.barrier(size)))
    }
    fn queue(&self) -> PyResult<Shared> {
        self.shared(|process| Object::Queue(process.queue()))
    }
    fn resource(&self, capacity: u32) -> PyResult<Shared> {
        self.shared(|process| Object::Resource(process.resource(capacity)))
    }
    fn store(&self, room: Option<u64>) -> PyResult<Shared> {
        let spec = Spec::<paceline_processes::Store<Payload>>::store();
        self.shared(|process| Object::Store(process.make(spec.room(room.unwrap_or(u64::MAX)))))
    }
    fn container(&self, capacity: f64, level: f64) -> PyResult<Shared> {
        check_container(capacity, level)?;
        self.shared(|process| Object::Container(process.container(capacity, level)))
    }

    fn release_permit(&self, semaphore: &Bound<'_, Shared>) -> PyResult<()> {
        let Object::Semaphore(semaphore) = semaphore.get().0 else { return other_kind() };
        self.act(|process| semaphore.release(process))
    }
    fn notify(&self, condition: &Bound<'_, Shared>, all: bool) -> PyResult<()> {
        let Object::Condition(condition) = condition.get().0 else { return other_kind() };
        self.act(|process| match all {
            true => condition.notify_all(process),
            false => condition.notify_one(process),
        })
    }
    fn queue_put(&self, queue: &Bound<'_, Shared>, item: Payload) -> PyResult<()> {
        let Object::Queue(queue) = queue.get().0 else { return other_kind() };
        self.act(|process| queue.put(process, item))
    }
    /// `how` is `capacity`, `break_down`, `take_out` or `repair`.
    fn change(&self, resource: &Bound<'_, Shared>, how: &str, units: u32) -> PyResult<()> {
        let Object::Resource(resource) = resource.get().0 else { return other_kind() };
        self.act(|process| match how {
            "capacity" => resource.set_capacity(process, units),
            "break_down" => resource.break_down(process, units),
            "take_out" => resource.take_out(process, units),
            _ => resource.repair(process, units),
        })
    }
}

pub fn check_container(capacity: f64, level: f64) -> PyResult<()> {
    if (0.0..=capacity).contains(&level) && level.is_finite() {
        return Ok(());
    }
    Err(PyValueError::new_err(format!(
        "a container with room for {capacity} has {level} in it; allowed: from 0 to its room"
    )))
}

/// `peers.py` hands over what it was given by the functions above: only a program that goes around it comes
/// here.
pub fn other_kind<T>() -> PyResult<T> {
    Err(PyTypeError::new_err("an object of another kind"))
}
