//! Real numbers as a type holds them: what would become infinite, zero or another whole number is refused,
//! not rounded.
//!
//! Invariant: a number with a point or an exponent is rounded to the nearest that the type has, as
//! everywhere; a whole number is kept exactly or refused.

use super::value_error::ValueError;
use crate::value::{Raw, whole_as_f64};

/// What is allowed where a real number is read.
const REAL: &str = "a finite number";

/// The number for a type of 64 bits; none where `raw` is no number.
pub(super) fn wide(raw: &Raw) -> Result<Option<f64>, ValueError> {
    match raw {
        Raw::Float(number) if number.is_finite() => Ok(Some(*number)),
        Raw::Float(_) => Err(ValueError::unfit(REAL)),
        Raw::Integer(number) => match whole_as_f64(*number) {
            Some(number) => Ok(Some(number)),
            None => Err(ValueError::unfit(
                "a number that a float of 64 bits holds exactly, such as 9007199254740992",
            )),
        },
        _ => Ok(None),
    }
}

/// The number for a type of 32 bits; none where `raw` is no number.
pub(super) fn narrow(raw: &Raw) -> Result<Option<f32>, ValueError> {
    let Some(wide) = wide(raw)? else { return Ok(None) };
    let narrow = wide as f32;
    let lost = !narrow.is_finite() || (narrow == 0.0 && wide != 0.0);
    if lost || (matches!(raw, Raw::Integer(_)) && f64::from(narrow) != wide) {
        let allowed =
            "a number that a float of 32 bits holds: up to 3.4e38, whole ones exactly, such as 16777216";
        return Err(ValueError::unfit(allowed));
    }
    Ok(Some(narrow))
}
