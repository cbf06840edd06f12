//! References to Python objects as the simulation core keeps them.
//!
//! pyo3's `Py<T>` asks on each drop whether the interpreter is attached, which costs as much as the rest of a
//! small event (`bench/README.md`). A [`Ref`] does not ask.
//!
//! Invariants, on which every `unsafe` of the core stands:
//! - Code here runs only inside a call from the interpreter, whose thread is attached. A `Ref` is neither
//!   `Send` nor `Sync`, so none leaves it.
//! - A `Raw` in a parameter is borrowed: it is valid until the function returns, since the caller has a
//!   reference.
//! - Dropping a `Ref` may run any Python code. So a field is first given its new value, then the old one is
//!   dropped ([`put`]), and no Rust reference into an object is held across a drop or a call of Python.
//! - After `Err(Raised)` the interpreter holds an exception, and after `Ok` it holds none.

use pyo3::ffi::*;
use std::ffi::CStr;
use std::ptr::NonNull;

/// A borrowed pointer to a Python object.
pub type Raw = *mut PyObject;

/// The interpreter holds an exception, which the caller passes on or handles.
pub struct Raised;

pub type Outcome<T> = Result<T, Raised>;

/// A counted reference to a Python object.
#[repr(transparent)]
pub struct Ref(NonNull<PyObject>);

impl Ref {
    /// Takes over a new reference, as functions of Python's C interface return them; null means an exception.
    #[inline(always)]
    pub unsafe fn steal(new: Raw) -> Outcome<Self> {
        NonNull::new(new).map(Self).ok_or(Raised)
    }

    /// Counts one more reference to a borrowed object.
    #[inline(always)]
    pub unsafe fn share(borrowed: Raw) -> Self {
        Py_INCREF(borrowed);
        Self(NonNull::new_unchecked(borrowed))
    }

    /// The same of a pointer that may be null.
    #[inline(always)]
    pub unsafe fn share_opt(borrowed: Raw) -> Option<Self> {
        if borrowed.is_null() { None } else { Some(Self::share(borrowed)) }
    }

    #[inline(always)]
    pub fn raw(&self) -> Raw {
        self.0.as_ptr()
    }

    /// Gives the reference away, as C functions return one.
    #[inline(always)]
    pub fn into_raw(self) -> Raw {
        let raw = self.0.as_ptr();
        std::mem::forget(self);
        raw
    }
}

impl Clone for Ref {
    #[inline(always)]
    fn clone(&self) -> Self {
        // Safety: as above; `self` keeps the object alive.
        unsafe { Self::share(self.raw()) }
    }
}

impl Drop for Ref {
    #[inline(always)]
    fn drop(&mut self) {
        // Safety: as above; the reference that this value stands for ends here.
        unsafe { Py_DECREF(self.0.as_ptr()) }
    }
}

/// The pointer in a field, or null.
#[inline(always)]
pub fn raw(field: &Option<Ref>) -> Raw {
    field.as_ref().map_or(std::ptr::null_mut(), Ref::raw)
}

/// Gives a field a new value, then drops the old one (as above).
#[inline(always)]
pub unsafe fn put(field: *mut Option<Ref>, new: Option<Ref>) {
    drop(std::mem::replace(&mut *field, new));
}

/// `None`, counted.
#[inline(always)]
pub unsafe fn none() -> Ref {
    Ref::share(Py_None())
}

pub unsafe fn boolean(value: bool) -> Ref {
    Ref::share(if value { Py_True() } else { Py_False() })
}

pub unsafe fn text(value: &str) -> Outcome<Ref> {
    Ref::steal(PyUnicode_FromStringAndSize(value.as_ptr().cast(), value.len() as Py_ssize_t))
}

/// `str(object)` as Rust text.
pub unsafe fn str_of(object: Raw) -> Outcome<String> {
    let shown = Ref::steal(PyObject_Str(object))?;
    let mut length = 0;
    let bytes = PyUnicode_AsUTF8AndSize(shown.raw(), &raw mut length);
    if bytes.is_null() {
        return Err(Raised);
    }
    Ok(String::from_utf8_lossy(std::slice::from_raw_parts(bytes.cast(), length as usize)).into_owned())
}

