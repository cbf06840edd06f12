//! Functions and types that Python can call: arguments, trampolines, and the tables of which a type is made.
//!
//! Every function that the interpreter calls goes through [`guard`], so a panic becomes an exception of
//! Python.

use super::object::*;
use pyo3::ffi::*;
use smallvec::SmallVec;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;

/// Runs code that the interpreter called. A panic, which is a broken invariant of the core, becomes a
/// `SystemError`.
#[inline(always)]
pub unsafe fn guard<T>(failed: T, body: impl FnOnce() -> Outcome<T>) -> T {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(value)) => value,
        Ok(Err(Raised)) => failed,
        Err(panic) => {
            let said = panic
                .downcast_ref::<String>()
                .map(String::as_str)
                .or_else(|| panic.downcast_ref::<&str>().copied())
                .unwrap_or("no message");
            let _: Outcome<()> =
                raise(PyExc_SystemError, &format!("paceline.sim: a broken invariant: {said}"));
            failed
        }
    }
}

/// The arguments of one call.
pub struct Args {
    positional: *const Raw,
    count: usize,
    /// Names of the keyword arguments that follow the positional ones, a tuple or null.
    names: Raw,
}

impl Args {
    #[inline(always)]
    pub unsafe fn fast(positional: *const Raw, count: Py_ssize_t, names: Raw) -> Self {
        Self { positional, count: count as usize, names }
    }

    /// Puts the arguments in the order of `names`; one that is not given is null. The first `required` must
    /// be given.
    #[inline(always)]
    pub unsafe fn parse<const N: usize>(
        &self,
        function: &str,
        names: [&str; N],
        required: usize,
    ) -> Outcome<[Raw; N]> {
        let mut found = [null_mut(); N];
        if self.count > N {
            return too_many(function, N, self.count);
        }
        for (index, slot) in found.iter_mut().enumerate().take(self.count) {
            *slot = *self.positional.add(index);
        }
        if !self.names.is_null() {
            for index in 0..PyTuple_Size(self.names) {
                let value = *self.positional.add(self.count + index as usize);
                place(&mut found, function, &names, PyTuple_GetItem(self.names, index), value)?;
            }
        }
        present(&found, function, &names, required)?;
        Ok(found)
    }
}

/// The same of the tuple and dictionary that a type's `__init__` gets.
pub unsafe fn parse_init<const N: usize>(
    positional: Raw,
    keywords: Raw,
    function: &str,
    names: [&str; N],
    required: usize,
) -> Outcome<[Raw; N]> {
    let mut found = [null_mut(); N];
    let count = PyTuple_Size(positional) as usize;
    if count > N {
        return too_many(function, N, count);
    }
    for (index, slot) in found.iter_mut().enumerate().take(count) {
        *slot = PyTuple_GetItem(positional, index as Py_ssize_t);
    }
    if !keywords.is_null() {
        let (mut position, mut name, mut value) = (0, null_mut(), null_mut());
        while PyDict_Next(keywords, &raw mut position, &raw mut name, &raw mut value) != 0 {
            place(&mut found, function, &names, name, value)?;
        }
    }
    present(&found, function, &names, required)?;
    Ok(found)
}

#[cold]
unsafe fn too_many<T>(function: &str, most: usize, given: usize) -> Outcome<T> {
    raise(PyExc_TypeError, &format!("{function}() takes at most {most} arguments ({given} given)"))
}

unsafe fn place<const N: usize>(
    found: &mut [Raw; N],
    function: &str,
    names: &[&str; N],
    name: Raw,
    value: Raw,
) -> Outcome<()> {
    let name = str_of(name)?;
    match names.iter().position(|known| *known == name) {
        None => raise(PyExc_TypeError, &format!("{function}() got an unexpected keyword argument '{name}'")),
        Some(index) if !found[index].is_null() => {
            raise(PyExc_TypeError, &format!("{function}() got multiple values for argument '{name}'"))
        }
        Some(index) => {
            found[index] = value;
            Ok(())
        }
    }
}

