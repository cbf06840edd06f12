//! Events: what all kinds of them share.
//!
//! One C structure serves every kind of event, also those of subclasses in Python. What a kind keeps besides,
//! a process its generator or a timeout its delay, is in `slots`, whose places [`slot`] names.

use super::call::*;
use super::callback::{Callback, Callbacks};
use super::object::*;
use super::statics::statics;
use pyo3::ffi::*;
use std::cell::{Cell, RefCell};
use std::ffi::c_int;
use std::ptr::{addr_of_mut, null_mut};

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Nothing has set `_ok` yet.
    Unset,
    Good,
    Failed,
}

/// What `slots` holds, by the kind of event.
pub mod slot {
    /// A timeout's delay, as it was given.
    pub const DELAY: usize = 0;
    pub const GENERATOR: usize = 0;
    /// What a process waits for.
    pub const TARGET: usize = 1;
    /// The process that an interruption is for.
    pub const PROCESS: usize = 0;
    /// A condition's function, and its events as a tuple.
    pub const EVALUATE: usize = 0;
    pub const EVENTS: usize = 1;
    /// A request's resource, the process that made it, and its item, amount, filter or request to be
    /// released.
    pub const RESOURCE: usize = 0;
    pub const PROC: usize = 1;
    pub const ITEM: usize = 2;
}

#[repr(C)]
pub struct Event {
    head: PyObject,
    pub dict: Option<Ref>,
    pub weak: Raw,
    pub body: Body,
}

pub struct Body {
    pub env: Option<Ref>,
    /// `None` while the value is pending.
    pub value: Option<Ref>,
    pub callbacks: Callbacks,
    pub slots: [Option<Ref>; 3],
    /// Of a condition: how many of its events have been processed.
    pub count: usize,
    pub status: Status,
    pub defused: bool,
    /// Its type is one of this module's, not a subclass: no method is overridden.
    pub is_plain: bool,
    /// It is the sleep of a process that has yielded a number, with no callback but the process's.
    pub is_sleep: bool,
}

impl Body {
    #[inline(always)]
    pub fn new(env: Option<Ref>) -> Self {
        Self {
            env,
            value: None,
            callbacks: Callbacks::empty(),
            slots: [None, None, None],
            count: 0,
            status: Status::Unset,
            defused: false,
            is_plain: true,
            is_sleep: false,
        }
    }

    #[inline(always)]
    pub fn with_callback(mut self, callback: Callback) -> Self {
        if let Callbacks::Native(callbacks) = &mut self.callbacks {
            callbacks.push(callback);
        }
        self
    }
}

/// A request of a resource for usage, which keeps more than other events.
#[repr(C)]
pub struct Claim {
    pub event: Event,
    pub more: More,
}

#[derive(Default)]
pub struct More {
    pub usage_since: Option<Ref>,
    /// Of a request with a priority: (priority, time, not preempt), and the two as they were given.
    pub key: Option<Ref>,
    pub priority: Option<Ref>,
    pub preempt: Option<Ref>,
    pub time: Option<Ref>,
}

/// The fields of an event. It must be one: an instance of the type `Event`.
#[inline(always)]
pub unsafe fn body(event: Raw) -> *mut Body {
    addr_of_mut!((*event.cast::<Event>()).body)
}

#[inline(always)]
pub unsafe fn more(claim: Raw) -> *mut More {
    addr_of_mut!((*claim.cast::<Claim>()).more)
}

/// Makes an event of one of this module's types, which has no `__init__` to be called.
#[inline(always)]
pub unsafe fn make(class: *mut PyTypeObject, fields: Body) -> Outcome<Ref> {
    let event = PyObject_GC_New::<Event>(class);
    let new = Ref::steal(event.cast())?;
    addr_of_mut!((*event).dict).write(None);
    (*event).weak = null_mut();
    addr_of_mut!((*event).body).write(fields);
    PyObject_GC_Track(event.cast());
    Ok(new)
}

#[inline(always)]
pub unsafe fn make_claim(class: *mut PyTypeObject, fields: Body, extra: More) -> Outcome<Ref> {
    let claim = PyObject_GC_New::<Claim>(class);
    let new = Ref::steal(claim.cast())?;
    addr_of_mut!((*claim).event.dict).write(None);
    (*claim).event.weak = null_mut();
    addr_of_mut!((*claim).event.body).write(fields);
    addr_of_mut!((*claim).more).write(extra);
    PyObject_GC_Track(claim.cast());
    Ok(new)
}

/// `__new__` of every event: its `__init__` fills in the rest.
pub unsafe extern "C" fn new(class: *mut PyTypeObject, _args: Raw, _keywords: Raw) -> Raw {
    let event = PyType_GenericAlloc(class, 0);
    if !event.is_null() {
        let mut fields = Body::new(None);
        fields.is_plain = statics().is_ours(class);
        body(event).write(fields);
    }
    event
}

