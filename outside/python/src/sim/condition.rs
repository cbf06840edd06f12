//! Conditions over several events: `Condition`, `AllOf`, `AnyOf`, `&` and `|`.

use super::call::*;
use super::callback::{Callback, Callbacks};
use super::event::{Body, Status, body, is_triggered, make, slot};
use super::object::*;
use super::statics::statics;
use super::trigger::{begin, class_name, fail, succeed};
use super::value::{self, new_value};
use super::watch;
use pyo3::ffi::*;
use std::ffi::{c_int, c_void};
use std::ptr::{addr_of_mut, null_mut};

/// The slots of `Event` for `&` and `|`.
pub fn operators() -> [(c_int, *mut c_void); 2] {
    [(Py_nb_and, both as *mut _), (Py_nb_or, either as *mut _)]
}

/// `left & right`.
unsafe extern "C" fn both(left: Raw, right: Raw) -> Raw {
    guard(null_mut(), || combine(left, right, statics().all_events))
}

/// `left | right`.
unsafe extern "C" fn either(left: Raw, right: Raw) -> Raw {
    guard(null_mut(), || combine(left, right, statics().any_events))
}

unsafe fn combine(left: Raw, right: Raw, evaluate: Raw) -> Outcome<Raw> {
    if !is_a(left, statics().event) {
        return Ok(Ref::share(Py_NotImplemented()).into_raw());
    }
    let events = Ref::steal(PyTuple_Pack(2, left, right))?;
    let env = (*body(left)).env.clone();
    let condition = make(statics().condition, Body::new(env))?;
    start(condition.raw(), evaluate, events)?;
    Ok(condition.into_raw())
}

/// Lets a condition, whose environment is set, begin to watch its events.
unsafe fn start(condition: Raw, evaluate: Raw, events: Ref) -> Outcome<()> {
    let fields = body(condition);
    put(addr_of_mut!((*fields).slots[slot::EVALUATE]), Some(Ref::share(evaluate)));
    put(addr_of_mut!((*fields).slots[slot::EVENTS]), Some(events.clone()));
    let count = PyTuple_Size(events.raw());
    // Nothing is waited for: it has happened already.
    if count == 0 {
        return succeed(condition, new_value(Ref::steal(PyList_New(0))?)?);
    }
    let env = raw(&(*fields).env);
    for index in 0..count {
        let event = PyTuple_GetItem(events.raw(), index);
        let other = get(event, statics().names.env)?;
        // Identity first: environments that define equality are rare, and a comparison is a call of Python.
        if other.raw() != env && compare(env, other.raw(), Py_NE)? {
            return raise(PyExc_ValueError, "It is not allowed to mix events from different environments");
        }
        if !is_a(event, statics().event) {
            return raise(PyExc_TypeError, "a condition is over events");
        }
    }
    for index in 0..count {
        let event = PyTuple_GetItem(events.raw(), index);
        // An event that was processed calls nobody any more: it is counted here.
        if !watch::add(event, Callback::Check(Ref::share(condition)))? {
            check(condition, event)?;
        }
    }
    // The first callback of the condition, so that its value is there for all others.
    watch::add(condition, Callback::Build).map(drop)
}

/// Counts an event that has been processed, and triggers the condition where it is met now.
pub unsafe fn check(condition: Raw, event: Raw) -> Outcome<()> {
    // An earlier event has triggered it: this one changes nothing.
    if is_triggered(condition) {
        return Ok(());
    }
    let fields = body(condition);
    (*fields).count += 1;
    if (*body(event)).status != Status::Good {
        // The condition takes the failure on, and fails with it.
        (*body(event)).defused = true;
        let exception = (*body(event)).value.clone().unwrap_or_else(|| none());
        return fail(condition, exception.raw());
    }
    if is_met(condition)? { succeed(condition, none()) } else { Ok(()) }
}

unsafe fn is_met(condition: Raw) -> Outcome<bool> {
    let fields = body(condition);
    let (evaluate, events) = (raw(&(*fields).slots[slot::EVALUATE]), raw(&(*fields).slots[slot::EVENTS]));
    let count = (*fields).count;
    // Python is called only for functions of programs.
    if evaluate == statics().any_events {
        return Ok(true);
    }
    if evaluate == statics().all_events {
        return Ok(PyTuple_Size(events) as usize == count);
    }
    let (evaluate, events) = (Ref::share(evaluate), Ref::share(events));
    let count = Ref::steal(PyLong_FromSize_t(count))?;
    let met = call_2(evaluate.raw(), events.raw(), count.raw())?;
    is_true(met.raw())
}

/// Collects the value of a condition that is being processed.
pub unsafe fn build(condition: Raw) -> Outcome<()> {
    stop_checking(condition)?;
    let fields = body(condition);
    if (*fields).status == Status::Good {
        let events = Ref::steal(PyList_New(0))?;
        collect(condition, events.raw())?;
        put(addr_of_mut!((*fields).value), Some(new_value(events)?));
    }
    Ok(())
}

/// Takes the condition's callbacks off its events, and those of nested conditions: they have no effect any
/// more, and would keep the conditions alive.
unsafe fn stop_checking(condition: Raw) -> Outcome<()> {
    let Some(events) = (*body(condition)).slots[slot::EVENTS].clone() else { return Ok(()) };
    for index in 0..PyTuple_Size(events.raw()) {
        let event = PyTuple_GetItem(events.raw(), index);
        watch::remove(
            event,
            |callback| matches!(callback, Callback::Check(other) if other.raw() == condition),
            || get(condition, statics().names.check),
        )?;
        if is_a(event, statics().condition) {
            stop_checking(event)?;
        }
    }
    Ok(())
}

