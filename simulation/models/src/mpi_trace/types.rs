//! Data types, by the numbers that SimGrid 3.32 gives them in traces.
//!
//! The sizes are those of its table (`smpi_datatype.cpp`) on a 64-bit Linux, as `smpirun -replay` has them.

/// Bytes of an element of type 0, 1, ...
#[rustfmt::skip]
const BYTES: [u8; 60] = [
    // double, int, char, short, long, float, byte, long long, signed and unsigned char
    8, 4, 1, 2, 8, 4, 1, 8, 1, 1,
    // unsigned short to long long, long double, wide char, bool, integers of 8 to 32 bits
    2, 4, 8, 8, 16, 4, 1, 1, 2, 4,
    // integer of 64 bits, unsigned ones, complex numbers, address, offset
    8, 1, 2, 4, 8, 8, 16, 32, 8, 8,
    // pairs of a number and an int, pairs of two; Fortran's REAL, REAL4
    8, 16, 16, 8, 8, 8, 16, 16, 4, 4,
    // REAL8, REAL16, COMPLEX8 to COMPLEX32, INTEGER1 to INTEGER16
    8, 16, 8, 16, 16, 4, 2, 4, 8, 16,
    // long double and int, bool and complex numbers of C++, UB, LB, packed, pointer, count
    32, 1, 8, 16, 32, 0, 0, 1, 8, 8,
];

/// What is allowed, for messages.
pub(super) const ALLOWED: &str = "a data type of SimGrid from 0 to 59, or -1 for none";

/// Bytes of an element of the type that `word` names.
pub(super) fn size(word: &str) -> Option<f64> {
    match word.parse::<i32>() {
        // MPI_DATATYPE_NULL: what a rank writes that gets nothing.
        Ok(-1) => Some(0.0),
        Ok(number) => BYTES.get(usize::try_from(number).ok()?).map(|bytes| f64::from(*bytes)),
        Err(_) => None,
    }
}
