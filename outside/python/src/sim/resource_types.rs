//! The types of resources: methods, attributes, and how an instance begins. Their fields are in
//! `resource.rs`, what changes them is in `rules.rs`; `_native.pyi` declares each type for checkers of
//! Python.

use super::call::*;
use super::kind::{Kind, Side};
use super::object::*;
use super::request::*;
use super::resource::*;
use super::rules::{do_get, do_put, held};
use super::serve::serve;
use super::statics::statics;
use pyo3::ffi::*;
use std::ffi::{CStr, c_int, c_void};
use std::mem::offset_of;
use std::ptr::{addr_of_mut, null_mut};

/// Attributes of every resource.
mod attributes {
    use super::*;

    pub unsafe fn env(this: Raw) -> Outcome<Ref> {
        field(&raw const (*inner(this)).env, "_env")
    }
    pub unsafe fn set_env(this: Raw, value: Raw) -> Outcome<()> {
        put(addr_of_mut!((*inner(this)).env), Ref::share_opt(value));
        Ok(())
    }
    pub unsafe fn capacity(this: Raw) -> Outcome<Ref> {
        field(&raw const (*inner(this)).capacity, "_capacity")
    }
    pub unsafe fn set_capacity(this: Raw, value: Raw) -> Outcome<()> {
        put(addr_of_mut!((*inner(this)).capacity), Ref::share_opt(value));
        Ok(())
    }
    pub unsafe fn puts(this: Raw) -> Outcome<Ref> {
        field(&raw const (*inner(this)).puts, "put_queue")
    }
    pub unsafe fn set_puts(this: Raw, value: Raw) -> Outcome<()> {
        put(addr_of_mut!((*inner(this)).puts), Ref::share_opt(value));
        Ok(())
    }
    pub unsafe fn gets(this: Raw) -> Outcome<Ref> {
        field(&raw const (*inner(this)).gets, "get_queue")
    }
    pub unsafe fn set_gets(this: Raw, value: Raw) -> Outcome<()> {
        put(addr_of_mut!((*inner(this)).gets), Ref::share_opt(value));
        Ok(())
    }
    pub unsafe fn dict(this: Raw) -> Outcome<Ref> {
        Ref::steal(PyObject_GenericGetDict(this, null_mut()))
    }
}

unsafe fn method_do(this: Raw, _event: Raw) -> Outcome<Ref> {
    PyErr_SetObject(PyExc_NotImplementedError, this);
    Err(Raised)
}

unsafe fn method_trigger_put(this: Raw, _event: Raw) -> Outcome<Ref> {
    serve(this, Side::Put).map(|()| none())
}

unsafe fn method_trigger_get(this: Raw, _event: Raw) -> Outcome<Ref> {
    serve(this, Side::Get).map(|()| none())
}

/// What the type `BaseResource` is made of.
pub fn base_parts() -> Parts {
    Parts {
        name: c"paceline.sim.resources.base.BaseResource",
        doc: "BaseResource(env, capacity)\n--\n\nWhat requests put something into and get something out of.",
        size: size_of::<Resource>(),
        dict_offset: Some(offset_of!(Resource, dict)),
        weak_offset: Some(offset_of!(Resource, weak)),
        methods: vec![
            method!("put", super::request::put_base, "Requests to put something into the resource."),
            method!("get", super::request::get_base, "Requests to get something out of the resource."),
            method_1!("_do_put", method_do, "Serves a put: to be overridden."),
            method_1!("_do_get", method_do, "Serves a get: to be overridden."),
            method_1!("_trigger_put", method_trigger_put, "Serves the puts that can be served."),
            method_1!("_trigger_get", method_trigger_get, "Serves the gets that can be served."),
            method_1!("__class_getitem__", of_class, METH_O | METH_CLASS, "For annotations."),
        ],
        attributes: vec![
            attribute!("_env", attributes::env, attributes::set_env, "The environment."),
            attribute!("capacity", attributes::capacity, "How much the resource can hold."),
            attribute!(
                "_capacity",
                attributes::capacity,
                attributes::set_capacity,
                "How much the resource can hold."
            ),
            attribute!("put_queue", attributes::puts, attributes::set_puts, "Puts that wait."),
            attribute!("get_queue", attributes::gets, attributes::set_gets, "Gets that wait."),
            attribute!("__dict__", attributes::dict, "Attributes that a program has added."),
        ],
        slots: vec![(Py_tp_new, new as *mut _), init!(init), (Py_tp_setattro, set_attribute as *mut _)],
    }
}

