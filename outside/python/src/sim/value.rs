//! `ConditionValue`: what a condition gives, the events that happened and their values, in the order of its
//! events.

use super::call::*;
use super::object::*;
use super::statics::statics;
use pyo3::ffi::*;
use std::ffi::{c_int, c_void};
use std::ptr::{addr_of_mut, null_mut};

#[repr(C)]
struct Value {
    head: PyObject,
    events: Option<Ref>,
}

/// A value with these events, a list.
pub unsafe fn new_value(events: Ref) -> Outcome<Ref> {
    let value = PyObject_GC_New::<Value>(statics().condition_value);
    let new = Ref::steal(value.cast())?;
    addr_of_mut!((*value).events).write(Some(events));
    PyObject_GC_Track(value.cast());
    Ok(new)
}

/// The events of a value, a list.
pub unsafe fn events(value: Raw) -> Outcome<Ref> {
    if !is_a(value, statics().condition_value) {
        return get_named(value, c"events");
    }
    match &(*value.cast::<Value>()).events {
        Some(events) => Ok(events.clone()),
        None => raise(PyExc_AttributeError, "'ConditionValue' object has no attribute 'events'"),
    }
}

unsafe extern "C" fn new(class: *mut PyTypeObject, _args: Raw, _keywords: Raw) -> Raw {
    guard(null_mut(), || {
        let value = Ref::steal(PyType_GenericAlloc(class, 0))?;
        let list = Ref::steal(PyList_New(0))?;
        put(addr_of_mut!((*value.raw().cast::<Value>()).events), Some(list));
        Ok(value.into_raw())
    })
}

unsafe extern "C" fn traverse(value: Raw, visit: visitproc, arg: *mut c_void) -> c_int {
    visit_all([Py_TYPE(value).cast(), raw(&(*value.cast::<Value>()).events)].into_iter(), visit, arg)
}

unsafe extern "C" fn clear(value: Raw) -> c_int {
    put(addr_of_mut!((*value.cast::<Value>()).events), None);
    0
}

unsafe extern "C" fn dealloc(value: Raw) {
    let class = Py_TYPE(value);
    PyObject_GC_UnTrack(value.cast());
    addr_of_mut!((*value.cast::<Value>()).events).drop_in_place();
    PyObject_GC_Del(value.cast());
    Py_DECREF(class.cast());
}

/// Whether an event is among them. Events compare by identity unless a subclass says otherwise.
unsafe fn has(value: Raw, key: Raw) -> Outcome<bool> {
    let events = events(value)?;
    for index in 0..PyList_Size(events.raw()) {
        if PyList_GetItem(events.raw(), index) == key {
            return Ok(true);
        }
    }
    let found = PySequence_Contains(events.raw(), key);
    checked(found)?;
    Ok(found == 1)
}

unsafe extern "C" fn contains(value: Raw, key: Raw) -> c_int {
    guard(-1, || has(value, key).map(c_int::from))
}

unsafe extern "C" fn subscript(value: Raw, key: Raw) -> Raw {
    guard(null_mut(), || {
        if !has(value, key)? {
            let shown = Ref::steal(PyObject_Str(key))?;
            PyErr_SetObject(PyExc_KeyError, shown.raw());
            return Err(Raised);
        }
        get_named(key, c"_value").map(Ref::into_raw)
    })
}

/// Calls a function with each event and its value, in their order.
unsafe fn each(value: Raw, mut of: impl FnMut(Raw, &Ref) -> Outcome<()>) -> Outcome<()> {
    let events = events(value)?;
    for index in 0..PyList_Size(events.raw()) {
        let event = Ref::steal(PySequence_GetItem(events.raw(), index))?;
        let its = get_named(event.raw(), c"_value")?;
        of(event.raw(), &its)?;
    }
    Ok(())
}

unsafe fn keys(value: Raw, _: Raw) -> Outcome<Ref> {
    Ref::steal(PyObject_GetIter(events(value)?.raw()))
}

