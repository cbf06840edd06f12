//! Resources: what all kinds share, and when which request is served.
//!
//! `_trigger_put` and `_trigger_get` go through the queue of requests and ask `_do_put` or `_do_get` of the
//! kind ([`rules`](super::rules)). A subclass in Python, or a program for one resource, may override each of
//! the four; the fields of [`Overrides`] say which, so that the others need no lookup.

use super::call::*;
use super::kind::Kind;
use super::object::*;
use super::schedule::active;
use super::statics::statics;
use pyo3::ffi::*;
use std::ffi::{c_int, c_void};
use std::ptr::{addr_of_mut, null_mut};

#[repr(C)]
pub struct Resource {
    head: PyObject,
    pub dict: Option<Ref>,
    pub weak: Raw,
    inner: Inner,
}

pub struct Inner {
    pub env: Option<Ref>,
    pub capacity: Option<Ref>,
    pub puts: Option<Ref>,
    pub gets: Option<Ref>,
    /// The users of a resource, the items of a store, the level of a container.
    pub held: Option<Ref>,
    pub kind: Kind,
    pub overrides: Overrides,
}

/// What is overridden in Python.
#[derive(Default, Clone, Copy)]
pub struct Overrides {
    pub do_put: bool,
    pub do_get: bool,
    pub trigger_put: bool,
    pub trigger_get: bool,
    pub release: bool,
}

/// The fields of a resource. It must be one: an instance of the type `BaseResource`.
#[inline(always)]
pub unsafe fn inner(resource: Raw) -> *mut Inner {
    addr_of_mut!((*resource.cast::<Resource>()).inner)
}

#[inline(always)]
pub unsafe fn is_resource(object: Raw) -> bool {
    is_a(object, statics().base_resource)
}

/// A field of a resource whose `__init__` has been called.
#[inline(always)]
pub unsafe fn field(field: *const Option<Ref>, name: &str) -> Outcome<Ref> {
    match &*field {
        Some(value) => Ok(value.clone()),
        None => missing(name),
    }
}

#[cold]
unsafe fn missing<T>(name: &str) -> Outcome<T> {
    raise(
        PyExc_AttributeError,
        &format!("the resource has no attribute '{name}': its __init__ was not called"),
    )
}

/// Puts a request at its place in the queue.
#[inline(always)]
pub unsafe fn enqueue(queue: Raw, event: Raw) -> Outcome<()> {
    if PyList_CheckExact(queue) != 0 {
        return checked(PyList_Append(queue, event));
    }
    call_method_1(queue, statics().names.append, event).map(drop)
}

/// Environment, and the process that makes a request, for its fields.
#[inline(always)]
pub unsafe fn requester(resource: Raw) -> Outcome<(Ref, Ref)> {
    let env = if is_resource(resource) {
        field(&raw const (*inner(resource)).env, "_env")?
    } else {
        get_named(resource, c"_env")?
    };
    let process = active(env.raw())?;
    Ok((env, process))
}

/// What `BaseResource.__init__` does.
pub unsafe fn begin(this: Raw, env: Raw, capacity: Raw) -> Outcome<()> {
    let fields = inner(this);
    put(addr_of_mut!((*fields).env), Some(Ref::share(env)));
    put(addr_of_mut!((*fields).capacity), Some(Ref::share(capacity)));
    let puts = new_queue(this, statics().names.put_queue_class)?;
    put(addr_of_mut!((*fields).puts), Some(puts));
    let gets = new_queue(this, statics().names.get_queue_class)?;
    put(addr_of_mut!((*fields).gets), Some(gets));
    if statics().is_ours(Py_TYPE(this)) {
        return Ok(());
    }
    call_1(statics().bind_early, this).map(drop)
}

unsafe fn new_queue(this: Raw, class_name: Raw) -> Outcome<Ref> {
    let class = get(this, class_name)?;
    if class.raw() == (&raw mut PyList_Type).cast() {
        return Ref::steal(PyList_New(0));
    }
    Ref::steal(PyObject_CallObject(class.raw(), null_mut()))
}

