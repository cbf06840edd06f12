//! Processes: events that run a generator, and what resumes and interrupts them.

use super::call::*;
use super::callback::{Callback, Callbacks};
use super::event::{Body, Status, body, is_triggered, make, slot};
use super::object::*;
use super::schedule::{schedule, set_active};
use super::statics::statics;
use super::time::Time;
use super::timeout::{negative_delay, start_sleep};
use super::trigger::{begin, class_name, copy_exception, trigger};
use super::watch;
use pyo3::ffi::*;
use std::ptr::{addr_of_mut, null_mut};

/// Events of this priority are processed before others of the same time: starts of processes and
/// interruptions.
pub const URGENT: i64 = 0;

/// What a generator has done.
enum Step {
    Yielded(Ref),
    Returned(Ref),
    Raised(Ref),
}

/// `Process(env, generator)`, of the type itself.
#[inline(always)]
pub unsafe fn start(env: Raw, generator: Raw) -> Outcome<Ref> {
    check_generator(generator)?;
    let mut fields = Body::new(Some(Ref::share(env)));
    fields.slots[slot::GENERATOR] = Some(Ref::share(generator));
    let process = make(statics().process, fields)?;
    initialize(process.raw())?;
    Ok(process)
}

unsafe fn check_generator(generator: Raw) -> Outcome<()> {
    if Py_TYPE(generator) == statics().generator || PyObject_HasAttr(generator, statics().names.throw) != 0 {
        return Ok(());
    }
    let shown = str_of(generator)?;
    raise(PyExc_ValueError, &format!("{shown} is not a generator."))
}

/// Schedules the event that starts the generator.
unsafe fn initialize(process: Raw) -> Outcome<()> {
    let env = (*body(process)).env.clone();
    let env_raw = raw(&env);
    let mut fields = Body::new(env).with_callback(Callback::Resume(Ref::share(process)));
    fields.value = Some(none());
    fields.status = Status::Good;
    let event = make(statics().initialize, fields)?;
    put(addr_of_mut!((*body(process)).slots[slot::TARGET]), Some(event.clone()));
    schedule(env_raw, event.raw(), Some(URGENT), None)
}

/// Resumes a process with the value of an event, until it waits for an event that is still to come, or ends.
#[inline(always)]
pub unsafe fn resume(process: Raw, event: Raw) -> Outcome<()> {
    let fields = body(process);
    let env = raw(&(*fields).env);
    set_active(env, process)?;
    let generator = raw(&(*fields).slots[slot::GENERATOR]);
    if generator.is_null() {
        return raise(PyExc_RuntimeError, "a process without a generator cannot be resumed");
    }
    // Of an event that was processed when the generator yielded it, and whose value it gets at once.
    let mut held: Option<Ref> = None;
    let target = loop {
        let current = raw(&held);
        let current = if current.is_null() { event } else { current };
        match advance(generator, current)? {
            Step::Yielded(next) if Py_TYPE(next.raw()) == &raw mut PyFloat_Type || is_int(next.raw()) => {
                let delay = Time::read(next.raw());
                if delay.is_negative()? {
                    negative_delay::<()>(next.raw()).err();
                    held = Some(failed_event(env)?);
                    continue;
                }
                let reusable = if current == event { Some(event) } else { None };
                break Some(start_sleep(process, env, reusable, next, &delay)?);
            }
            Step::Yielded(next) if is_a(next.raw(), statics().event) => {
                if watch::add(next.raw(), Callback::Resume(Ref::share(process)))? {
                    break Some(next);
                }
                held = Some(next);
            }
            Step::Yielded(next) => {
                set_active(env, null_mut())?;
                return invalid_yield(generator, next.raw());
            }
            Step::Returned(value) => {
                trigger(process, Status::Good, value)?;
                break None;
            }
            Step::Raised(exception) => {
                trigger(process, Status::Failed, exception)?;
                break None;
            }
        }
    };
    put(addr_of_mut!((*fields).slots[slot::TARGET]), target);
    set_active(env, null_mut())
}

/// An int, but not a bool.
#[inline(always)]
unsafe fn is_int(object: Raw) -> bool {
    PyLong_CheckExact(object) != 0
}

/// An event that has failed with the exception that the interpreter holds, to be thrown into a generator.
unsafe fn failed_event(env: Raw) -> Outcome<Ref> {
    let mut fields = Body::new(Ref::share_opt(env));
    fields.value = Some(take_exception());
    fields.status = Status::Failed;
    fields.callbacks = Callbacks::Done;
    make(statics().event, fields)
}

