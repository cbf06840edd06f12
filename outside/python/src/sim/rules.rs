//! How each kind of resource serves a request: `_do_put` and `_do_get`.
//!
//! Both say whether requests behind this one are asked too.

use super::event::{body, more, slot};
use super::kind::Kind;
use super::object::*;
use super::process;
use super::resource::{field, inner};
use super::schedule::now;
use super::statics::statics;
use super::trigger::succeed;
use pyo3::ffi::*;
use std::ptr::{addr_of_mut, null_mut};

pub unsafe fn do_put(kind: Kind, resource: Raw, event: Raw) -> Outcome<bool> {
    match kind {
        Kind::Base => not_implemented(resource),
        Kind::Resource | Kind::Priority => admit(resource, event),
        Kind::Preemptive => preempt(resource, event),
        Kind::Container => fill(resource, event),
        Kind::Store | Kind::FilterStore => store(resource, event, false),
        Kind::PriorityStore => store(resource, event, true),
    }
}

pub unsafe fn do_get(kind: Kind, resource: Raw, event: Raw) -> Outcome<bool> {
    match kind {
        Kind::Base => not_implemented(resource),
        Kind::Resource | Kind::Priority | Kind::Preemptive => let_go(resource, event),
        Kind::Container => draw(resource, event),
        Kind::Store | Kind::PriorityStore => fetch(resource, event, kind == Kind::PriorityStore),
        Kind::FilterStore => fetch_matching(resource, event),
    }
}

#[cold]
unsafe fn not_implemented<T>(resource: Raw) -> Outcome<T> {
    PyErr_SetObject(PyExc_NotImplementedError, resource);
    Err(Raised)
}

/// The users of a resource or the items of a store: a list, or what a program has put there.
#[inline(always)]
pub unsafe fn held(resource: Raw) -> Outcome<Ref> {
    field(&raw const (*inner(resource)).held, "items")
}

/// Whether a list is shorter than the resource's capacity.
#[inline(always)]
unsafe fn has_room(resource: Raw, list: Raw) -> Outcome<bool> {
    let capacity = field(&raw const (*inner(resource)).capacity, "_capacity")?;
    let length = PySequence_Size(list);
    if length < 0 {
        return Err(Raised);
    }
    if PyLong_CheckExact(capacity.raw()) != 0 {
        let mut overflow = 0;
        let capacity = PyLong_AsLongLongAndOverflow(capacity.raw(), &raw mut overflow);
        return Ok(overflow > 0 || (overflow == 0 && (length as i64) < capacity));
    }
    if PyFloat_CheckExact(capacity.raw()) != 0 {
        return Ok((length as f64) < PyFloat_AsDouble(capacity.raw()));
    }
    let length = Ref::steal(PyLong_FromSsize_t(length))?;
    compare(length.raw(), capacity.raw(), Py_LT)
}

#[inline(always)]
unsafe fn append(list: Raw, item: Raw) -> Outcome<()> {
    if PyList_CheckExact(list) != 0 {
        return checked(PyList_Append(list, item));
    }
    call_method_1(list, statics().names.append, item).map(drop)
}

/// An attribute of a request: of one of ours its field, else by its name.
#[inline(always)]
unsafe fn item(event: Raw, class: *mut PyTypeObject, name: Raw) -> Outcome<Ref> {
    if is_a(event, class)
        && let Some(item) = &(*body(event)).slots[slot::ITEM]
    {
        return Ok(item.clone());
    }
    get(event, name)
}

/// Lets a user in while there is room.
unsafe fn admit(resource: Raw, event: Raw) -> Outcome<bool> {
    let users = held(resource)?;
    if has_room(resource, users.raw())? {
        append(users.raw(), event)?;
        let since = now(field(&raw const (*inner(resource)).env, "_env")?.raw())?;
        if is_a(event, statics().request) {
            put(addr_of_mut!((*more(event)).usage_since), Some(since));
        } else {
            set_named(event, c"usage_since", since.raw())?;
        }
        succeed(event, none())?;
    }
    Ok(false)
}

/// Takes the place of the least important user, where that is less important than this request.
unsafe fn preempt(resource: Raw, event: Raw) -> Outcome<bool> {
    let users = held(resource)?;
    if !has_room(resource, users.raw())? && is_true(get_named(event, c"preempt")?.raw())? {
        let mut last: Option<(Ref, Ref)> = None;
        for index in 0..PySequence_Size(users.raw()) {
            let user = Ref::steal(PySequence_GetItem(users.raw(), index))?;
            let key = get_named(user.raw(), c"key")?;
            let is_later = match &last {
                Some((_, greatest)) => compare(key.raw(), greatest.raw(), Py_GT)?,
                None => true,
            };
            if is_later {
                last = Some((user, key));
            }
        }
        let Some((user, key)) = last else { return admit(resource, event) };
        // Only who is less important gives way; a key has the priority, and the time of the request.
        if compare(key.raw(), get_named(event, c"key")?.raw(), Py_GT)? {
            remove(users.raw(), user.raw())?;
            let by = get_named(event, c"proc")?;
            let since = get_named(user.raw(), c"usage_since")?;
            let end = null_mut::<PyObject>();
            let cause =
                PyObject_CallFunctionObjArgs(statics().preempted, by.raw(), since.raw(), resource, end);
            let cause = Ref::steal(cause)?;
            let process = get_named(user.raw(), c"proc")?;
            if Py_TYPE(process.raw()) == statics().process {
                process::interrupt(process.raw(), cause.raw())?;
            } else {
                call_method_1(process.raw(), statics().names.do_interrupt, cause.raw())?;
            }
        }
    }
    admit(resource, event)
}

