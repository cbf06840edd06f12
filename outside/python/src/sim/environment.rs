//! The native base class of environments.
//!
//! The class that programs see, `paceline.sim.core.Environment`, is a subclass in Python: its `run` and
//! `step` are there, so that tracebacks show them as SimPy's do.

use super::call::*;
use super::callback::Callback;
use super::condition;
use super::event::{Body, make};
use super::object::*;
use super::process;
use super::queue::Queue;
use super::run::{advance, run_until_failure};
use super::schedule::{Environment, Inner, NORMAL, active, inner, now, set_active};
use super::statics::statics;
use super::time::Time;
use super::timeout;
use super::watch::add;
use pyo3::ffi::*;
use std::collections::BinaryHeap;
use std::ffi::{c_int, c_void};
use std::mem::offset_of;
use std::ptr::{addr_of_mut, null_mut};

unsafe fn stop_at(this: Raw, event: Raw) -> Outcome<Ref> {
    let _ = this;
    if !is_a(event, statics().event) {
        return raise(PyExc_TypeError, "run stops at an event");
    }
    Ok(boolean(add(event, Callback::Stop)?))
}

unsafe fn do_timeout(this: Raw, args: &Args) -> Outcome<Ref> {
    let [delay, value] = args.parse("timeout", ["delay", "value"], 1)?;
    let value = if value.is_null() { Py_None() } else { value };
    // Tracing replaces `__init__`; only the constructor calls it.
    if statics().is_patched(statics().timeout) {
        let end = null_mut::<PyObject>();
        return Ref::steal(PyObject_CallFunctionObjArgs(statics().timeout.cast(), this, delay, value, end));
    }
    timeout::start(this, delay, value)
}

unsafe fn do_process(this: Raw, args: &Args) -> Outcome<Ref> {
    let [generator] = args.parse("process", ["generator"], 1)?;
    if statics().is_patched(statics().process) {
        return call_2(statics().process.cast(), this, generator);
    }
    process::start(this, generator)
}

unsafe fn do_event(this: Raw, _: Raw) -> Outcome<Ref> {
    if statics().is_patched(statics().event) {
        return call_1(statics().event.cast(), this);
    }
    make(statics().event, Body::new(Some(Ref::share(this))))
}

unsafe fn do_all_of(this: Raw, args: &Args) -> Outcome<Ref> {
    let [events] = args.parse("all_of", ["events"], 1)?;
    condition::of(this, statics().all_of, statics().all_events, events)
}

unsafe fn do_any_of(this: Raw, args: &Args) -> Outcome<Ref> {
    let [events] = args.parse("any_of", ["events"], 1)?;
    condition::of(this, statics().any_of, statics().any_events, events)
}

unsafe fn do_schedule(this: Raw, args: &Args) -> Outcome<Ref> {
    let [event, priority, delay] = args.parse("schedule", ["event", "priority", "delay"], 1)?;
    if !is_a(event, statics().event) {
        return raise(PyExc_TypeError, "only events can be scheduled");
    }
    let priority = if priority.is_null() {
        NORMAL
    } else {
        let priority = PyLong_AsLongLong(priority);
        // -1 is a priority, too: the interpreter says whether it is an error.
        if priority == -1 && !PyErr_Occurred().is_null() {
            return Err(Raised);
        }
        priority
    };
    let delay = if delay.is_null() { Time::Int(0) } else { Time::read(delay) };
    let inner = inner(this);
    let time = (*inner).now.plus(&delay)?;
    let number = (*inner).next_number;
    (*inner).next_number += 1;
    (*inner).queue.push(&time, priority, number, Ref::share(event))?;
    Ok(none())
}

unsafe fn peek(this: Raw, _: Raw) -> Outcome<Ref> {
    (*inner(this)).queue.peek()
}

unsafe fn next_number(this: Raw, _: Raw) -> Outcome<Ref> {
    let inner = inner(this);
    (*inner).next_number += 1;
    Ref::steal(PyLong_FromUnsignedLongLong((*inner).next_number - 1))
}

unsafe fn init(this: Raw, args: Raw, keywords: Raw) -> Outcome<()> {
    let [initial_time] = parse_init(args, keywords, "Environment.__init__", ["initial_time"], 0)?;
    if !initial_time.is_null() {
        return set_now(this, initial_time);
    }
    Ok(())
}

unsafe fn set_now(this: Raw, value: Raw) -> Outcome<()> {
    if value.is_null() {
        return raise(PyExc_AttributeError, "the clock cannot be deleted");
    }
    drop(std::mem::replace(&mut (*inner(this)).now, Time::read(value)));
    Ok(())
}

unsafe fn set_active_process(this: Raw, value: Raw) -> Outcome<()> {
    set_active(this, if value == Py_None() { null_mut() } else { value })
}

unsafe fn queue(this: Raw) -> Outcome<Ref> {
    (*inner(this)).queue.list()
}

unsafe fn numbers(this: Raw) -> Outcome<Ref> {
    call_1(statics().event_numbers, this)
}

unsafe fn dict(this: Raw) -> Outcome<Ref> {
    Ref::steal(PyObject_GenericGetDict(this, null_mut()))
}

