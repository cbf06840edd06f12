//! Compare-and-swap on shared memory, for `paceline.lvt`: Python has none.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Puts `desired` in place of `expected` into the 4 or 8 bytes at `offset` of a buffer, in the machine's
/// order, if that is what is there; says whether it was.
#[pyfunction]
pub fn compare_exchange(
    buffer: PyBuffer<u8>,
    offset: usize,
    size: usize,
    expected: u64,
    desired: u64,
) -> PyResult<bool> {
    let fits = offset.checked_add(size).is_some_and(|end| end <= buffer.len_bytes());
    if buffer.readonly() || !buffer.is_c_contiguous() || !fits {
        return Err(PyValueError::new_err("a place outside of a buffer, or one that cannot be written"));
    }
    // SAFETY: the place is in the buffer.
    let place = unsafe { buffer.buf_ptr().cast::<u8>().add(offset) };
    let is_aligned = place.addr().is_multiple_of(size.max(1));
    let (acquire, relaxed) = (Ordering::AcqRel, Ordering::Relaxed);
    match size {
        4 if is_aligned => {
            let narrow = |value: u64| {
                u32::try_from(value).map_err(|_| PyValueError::new_err("a value of more than 4 bytes"))
            };
            // SAFETY: it is aligned, can be written, and `buffer` keeps it.
            let place = unsafe { AtomicU32::from_ptr(place.cast()) };
            Ok(place.compare_exchange(narrow(expected)?, narrow(desired)?, acquire, relaxed).is_ok())
        }
        8 if is_aligned => {
            // SAFETY: as above.
            let place = unsafe { AtomicU64::from_ptr(place.cast()) };
            Ok(place.compare_exchange(expected, desired, acquire, relaxed).is_ok())
        }
        _ => Err(PyValueError::new_err("a size that is not 4 or 8, or a place that is not aligned to it")),
    }
}