/// Removes the first element that equals `object`.
unsafe fn remove(list: Raw, object: Raw) -> Outcome<()> {
    if PyList_CheckExact(list) != 0 {
        let index = PySequence_Index(list, object);
        if index < 0 {
            return Err(Raised);
        }
        return checked(PyList_SetSlice(list, index, index + 1, null_mut()));
    }
    call_method_1(list, statics().names.remove, object).map(drop)
}

/// A release, which always succeeds, also of a request that no user holds.
unsafe fn let_go(resource: Raw, event: Raw) -> Outcome<bool> {
    let users = held(resource)?;
    let request = item(event, statics().release, statics().names.request)?;
    if remove(users.raw(), request.raw()).is_err() {
        // No user holds the request: it was preempted, or released before.
        if PyErr_ExceptionMatches(PyExc_ValueError) == 0 {
            return Err(Raised);
        }
        PyErr_Clear();
    }
    succeed(event, none())?;
    Ok(false)
}

unsafe fn fill(container: Raw, event: Raw) -> Outcome<bool> {
    let (level, amount) = (held(container)?, item(event, statics().container_put, statics().names.amount)?);
    let capacity = field(&raw const (*inner(container)).capacity, "_capacity")?;
    let room = Ref::steal(PyNumber_Subtract(capacity.raw(), level.raw()))?;
    // Who does not fit holds up those behind, also those with less.
    if !compare(room.raw(), amount.raw(), Py_GE)? {
        return Ok(false);
    }
    let level = Ref::steal(PyNumber_Add(level.raw(), amount.raw()))?;
    put(addr_of_mut!((*inner(container)).held), Some(level));
    succeed(event, none())?;
    Ok(true)
}

unsafe fn draw(container: Raw, event: Raw) -> Outcome<bool> {
    let (level, amount) = (held(container)?, item(event, statics().container_get, statics().names.amount)?);
    if !compare(level.raw(), amount.raw(), Py_GE)? {
        return Ok(false);
    }
    let level = Ref::steal(PyNumber_Subtract(level.raw(), amount.raw()))?;
    put(addr_of_mut!((*inner(container)).held), Some(level));
    succeed(event, none())?;
    Ok(true)
}

unsafe fn store(store: Raw, event: Raw, is_sorted: bool) -> Outcome<bool> {
    let items = held(store)?;
    if has_room(store, items.raw())? {
        let item = item(event, statics().store_put, statics().names.item)?;
        if is_sorted {
            call_2(statics().heappush, items.raw(), item.raw())?;
        } else {
            append(items.raw(), item.raw())?;
        }
        succeed(event, none())?;
    }
    Ok(false)
}

unsafe fn fetch(store: Raw, event: Raw, is_sorted: bool) -> Outcome<bool> {
    let items = held(store)?;
    if !is_true(items.raw())? {
        return Ok(false);
    }
    let item = if is_sorted {
        call_1(statics().heappop, items.raw())?
    } else if PyList_CheckExact(items.raw()) != 0 {
        let first = Ref::share(PyList_GetItem(items.raw(), 0));
        checked(PyList_SetSlice(items.raw(), 0, 1, null_mut()))?;
        first
    } else {
        call_method_1(items.raw(), statics().names.pop, statics().zero)?
    };
    succeed(event, item)?;
    Ok(false)
}

unsafe fn fetch_matching(store: Raw, event: Raw) -> Outcome<bool> {
    let items = held(store)?;
    let filter = item(event, statics().filter_store_get, statics().names.filter)?;
    let is_default = filter.raw() == Py_None();
    let mut index = 0;
    while index < PySequence_Size(items.raw()) {
        let candidate = Ref::steal(PySequence_GetItem(items.raw(), index))?;
        index += 1;
        let fits = is_default || {
            let fits = call_1(filter.raw(), candidate.raw())?;
            is_true(fits.raw())?
        };
        if fits {
            remove(items.raw(), candidate.raw())?;
            succeed(event, candidate)?;
            break;
        }
    }
    // A request behind this one may match another item.
    Ok(true)
}