/// Sends an event's value into the generator, or throws its exception.
#[inline(always)]
unsafe fn advance(generator: Raw, event: Raw) -> Outcome<Step> {
    let fields = body(event);
    if (*fields).status == Status::Good {
        // Until the generator yields again the event may lose this value, so it is held.
        let value = (*fields).value.clone().unwrap_or_else(|| none());
        let mut out = null_mut();
        return match PyIter_Send(generator, value.raw(), &raw mut out) {
            PySendResult::PYGEN_NEXT => Ok(Step::Yielded(Ref::steal(out)?)),
            PySendResult::PYGEN_RETURN => Ok(Step::Returned(Ref::steal(out)?)),
            PySendResult::PYGEN_ERROR => Ok(Step::Raised(take_exception())),
        };
    }
    (*fields).defused = true;
    let value = (*fields).value.clone().unwrap_or_else(|| none());
    // An exception that cannot be copied ends the process, as in SimPy.
    let Ok(exception) = copy_exception(value.raw()) else { return Ok(Step::Raised(take_exception())) };
    match call_method_1(generator, statics().names.throw, exception.raw()) {
        Ok(next) => Ok(Step::Yielded(next)),
        Err(Raised) if PyErr_ExceptionMatches(PyExc_StopIteration) != 0 => {
            Ok(Step::Returned(get_named(take_exception().raw(), c"value")?))
        }
        Err(Raised) => Ok(Step::Raised(take_exception())),
    }
}

#[cold]
unsafe fn invalid_yield(generator: Raw, value: Raw) -> Outcome<()> {
    let frame = get_named(generator, c"gi_frame")?;
    let place = call_1(statics().describe_frame, frame.raw())?;
    let (place, value) = (str_of(place.raw())?, str_of(value)?);
    raise(PyExc_RuntimeError, &format!("\n{place}Invalid yield value \"{value}\""))
}

/// Schedules an interruption of a process.
pub unsafe fn interrupt(process: Raw, cause: Raw) -> Outcome<()> {
    let event = make(statics().interruption, Body::new(None))?;
    begin_interruption(event.raw(), process, cause)
}

unsafe fn begin_interruption(event: Raw, process: Raw, cause: Raw) -> Outcome<()> {
    let env = (*body(process)).env.clone();
    if is_triggered(process) {
        let shown = str_of(process)?;
        return raise(PyExc_RuntimeError, &format!("{shown} has terminated and cannot be interrupted."));
    }
    let active = get_named(raw(&env), c"active_process")?;
    if active.raw() == process {
        return raise(PyExc_RuntimeError, "A process is not allowed to interrupt itself.");
    }
    let exception = call_1(statics().interrupt_exception, cause)?;
    let env_raw = raw(&env);
    let mut fields = Body::new(env).with_callback(Callback::Interrupt);
    fields.is_plain = (*body(event)).is_plain;
    fields.value = Some(exception);
    fields.status = Status::Failed;
    fields.defused = true;
    fields.slots[slot::PROCESS] = Some(Ref::share(process));
    drop(std::mem::replace(&mut *body(event), fields));
    schedule(env_raw, event, Some(URGENT), None)
}

/// The callback of an interruption: throws it into its process.
pub unsafe fn deliver(interruption: Raw) -> Outcome<()> {
    let Some(process) = (*body(interruption)).slots[slot::PROCESS].clone() else { return Ok(()) };
    // Of several interruptions of one time, those after the process's end are ignored.
    if is_triggered(process.raw()) {
        return Ok(());
    }
    if let Some(target) = (*body(process.raw())).slots[slot::TARGET].clone() {
        let raw_process = process.raw();
        watch::remove(
            target.raw(),
            |callback| matches!(callback, Callback::Resume(other) if other.raw() == raw_process),
            || get(raw_process, statics().names.resume),
        )?;
    }
    resume(process.raw(), interruption)
}

unsafe fn init(this: Raw, args: Raw, keywords: Raw) -> Outcome<()> {
    let [env, generator] = parse_init(args, keywords, "Process.__init__", ["env", "generator"], 2)?;
    check_generator(generator)?;
    begin(this, env);
    put(addr_of_mut!((*body(this)).slots[slot::GENERATOR]), Some(Ref::share(generator)));
    initialize(this)
}

