//! The types, names and Python objects that every part of the core uses.

use super::kind::Kind;
use super::object::*;
use pyo3::exceptions::PyRuntimeError;
use pyo3::ffi::*;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::ffi::c_void;
use std::sync::OnceLock;

pub type Class = *mut PyTypeObject;

macro_rules! names {
    ($($field:ident = $text:literal),* $(,)?) => {
        /// Interned names of attributes.
        pub struct Names { $(pub $field: Raw),* }
        impl Names {
            pub unsafe fn new() -> Outcome<Self> {
                Ok(Self { $($field: Ref::steal(PyUnicode_InternFromString($text.as_ptr()))?.into_raw()),* })
            }
        }
    };
}

names! {
    append = c"append", amount = c"amount", build_value = c"_build_value", cancel = c"cancel", check = c"_check",
    desc = c"_desc", do_get = c"_do_get", do_interrupt = c"interrupt", do_put = c"_do_put", env = c"env",
    filter = c"filter", get_queue_class = c"GetQueue", interrupt = c"_interrupt", item = c"item", key = c"key",
    maxlen = c"maxlen", pop = c"pop", put_queue_class = c"PutQueue", release = c"release", remove = c"remove",
    request = c"request", resume = c"_resume", schedule = c"schedule", succeed = c"succeed", throw = c"throw",
    trigger_get = c"_trigger_get", trigger_put = c"_trigger_put",
}

macro_rules! statics {
    (types: $($class:ident),*; given: $($given:ident),*; more: $($field:ident: $kind:ty),* $(,)?) => {
        /// Types, names and objects that every part of the core uses. All are immortal: nothing gives them
        /// back.
        pub struct Statics { $(pub $class: Class,)* $(pub $given: Raw,)* $(pub $field: $kind,)* }

        /// The types alone, as long as the Python part of the package has not given its objects.
        pub struct Types { $(pub $class: Class),* }

        impl Types {
            pub fn all(&self) -> Vec<Class> {
                vec![$(self.$class),*]
            }

            pub unsafe fn with(&self, given: &Bound<'_, PyDict>, extra: Extra) -> PyResult<Statics> {
                $(let $given = given_object(given, stringify!($given))?;)*
                let Extra { $($field),* } = extra;
                Ok(Statics { $($class: self.$class,)* $($given,)* $($field,)* })
            }
        }

        /// What Rust adds to the objects that the Python part gives.
        pub struct Extra { $(pub $field: $kind),* }
    };
}

statics! {
    types: event, timeout, process, initialize, interruption, condition, all_of, any_of, condition_value, environment,
        put, get, request, priority_request, release, store_put, store_get, container_put, container_get,
        filter_store_get, base_resource, resource, priority_resource, preemptive_resource, container, store,
        priority_store, filter_store;
    given: pending, describe_frame, interrupt_exception, stop_simulation, stop_callback, empty_schedule,
        environment_class, bind_early, event_numbers, all_events, any_events, preempted, sorted_queue, accept_all,
        heappush, heappop;
    more: names: Names, zero: Raw, one: Raw, infinity: Raw, native_schedule: Raw, generator: Class, ours: Vec<Class>,
        inits: [(Class, *mut c_void); 3],
}

/// Safety: they are written once, before any other thread can read them, and the pointers are to immortal
/// objects.
unsafe impl Send for Statics {}
/// Safety: as above; what they point to is only used by threads that are attached to the interpreter.
unsafe impl Sync for Statics {}
/// Safety: as for [`Statics`].
unsafe impl Send for Types {}
/// Safety: as for [`Statics`].
unsafe impl Sync for Types {}

pub static TYPES: OnceLock<Types> = OnceLock::new();
pub static STATICS: OnceLock<Statics> = OnceLock::new();

/// What all of the core uses.
#[inline(always)]
pub fn statics() -> &'static Statics {
    STATICS.get().expect("paceline.sim is imported before its types are used")
}

impl Statics {
    /// The class of environments that programs see.
    #[inline(always)]
    pub fn environment_class(&self) -> Class {
        self.environment_class.cast()
    }

    /// Whether a type is one of these, no subclass of a program.
    pub fn is_ours(&self, class: Class) -> bool {
        self.ours.contains(&class) || class == self.environment_class()
    }

    /// Whether a program has replaced the `__init__` of `Event`, `Timeout` or `Process`, as tracing does it.
    #[inline(always)]
    pub unsafe fn is_patched(&self, class: Class) -> bool {
        let init = PyType_GetSlot(class, Py_tp_init);
        self.inits.iter().any(|(known, original)| *known == class && *original != init)
    }

    /// What kind of resource a class is: that of the first type here which it is derived from.
    pub unsafe fn kind_of(&self, class: Class) -> Kind {
        [
            Kind::Preemptive,
            Kind::Priority,
            Kind::Resource,
            Kind::Container,
            Kind::PriorityStore,
            Kind::FilterStore,
            Kind::Store,
        ]
        .into_iter()
        .find(|kind| PyType_IsSubtype(class, self.class_of(*kind)) != 0)
        .unwrap_or(Kind::Base)
    }

    pub fn class_of(&self, kind: Kind) -> Class {
        match kind {
            Kind::Base => self.base_resource,
            Kind::Resource => self.resource,
            Kind::Priority => self.priority_resource,
            Kind::Preemptive => self.preemptive_resource,
            Kind::Container => self.container,
            Kind::Store => self.store,
            Kind::PriorityStore => self.priority_store,
            Kind::FilterStore => self.filter_store,
        }
    }
}

/// An object that the Python part of the package gives, which is never given back.
pub fn given_object(given: &Bound<'_, PyDict>, name: &str) -> PyResult<Raw> {
    let object =
        given.get_item(name)?.ok_or_else(|| PyRuntimeError::new_err(format!("{name} is not given")))?;
    Ok(object.into_ptr())
}
