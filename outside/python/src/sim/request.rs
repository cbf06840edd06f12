//! Requests of resources: puts and gets of every kind.

use super::call::*;
use super::callback::Callback;
use super::event::*;
use super::kind::Side;
use super::object::*;
use super::resource::{enqueue, field, inner, is_resource, requester};
use super::schedule::now;
use super::serve::{trigger_get, trigger_put};
use super::statics::statics;
use pyo3::ffi::*;

/// The fields of a request, before it is made.
#[inline(always)]
unsafe fn fields_of(resource: Raw, side: Side, item: Option<Ref>) -> Outcome<Body> {
    let (env, process) = requester(resource)?;
    let served = Ref::share(resource);
    // What is put in may serve a get, and the other way round.
    let callback = if side == Side::Put { Callback::Get(served) } else { Callback::Put(served) };
    let mut fields = Body::new(Some(env)).with_callback(callback);
    fields.slots = [Some(Ref::share(resource)), Some(process), item];
    Ok(fields)
}

/// Lets a request wait in its queue, and serves those that can be served.
#[inline(always)]
unsafe fn submit(event: Raw, resource: Raw, side: Side) -> Outcome<()> {
    if side == Side::Put {
        let queue = if is_resource(resource) {
            field(&raw const (*inner(resource)).puts, "put_queue")?
        } else {
            get_named(resource, c"put_queue")?
        };
        if Py_TYPE(queue.raw()).cast() == statics().sorted_queue {
            enqueue_sorted(queue.raw(), event)?;
        } else {
            enqueue(queue.raw(), event)?;
        }
        return trigger_put(resource);
    }
    let queue = if is_resource(resource) {
        field(&raw const (*inner(resource)).gets, "get_queue")?
    } else {
        get_named(resource, c"get_queue")?
    };
    enqueue(queue.raw(), event)?;
    trigger_get(resource)
}

/// Inserts into a queue that is sorted by `key`: behind all that are not greater, where a stable sort puts
/// it.
unsafe fn enqueue_sorted(queue: Raw, event: Raw) -> Outcome<()> {
    if get(queue, statics().names.maxlen)?.raw() != Py_None() {
        return enqueue(queue, event);
    }
    let key = get(event, statics().names.key)?;
    let mut index = PyList_Size(queue);
    while index > 0 {
        let before = Ref::share(PyList_GetItem(queue, index - 1));
        let before = get(before.raw(), statics().names.key)?;
        if !compare(key.raw(), before.raw(), Py_LT)? {
            break;
        }
        index -= 1;
    }
    checked(PyList_Insert(queue, index, event))
}

/// Makes a request of one of the types here.
#[inline(always)]
unsafe fn make_request(
    class: *mut PyTypeObject,
    resource: Raw,
    side: Side,
    item: Option<Ref>,
) -> Outcome<Ref> {
    let event = make(class, fields_of(resource, side, item)?)?;
    submit(event.raw(), resource, side)?;
    Ok(event)
}

/// What `Put.__init__` and `Get.__init__` do, for requests of subclasses.
unsafe fn begin_request(this: Raw, resource: Raw, side: Side, item: Option<Ref>) -> Outcome<()> {
    let mut fields = fields_of(resource, side, item)?;
    fields.is_plain = (*body(this)).is_plain;
    drop(std::mem::replace(&mut *body(this), fields));
    submit(this, resource, side)
}

pub unsafe fn put_base(this: Raw, args: &Args) -> Outcome<Ref> {
    args.parse("put", [], 0)?;
    make_request(statics().put, this, Side::Put, None)
}

pub unsafe fn get_base(this: Raw, args: &Args) -> Outcome<Ref> {
    args.parse("get", [], 0)?;
    make_request(statics().get, this, Side::Get, None)
}

pub unsafe fn request(this: Raw, args: &Args) -> Outcome<Ref> {
    args.parse("request", [], 0)?;
    let fields = fields_of(this, Side::Put, None)?;
    let event = make_claim(statics().request, fields, More::default())?;
    submit(event.raw(), this, Side::Put)?;
    Ok(event)
}

