//! The clock and the queue of an environment, and how events come into the queue.

use super::object::*;
use super::queue::Queue;
use super::statics::statics;
use super::time::Time;
use pyo3::ffi::*;
use std::ptr::{addr_of_mut, null_mut};

/// The priority of events that are not urgent.
pub const NORMAL: i64 = 1;

#[repr(C)]
pub struct Environment {
    head: PyObject,
    pub dict: Option<Ref>,
    pub weak: Raw,
    pub inner: Inner,
}

pub struct Inner {
    pub now: Time,
    pub queue: Queue,
    /// The number of the next event that is scheduled.
    pub next_number: u64,
    pub active: Option<Ref>,
    /// `schedule` is overridden, by a subclass or for this environment: it is called for every event.
    pub overrides_schedule: bool,
    /// The exception of an event whose failure nobody handled, which `step` is about to raise.
    pub failure: Option<Ref>,
}

/// The fields of an environment. It must be one: an instance of the native base class.
#[inline(always)]
pub unsafe fn inner(env: Raw) -> *mut Inner {
    addr_of_mut!((*env.cast::<Environment>()).inner)
}

#[inline(always)]
pub unsafe fn is_environment(env: Raw) -> bool {
    Py_TYPE(env) == statics().environment_class() || is_a(env, statics().environment)
}

/// Schedules an event: at once, or after a delay, which is there as it was given and as it was read.
#[inline(always)]
pub unsafe fn schedule(
    env: Raw,
    event: Raw,
    priority: Option<i64>,
    delay: Option<(Raw, &Time)>,
) -> Outcome<()> {
    if env.is_null() {
        return raise(PyExc_AttributeError, "the event has no attribute 'env': its __init__ was not called");
    }
    // A program that traces what is scheduled gets every event.
    if !is_environment(env) || (*inner(env)).overrides_schedule {
        return schedule_by_method(env, event, priority, delay.map(|(given, _)| given));
    }
    let inner = inner(env);
    let time = match delay {
        Some((_, delay)) => (*inner).now.plus(delay)?,
        None => (*inner).now.clone(),
    };
    let number = (*inner).next_number;
    (*inner).next_number += 1;
    (*inner).queue.push(&time, priority.unwrap_or(NORMAL), number, Ref::share(event))
}

/// Calls `env.schedule` with the arguments that SimPy gives it.
#[cold]
unsafe fn schedule_by_method(env: Raw, event: Raw, priority: Option<i64>, delay: Option<Raw>) -> Outcome<()> {
    let name = statics().names.schedule;
    let end = null_mut::<PyObject>();
    let Some(priority) = priority else { return call_method_1(env, name, event).map(drop) };
    let priority = Ref::steal(PyLong_FromLongLong(priority))?;
    let done = match delay {
        Some(delay) => PyObject_CallMethodObjArgs(env, name, event, priority.raw(), delay, end),
        None => PyObject_CallMethodObjArgs(env, name, event, priority.raw(), end),
    };
    Ref::steal(done).map(drop)
}

/// Says which process runs: null where none does.
#[inline(always)]
pub unsafe fn set_active(env: Raw, process: Raw) -> Outcome<()> {
    if env.is_null() || !is_environment(env) {
        let process = if process.is_null() { Py_None() } else { process };
        return set_named(env, c"_active_proc", process);
    }
    put(addr_of_mut!((*inner(env)).active), Ref::share_opt(process));
    Ok(())
}

/// The process that runs, or `None`.
#[inline(always)]
pub unsafe fn active(env: Raw) -> Outcome<Ref> {
    if !is_environment(env) {
        return get_named(env, c"active_process");
    }
    Ok((*inner(env)).active.clone().unwrap_or_else(|| none()))
}

pub unsafe fn now(env: Raw) -> Outcome<Ref> {
    if !is_environment(env) {
        return get_named(env, c"now");
    }
    (*inner(env)).now.object()
}
