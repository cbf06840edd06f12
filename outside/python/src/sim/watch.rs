//! The callbacks of an event: adding, removing, and showing them to a program.

use super::callback::{Callback, Callbacks};
use super::event::body;
use super::object::*;
use pyo3::ffi::*;

/// Adds a callback; says false where the event is processed already.
#[inline(always)]
pub unsafe fn add(event: Raw, callback: Callback) -> Outcome<bool> {
    match &mut (*body(event)).callbacks {
        Callbacks::Done => Ok(false),
        Callbacks::Native(callbacks) => {
            callbacks.push(callback);
            Ok(true)
        }
        Callbacks::List(list) => {
            let list = list.clone();
            let object = callback.object(event)?;
            checked(PyList_Append(list.raw(), object.raw()))?;
            Ok(true)
        }
    }
}

/// Removes the first native callback that `is_it`, or else from the list the bound method that `object`
/// gives. Says whether there was one.
pub unsafe fn remove(
    event: Raw,
    is_it: impl Fn(&Callback) -> bool,
    object: impl FnOnce() -> Outcome<Ref>,
) -> Outcome<bool> {
    // Dropped only here, where the callbacks are no longer borrowed.
    let removed = match &mut (*body(event)).callbacks {
        Callbacks::Done => return Ok(false),
        Callbacks::Native(callbacks) => callbacks.iter().position(is_it).map(|index| callbacks.remove(index)),
        Callbacks::List(list) => {
            let list = list.clone();
            let object = object()?;
            return match PySequence_Contains(list.raw(), object.raw()) {
                1 => {
                    let index = PySequence_Index(list.raw(), object.raw());
                    checked(PySequence_DelItem(list.raw(), index))?;
                    Ok(true)
                }
                status => checked(status).map(|()| false),
            };
        }
    };
    Ok(removed.is_some())
}

/// The callbacks as a list, which they are from now on; nothing where the event is processed.
pub unsafe fn list_of(event: Raw) -> Outcome<Option<Ref>> {
    let fields = body(event);
    let native = match &mut (*fields).callbacks {
        Callbacks::Done => return Ok(None),
        Callbacks::List(list) => return Ok(Some(list.clone())),
        Callbacks::Native(callbacks) => std::mem::take(callbacks),
    };
    let list = Ref::steal(PyList_New(0))?;
    for callback in native {
        let object = callback.object(event)?;
        checked(PyList_Append(list.raw(), object.raw()))?;
    }
    drop(std::mem::replace(&mut (*fields).callbacks, Callbacks::List(list.clone())));
    Ok(Some(list))
}
