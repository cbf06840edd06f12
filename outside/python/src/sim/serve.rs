//! When which request is served.
//!
//! `_trigger_put` and `_trigger_get` go through the queue of requests and ask `_do_put` or `_do_get` of the
//! kind ([`rules`](super::rules)), or the method that overrides it.

use super::event::is_triggered;
use super::kind::Side;
use super::object::*;
use super::resource::{field, inner, is_resource};
use super::rules::{do_get, do_put};
use super::statics::statics;
use pyo3::ffi::*;
use std::ptr::null_mut;

pub unsafe fn trigger_put(resource: Raw) -> Outcome<()> {
    if is_resource(resource) && !(*inner(resource)).overrides.trigger_put {
        return serve(resource, Side::Put);
    }
    call_method_1(resource, statics().names.trigger_put, Py_None()).map(drop)
}

pub unsafe fn trigger_get(resource: Raw) -> Outcome<()> {
    if is_resource(resource) && !(*inner(resource)).overrides.trigger_get {
        return serve(resource, Side::Get);
    }
    call_method_1(resource, statics().names.trigger_get, Py_None()).map(drop)
}

/// Goes through the queue until a request says that those behind it need not be asked. Requests that have
/// been triggered leave the queue.
pub unsafe fn serve(resource: Raw, side: Side) -> Outcome<()> {
    let fields = inner(resource);
    let (queue, is_overridden) = match side {
        Side::Put => (&raw const (*fields).puts, (*fields).overrides.do_put),
        Side::Get => (&raw const (*fields).gets, (*fields).overrides.do_get),
    };
    let mut index = 0;
    loop {
        // Anew in each turn: serving a request may run code that puts another list in its place.
        let queue = field(queue, if side == Side::Put { "put_queue" } else { "get_queue" })?;
        if index >= length(queue.raw())? {
            return Ok(());
        }
        let event = Ref::steal(PySequence_GetItem(queue.raw(), index))?;
        let goes_on = if is_overridden {
            let name = if side == Side::Put { statics().names.do_put } else { statics().names.do_get };
            let goes_on = call_method_1(resource, name, event.raw())?;
            is_true(goes_on.raw())?
        } else {
            match side {
                Side::Put => do_put((*fields).kind, resource, event.raw())?,
                Side::Get => do_get((*fields).kind, resource, event.raw())?,
            }
        };
        // Not by what the method has said: an overridden one may say anything, and a request that was
        // triggered must not be served twice.
        if was_triggered(event.raw())? {
            take_out(queue.raw(), index, event.raw(), side)?;
        } else {
            index += 1;
        }
        if !goes_on {
            return Ok(());
        }
    }
}

#[inline(always)]
unsafe fn length(queue: Raw) -> Outcome<Py_ssize_t> {
    if PyList_CheckExact(queue) != 0 {
        return Ok(PyList_Size(queue));
    }
    let length = PySequence_Size(queue);
    if length < 0 { Err(Raised) } else { Ok(length) }
}

#[inline(always)]
unsafe fn was_triggered(event: Raw) -> Outcome<bool> {
    if is_a(event, statics().event) {
        return Ok(is_triggered(event));
    }
    let triggered = get_named(event, c"triggered")?;
    is_true(triggered.raw())
}

/// Removes a request that has been served, which must still be where it was.
#[inline(always)]
unsafe fn take_out(queue: Raw, index: Py_ssize_t, event: Raw, side: Side) -> Outcome<()> {
    let is_there;
    if is_plain_queue(queue) {
        is_there = index < PyList_Size(queue) && PyList_GetItem(queue, index) == event;
        if is_there {
            return checked(PyList_SetSlice(queue, index, index + 1, null_mut()));
        }
    } else {
        let at = Ref::steal(PyLong_FromSsize_t(index))?;
        let popped = call_method_1(queue, statics().names.pop, at.raw())?;
        is_there = popped.raw() == event || compare(popped.raw(), event, Py_EQ)?;
    }
    if is_there {
        return Ok(());
    }
    let which = if side == Side::Put { "Put" } else { "Get" };
    raise(PyExc_RuntimeError, &format!("{which} queue invariant violated"))
}

/// Whether a queue is a list, or the list that `PriorityResource` sorts: its methods need no call.
#[inline(always)]
unsafe fn is_plain_queue(queue: Raw) -> bool {
    PyList_CheckExact(queue) != 0 || Py_TYPE(queue).cast() == statics().sorted_queue
}