unsafe extern "C" fn new(class: *mut PyTypeObject, _args: Raw, _keywords: Raw) -> Raw {
    guard(null_mut(), || {
        let env = Ref::steal(PyType_GenericAlloc(class, 0))?;
        let fields = Inner {
            now: Time::Int(0),
            queue: Queue::Heap(BinaryHeap::new()),
            next_number: 0,
            active: None,
            overrides_schedule: false,
            failure: None,
        };
        inner(env.raw()).write(fields);
        let schedule = get(class.cast(), statics().names.schedule)?;
        (*inner(env.raw())).overrides_schedule = schedule.raw() != statics().native_schedule;
        Ok(env.into_raw())
    })
}

/// `env.schedule = function` for this environment alone, as tracing does it.
unsafe extern "C" fn set_attribute(this: Raw, name: Raw, value: Raw) -> c_int {
    guard(-1, || {
        checked(PyObject_GenericSetAttr(this, name, value))?;
        // Deleted again, it is that of the class.
        if PyUnicode_Compare(name, statics().names.schedule) == 0 {
            let schedule = get(Py_TYPE(this).cast(), name)?;
            (*inner(this)).overrides_schedule =
                !value.is_null() || schedule.raw() != statics().native_schedule;
        }
        Ok(0)
    })
}

unsafe extern "C" fn traverse(this: Raw, visit: visitproc, arg: *mut c_void) -> c_int {
    let inner = inner(this);
    let fixed = [
        Py_TYPE(this).cast(),
        raw(&(*this.cast::<Environment>()).dict),
        raw(&(*inner).active),
        raw(&(*inner).failure),
    ];
    let now = if let Time::Object(now) = &(*inner).now { now.raw() } else { null_mut() };
    let all = fixed.into_iter().chain([now]).chain((*inner).queue.references());
    visit_all(all, visit, arg)
}

unsafe extern "C" fn clear(this: Raw) -> c_int {
    let inner = inner(this);
    let queue = std::mem::replace(&mut (*inner).queue, Queue::Heap(BinaryHeap::new()));
    let now = std::mem::replace(&mut (*inner).now, Time::Int(0));
    let rest = ((*inner).active.take(), (*inner).failure.take(), (*this.cast::<Environment>()).dict.take());
    drop((queue, now, rest));
    0
}

unsafe extern "C" fn dealloc(this: Raw) {
    let class = Py_TYPE(this);
    PyObject_GC_UnTrack(this.cast());
    if !(*this.cast::<Environment>()).weak.is_null() {
        PyObject_ClearWeakRefs(this);
    }
    inner(this).drop_in_place();
    addr_of_mut!((*this.cast::<Environment>()).dict).drop_in_place();
    PyObject_GC_Del(this.cast());
    Py_DECREF(class.cast());
}

/// How the memory of environments is managed. Every type has these itself: one that had no `dealloc` would
/// get the slow one of classes in Python.
pub fn memory() -> Memory {
    [(Py_tp_traverse, traverse as *mut _), (Py_tp_clear, clear as *mut _), (Py_tp_dealloc, dealloc as *mut _)]
}

/// What the native base class of `Environment` is made of.
pub fn parts() -> Parts {
    Parts {
        name: c"paceline._native.Environment",
        doc: "Environment(initial_time=0)\n--\n\nThe clock and the queue of a simulation.",
        size: size_of::<Environment>(),
        dict_offset: Some(offset_of!(Environment, dict)),
        weak_offset: Some(offset_of!(Environment, weak)),
        methods: vec![
            method!("timeout", do_timeout, "An event that happens after a delay."),
            method!("process", do_process, "Starts a process that runs a generator."),
            method_1!("event", do_event, METH_NOARGS, "An event that a program triggers."),
            method!("all_of", do_all_of, "A condition that is met once all events have happened."),
            method!("any_of", do_any_of, "A condition that is met once one of the events has happened."),
            method!("schedule", do_schedule, "Puts an event into the queue, after a delay."),
            method_1!("peek", peek, METH_NOARGS, "The time of the next event, or infinity."),
            method_1!(
                "_run_until_failure",
                run_until_failure,
                METH_NOARGS,
                "Processes events until one fails."
            ),
            method_1!(
                "_advance",
                advance,
                METH_NOARGS,
                "Processes one event; gives the exception to be raised."
            ),
            method_1!("_stop_at", stop_at, "Lets `run` end when the event is processed."),
            method_1!("_next_number", next_number, METH_NOARGS, "Takes an event number."),
        ],
        attributes: vec![
            attribute!("now", now, "The simulated time."),
            attribute!("_now", now, set_now, "The simulated time."),
            attribute!("active_process", active, "The process that runs, or None."),
            attribute!("_active_proc", active, set_active_process, "The process that runs, or None."),
            attribute!("_queue", queue, "The events to come, a list that `heapq` keeps."),
            attribute!("_eid", numbers, "An iterator that takes event numbers."),
            attribute!("__dict__", dict, "Attributes that a program has added."),
        ],
        slots: vec![(Py_tp_new, new as *mut _), init!(init), (Py_tp_setattro, set_attribute as *mut _)],
    }
}