/// Adds the events of a condition that have been processed to a list, with those of nested conditions.
unsafe fn collect(condition: Raw, list: Raw) -> Outcome<()> {
    let Some(events) = (*body(condition)).slots[slot::EVENTS].clone() else { return Ok(()) };
    for index in 0..PyTuple_Size(events.raw()) {
        let event = PyTuple_GetItem(events.raw(), index);
        if is_a(event, statics().condition) {
            collect(event, list)?;
        } else if matches!((*body(event)).callbacks, Callbacks::Done) {
            checked(PyList_Append(list, event))?;
        }
    }
    Ok(())
}

unsafe fn init(this: Raw, args: Raw, keywords: Raw) -> Outcome<()> {
    let [env, evaluate, events] =
        parse_init(args, keywords, "Condition.__init__", ["env", "evaluate", "events"], 3)?;
    begin(this, env);
    start(this, evaluate, Ref::steal(PySequence_Tuple(events))?)
}

unsafe fn init_all_of(this: Raw, args: Raw, keywords: Raw) -> Outcome<()> {
    let [env, events] = parse_init(args, keywords, "AllOf.__init__", ["env", "events"], 2)?;
    begin(this, env);
    start(this, statics().all_events, Ref::steal(PySequence_Tuple(events))?)
}

unsafe fn init_any_of(this: Raw, args: Raw, keywords: Raw) -> Outcome<()> {
    let [env, events] = parse_init(args, keywords, "AnyOf.__init__", ["env", "events"], 2)?;
    begin(this, env);
    start(this, statics().any_events, Ref::steal(PySequence_Tuple(events))?)
}

/// `env.all_of(events)` and `env.any_of(events)`.
pub unsafe fn of(env: Raw, class: *mut PyTypeObject, evaluate: Raw, events: Raw) -> Outcome<Ref> {
    let condition = make(class, Body::new(Some(Ref::share(env))))?;
    start(condition.raw(), evaluate, Ref::steal(PySequence_Tuple(events))?)?;
    Ok(condition)
}

unsafe fn describe(this: Raw, _: Raw) -> Outcome<Ref> {
    let name = str_of(get_named(evaluate(this)?.raw(), c"__name__")?.raw())?;
    let events = str_of(events(this)?.raw())?;
    text(&format!("{}({name}, {events})", class_name(this)?))
}

unsafe fn events(this: Raw) -> Outcome<Ref> {
    Ok((*body(this)).slots[slot::EVENTS].clone().unwrap_or_else(|| none()))
}

unsafe fn evaluate(this: Raw) -> Outcome<Ref> {
    Ok((*body(this)).slots[slot::EVALUATE].clone().unwrap_or_else(|| none()))
}

unsafe fn count(this: Raw) -> Outcome<Ref> {
    Ref::steal(PyLong_FromSize_t((*body(this)).count))
}

unsafe fn do_check(this: Raw, event: Raw) -> Outcome<Ref> {
    if !is_a(event, statics().event) {
        return raise(PyExc_TypeError, "a condition checks events");
    }
    check(this, event).map(|()| none())
}

unsafe fn do_build(this: Raw, _event: Raw) -> Outcome<Ref> {
    build(this).map(|()| none())
}

unsafe fn do_stop(this: Raw, _: Raw) -> Outcome<Ref> {
    stop_checking(this).map(|()| none())
}

unsafe fn do_collect(this: Raw, collected: Raw) -> Outcome<Ref> {
    collect(this, value::events(collected)?.raw()).map(|()| none())
}

/// What the types `Condition`, `AllOf` and `AnyOf` add to their base.
pub fn parts() -> [Parts; 3] {
    let part = |name, doc, methods, attributes, init| Parts {
        name,
        doc,
        size: size_of::<super::event::Event>(),
        dict_offset: None,
        weak_offset: None,
        methods,
        attributes,
        slots: vec![init],
    };
    [
        part(
            c"paceline.sim.events.Condition",
            "Condition(env, evaluate, events)\n--\n\nTriggered once evaluate(events, processed) is true.",
            vec![
                method_1!("_desc", describe, METH_NOARGS, "What `repr` says of the condition."),
                method_1!("_check", do_check, "Counts an event that was processed."),
                method_1!("_build_value", do_build, "Collects the condition's value."),
                method_1!("_remove_check_callbacks", do_stop, METH_NOARGS, "Stops watching the events."),
                method_1!("_populate_value", do_collect, "Adds the events that were processed to a value."),
            ],
            vec![
                attribute!("_events", events, "The events, a tuple."),
                attribute!("_evaluate", evaluate, "The function that decides."),
                attribute!("_count", count, "How many of the events have been processed."),
            ],
            init!(init),
        ),
        part(
            c"paceline.sim.events.AllOf",
            "AllOf(env, events)\n--\n\nTriggered once all events have been.",
            vec![],
            vec![],
            init!(init_all_of),
        ),
        part(
            c"paceline.sim.events.AnyOf",
            "AnyOf(env, events)\n--\n\nTriggered once one of the events has been.",
            vec![],
            vec![],
            init!(init_any_of),
        ),
    ]
}