unsafe fn init_initialize(this: Raw, args: Raw, keywords: Raw) -> Outcome<()> {
    let [env, process] = parse_init(args, keywords, "Initialize.__init__", ["env", "process"], 2)?;
    begin(this, env);
    let fields = body(this);
    (*fields).status = Status::Good;
    put(addr_of_mut!((*fields).value), Some(none()));
    watch::add(this, Callback::Resume(Ref::share(process)))?;
    schedule(env, this, Some(URGENT), None)
}

unsafe fn init_interruption(this: Raw, args: Raw, keywords: Raw) -> Outcome<()> {
    let [process, cause] = parse_init(args, keywords, "Interruption.__init__", ["process", "cause"], 2)?;
    begin_interruption(this, process, cause)
}

unsafe fn do_deliver(this: Raw, _event: Raw) -> Outcome<Ref> {
    deliver(this).map(|()| none())
}

unsafe fn describe(this: Raw, _: Raw) -> Outcome<Ref> {
    let name = str_of(get_named(this, c"name")?.raw())?;
    text(&format!("{}({name})", class_name(this)?))
}

unsafe fn do_interrupt(this: Raw, args: &Args) -> Outcome<Ref> {
    let [cause] = args.parse("interrupt", ["cause"], 0)?;
    interrupt(this, if cause.is_null() { Py_None() } else { cause })?;
    Ok(none())
}

unsafe fn do_resume(this: Raw, event: Raw) -> Outcome<Ref> {
    if !is_a(event, statics().event) {
        return raise(PyExc_TypeError, "a process is resumed with an event");
    }
    resume(this, event).map(|()| none())
}

unsafe fn name(this: Raw) -> Outcome<Ref> {
    get_named(generator(this)?.raw(), c"__name__")
}

unsafe fn generator(this: Raw) -> Outcome<Ref> {
    match &(*body(this)).slots[slot::GENERATOR] {
        Some(generator) => Ok(generator.clone()),
        None => raise(PyExc_AttributeError, "'Process' object has no attribute '_generator'"),
    }
}

unsafe fn target(this: Raw) -> Outcome<Ref> {
    Ok((*body(this)).slots[slot::TARGET].clone().unwrap_or_else(|| none()))
}

unsafe fn set_target(this: Raw, value: Raw) -> Outcome<()> {
    let new = if value == Py_None() { None } else { Ref::share_opt(value) };
    put(addr_of_mut!((*body(this)).slots[slot::TARGET]), new);
    Ok(())
}

unsafe fn is_alive(this: Raw) -> Outcome<Ref> {
    Ok(boolean(!is_triggered(this)))
}

pub unsafe fn interrupted_process(this: Raw) -> Outcome<Ref> {
    Ok((*body(this)).slots[slot::PROCESS].clone().unwrap_or_else(|| none()))
}

/// What the types `Process`, `Initialize` and `Interruption` add to `Event`.
pub fn parts() -> [Parts; 3] {
    let size = size_of::<super::event::Event>();
    let part = |name, doc, methods, attributes, init| Parts {
        name,
        doc,
        size,
        dict_offset: None,
        weak_offset: None,
        methods,
        attributes,
        slots: vec![init],
    };
    [
        part(
            c"paceline.sim.events.Process",
            "Process(env, generator)\n--\n\nRuns a generator that yields the events it waits for; is itself triggered at its end.",
            vec![
                method_1!("_desc", describe, METH_NOARGS, "What `repr` says of the process."),
                method!("interrupt", do_interrupt, "Throws an Interrupt with this cause into the process."),
                method_1!("_resume", do_resume, "Resumes the generator with an event's value."),
            ],
            vec![
                attribute!("name", name, "The name of the generator's function."),
                attribute!("is_alive", is_alive, "Whether the generator has not ended."),
                attribute!("target", target, "The event that the process waits for."),
                attribute!("_target", target, set_target, "The event that the process waits for."),
                attribute!("_generator", generator, "The generator."),
            ],
            init!(init),
        ),
        part(
            c"paceline.sim.events.Initialize",
            "Initialize(env, process)\n--\n\nStarts a process.",
            vec![],
            vec![],
            init!(init_initialize),
        ),
        part(
            c"paceline.sim.events.Interruption",
            "Interruption(process, cause)\n--\n\nThrows an Interrupt into a process.",
            vec![method_1!("_interrupt", do_deliver, "Throws the interrupt.")],
            vec![attribute!("process", interrupted_process, "The process that is interrupted.")],
            init!(init_interruption),
        ),
    ]
}
