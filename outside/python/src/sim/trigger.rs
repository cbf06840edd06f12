//! Triggering events, and the type `Event`.

use super::call::*;
use super::callback::Callbacks;
use super::event::{Event, Status, body, is_triggered};
use super::object::*;
use super::schedule::schedule;
use super::statics::statics;
use super::watch::list_of;
use pyo3::ffi::*;
use std::mem::offset_of;
use std::ptr::{addr_of_mut, null_mut};

/// Sets outcome and value, and schedules the event for now.
#[inline(always)]
pub unsafe fn trigger(event: Raw, status: Status, value: Ref) -> Outcome<()> {
    let fields = body(event);
    (*fields).status = status;
    put(addr_of_mut!((*fields).value), Some(value));
    schedule(raw(&(*fields).env), event, None, None)
}

/// Triggers an event of any kind as `event.succeed(value)` does.
#[inline(always)]
pub unsafe fn succeed(event: Raw, value: Ref) -> Outcome<()> {
    let fields = body(event);
    // A subclass may have another `succeed`.
    if !(*fields).is_plain {
        return call_method_1(event, statics().names.succeed, value.raw()).map(drop);
    }
    if (*fields).value.is_some() {
        return already_triggered(event);
    }
    trigger(event, Status::Good, value)
}

#[cold]
unsafe fn already_triggered<T>(event: Raw) -> Outcome<T> {
    let shown = str_of(event)?;
    raise(PyExc_RuntimeError, &format!("{shown} has already been triggered"))
}

pub unsafe fn fail(event: Raw, exception: Raw) -> Outcome<()> {
    if is_triggered(event) {
        return already_triggered(event);
    }
    if PyObject_IsInstance(exception, PyExc_BaseException) != 1 {
        let shown = str_of(exception)?;
        return raise(PyExc_TypeError, &format!("{shown} is not an exception."));
    }
    trigger(event, Status::Failed, Ref::share(exception))
}

/// A copy of an exception, caused by it: several processes get the exception of one event, and each adds its
/// own traceback.
pub unsafe fn copy_exception(exception: Raw) -> Outcome<Ref> {
    let args = get_named(exception, c"args")?;
    let copy = Ref::steal(PyObject_Call(Py_TYPE(exception).cast(), args.raw(), null_mut()))?;
    PyException_SetCause(copy.raw(), Ref::share(exception).into_raw());
    Ok(copy)
}

unsafe fn init(this: Raw, args: Raw, keywords: Raw) -> Outcome<()> {
    let [env] = parse_init(args, keywords, "Event.__init__", ["env"], 1)?;
    begin(this, env);
    Ok(())
}

/// What `Event.__init__` does, for the `__init__` of its subclasses here.
pub unsafe fn begin(this: Raw, env: Raw) {
    let fields = body(this);
    put(addr_of_mut!((*fields).env), Some(Ref::share(env)));
    drop(std::mem::replace(&mut (*fields).callbacks, Callbacks::empty()));
}

unsafe extern "C" fn repr(this: Raw) -> Raw {
    guard(null_mut(), || {
        let description = str_of(call_method(this, statics().names.desc)?.raw())?;
        text(&format!("<{description} object at {:#x}>", this as usize)).map(Ref::into_raw)
    })
}

/// The name of an object's class.
pub unsafe fn class_name(object: Raw) -> Outcome<String> {
    str_of(get_named(Py_TYPE(object).cast(), c"__name__")?.raw())
}

unsafe fn describe(this: Raw, _: Raw) -> Outcome<Ref> {
    text(&format!("{}()", class_name(this)?))
}

unsafe fn do_trigger(this: Raw, event: Raw) -> Outcome<Ref> {
    let (status, value) = if is_a(event, statics().event) {
        ((*body(event)).status, (*body(event)).value.clone())
    } else {
        let good = get_named(event, c"_ok")?;
        let status = if is_true(good.raw())? { Status::Good } else { Status::Failed };
        (status, Some(get_named(event, c"_value")?))
    };
    let fields = body(this);
    (*fields).status = status;
    put(addr_of_mut!((*fields).value), value);
    schedule(raw(&(*fields).env), this, None, None)?;
    Ok(none())
}

unsafe fn do_succeed(this: Raw, args: &Args) -> Outcome<Ref> {
    let [value] = args.parse("succeed", ["value"], 0)?;
    if is_triggered(this) {
        return already_triggered(this);
    }
    trigger(this, Status::Good, Ref::share_opt(value).unwrap_or_else(|| none()))?;
    Ok(Ref::share(this))
}

unsafe fn do_fail(this: Raw, args: &Args) -> Outcome<Ref> {
    let [exception] = args.parse("fail", ["exception"], 1)?;
    fail(this, exception)?;
    Ok(Ref::share(this))
}

/// The attributes that every event has.
mod attributes {
    use super::*;

    /// An attribute that no code has set is missing, as in Python.
    #[cold]
    unsafe fn missing<T>(this: Raw, name: &str) -> Outcome<T> {
        let class = class_name(this)?;
        raise(PyExc_AttributeError, &format!("'{class}' object has no attribute '{name}'"))
    }