/// `_do_put` of a kind, as a method: also for `super()._do_put(event)`.
macro_rules! rule {
    ($name:ident, $of:ident, $kind:expr) => {
        unsafe fn $name(this: Raw, event: Raw) -> Outcome<Ref> {
            if !is_a(event, statics().event) {
                return raise(PyExc_TypeError, "a resource serves events");
            }
            let goes_on = $of($kind, this, event)?;
            Ok(if goes_on { boolean(true) } else { none() })
        }
    };
}

rule!(put_resource, do_put, Kind::Resource);
rule!(put_preemptive, do_put, Kind::Preemptive);
rule!(put_container, do_put, Kind::Container);
rule!(put_store, do_put, Kind::Store);
rule!(put_priority_store, do_put, Kind::PriorityStore);
rule!(get_resource, do_get, Kind::Resource);
rule!(get_container, do_get, Kind::Container);
rule!(get_store, do_get, Kind::Store);
rule!(get_priority_store, do_get, Kind::PriorityStore);
rule!(get_filter_store, do_get, Kind::FilterStore);

unsafe fn check_capacity(capacity: Raw) -> Outcome<()> {
    if compare(capacity, statics().zero, Py_LE)? {
        return raise(PyExc_ValueError, "\"capacity\" must be > 0.");
    }
    Ok(())
}

unsafe fn init_resource(this: Raw, args: Raw, keywords: Raw) -> Outcome<()> {
    let [env, capacity] = parse_init(args, keywords, "Resource.__init__", ["env", "capacity"], 1)?;
    let capacity = if capacity.is_null() { statics().one } else { capacity };
    check_capacity(capacity)?;
    begin(this, env, capacity)?;
    put(addr_of_mut!((*inner(this)).held), Some(Ref::steal(PyList_New(0))?));
    Ok(())
}

unsafe fn init_store(this: Raw, args: Raw, keywords: Raw) -> Outcome<()> {
    let [env, capacity] = parse_init(args, keywords, "Store.__init__", ["env", "capacity"], 1)?;
    let capacity = if capacity.is_null() { statics().infinity } else { capacity };
    check_capacity(capacity)?;
    begin(this, env, capacity)?;
    put(addr_of_mut!((*inner(this)).held), Some(Ref::steal(PyList_New(0))?));
    Ok(())
}

unsafe fn init_container(this: Raw, args: Raw, keywords: Raw) -> Outcome<()> {
    let [env, capacity, init] =
        parse_init(args, keywords, "Container.__init__", ["env", "capacity", "init"], 1)?;
    let capacity = if capacity.is_null() { statics().infinity } else { capacity };
    let init = if init.is_null() { statics().zero } else { init };
    check_capacity(capacity)?;
    if compare(init, statics().zero, Py_LT)? {
        return raise(PyExc_ValueError, "\"init\" must be >= 0.");
    }
    if compare(init, capacity, Py_GT)? {
        return raise(PyExc_ValueError, "\"init\" must be <= \"capacity\".");
    }
    begin(this, env, capacity)?;
    put(addr_of_mut!((*inner(this)).held), Some(Ref::share(init)));
    Ok(())
}

unsafe fn get_held(this: Raw) -> Outcome<Ref> {
    held(this)
}

unsafe fn set_held(this: Raw, value: Raw) -> Outcome<()> {
    put(addr_of_mut!((*inner(this)).held), Ref::share_opt(value));
    Ok(())
}

unsafe fn count(this: Raw) -> Outcome<Ref> {
    Ref::steal(PyLong_FromSsize_t(PySequence_Size(held(this)?.raw())))
}

unsafe fn queue(this: Raw) -> Outcome<Ref> {
    field(&raw const (*inner(this)).puts, "queue")
}