unsafe fn values(value: Raw, _: Raw) -> Outcome<Ref> {
    let list = Ref::steal(PyList_New(0))?;
    each(value, |_, its| checked(PyList_Append(list.raw(), its.raw())))?;
    Ref::steal(PyObject_GetIter(list.raw()))
}

unsafe fn items(value: Raw, _: Raw) -> Outcome<Ref> {
    let list = Ref::steal(PyList_New(0))?;
    each(value, |event, its| {
        let pair = Ref::steal(PyTuple_Pack(2, event, its.raw()))?;
        checked(PyList_Append(list.raw(), pair.raw()))
    })?;
    Ref::steal(PyObject_GetIter(list.raw()))
}

unsafe fn todict(value: Raw, _: Raw) -> Outcome<Ref> {
    let dict = Ref::steal(PyDict_New())?;
    each(value, |event, its| checked(PyDict_SetItem(dict.raw(), event, its.raw())))?;
    Ok(dict)
}

unsafe extern "C" fn iterate(value: Raw) -> Raw {
    guard(null_mut(), || keys(value, null_mut()).map(Ref::into_raw))
}

unsafe extern "C" fn repr(value: Raw) -> Raw {
    guard(null_mut(), || {
        let dict = todict(value, null_mut())?;
        text(&format!("<ConditionValue {}>", str_of(dict.raw())?)).map(Ref::into_raw)
    })
}

unsafe extern "C" fn rich_compare(value: Raw, other: Raw, operation: c_int) -> Raw {
    guard(null_mut(), || {
        let (left, right) = if is_a(other, statics().condition_value) {
            (events(value)?, events(other)?)
        } else if PyDict_Check(other) != 0 {
            (todict(value, null_mut())?, Ref::share(other))
        } else {
            return Ok(Ref::share(Py_NotImplemented()).into_raw());
        };
        if operation != Py_EQ && operation != Py_NE {
            return Ok(Ref::share(Py_NotImplemented()).into_raw());
        }
        Ok(boolean(compare(left.raw(), right.raw(), operation)?).into_raw())
    })
}

unsafe fn set_events(value: Raw, new: Raw) -> Outcome<()> {
    if new.is_null() || PyList_Check(new) == 0 {
        return raise(PyExc_TypeError, "events must be a list");
    }
    put(addr_of_mut!((*value.cast::<Value>()).events), Some(Ref::share(new)));
    Ok(())
}

/// How the memory of values of conditions is managed. Every type has these itself: one that had no `dealloc`
/// would get the slow one of classes in Python.
pub fn memory() -> Memory {
    [(Py_tp_traverse, traverse as *mut _), (Py_tp_clear, clear as *mut _), (Py_tp_dealloc, dealloc as *mut _)]
}

/// What the type `ConditionValue` is made of.
pub fn parts() -> Parts {
    Parts {
        name: c"paceline.sim.events.ConditionValue",
        doc: "ConditionValue()\n--\n\nThe events of a condition that happened, with their values, to be read like a dict.",
        size: size_of::<Value>(),
        dict_offset: None,
        weak_offset: None,
        methods: vec![
            method_1!("keys", keys, METH_NOARGS, "An iterator over the events."),
            method_1!("values", values, METH_NOARGS, "An iterator over the values."),
            method_1!("items", items, METH_NOARGS, "An iterator over pairs of event and value."),
            method_1!("todict", todict, METH_NOARGS, "A dict of the values by event."),
        ],
        attributes: vec![attribute!("events", events, set_events, "The events, a list.")],
        slots: vec![
            (Py_tp_new, new as *mut _),
            (Py_tp_repr, repr as *mut _),
            (Py_tp_iter, iterate as *mut _),
            (Py_sq_contains, contains as *mut _),
            (Py_mp_subscript, subscript as *mut _),
            (Py_tp_richcompare, rich_compare as *mut _),
            (Py_tp_hash, PyObject_HashNotImplemented as *mut _),
        ],
    }
}