    pub unsafe fn env(this: Raw) -> Outcome<Ref> {
        (*body(this)).env.clone().map_or_else(|| missing(this, "env"), Ok)
    }
    pub unsafe fn set_env(this: Raw, value: Raw) -> Outcome<()> {
        put(addr_of_mut!((*body(this)).env), Ref::share_opt(value));
        Ok(())
    }
    pub unsafe fn callbacks(this: Raw) -> Outcome<Ref> {
        Ok(list_of(this)?.unwrap_or_else(|| none()))
    }
    pub unsafe fn set_callbacks(this: Raw, value: Raw) -> Outcome<()> {
        let new = if value.is_null() || value == Py_None() {
            Callbacks::Done
        } else if PyList_Check(value) != 0 {
            Callbacks::List(Ref::share(value))
        } else {
            return raise(PyExc_TypeError, "callbacks must be a list or None");
        };
        drop(std::mem::replace(&mut (*body(this)).callbacks, new));
        Ok(())
    }
    pub unsafe fn triggered(this: Raw) -> Outcome<Ref> {
        Ok(boolean(is_triggered(this)))
    }
    pub unsafe fn processed(this: Raw) -> Outcome<Ref> {
        Ok(boolean(matches!((*body(this)).callbacks, Callbacks::Done)))
    }
    pub unsafe fn ok(this: Raw) -> Outcome<Ref> {
        match (*body(this)).status {
            Status::Unset => missing(this, "_ok"),
            status => Ok(boolean(status == Status::Good)),
        }
    }
    pub unsafe fn set_ok(this: Raw, value: Raw) -> Outcome<()> {
        (*body(this)).status = if value.is_null() {
            Status::Unset
        } else if is_true(value)? {
            Status::Good
        } else {
            Status::Failed
        };
        Ok(())
    }
    pub unsafe fn defused(this: Raw) -> Outcome<Ref> {
        Ok(boolean((*body(this)).defused))
    }
    pub unsafe fn set_defused(this: Raw, value: Raw) -> Outcome<()> {
        // As in SimPy, where the attribute counts, not its value.
        (*body(this)).defused = !value.is_null();
        Ok(())
    }
    pub unsafe fn defused_or_missing(this: Raw) -> Outcome<Ref> {
        if (*body(this)).defused { Ok(boolean(true)) } else { missing(this, "_defused") }
    }
    pub unsafe fn value(this: Raw) -> Outcome<Ref> {
        if let Some(value) = &(*body(this)).value {
            return Ok(value.clone());
        }
        let shown = str_of(this)?;
        raise(PyExc_AttributeError, &format!("Value of {shown} is not yet available"))
    }
    pub unsafe fn value_or_pending(this: Raw) -> Outcome<Ref> {
        Ok((*body(this)).value.clone().unwrap_or_else(|| Ref::share(statics().pending)))
    }
    pub unsafe fn set_value(this: Raw, value: Raw) -> Outcome<()> {
        let new = if value == statics().pending { None } else { Ref::share_opt(value) };
        put(addr_of_mut!((*body(this)).value), new);
        Ok(())
    }
    pub unsafe fn dict(this: Raw) -> Outcome<Ref> {
        Ref::steal(PyObject_GenericGetDict(this, null_mut()))
    }
    pub unsafe fn set_dict(this: Raw, value: Raw) -> Outcome<()> {
        checked(PyObject_GenericSetDict(this, value, null_mut()))
    }
}

/// What the type `Event` is made of.
pub fn parts() -> Parts {
    Parts {
        name: c"paceline.sim.events.Event",
        doc: "Event(env)\n--\n\nSomething that may happen at a point in simulated time.",
        size: size_of::<Event>(),
        dict_offset: Some(offset_of!(Event, dict)),
        weak_offset: Some(offset_of!(Event, weak)),
        methods: vec![
            method_1!("_desc", describe, METH_NOARGS, "What `repr` says of the event."),
            method_1!(
                "trigger",
                do_trigger,
                "Takes over outcome and value of another event, and schedules this one."
            ),
            method!("succeed", do_succeed, "Triggers the event with a value."),
            method!("fail", do_fail, "Triggers the event with an exception."),
        ],
        attributes: vec![
            attribute!("env", attributes::env, attributes::set_env, "The environment that the event is in."),
            attribute!(
                "callbacks",
                attributes::callbacks,
                attributes::set_callbacks,
                "Functions to be called with the event; None once it is processed."
            ),
            attribute!(
                "triggered",
                attributes::triggered,
                "Whether the event has a value and will be processed."
            ),
            attribute!("processed", attributes::processed, "Whether the callbacks have been called."),
            attribute!("ok", attributes::ok, "Whether the event was triggered by `succeed`."),
            attribute!("_ok", attributes::ok, attributes::set_ok, "Whether the event succeeded."),
            attribute!(
                "defused",
                attributes::defused,
                attributes::set_defused,
                "Whether somebody handles the failure."
            ),
            attribute!(
                "_defused",
                attributes::defused_or_missing,
                attributes::set_defused,
                "Set once somebody handles the failure."
            ),
            attribute!("value", attributes::value, "The value; an AttributeError while it is pending."),
            attribute!(
                "_value",
                attributes::value_or_pending,
                attributes::set_value,
                "The value, or PENDING."
            ),
            attribute!(
                "__dict__",
                attributes::dict,
                attributes::set_dict,
                "Attributes that a program has added."
            ),
        ],
        slots: vec![(Py_tp_new, super::event::new as *mut _), init!(init), (Py_tp_repr, repr as *mut _)],
    }
}