pub unsafe fn init(this: Raw, args: Raw, keywords: Raw) -> Outcome<()> {
    let [env, capacity] = parse_init(args, keywords, "BaseResource.__init__", ["env", "capacity"], 2)?;
    begin(this, env, capacity)
}

pub unsafe extern "C" fn new(class: *mut PyTypeObject, _args: Raw, _keywords: Raw) -> Raw {
    guard(null_mut(), || {
        let resource = Ref::steal(PyType_GenericAlloc(class, 0))?;
        let kind = statics().kind_of(class);
        let overrides = Overrides::default();
        let fields = Inner { env: None, capacity: None, puts: None, gets: None, held: None, kind, overrides };
        inner(resource.raw()).write(fields);
        if !statics().is_ours(class) {
            let base = statics().class_of(kind);
            let differs = |name: Raw| -> Outcome<bool> {
                Ok(get(class.cast(), name)?.raw() != get(base.cast(), name)?.raw())
            };
            let names = &statics().names;
            (*inner(resource.raw())).overrides = Overrides {
                do_put: differs(names.do_put)?,
                do_get: differs(names.do_get)?,
                trigger_put: differs(names.trigger_put)?,
                trigger_get: differs(names.trigger_get)?,
                release: PyObject_HasAttr(base.cast(), names.release) == 0 || differs(names.release)?,
            };
        }
        Ok(resource.into_raw())
    })
}

/// A method that a program sets for one resource overrides the native one, as monitoring does it.
pub unsafe extern "C" fn set_attribute(this: Raw, name: Raw, value: Raw) -> c_int {
    guard(-1, || {
        checked(PyObject_GenericSetAttr(this, name, value))?;
        let names = &statics().names;
        let overrides = addr_of_mut!((*inner(this)).overrides);
        for (known, flag) in [
            (names.do_put, addr_of_mut!((*overrides).do_put)),
            (names.do_get, addr_of_mut!((*overrides).do_get)),
            (names.trigger_put, addr_of_mut!((*overrides).trigger_put)),
            (names.trigger_get, addr_of_mut!((*overrides).trigger_get)),
            (names.release, addr_of_mut!((*overrides).release)),
        ] {
            // Where it is deleted again, the method is looked up all the same, and found.
            if PyUnicode_Compare(name, known) == 0 {
                *flag = true;
            }
        }
        Ok(0)
    })
}

unsafe extern "C" fn traverse(this: Raw, visit: visitproc, arg: *mut c_void) -> c_int {
    let fields = &*inner(this);
    let all = [&fields.env, &fields.capacity, &fields.puts, &fields.gets, &fields.held];
    let all = all.into_iter().map(raw).chain([Py_TYPE(this).cast(), raw(&(*this.cast::<Resource>()).dict)]);
    visit_all(all, visit, arg)
}

unsafe extern "C" fn clear(this: Raw) -> c_int {
    let fields = inner(this);
    let queues = ((*fields).puts.take(), (*fields).gets.take(), (*fields).held.take());
    let rest = ((*fields).env.take(), (*fields).capacity.take(), (*this.cast::<Resource>()).dict.take());
    drop((queues, rest));
    0
}

unsafe extern "C" fn dealloc(this: Raw) {
    let class = Py_TYPE(this);
    PyObject_GC_UnTrack(this.cast());
    if !(*this.cast::<Resource>()).weak.is_null() {
        PyObject_ClearWeakRefs(this);
    }
    inner(this).drop_in_place();
    addr_of_mut!((*this.cast::<Resource>()).dict).drop_in_place();
    PyObject_GC_Del(this.cast());
    Py_DECREF(class.cast());
}

/// How the memory of resources is managed. Every type has these itself: one that had no `dealloc` would get
/// the slow one of classes in Python.
pub fn memory() -> Memory {
    [(Py_tp_traverse, traverse as *mut _), (Py_tp_clear, clear as *mut _), (Py_tp_dealloc, dealloc as *mut _)]
}