/// Raises an exception of this class with this text.
#[cold]
pub unsafe fn raise<T>(class: Raw, message: &str) -> Outcome<T> {
    if let Ok(message) = text(message) {
        PyErr_SetObject(class, message.raw());
    }
    Err(Raised)
}

pub unsafe fn get(object: Raw, name: Raw) -> Outcome<Ref> {
    Ref::steal(PyObject_GetAttr(object, name))
}

pub unsafe fn get_named(object: Raw, name: &CStr) -> Outcome<Ref> {
    Ref::steal(PyObject_GetAttrString(object, name.as_ptr()))
}

pub unsafe fn set_named(object: Raw, name: &CStr, value: Raw) -> Outcome<()> {
    checked(PyObject_SetAttrString(object, name.as_ptr(), value))
}

/// Calls `object.name()`.
pub unsafe fn call_method(object: Raw, name: Raw) -> Outcome<Ref> {
    Ref::steal(PyObject_CallMethodObjArgs(object, name, std::ptr::null_mut::<PyObject>()))
}

/// Calls `object.name(argument)`.
pub unsafe fn call_method_1(object: Raw, name: Raw, argument: Raw) -> Outcome<Ref> {
    Ref::steal(PyObject_CallMethodObjArgs(object, name, argument, std::ptr::null_mut::<PyObject>()))
}

/// Calls `callable(argument)`.
pub unsafe fn call_1(callable: Raw, argument: Raw) -> Outcome<Ref> {
    Ref::steal(PyObject_CallFunctionObjArgs(callable, argument, std::ptr::null_mut::<PyObject>()))
}

/// Calls `callable(first, second)`.
pub unsafe fn call_2(callable: Raw, first: Raw, second: Raw) -> Outcome<Ref> {
    Ref::steal(PyObject_CallFunctionObjArgs(callable, first, second, std::ptr::null_mut::<PyObject>()))
}

/// The result of a C function that returns a negative number after an exception.
#[inline(always)]
pub fn checked(status: std::ffi::c_int) -> Outcome<()> {
    if status < 0 { Err(Raised) } else { Ok(()) }
}

/// What `if object:` finds. `__bool__` and `__len__` are code of programs, which may raise.
pub unsafe fn is_true(object: Raw) -> Outcome<bool> {
    let status = PyObject_IsTrue(object);
    checked(status)?;
    Ok(status != 0)
}

/// Whether `left OPERATION right` is true.
pub unsafe fn compare(left: Raw, right: Raw, operation: std::ffi::c_int) -> Outcome<bool> {
    let status = PyObject_RichCompareBool(left, right, operation);
    checked(status)?;
    Ok(status != 0)
}

/// Whether an object is an instance of a class, where it mostly is one exactly.
#[inline(always)]
pub unsafe fn is_a(object: Raw, class: *mut PyTypeObject) -> bool {
    Py_TYPE(object) == class || PyType_IsSubtype(Py_TYPE(object), class) != 0
}

/// Takes the exception out of the interpreter: an instance with its traceback.
pub unsafe fn take_exception() -> Ref {
    let (mut class, mut value, mut traceback) =
        (std::ptr::null_mut(), std::ptr::null_mut(), std::ptr::null_mut());
    #[allow(deprecated, reason = "its successor is not in the stable interface of 3.11")]
    {
        PyErr_Fetch(&raw mut class, &raw mut value, &raw mut traceback);
        PyErr_NormalizeException(&raw mut class, &raw mut value, &raw mut traceback);
    }
    if !traceback.is_null() {
        PyException_SetTraceback(value, traceback);
        Py_DECREF(traceback);
    }
    Py_XDECREF(class);
    Ref(NonNull::new(value).expect("Raised without an exception"))
}

/// Raises an exception instance, with the traceback that it has.
pub unsafe fn raise_instance(exception: Raw) -> Raised {
    PyErr_SetObject(Py_TYPE(exception).cast(), exception);
    Raised
}

/// Visits the references that are not null, as the garbage collector asks for.
pub unsafe fn visit_all(
    references: impl Iterator<Item = Raw>,
    visit: visitproc,
    arg: *mut std::ffi::c_void,
) -> std::ffi::c_int {
    for reference in references {
        if !reference.is_null() {
            let status = visit(reference, arg);
            if status != 0 {
                return status;
            }
        }
    }
    0
}
