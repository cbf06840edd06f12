//! The loop: takes one event after the other from the queue, and calls its callbacks.

use super::callback::{Callback, Callbacks};
use super::event::{Status, body};
use super::object::*;
use super::schedule::{inner, schedule};
use super::statics::statics;
use super::time::Time;
use super::trigger::copy_exception;
use super::{condition, process, serve};
use pyo3::ffi::*;
use std::ptr::addr_of_mut;

/// How often, in events, the loop lets Python see its signals: a loop in which no generator runs, and so no
/// bytecode, would not see Ctrl-C.
const EVENTS_BETWEEN_SIGNALS: u32 = 4096;

#[inline(always)]
unsafe fn call(event: Raw, callback: Callback) -> Outcome<()> {
    match callback {
        Callback::Resume(process) => process::resume(process.raw(), event),
        Callback::Check(condition) => condition::check(condition.raw(), event),
        Callback::Build => condition::build(event),
        Callback::Interrupt => process::deliver(event),
        Callback::Get(resource) => serve::trigger_get(resource.raw()),
        Callback::Put(resource) => serve::trigger_put(resource.raw()),
        Callback::Stop => Err(stop(event)),
    }
}

/// Ends `run` with the value of the event, or with its exception.
#[cold]
unsafe fn stop(event: Raw) -> Raised {
    let value = (*body(event)).value.clone().unwrap_or_else(|| none());
    if (*body(event)).status != Status::Good {
        return raise_instance(value.raw());
    }
    if let Ok(stop) = call_1(statics().stop_simulation, value.raw()) {
        return raise_instance(stop.raw());
    }
    Raised
}

/// After an exception in a callback: where it ends `run`, the event is scheduled again with the callbacks
/// that were still to come, and the next `run` calls them.
#[cold]
unsafe fn after_exception(env: Raw, event: Raw, rest: impl FnOnce() -> Outcome<Callbacks>) -> Raised {
    // Any other exception goes to the caller, and the callbacks that were to come are dropped.
    if PyErr_ExceptionMatches(statics().stop_simulation) == 0 {
        return Raised;
    }
    let exception = take_exception();
    let Ok(rest) = rest() else { return Raised };
    drop(std::mem::replace(&mut (*body(event)).callbacks, rest));
    let given = Ref::share(statics().zero);
    // Before all that is scheduled for now: the rest belongs to the moment that has begun.
    match schedule(env, event, Some(-1), Some((given.raw(), &Time::Int(0)))) {
        Ok(()) => raise_instance(exception.raw()),
        Err(raised) => raised,
    }
}

/// Processes one event, which has been taken from the queue. False: it has failed, and nobody handled that;
/// `failure` has the exception.
#[inline(always)]
unsafe fn process_event(env: Raw, event: Raw) -> Outcome<bool> {
    let fields = body(event);
    match std::mem::replace(&mut (*fields).callbacks, Callbacks::Done) {
        Callbacks::Native(callbacks) => {
            // It is used for another sleep only if the process alone has waited for it, to its end.
            if callbacks.len() != 1 {
                (*fields).is_sleep = false;
            }
            let mut callbacks = callbacks.into_iter();
            while let Some(callback) = callbacks.next() {
                if let Err(Raised) = call(event, callback) {
                    return Err(after_exception(env, event, || Ok(Callbacks::Native(callbacks.collect()))));
                }
            }
        }
        Callbacks::List(list) => {
            (*fields).is_sleep = false;
            let mut index = 0;
            // The length is asked for each time: a callback may add to the list, and what it adds is called,
            // as in SimPy.
            while index < PyList_Size(list.raw()) {
                let callback = Ref::share(PyList_GetItem(list.raw(), index));
                index += 1;
                if let Err(Raised) = call_1(callback.raw(), event) {
                    let end = PyList_Size(list.raw());
                    return Err(after_exception(env, event, || {
                        Ref::steal(PyList_GetSlice(list.raw(), index, end)).map(Callbacks::List)
                    }));
                }
            }
        }
        Callbacks::Done => {
            return raise(PyExc_TypeError, "'NoneType' object is not iterable: the event was processed");
        }
    }
    // A failure that no callback has taken on ends the run.
    if (*fields).status == Status::Good || (*fields).defused {
        return Ok(true);
    }
    if (*fields).status == Status::Unset {
        return raise(
            PyExc_AttributeError,
            "an event without outcome was processed: it has no attribute '_ok'",
        );
    }
    let value = (*fields).value.clone().unwrap_or_else(|| none());
    let failure = copy_exception(value.raw())?;
    put(addr_of_mut!((*inner(env)).failure), Some(failure));
    Ok(false)
}

/// Takes the first event and advances the clock to it.
#[inline(always)]
unsafe fn take_event(env: Raw) -> Outcome<Ref> {
    let inner = inner(env);
    match (*inner).queue.pop()? {
        Some((time, event)) => {
            // The clock first, as in SimPy: what a program has put into the queue that is no event is an
            // error at its time.
            drop(std::mem::replace(&mut (*inner).now, time));
            if is_a(event.raw(), statics().event) {
                return Ok(event);
            }
            raise(PyExc_TypeError, "only events can be scheduled")
        }
        None => {
            PyErr_SetNone(statics().empty_schedule);
            Err(Raised)
        }
    }
}

/// Runs until an event has failed; `run` then calls `step`, which raises that failure. Ends by exceptions
/// only: the stop of `run`, an empty schedule, or what a callback raised.
pub unsafe fn run_until_failure(this: Raw, _: Raw) -> Outcome<Ref> {
    let mut count = 0;
    loop {
        let event = take_event(this)?;
        if !process_event(this, event.raw())? {
            return Ok(none());
        }
        count += 1;
        if count == EVENTS_BETWEEN_SIGNALS {
            count = 0;
            checked(PyErr_CheckSignals())?;
        }
    }
}

/// Processes one event, or does nothing where a failure is pending; gives the failure, to be raised, or
/// `None`.
pub unsafe fn advance(this: Raw, _: Raw) -> Outcome<Ref> {
    let inner = inner(this);
    // A failure that the loop has left is raised before another event happens.
    if (*inner).failure.is_none() {
        let event = take_event(this)?;
        process_event(this, event.raw())?;
    }
    Ok((*inner).failure.take().unwrap_or_else(|| none()))
}
