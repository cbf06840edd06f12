//! Timeouts, and the sleep of a process that yields a number.

use super::call::*;
use super::callback::{Callback, Callbacks};
use super::event::{Body, Status, body, make, slot};
use super::object::*;
use super::schedule::{NORMAL, schedule};
use super::statics::statics;
use super::time::Time;
use super::trigger::{begin, class_name};
use pyo3::ffi::*;
use std::ptr::addr_of_mut;

#[cold]
pub unsafe fn negative_delay<T>(delay: Raw) -> Outcome<T> {
    let shown = str_of(delay)?;
    raise(PyExc_ValueError, &format!("Negative delay {shown}"))
}

/// `Timeout(env, delay, value)`, of the type itself.
#[inline(always)]
pub unsafe fn start(env: Raw, delay: Raw, value: Raw) -> Outcome<Ref> {
    let time = Time::read(delay);
    if time.is_negative()? {
        return negative_delay(delay);
    }
    let mut fields = Body::new(Some(Ref::share(env)));
    fields.value = Some(Ref::share(value));
    fields.status = Status::Good;
    fields.slots[slot::DELAY] = Some(Ref::share(delay));
    let event = make(statics().timeout, fields)?;
    schedule(env, event.raw(), Some(NORMAL), Some((delay, &time)))?;
    Ok(event)
}

/// Lets a process sleep that has yielded a number. Its last sleep is used again where nobody else has that
/// event.
#[inline(always)]
pub unsafe fn start_sleep(
    process: Raw,
    env: Raw,
    last: Option<Raw>,
    delay: Ref,
    time: &Time,
) -> Outcome<Ref> {
    let given = delay.clone();
    let event = match last {
        // Two have it: the process as its target, and the loop that processes it.
        Some(last) if (*body(last)).is_sleep && Py_REFCNT(last) == 2 => {
            let fields = body(last);
            put(addr_of_mut!((*fields).slots[slot::DELAY]), Some(delay));
            let again = Callbacks::Native(smallvec::smallvec![Callback::Resume(Ref::share(process))]);
            drop(std::mem::replace(&mut (*fields).callbacks, again));
            Ref::share(last)
        }
        _ => {
            let mut fields =
                Body::new(Ref::share_opt(env)).with_callback(Callback::Resume(Ref::share(process)));
            fields.value = Some(none());
            fields.status = Status::Good;
            fields.slots[slot::DELAY] = Some(delay);
            fields.is_sleep = true;
            make(statics().timeout, fields)?
        }
    };
    schedule(env, event.raw(), Some(NORMAL), Some((given.raw(), time)))?;
    Ok(event)
}

unsafe fn init(this: Raw, args: Raw, keywords: Raw) -> Outcome<()> {
    let [env, delay, value] = parse_init(args, keywords, "Timeout.__init__", ["env", "delay", "value"], 2)?;
    let time = Time::read(delay);
    if time.is_negative()? {
        return negative_delay(delay);
    }
    begin(this, env);
    let fields = body(this);
    (*fields).status = Status::Good;
    put(addr_of_mut!((*fields).value), Some(Ref::share_opt(value).unwrap_or_else(|| none())));
    put(addr_of_mut!((*fields).slots[slot::DELAY]), Some(Ref::share(delay)));
    schedule(env, this, Some(NORMAL), Some((delay, &time)))
}

unsafe fn describe(this: Raw, _: Raw) -> Outcome<Ref> {
    let value = (*body(this)).value.clone();
    let value = match &value {
        Some(value) if value.raw() != Py_None() => format!(", value={}", str_of(value.raw())?),
        _ => String::new(),
    };
    let delay = str_of(delay(this)?.raw())?;
    text(&format!("{}({delay}{value})", class_name(this)?))
}

unsafe fn delay(this: Raw) -> Outcome<Ref> {
    Ok((*body(this)).slots[slot::DELAY].clone().unwrap_or_else(|| none()))
}

unsafe fn set_delay(this: Raw, value: Raw) -> Outcome<()> {
    put(addr_of_mut!((*body(this)).slots[slot::DELAY]), Ref::share_opt(value));
    Ok(())
}

/// What the type `Timeout` adds to `Event`.
pub fn parts() -> Parts {
    Parts {
        name: c"paceline.sim.events.Timeout",
        doc: "Timeout(env, delay, value=None)\n--\n\nAn event that happens after a delay.",
        size: size_of::<super::event::Event>(),
        dict_offset: None,
        weak_offset: None,
        methods: vec![method_1!("_desc", describe, METH_NOARGS, "What `repr` says of the timeout.")],
        attributes: vec![attribute!("_delay", delay, set_delay, "The delay.")],
        slots: vec![init!(init)],
    }
}
