//! Simulated time and delays: Python numbers, of which exact ints and floats are kept without an object.
//!
//! Ints and floats stay apart, as `0 + 1` is an int in Python and `0 + 1.0` a float. An int is kept so only
//! while a float can have it exactly, so that both are ordered by one `f64`. Every other number, NaN too,
//! stays an object and is added and compared by Python.

use super::object::*;
use pyo3::ffi::*;

/// Ints below this have an exact float.
const EXACT: i64 = 1 << 53;

pub enum Time {
    Int(i64),
    Float(f64),
    Object(Ref),
}

impl Time {
    #[inline(always)]
    pub unsafe fn read(number: Raw) -> Self {
        if PyFloat_CheckExact(number) != 0 {
            let value = PyFloat_AsDouble(number);
            // NaN has no place in an order.
            if !value.is_nan() {
                return Self::Float(value);
            }
        } else if PyLong_CheckExact(number) != 0 {
            let mut overflow = 0;
            let value = PyLong_AsLongLongAndOverflow(number, &raw mut overflow);
            if overflow == 0 && -EXACT < value && value < EXACT {
                return Self::Int(value);
            }
        }
        Self::Object(Ref::share(number))
    }

    #[inline(always)]
    pub unsafe fn object(&self) -> Outcome<Ref> {
        match self {
            Self::Int(value) => Ref::steal(PyLong_FromLongLong(*value)),
            Self::Float(value) => Ref::steal(PyFloat_FromDouble(*value)),
            Self::Object(object) => Ok(object.clone()),
        }
    }

    /// The time as a float, and whether it is an int; nothing where only Python can compare it.
    #[inline(always)]
    pub fn key(&self) -> Option<(f64, bool)> {
        match self {
            Self::Int(value) => Some((*value as f64, true)),
            Self::Float(value) => Some((*value, false)),
            Self::Object(_) => None,
        }
    }

    pub fn of_key(time: f64, is_int: bool) -> Self {
        if is_int { Self::Int(time as i64) } else { Self::Float(time) }
    }

    #[inline(always)]
    pub unsafe fn plus(&self, delay: &Self) -> Outcome<Self> {
        if let (Self::Int(a), Self::Int(b)) = (self, delay) {
            let sum = a + b;
            // Beyond that a float would round, and Python adds ints exactly.
            if -EXACT < sum && sum < EXACT {
                return Ok(Self::Int(sum));
            }
        } else if let (Some((a, _)), Some((b, _))) = (self.key(), delay.key()) {
            let sum = a + b;
            // Infinity less infinity: Python says what that is.
            if !sum.is_nan() {
                return Ok(Self::Float(sum));
            }
        }
        let sum = Ref::steal(PyNumber_Add(self.object()?.raw(), delay.object()?.raw()))?;
        Ok(Self::read(sum.raw()))
    }

    /// Whether `self < 0`, as Python says it; a number that cannot be compared raises Python's error.
    #[inline(always)]
    pub unsafe fn is_negative(&self) -> Outcome<bool> {
        match self {
            Self::Int(value) => Ok(*value < 0),
            Self::Float(value) => Ok(*value < 0.0),
            Self::Object(object) => compare(object.raw(), super::statics::statics().zero, Py_LT),
        }
    }
}

impl Clone for Time {
    #[inline(always)]
    fn clone(&self) -> Self {
        match self {
            Self::Int(value) => Self::Int(*value),
            Self::Float(value) => Self::Float(*value),
            Self::Object(object) => Self::Object(object.clone()),
        }
    }
}