#[inline(always)]
unsafe fn present<const N: usize>(
    found: &[Raw; N],
    function: &str,
    names: &[&str; N],
    required: usize,
) -> Outcome<()> {
    match found[..required].iter().position(|value| value.is_null()) {
        None => Ok(()),
        Some(index) => raise(
            PyExc_TypeError,
            &format!("{function}() missing 1 required positional argument: '{}'", names[index]),
        ),
    }
}

/// The entry of a method `unsafe fn(this: Raw, args: &Args) -> Outcome<Ref>` in a type's table.
macro_rules! method {
    ($name:literal, $function:path, $doc:literal) => {{
        unsafe extern "C" fn enter_call(this: Raw, args: *const Raw, count: Py_ssize_t, names: Raw) -> Raw {
            $crate::sim::call::guard(std::ptr::null_mut(), || {
                $function(this, &$crate::sim::call::Args::fast(args, count, names)).map(Ref::into_raw)
            })
        }
        $crate::sim::call::entry(
            $name,
            PyMethodDefPointer { PyCFunctionFastWithKeywords: enter_call },
            METH_FASTCALL | METH_KEYWORDS,
            $doc,
        )
    }};
}

/// The entry of a method with exactly one argument, or none: `unsafe fn(this: Raw, argument: Raw) ->
/// Outcome<Ref>`.
macro_rules! method_1 {
    ($name:literal, $function:path, $doc:literal) => {
        method_1!($name, $function, METH_O, $doc)
    };
    ($name:literal, $function:path, $flags:expr, $doc:literal) => {{
        unsafe extern "C" fn enter_call(this: Raw, argument: Raw) -> Raw {
            $crate::sim::call::guard(std::ptr::null_mut(), || $function(this, argument).map(Ref::into_raw))
        }
        $crate::sim::call::entry($name, PyMethodDefPointer { PyCFunction: enter_call }, $flags, $doc)
    }};
}

/// The entry of an attribute that is read by `unsafe fn(this: Raw) -> Outcome<Ref>` and perhaps set by
/// `unsafe fn(this: Raw, value: Raw) -> Outcome<()>`, whose value is null where the attribute is deleted.
macro_rules! attribute {
    ($name:literal, $get:path, $doc:literal) => { attribute!(@ $name, $get, None, $doc) };
    ($name:literal, $get:path, $set:path, $doc:literal) => {{
        unsafe extern "C" fn enter_set(this: Raw, value: Raw, _: *mut std::ffi::c_void) -> std::ffi::c_int {
            $crate::sim::call::guard(-1, || $set(this, value).map(|()| 0))
        }
        attribute!(@ $name, $get, Some(enter_set), $doc)
    }};
    (@ $name:literal, $get:path, $set:expr, $doc:literal) => {{
        unsafe extern "C" fn enter_get(this: Raw, _: *mut std::ffi::c_void) -> Raw {
            $crate::sim::call::guard(std::ptr::null_mut(), || $get(this).map(Ref::into_raw))
        }
        PyGetSetDef {
            name: $crate::sim::call::c_text($name),
            get: Some(enter_get),
            set: $set,
            doc: $crate::sim::call::c_text($doc),
            closure: std::ptr::null_mut(),
        }
    }};
}

/// A type's `__init__`: `unsafe fn(this: Raw, args: Raw, keywords: Raw) -> Outcome<()>`.
macro_rules! init {
    ($function:path) => {{
        unsafe extern "C" fn enter_init(this: Raw, args: Raw, keywords: Raw) -> std::ffi::c_int {
            $crate::sim::call::guard(-1, || $function(this, args, keywords).map(|()| 0))
        }
        (Py_tp_init, enter_init as *mut std::ffi::c_void)
    }};
}