pub unsafe fn request_with_priority(this: Raw, args: &Args) -> Outcome<Ref> {
    let [priority, preempt] = args.parse("request", ["priority", "preempt"], 0)?;
    let extra = claim_with_priority(this, priority, preempt)?;
    let fields = fields_of(this, Side::Put, None)?;
    let event = make_claim(statics().priority_request, fields, extra)?;
    submit(event.raw(), this, Side::Put)?;
    Ok(event)
}

unsafe fn claim_with_priority(resource: Raw, priority: Raw, preempt: Raw) -> Outcome<More> {
    let priority = if priority.is_null() { statics().zero } else { priority };
    let preempt = if preempt.is_null() { Py_True() } else { preempt };
    let (env, _) = requester(resource)?;
    let time = now(env.raw())?;
    let key = Ref::steal(PyTuple_Pack(3, priority, time.raw(), boolean(!is_true(preempt)?).raw()))?;
    Ok(More {
        usage_since: None,
        key: Some(key),
        priority: Some(Ref::share(priority)),
        preempt: Some(Ref::share(preempt)),
        time: Some(time),
    })
}

pub unsafe fn release(this: Raw, args: &Args) -> Outcome<Ref> {
    let [request] = args.parse("release", ["request"], 1)?;
    make_request(statics().release, this, Side::Get, Some(Ref::share(request)))
}

pub unsafe fn put_item(this: Raw, args: &Args) -> Outcome<Ref> {
    let [item] = args.parse("put", ["item"], 1)?;
    make_request(statics().store_put, this, Side::Put, Some(Ref::share(item)))
}

pub unsafe fn get_item(this: Raw, args: &Args) -> Outcome<Ref> {
    args.parse("get", [], 0)?;
    make_request(statics().store_get, this, Side::Get, None)
}

pub unsafe fn get_filtered(this: Raw, args: &Args) -> Outcome<Ref> {
    let [filter] = args.parse("get", ["filter"], 0)?;
    let filter = if filter.is_null() { statics().accept_all } else { filter };
    make_request(statics().filter_store_get, this, Side::Get, Some(Ref::share(filter)))
}

pub unsafe fn check_amount(amount: Raw) -> Outcome<()> {
    if compare(amount, statics().zero, Py_LE)? {
        let shown = str_of(amount)?;
        return raise(PyExc_ValueError, &format!("amount(={shown}) must be > 0."));
    }
    Ok(())
}

pub unsafe fn put_amount(this: Raw, args: &Args) -> Outcome<Ref> {
    let [amount] = args.parse("put", ["amount"], 1)?;
    check_amount(amount)?;
    make_request(statics().container_put, this, Side::Put, Some(Ref::share(amount)))
}

pub unsafe fn get_amount(this: Raw, args: &Args) -> Outcome<Ref> {
    let [amount] = args.parse("get", ["amount"], 1)?;
    check_amount(amount)?;
    make_request(statics().container_get, this, Side::Get, Some(Ref::share(amount)))
}

pub unsafe fn init_put(this: Raw, args: Raw, keywords: Raw) -> Outcome<()> {
    let [resource] = parse_init(args, keywords, "Put.__init__", ["resource"], 1)?;
    begin_request(this, resource, Side::Put, None)
}

pub unsafe fn init_get(this: Raw, args: Raw, keywords: Raw) -> Outcome<()> {
    let [resource] = parse_init(args, keywords, "Get.__init__", ["resource"], 1)?;
    begin_request(this, resource, Side::Get, None)
}

pub unsafe fn init_priority_request(this: Raw, args: Raw, keywords: Raw) -> Outcome<()> {
    let names = ["resource", "priority", "preempt"];
    let [resource, priority, preempt] = parse_init(args, keywords, "PriorityRequest.__init__", names, 1)?;
    let extra = claim_with_priority(resource, priority, preempt)?;
    drop(std::mem::replace(&mut *more(this), extra));
    begin_request(this, resource, Side::Put, None)
}

pub unsafe fn init_release(this: Raw, args: Raw, keywords: Raw) -> Outcome<()> {
    let [resource, request] = parse_init(args, keywords, "Release.__init__", ["resource", "request"], 2)?;
    begin_request(this, resource, Side::Get, Some(Ref::share(request)))
}

