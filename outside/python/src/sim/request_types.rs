//! The types of requests: methods and attributes. Their fields, and how one is made and withdrawn, are in
//! `request.rs`; `_native.pyi` declares each type for checkers of Python.

use super::call::*;
use super::event::*;
use super::kind::Side;
use super::object::*;
use super::request::*;
use pyo3::ffi::*;
use std::ptr::addr_of_mut;

/// A field of `slots` as an attribute that may be set.
macro_rules! in_slot {
    ($get:ident, $set:ident, $slot:expr, $name:literal) => {
        unsafe fn $get(this: Raw) -> Outcome<Ref> {
            match &(*body(this)).slots[$slot] {
                Some(value) => Ok(value.clone()),
                None => raise(PyExc_AttributeError, concat!("the request has no attribute '", $name, "'")),
            }
        }
        unsafe fn $set(this: Raw, value: Raw) -> Outcome<()> {
            put(addr_of_mut!((*body(this)).slots[$slot]), Ref::share_opt(value));
            Ok(())
        }
    };
}

/// A field of a claim as an attribute that may be set; one that is not set yet is `None`.
macro_rules! in_claim {
    ($get:ident, $set:ident, $field:ident) => {
        unsafe fn $get(this: Raw) -> Outcome<Ref> {
            Ok((*more(this)).$field.clone().unwrap_or_else(|| none()))
        }
        unsafe fn $set(this: Raw, value: Raw) -> Outcome<()> {
            put(addr_of_mut!((*more(this)).$field), Ref::share_opt(value));
            Ok(())
        }
    };
}

in_slot!(get_resource, set_resource, slot::RESOURCE, "resource");
in_slot!(get_proc, set_proc, slot::PROC, "proc");
in_slot!(get_item_slot, set_item_slot, slot::ITEM, "item");
in_claim!(get_usage_since, set_usage_since, usage_since);
in_claim!(get_key, set_key, key);
in_claim!(get_priority, set_priority, priority);
in_claim!(get_preempt, set_preempt, preempt);
in_claim!(get_time, set_time, time);

/// The parts of a type that adds to its base only what is given.
fn part(name: &'static std::ffi::CStr, doc: &'static str) -> Parts {
    Parts {
        name,
        doc,
        size: size_of::<Event>(),
        dict_offset: None,
        weak_offset: None,
        methods: vec![],
        attributes: vec![],
        slots: vec![],
    }
}

/// What the types `Put` and `Get` add to `Event`.
pub fn base_parts() -> [Parts; 2] {
    let attributes = || {
        vec![
            attribute!("resource", get_resource, set_resource, "The resource."),
            attribute!("proc", get_proc, set_proc, "The process that made the request, or None."),
        ]
    };
    [
        Parts {
            methods: vec![
                method_1!("cancel", cancel_put, METH_NOARGS, "Takes the request out of the queue."),
                method_1!("__enter__", enter, METH_NOARGS, "The request itself."),
                method!("__exit__", exit_put, "Cancels the request."),
                method_1!("__class_getitem__", of_class, METH_O | METH_CLASS, "For annotations."),
            ],
            attributes: attributes(),
            slots: vec![init!(init_put)],
            ..part(
                c"paceline.sim.resources.base.Put",
                "Put(resource)\n--\n\nA request to put something into a resource.",
            )
        },
        Parts {
            methods: vec![
                method_1!("cancel", cancel_get, METH_NOARGS, "Takes the request out of the queue."),
                method_1!("__enter__", enter, METH_NOARGS, "The request itself."),
                method!("__exit__", exit_get, "Cancels the request."),
                method_1!("__class_getitem__", of_class, METH_O | METH_CLASS, "For annotations."),
            ],
            attributes: attributes(),
            slots: vec![init!(init_get)],
            ..part(
                c"paceline.sim.resources.base.Get",
                "Get(resource)\n--\n\nA request to get something out of a resource.",
            )
        },
    ]
}

/// What the type `Request` adds to `Put`, and `PriorityRequest` to that.
pub fn claim_parts() -> [Parts; 2] {
    [
        Parts {
            size: size_of::<Claim>(),
            methods: vec![method!("__exit__", exit_request, "Cancels the request, or releases its slot.")],
            attributes: vec![attribute!(
                "usage_since",
                get_usage_since,
                set_usage_since,
                "When the slot was got."
            )],
            slots: vec![(Py_tp_new, new_claim as *mut _), init!(init_put)],
            ..part(
                c"paceline.sim.resources.resource.Request",
                "Request(resource)\n--\n\nA request for a slot.",
            )
        },
        Parts {
            size: size_of::<Claim>(),
            attributes: vec![
                attribute!("priority", get_priority, set_priority, "The priority: less is more important."),
                attribute!("preempt", get_preempt, set_preempt, "Whether it may take the slot of another."),
                attribute!("time", get_time, set_time, "When the request was made."),
                attribute!("key", get_key, set_key, "By what requests are sorted."),
            ],
            slots: vec![init!(init_priority_request)],
            ..part(
                c"paceline.sim.resources.resource.PriorityRequest",
                "PriorityRequest(resource, priority=0, preempt=True)\n--\n\nA request for a slot with a priority.",
            )
        },
    ]
}

/// What the other requests add to `Put` or `Get`, with the side that each is on.
pub fn parts() -> Vec<(Parts, Side)> {
    let with = |name, doc, attribute, init| Parts {
        attributes: vec![attribute],
        slots: vec![init],
        ..part(name, doc)
    };
    let request = attribute!("request", get_item_slot, set_item_slot, "The request whose slot is released.");
    let item = attribute!("item", get_item_slot, set_item_slot, "The item.");
    let filter = attribute!("filter", get_item_slot, set_item_slot, "Says which items fit.");
    let amount = || attribute!("amount", get_item_slot, set_item_slot, "The amount.");
    vec![
        (
            with(
                c"paceline.sim.resources.resource.Release",
                "Release(resource, request)\n--\n\nReleases the slot of a request.",
                request,
                init!(init_release),
            ),
            Side::Get,
        ),
        (
            with(
                c"paceline.sim.resources.store.StorePut",
                "StorePut(store, item)\n--\n\nA request to put an item into a store.",
                item,
                init!(init_store_put),
            ),
            Side::Put,
        ),
        (
            part(
                c"paceline.sim.resources.store.StoreGet",
                "StoreGet(resource)\n--\n\nA request to take an item out of a store.",
            ),
            Side::Get,
        ),
        (
            with(
                c"paceline.sim.resources.container.ContainerPut",
                "ContainerPut(container, amount)\n--\n\nA request to put an amount into a container.",
                amount(),
                init!(init_container_put),
            ),
            Side::Put,
        ),
        (
            with(
                c"paceline.sim.resources.container.ContainerGet",
                "ContainerGet(container, amount)\n--\n\nA request to take an amount out of a container.",
                amount(),
                init!(init_container_get),
            ),
            Side::Get,
        ),
        // Last, as its base is `StoreGet`.
        (
            with(
                c"paceline.sim.resources.store.FilterStoreGet",
                "FilterStoreGet(resource, filter)\n--\n\nA request to take the first item out of a store that fits.",
                filter,
                init!(init_filter_store_get),
            ),
            Side::Get,
        ),
    ]
}