/// The parts of a type that adds to its base only what is given.
fn part(
    name: &'static CStr,
    doc: &'static str,
    methods: Vec<PyMethodDef>,
    attributes: Vec<PyGetSetDef>,
    slots: Vec<(c_int, *mut c_void)>,
) -> Parts {
    let size = size_of::<Resource>();
    Parts { name, doc, size, dict_offset: None, weak_offset: None, methods, attributes, slots }
}

/// Resources with slots.
fn slotted() -> Vec<Parts> {
    vec![
        part(
            c"paceline.sim.resources.resource.Resource",
            "Resource(env, capacity=1)\n--\n\nSlots that processes request, use and release.",
            vec![
                method!("request", request, "Requests a slot."),
                method!("release", release, "Releases the slot of a request."),
                method_1!("_do_put", put_resource, "Lets a user in while there is room."),
                method_1!("_do_get", get_resource, "Releases a slot."),
            ],
            vec![
                attribute!("users", get_held, set_held, "The requests that hold a slot."),
                attribute!("count", count, "How many slots are used."),
                attribute!("queue", queue, "The requests that wait."),
            ],
            vec![init!(init_resource)],
        ),
        part(
            c"paceline.sim.resources.resource.PriorityResource",
            "PriorityResource(env, capacity=1)\n--\n\nA resource whose requests wait by priority.",
            vec![method!(
                "request",
                request_with_priority,
                "Requests a slot with a priority: less is more important."
            )],
            vec![],
            vec![],
        ),
        part(
            c"paceline.sim.resources.resource.PreemptiveResource",
            "PreemptiveResource(env, capacity=1)\n--\n\nA resource whose users lose their slot to more important requests.",
            vec![method_1!("_do_put", put_preemptive, "Lets a user in, perhaps in place of another.")],
            vec![],
            vec![],
        ),
    ]
}

/// What the type `Container` adds to the base of all resources.
fn containers() -> Vec<Parts> {
    vec![part(
        c"paceline.sim.resources.container.Container",
        "Container(env, capacity=inf, init=0)\n--\n\nAn amount of something that is put in and taken out.",
        vec![
            method!("put", put_amount, "Requests to put an amount in."),
            method!("get", get_amount, "Requests to take an amount out."),
            method_1!("_do_put", put_container, "Puts an amount in, where there is room."),
            method_1!("_do_get", get_container, "Takes an amount out, where there is as much."),
        ],
        vec![
            attribute!("level", get_held, "The amount."),
            attribute!("_level", get_held, set_held, "The amount."),
        ],
        vec![init!(init_container)],
    )]
}

/// What the types `Store`, `PriorityStore` and `FilterStore` add to that base.
fn stores() -> Vec<Parts> {
    vec![
        part(
            c"paceline.sim.resources.store.Store",
            "Store(env, capacity=inf)\n--\n\nItems that are put in and taken out, first in, first out.",
            vec![
                method!("put", put_item, "Requests to put an item in."),
                method!("get", get_item, "Requests to take an item out."),
                method_1!("_do_put", put_store, "Puts an item in, where there is room."),
                method_1!("_do_get", get_store, "Takes an item out, where there is one."),
            ],
            vec![attribute!("items", get_held, set_held, "The items.")],
            vec![init!(init_store)],
        ),
        part(
            c"paceline.sim.resources.store.PriorityStore",
            "PriorityStore(env, capacity=inf)\n--\n\nA store that gives out the least item first.",
            vec![
                method_1!("_do_put", put_priority_store, "Puts an item in, where there is room."),
                method_1!("_do_get", get_priority_store, "Takes the least item out."),
            ],
            vec![],
            vec![],
        ),
        part(
            c"paceline.sim.resources.store.FilterStore",
            "FilterStore(env, capacity=inf)\n--\n\nA store whose gets take the first item that fits.",
            vec![
                method!(
                    "get",
                    get_filtered,
                    "Requests to take out the first item for which filter(item) is true."
                ),
                method_1!("_do_get", get_filter_store, "Takes out the first item that fits."),
            ],
            vec![],
            vec![],
        ),
    ]
}

/// What the kinds of resources add to `BaseResource`.
pub fn parts() -> Vec<Parts> {
    slotted().into_iter().chain(containers()).chain(stores()).collect()
}