pub unsafe extern "C" fn new_claim(class: *mut PyTypeObject, args: Raw, keywords: Raw) -> Raw {
    let event = new(class, args, keywords);
    if !event.is_null() {
        more(event).write(More::default());
    }
    event
}

pub unsafe extern "C" fn traverse(event: Raw, visit: visitproc, arg: *mut std::ffi::c_void) -> c_int {
    let fields = body(event);
    let dict = raw(&(*event.cast::<Event>()).dict);
    let mut all = vec_of_references(&*fields);
    all.extend([Py_TYPE(event).cast(), dict]);
    visit_all(all.into_iter(), visit, arg)
}

fn vec_of_references(fields: &Body) -> smallvec::SmallVec<[Raw; 12]> {
    let mut all: smallvec::SmallVec<[Raw; 12]> = fields.slots.iter().map(raw).collect();
    all.extend([raw(&fields.env), raw(&fields.value)]);
    fields.callbacks.references(|reference| all.push(reference));
    all
}

pub unsafe extern "C" fn traverse_claim(event: Raw, visit: visitproc, arg: *mut std::ffi::c_void) -> c_int {
    let extra = &*more(event);
    let all = [&extra.usage_since, &extra.key, &extra.priority, &extra.preempt, &extra.time];
    match visit_all(all.into_iter().map(raw), visit, arg) {
        0 => traverse(event, visit, arg),
        status => status,
    }
}

/// Breaks cycles: takes everything out, then drops it.
pub unsafe extern "C" fn clear(event: Raw) -> c_int {
    let fields = body(event);
    let slots = std::mem::take(&mut (*fields).slots);
    let callbacks = std::mem::replace(&mut (*fields).callbacks, Callbacks::Done);
    let rest = ((*fields).env.take(), (*fields).value.take(), (*event.cast::<Event>()).dict.take());
    drop((slots, callbacks, rest));
    0
}

pub unsafe extern "C" fn clear_claim(event: Raw) -> c_int {
    drop(std::mem::take(&mut *more(event)));
    clear(event)
}

thread_local! {
    /// How many events are being freed inside each other, and those that wait until the outermost is.
    static FREEING: Cell<usize> = const { Cell::new(0) };
    static LATER: RefCell<Vec<Raw>> = const { RefCell::new(Vec::new()) };
}

/// How deep events are freed inside each other: a long chain of events, each the value of the next, would use
/// up the stack.
const DEEPEST: usize = 50;

/// Frees an event that nothing refers to.
pub unsafe extern "C" fn dealloc(event: Raw) {
    PyObject_GC_UnTrack(event.cast());
    let depth = FREEING.get();
    if depth == DEEPEST {
        LATER.with_borrow_mut(|later| later.push(event));
        return;
    }
    FREEING.set(depth + 1);
    free(event);
    if depth == 0 {
        while let Some(next) = LATER.with_borrow_mut(Vec::pop) {
            free(next);
        }
    }
    FREEING.set(depth);
}

/// Drops the fields of an event, then its memory.
unsafe fn free(event: Raw) {
    let class = Py_TYPE(event);
    let this = event.cast::<Event>();
    if !(*this).weak.is_null() {
        PyObject_ClearWeakRefs(event);
    }
    // Nothing else refers to it, so no code can see its fields while they are dropped.
    addr_of_mut!((*this).body).drop_in_place();
    addr_of_mut!((*this).dict).drop_in_place();
    PyObject_GC_Del(event.cast());
    Py_DECREF(class.cast());
}

pub unsafe extern "C" fn dealloc_claim(event: Raw) {
    PyObject_GC_UnTrack(event.cast());
    more(event).drop_in_place();
    // Tracked again, since the other half takes it off once more.
    PyObject_GC_Track(event.cast());
    more(event).write(More::default());
    dealloc(event);
}

/// Whether the event has a value.
#[inline(always)]
pub unsafe fn is_triggered(event: Raw) -> bool {
    (*body(event)).value.is_some()
}

/// How the memory of events is managed. Every type has these itself: one that had no `dealloc` would get the
/// slow one of classes in Python.
pub fn memory() -> Memory {
    [(Py_tp_traverse, traverse as *mut _), (Py_tp_clear, clear as *mut _), (Py_tp_dealloc, dealloc as *mut _)]
}

/// How the memory of requests for slots is managed.
pub fn claim_memory() -> Memory {
    [
        (Py_tp_traverse, traverse_claim as *mut _),
        (Py_tp_clear, clear_claim as *mut _),
        (Py_tp_dealloc, dealloc_claim as *mut _),
    ]
}
