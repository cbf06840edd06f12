//! What a handler sees of the run: a structure, and C functions on it that compiled handlers are linked with
//! and plain ones call through ctypes.
//!
//! Invariants: a call is made on the stack of the thread that handles the event, and is gone when the handler
//! returns; these functions do not panic, as nothing may unwind into C: what a user asks wrongly is kept in
//! `refused`, and ends the run when the handler has returned. Draws are the engine's own, so that streams are
//! those of a model in Rust.

use std::ffi::c_void;

use paceline_kernel::{LpId, Rng, Time};
use pyo3::prelude::*;
use pyo3::types::{PyAny, PyDict};

/// Sends what lies in `scratch`.
type Send = unsafe fn(call: &Call, to: LpId, delay: Time);

/// One call of a handler. `_model_context.py` reads the first four fields by their offsets.
#[repr(C)]
pub struct Call {
    /// The time of the event, in nanoseconds.
    pub now: i64,
    pub lp: i64,
    pub lps: i64,
    /// Where a handler writes the message that it sends next.
    pub scratch: *mut u64,
    /// A copy of the LP's numbers, which the model takes back when the handler has returned.
    pub rng: Rng,
    /// The engine's context, of the type that `send` knows.
    pub context: *mut c_void,
    pub send: Send,
    /// What was asked wrongly first.
    pub refused: Option<String>,
    /// The exception that the handler raised.
    pub raised: Option<PyErr>,
}

impl Call {
    fn refuse(&mut self, why: impl FnOnce() -> String) {
        self.refused.get_or_insert_with(why);
    }
}

/// What a handler's number is as `Time`; refused if it is negative.
fn time(call: &mut Call, method: &str, ns: i64) -> Option<Time> {
    let time = u64::try_from(ns).ok().map(Time::nanos);
    if time.is_none() {
        call.refuse(|| format!("cx.{method}: a delay of {ns} ns; allowed: zero or more"));
    }
    time
}

unsafe extern "C" fn send(call: *mut Call, to: i64, delay: i64) {
    // SAFETY: handlers get a call from `handlers.rs` and pass it on as it is, on the same thread.
    let call = unsafe { &mut *call };
    let Some(delay) = time(call, "send", delay) else { return };
    match u32::try_from(to) {
        // SAFETY: `context` and `scratch` are what `send` takes: both come from one place in `handlers.rs`.
        Ok(to) if call.refused.is_none() => unsafe { (call.send)(call, LpId(to), delay) },
        Ok(_) => {}
        Err(_) => {
            let lps = call.lps;
            call.refuse(|| format!("cx.send: to LP {to}; allowed: 0 to {}", lps - 1));
        }
    }
}

unsafe extern "C" fn seconds(call: *mut Call, seconds: f64) -> i64 {
    // SAFETY: as in `send`.
    let call = unsafe { &mut *call };
    match Time::try_from_secs_f64(seconds).map(|time| i64::try_from(time.as_nanos())) {
        Ok(Ok(ns)) => ns,
        _ => {
            call.refuse(|| format!("cx.seconds: {seconds} s; allowed: 0 to 9.2e9"));
            0
        }
    }
}

/// A C function that draws, and refuses arguments that the engine would panic at.
macro_rules! draws {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty
        where $allowed:expr, $rule:literal => |$rng:ident| $draw:expr;)*) => {
        $(unsafe extern "C" fn $name(call: *mut Call $(, $argument: $type)*) -> $result {
            // SAFETY: as in `send`.
            let call = unsafe { &mut *call };
            if $allowed {
                let $rng = &mut call.rng;
                $draw
            } else {
                call.refuse(|| {
                    let given: Vec<String> = vec![$($argument.to_string()),*];
                    format!("cx.rng.{}({}); allowed: {}", stringify!($name), given.join(", "), $rule)
                });
                Default::default()
            }
        })*
    };
}

/// A count as handlers have it, the greatest where it is beyond.
fn count(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

draws! {
    bits() -> u64 where true, "" => |rng| rng.u64();
    unit() -> f64 where true, "" => |rng| rng.unit();
    below(n: i64) -> i64 where n >= 0, "zero or more" => |rng| rng.below(n as u64) as i64;
    chance(probability: f64) -> u8 where true, "" => |rng| u8::from(rng.chance(probability));
    exponential(mean: f64) -> f64 where true, "" => |rng| rng.exponential(mean);
    normal(mean: f64, deviation: f64) -> f64 where true, "" => |rng| rng.normal(mean, deviation);
    geometric(probability: f64) -> i64
        where probability > 0.0 && probability <= 1.0, "a probability above 0 and at most 1"
        => |rng| count(rng.geometric(probability));
    poisson(mean: f64) -> i64 where (0.0..=4_294_967_296.0).contains(&mean), "a mean from 0 to 2^32"
        => |rng| count(rng.poisson(mean));
    zipf(ranks: i64, exponent: f64) -> i64
        where (1..=1 << 52).contains(&ranks) && exponent >= 0.0 && exponent.is_finite(),
        "1 to 2^52 ranks, and an exponent that is finite and not negative"
        => |rng| count(rng.zipf(ranks as u64, exponent));
}

unsafe extern "C" fn weighted(call: *mut Call, weights: *const f64, length: i64) -> i64 {
    // SAFETY: as in `send`; callers pass the data and the length of a contiguous array of floats, which is
    // there meanwhile.
    let (call, weights) = unsafe { (&mut *call, std::slice::from_raw_parts(weights, length as usize)) };
    let sum: f64 = weights.iter().sum();
    if weights.iter().all(|weight| *weight >= 0.0) && sum > 0.0 && sum.is_finite() {
        return call.rng.weighted(weights) as i64;
    }
    call.refuse(|| {
        format!("cx.rng.weighted({weights:?}); allowed: finite weights, none negative and one above 0")
    });
    0
}

/// Keeps the exception that the interpreter has for the calling thread, which holds the GIL.
unsafe extern "C" fn raised(call: *mut Call) {
    // SAFETY: as in `send`; the compiled entry holds the GIL here.
    let (call, python) = unsafe { (&mut *call, Python::assume_attached()) };
    call.raised = PyErr::take(python);
}

/// The addresses of the C functions, by their names.
#[pyfunction]
pub fn model_symbols(python: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let symbols = PyDict::new(python);
    macro_rules! add {
        ($($name:ident)*) => { $(symbols.set_item(stringify!($name), $name as *const () as usize)?;)* };
    }
    add!(send seconds bits unit below chance exponential normal geometric poisson zipf weighted raised);
    Ok(symbols)
}

/// Keeps the exception that a plain handler has raised in the call at this address.
#[pyfunction]
pub fn model_raised(call: usize, exception: Bound<'_, PyAny>) {
    // SAFETY: `_model_plain.py` calls this within a handler only, with the call that the handler was given.
    let call = unsafe { &mut *(call as *mut Call) };
    call.raised = Some(PyErr::from_value(exception));
}