pub(super) use {attribute, init, method, method_1};

pub fn entry(
    name: &'static str,
    function: PyMethodDefPointer,
    flags: c_int,
    doc: &'static str,
) -> PyMethodDef {
    PyMethodDef { ml_name: c_text(name), ml_meth: function, ml_flags: flags, ml_doc: c_text(doc) }
}

/// Text as C has it, for as long as the process lives: tables of types are never freed.
pub fn c_text(text: &str) -> *const c_char {
    let text = std::ffi::CString::new(text).expect("names and documentation have no zero byte");
    text.into_raw()
}

/// What a type is made of.
pub struct Parts {
    pub name: &'static CStr,
    pub doc: &'static str,
    pub size: usize,
    pub dict_offset: Option<usize>,
    pub weak_offset: Option<usize>,
    pub methods: Vec<PyMethodDef>,
    pub attributes: Vec<PyGetSetDef>,
    pub slots: Vec<(c_int, *mut c_void)>,
}

/// The slots of a type that the garbage collector uses.
pub type Memory = [(c_int, *mut c_void); 3];

/// Makes a type. It takes part in garbage collection and can be subclassed.
pub unsafe fn make_type(parts: Parts, memory: Memory, base: *mut PyTypeObject) -> Outcome<*mut PyTypeObject> {
    let Parts { name, doc, size, dict_offset, weak_offset, mut methods, mut attributes, slots } = parts;
    methods.push(PyMethodDef::zeroed());
    // Attributes that come last end the table, as zeroes do.
    attributes.push(PyGetSetDef {
        name: std::ptr::null(),
        get: None,
        set: None,
        doc: std::ptr::null(),
        closure: null_mut(),
    });
    let mut members: Vec<PyMemberDef> =
        [(c"__dictoffset__", dict_offset), (c"__weaklistoffset__", weak_offset)]
            .iter()
            .filter_map(|(name, offset)| offset.map(|offset| member(name, offset)))
            .collect();
    members.push(PyMemberDef {
        name: std::ptr::null(),
        type_code: 0,
        offset: 0,
        flags: 0,
        doc: std::ptr::null(),
    });
    let mut table: SmallVec<[PyType_Slot; 16]> =
        slots.iter().chain(&memory).map(|(slot, pfunc)| slot_of(*slot, *pfunc)).collect();
    table.push(slot_of(Py_tp_methods, methods.leak().as_mut_ptr().cast()));
    table.push(slot_of(Py_tp_getset, attributes.leak().as_mut_ptr().cast()));
    table.push(slot_of(Py_tp_members, members.leak().as_mut_ptr().cast()));
    table.push(slot_of(Py_tp_doc, c_text(doc) as *mut c_void));
    table.push(slot_of(0, null_mut()));
    let mut spec = PyType_Spec {
        name: name.as_ptr(),
        basicsize: size as c_int,
        itemsize: 0,
        flags: (Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC) as c_uint,
        slots: table.as_mut_ptr(),
    };
    let bases = if base.is_null() { None } else { Some(Ref::steal(PyTuple_Pack(1, base))?) };
    Ok(Ref::steal(PyType_FromSpecWithBases(&raw mut spec, raw(&bases)))?.into_raw().cast())
}

fn slot_of(slot: c_int, pfunc: *mut c_void) -> PyType_Slot {
    PyType_Slot { slot, pfunc }
}

fn member(name: &CStr, offset: usize) -> PyMemberDef {
    PyMemberDef {
        name: c_text(name.to_str().expect("ASCII")),
        type_code: Py_T_PYSSIZET,
        offset: offset as Py_ssize_t,
        flags: Py_READONLY,
        doc: std::ptr::null(),
    }
}

/// `Class[...]`, as annotations have it.
pub unsafe fn of_class(class: Raw, arguments: Raw) -> Outcome<Ref> {
    Ref::steal(Py_GenericAlias(class, arguments))
}
