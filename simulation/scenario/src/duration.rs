//! Durations as people write them: a decimal number and a unit, read exactly. Scenarios and the program's
//! options share this grammar.
//!
//! Invariant: no float is involved; what is not a whole number of ticks is refused, not rounded.

use paceline_kernel::Time;
use thiserror::Error;

use crate::decimal::{self, Parts, Unread};

/// The units, in picoseconds.
const UNITS: [(&str, u64); 8] = [
    ("ps", 1),
    ("ns", 1_000),
    ("us", 1_000_000),
    ("ms", 1_000_000_000),
    ("s", SECOND),
    ("min", 60 * SECOND),
    ("h", 3_600 * SECOND),
    ("d", 86_400 * SECOND),
];
const SECOND: u64 = 1_000_000_000_000;
/// The length of a tick, in picoseconds.
const TICK: u64 = SECOND / Time::TICKS_PER_SECOND;

const TICK_NAME: &str = if TICK == 1 { "picosecond" } else { "nanosecond" };
const CLOCK: &str = if TICK == 1 { "213 days" } else { "584 years" };

/// Why a text is not a duration. Whoever reads it says where it stands, and no run begins.
#[derive(Clone, PartialEq, Eq, Error)]
pub enum DurationError {
    /// It has a minus sign.
    #[error("a duration is not negative")]
    Negative,
    /// It does not start with digits, or its decimal point has none on one side.
    #[error("it does not start with a number")]
    NoNumber,
    /// Nothing follows the number.
    #[error("it has no unit")]
    NoUnit,
    /// The text after the number is not a unit.
    #[error("there is no unit {0:?}")]
    UnknownUnit(String),
    /// It exceeds the largest time, 2^64 ticks.
    #[error("it is longer than {}", CLOCK)]
    TooLong,
    /// It is not a whole number of ticks.
    #[error("it has parts of a {}", TICK_NAME)]
    TooFine,
}

paceline_kernel::debug_tells!(DurationError);

/// Reads a duration: a decimal number and one of the units ps, ns, us, ms, s, min, h and d; blanks may
/// surround and separate them.
///
/// ```
/// use paceline_kernel::Time;
/// use paceline_scenario::{DurationError, duration};
/// assert_eq!(duration("1.5 h"), Ok(Time::secs(5_400)));
/// assert_eq!(duration("250us"), Ok(Time::micros(250)));
/// assert_eq!(duration("300"), Err(DurationError::NoUnit));
/// ```
pub fn duration(text: &str) -> Result<Time, DurationError> {
    match u64::try_from(parts(text, TICK)?).map(Time::ticks) {
        // The greatest time stands for never.
        Ok(time) if time < Time::MAX => Ok(time),
        _ => Err(DurationError::TooLong),
    }
}

/// The duration in parts of so many picoseconds each.
pub(crate) fn parts(text: &str, part_ps: u64) -> Result<u128, DurationError> {
    let text = text.trim();
    // By either sign for minus: editors put in that of typography.
    if text.starts_with(['-', '\u{2212}']) {
        return Err(DurationError::Negative);
    }
    let (number, unit) = decimal::split(text);
    if !decimal::is_number(number) {
        return Err(DurationError::NoNumber);
    }
    if unit.is_empty() {
        return Err(DurationError::NoUnit);
    }
    let Some((_, unit_ps)) = UNITS.iter().find(|(name, _)| *name == unit) else {
        return Err(DurationError::UnknownUnit(unit.to_owned()));
    };
    let Parts { whole, is_cut } = decimal::times(number, *unit_ps).map_err(|unread| match unread {
        Unread::NoNumber => DurationError::NoNumber,
        Unread::TooLarge => DurationError::TooLong,
    })?;
    if is_cut || whole % u128::from(part_ps) != 0 {
        return Err(DurationError::TooFine);
    }
    Ok(whole / u128::from(part_ps))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_is_what_is_read(ticks in 0u64..u64::MAX, unit in 0usize..UNITS.len()) {
            let (name, unit_ps) = UNITS[unit];
            let unit_ticks = unit_ps.div_ceil(TICK);
            let whole = ticks / unit_ticks;
            let written = format!("{}{name}", u128::from(whole) * u128::from(unit_ticks) * u128::from(TICK) / u128::from(unit_ps));
            prop_assert_eq!(duration(&written), Ok(Time::ticks(whole * unit_ticks)));
            // Time's own notation is exact and read back.
            prop_assert_eq!(duration(&Time::ticks(ticks).to_string()), Ok(Time::ticks(ticks)));
        }

        #[test]
        fn any_text_is_read_or_refused(text in "\\PC*", digits in "[0-9.\\-]{0,60}", unit in "[a-z ]{0,4}") {
            let _ = duration(&text);
            let _ = duration(&format!("{digits}{unit}"));
        }
    }

    #[test]
    fn fractions_are_exact() {
        assert_eq!(duration("1.5h"), Ok(Time::secs(5400)));
        assert_eq!(duration("0.000000001 s"), Ok(Time::nanos(1)));
        assert_eq!(duration("2500ps"), duration("2.5ns"));
        assert_eq!(duration("3000ps"), Ok(Time::nanos(3)));
        assert_eq!(duration("0.1ps"), Err(DurationError::TooFine));
        assert_eq!(duration(&format!("{}{}", u64::MAX, Time::UNIT)), Err(DurationError::TooLong));
        assert_eq!(duration("999999999999999999999999d"), Err(DurationError::TooLong));
        let fine = duration("0.1ns");
        assert_eq!(fine.is_ok(), Time::UNIT == "ps", "{fine:?}");
    }
}