pub unsafe fn init_store_put(this: Raw, args: Raw, keywords: Raw) -> Outcome<()> {
    let [store, item] = parse_init(args, keywords, "StorePut.__init__", ["store", "item"], 2)?;
    begin_request(this, store, Side::Put, Some(Ref::share(item)))
}

pub unsafe fn init_filter_store_get(this: Raw, args: Raw, keywords: Raw) -> Outcome<()> {
    let [store, filter] = parse_init(args, keywords, "FilterStoreGet.__init__", ["resource", "filter"], 1)?;
    let filter = if filter.is_null() { statics().accept_all } else { filter };
    begin_request(this, store, Side::Get, Some(Ref::share(filter)))
}

pub unsafe fn init_container_put(this: Raw, args: Raw, keywords: Raw) -> Outcome<()> {
    let [container, amount] =
        parse_init(args, keywords, "ContainerPut.__init__", ["container", "amount"], 2)?;
    check_amount(amount)?;
    begin_request(this, container, Side::Put, Some(Ref::share(amount)))
}

pub unsafe fn init_container_get(this: Raw, args: Raw, keywords: Raw) -> Outcome<()> {
    let [container, amount] =
        parse_init(args, keywords, "ContainerGet.__init__", ["container", "amount"], 2)?;
    check_amount(amount)?;
    begin_request(this, container, Side::Get, Some(Ref::share(amount)))
}

/// Takes a request that has not been served out of its queue.
unsafe fn cancel(this: Raw, side: Side) -> Outcome<()> {
    if is_triggered(this) {
        return Ok(());
    }
    let resource = field(&raw const (*body(this)).slots[slot::RESOURCE], "resource")?;
    let name = if side == Side::Put { c"put_queue" } else { c"get_queue" };
    let queue = get_named(resource.raw(), name)?;
    if PyList_Check(queue.raw()) == 0 {
        return call_method_1(queue.raw(), statics().names.remove, this).map(drop);
    }
    for index in 0..PyList_Size(queue.raw()) {
        if PyList_GetItem(queue.raw(), index) == this {
            return checked(PyList_SetSlice(queue.raw(), index, index + 1, std::ptr::null_mut()));
        }
    }
    raise(PyExc_ValueError, "list.remove(x): x not in list")
}

pub unsafe fn cancel_put(this: Raw, _: Raw) -> Outcome<Ref> {
    cancel(this, Side::Put).map(|()| none())
}

pub unsafe fn cancel_get(this: Raw, _: Raw) -> Outcome<Ref> {
    cancel(this, Side::Get).map(|()| none())
}

pub unsafe fn enter(this: Raw, _: Raw) -> Outcome<Ref> {
    Ok(Ref::share(this))
}

/// Cancels, by the method of a subclass where there is one.
unsafe fn cancel_any(this: Raw, side: Side) -> Outcome<()> {
    if (*body(this)).is_plain {
        return cancel(this, side);
    }
    call_method(this, statics().names.cancel).map(drop)
}

pub unsafe fn exit_put(this: Raw, args: &Args) -> Outcome<Ref> {
    args.parse("__exit__", ["exc_type", "exc_value", "traceback"], 3)?;
    cancel_any(this, Side::Put).map(|()| none())
}

pub unsafe fn exit_get(this: Raw, args: &Args) -> Outcome<Ref> {
    args.parse("__exit__", ["exc_type", "exc_value", "traceback"], 3)?;
    cancel_any(this, Side::Get).map(|()| none())
}

/// Cancels or releases a slot. A generator that is only cleaned up releases nothing: its simulation is over.
pub unsafe fn exit_request(this: Raw, args: &Args) -> Outcome<Ref> {
    let [class, ..] = args.parse("__exit__", ["exc_type", "exc_value", "traceback"], 3)?;
    cancel_any(this, Side::Put)?;
    if class == PyExc_GeneratorExit {
        return Ok(none());
    }
    let resource = field(&raw const (*body(this)).slots[slot::RESOURCE], "resource")?;
    let is_native = is_resource(resource.raw()) && !(*inner(resource.raw())).overrides.release;
    if is_native {
        make_request(statics().release, resource.raw(), Side::Get, Some(Ref::share(this)))?;
    } else {
        call_method_1(resource.raw(), statics().names.release, this)?;
    }
    Ok(none())
}
