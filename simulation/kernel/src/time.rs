//! Simulated time: an integer count of ticks. A tick is a nanosecond, or, with the feature `picoseconds`, a
//! picosecond: the unit is one for all that is built together, and so for a whole run and for all its
//! processes.
//!
//! Invariant: no floating-point number ever decides an order. Floats enter only through
//! [`Time::from_secs_f64`] and [`Time::try_from_secs_f64`], which round once and take no number that is not a
//! length of time, and leave only through [`Time::as_secs_f64`], for people to read.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A point in simulated time, or a span of it, in ticks since the start of the simulation. A tick is a
/// nanosecond; with the feature `picoseconds` it is a picosecond, and the clock ends after 213 days instead
/// of 584 years.
///
/// ```
/// use paceline_kernel::Time;
/// assert_eq!(Time::secs(2) + Time::millis(500), Time::nanos(2_500_000_000));
/// assert_eq!(Time::millis(1500).to_string(), "1.5s");
/// assert_eq!(format!("{:>6}", Time::millis(1500)), "  1.5s");
/// assert!(Time::secs(1) < Time::MAX);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Time(u64);

impl Time {
    /// The start of every simulation.
    pub const ZERO: Self = Self(0);
    /// "Never": later than every event. A message for this time is refused
    /// ([`RuleErrorKind::BeyondClock`](crate::RuleErrorKind)).
    pub const MAX: Self = Self(u64::MAX);

    /// The shortest span: a nanosecond, or a picosecond.
    pub const TICK: Self = Self(1);
    /// The number of ticks in a nanosecond.
    pub const TICKS_PER_NANO: u64 = if cfg!(feature = "picoseconds") { 1_000 } else { 1 };
    /// The number of ticks in a second.
    pub const TICKS_PER_SECOND: u64 = 1_000_000_000 * Self::TICKS_PER_NANO;
    /// What a tick is called.
    pub const UNIT: &'static str = if cfg!(feature = "picoseconds") { "ps" } else { "ns" };

    /// `n` ticks, whatever a tick is: for times that were ticks before, and for arithmetic. Models say
    /// [`Time::nanos`] and the like, which stay right when the unit changes.
    #[inline(always)]
    pub const fn ticks(n: u64) -> Self {
        Self(n)
    }

    /// `n` picoseconds.
    ///
    /// ```
    /// use paceline_kernel::Time;
    /// assert_eq!(Time::picos(1_500) + Time::picos(500), Time::nanos(2));
    /// assert_eq!(Time::picos(1_500).to_string(), "0.0000000015s");
    /// ```
    #[cfg(feature = "picoseconds")]
    pub const fn picos(n: u64) -> Self {
        Self(n)
    }

    /// `n` nanoseconds; [`Time::MAX`] where that is beyond the clock.
    pub const fn nanos(n: u64) -> Self {
        Self(n.saturating_mul(Self::TICKS_PER_NANO))
    }

    /// `n` microseconds; [`Time::MAX`] where that is beyond the clock.
    pub const fn micros(n: u64) -> Self {
        Self(n.saturating_mul(1_000 * Self::TICKS_PER_NANO))
    }

    /// `n` milliseconds; [`Time::MAX`] where that is beyond the clock.
    pub const fn millis(n: u64) -> Self {
        Self(n.saturating_mul(1_000_000 * Self::TICKS_PER_NANO))
    }

    /// `n` seconds; [`Time::MAX`] where that is beyond the clock (about 584 years, or 213 days).
    pub const fn secs(n: u64) -> Self {
        Self(n.saturating_mul(Self::TICKS_PER_SECOND))
    }

    /// `s` seconds, rounded to the nearest tick; [`Time::MAX`] where that is beyond the clock, as infinity
    /// is.
    ///
    /// Panics where `s` is negative or not a number, and names it: a model that computes such a delay has
    /// made a mistake. A number that comes from outside the program is for [`Time::try_from_secs_f64`].
    #[inline]
    pub fn from_secs_f64(s: f64) -> Self {
        // A NaN is not above zero either.
        assert!(s >= 0.0, "a time of {s} s; allowed: zero or more");
        let ticks = s * Self::TICKS_PER_SECOND as f64;
        // From here on a float is a whole number, and a half added to it would be rounded to even: to the
        // next tick after every odd one.
        let half = if ticks < (1_u64 << 52) as f64 { 0.5 } else { 0.0 };
        // `as` saturates: what is beyond the clock becomes `MAX`.
        Self((ticks + half) as u64)
    }

    /// `s` seconds, rounded to the nearest tick. Errors: `s` is negative, not a number, or beyond the clock.
    ///
    /// ```
    /// use paceline_kernel::{Time, TimeError};
    /// assert_eq!(Time::try_from_secs_f64(1.5), Ok(Time::millis(1500)));
    /// assert_eq!(Time::try_from_secs_f64(-0.25), Err(TimeError::Negative { seconds: -0.25 }));
    /// assert_eq!(Time::try_from_secs_f64(f64::NAN), Err(TimeError::NotANumber));
    /// assert_eq!(Time::try_from_secs_f64(f64::INFINITY), Err(TimeError::BeyondClock { seconds: f64::INFINITY }));
    /// ```
    pub fn try_from_secs_f64(s: f64) -> Result<Self, TimeError> {
        if s.is_nan() {
            return Err(TimeError::NotANumber);
        }
        if s < 0.0 {
            return Err(TimeError::Negative { seconds: s });
        }
        match Self::from_secs_f64(s) {
            Self::MAX => Err(TimeError::BeyondClock { seconds: s }),
            time => Ok(time),
        }
    }

    /// The number of ticks, nanoseconds or picoseconds: to compute with, not to show.
    #[inline(always)]
    pub const fn as_ticks(self) -> u64 {
        self.0
    }

    /// Nanoseconds, rounded down where a tick is a picosecond.
    pub const fn as_nanos(self) -> u64 {
        self.0 / Self::TICKS_PER_NANO
    }

    /// Seconds, for people to read; never to be compared.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / Self::TICKS_PER_SECOND as f64
    }

    /// The sum, or [`Time::MAX`] where it is beyond the clock.
    pub const fn saturating_add(self, span: Self) -> Self {
        Self(self.0.saturating_add(span.0))
    }

    /// The sum, or `None` where it is beyond the clock.
    pub const fn checked_add(self, span: Self) -> Option<Self> {
        match self.0.checked_add(span.0) {
            Some(sum) => Some(Self(sum)),
            None => None,
        }
    }

    /// The difference, or zero where `span` is the larger.
    pub const fn saturating_sub(self, span: Self) -> Self {
        Self(self.0.saturating_sub(span.0))
    }
}

/// How long the clock goes on, in words.
const CLOCK: &str = if cfg!(feature = "picoseconds") { "about 213 days" } else { "about 584 years" };

/// Why a number of seconds is not a [`Time`].
#[derive(Clone, Copy, PartialEq, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the text of an error says what its fields are")]
pub enum TimeError {
    /// It is not a number (NaN).
    #[error("a time that is not a number; allowed: zero or more seconds")]
    NotANumber,
    /// It is below zero.
    #[error("a time of {seconds} s; allowed: zero or more")]
    Negative { seconds: f64 },
    /// It is infinite, or after the end of the clock (2^64 ticks).
    #[error("a time of {seconds} s; allowed: less than 2^64 {unit}, {CLOCK}", unit = Time::UNIT)]
    BeyondClock { seconds: f64 },
}

crate::debug_tells!(TimeError);

impl Add for Time {
    type Output = Self;
    /// Panics where the sum is beyond the clock: a simulation that adds up to 584 years has lost its units.
    fn add(self, span: Self) -> Self {
        self.checked_add(span).expect("simulated time stays below 2^64 ticks")
    }
}

impl AddAssign for Time {
    fn add_assign(&mut self, span: Self) {
        *self = *self + span;
    }
}

impl Sub for Time {
    type Output = Self;
    /// Panics where `earlier` is the later of the two.
    fn sub(self, earlier: Self) -> Self {
        Self(self.0.checked_sub(earlier.0).expect("a span of time runs from the earlier to the later point"))
    }
}

impl fmt::Display for Time {
    /// Exact seconds without trailing zeros ("1.5s"), or "never"; padded to a width if one is asked for.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::MAX {
            return f.pad("never");
        }
        let (s, ticks) = (self.0 / Self::TICKS_PER_SECOND, self.0 % Self::TICKS_PER_SECOND);
        if ticks == 0 {
            return f.pad(&format!("{s}s"));
        }
        let digits = Self::TICKS_PER_SECOND.ilog10() as usize;
        let fraction = format!("{ticks:0digits$}");
        f.pad(&format!("{s}.{}s", fraction.trim_end_matches('0')))
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod test {
    use std::panic::catch_unwind;

    use super::*;

    #[test]
    fn a_tick_is_what_the_unit_says() {
        let (unit, in_seconds) = if cfg!(feature = "picoseconds") { ("ps", 1e-12) } else { ("ns", 1e-9) };
        assert_eq!((Time::UNIT, Time::TICK.as_secs_f64()), (unit, in_seconds));
        assert_eq!(Time::nanos(1).as_nanos(), 1);
        assert_eq!(Time::nanos(1).as_ticks(), Time::TICKS_PER_NANO);
        assert_eq!(Time::secs(1), Time::ticks(Time::TICKS_PER_SECOND));
        assert_eq!((Time::nanos(2) - Time::TICK).as_nanos(), 1, "whole ones only");
        let shown = if Time::UNIT == "ps" { "0.000000000001s" } else { "0.000000001s" };
        assert_eq!(Time::TICK.to_string(), shown);
    }

    #[test]
    fn what_is_no_length_of_time_is_refused_by_name() {
        for (seconds, named) in
            [(f64::NAN, "NaN"), (-1.5, "-1.5"), (f64::NEG_INFINITY, "-inf"), (-1e-12, "-0.00")]
        {
            let panic = catch_unwind(|| Time::from_secs_f64(seconds)).expect_err(named);
            let text = panic.downcast_ref::<String>().expect("it names the number");
            assert!(text.contains(&format!("a time of {named}")), "{text}");
            assert!(Time::try_from_secs_f64(seconds).is_err(), "{named}");
        }
    }

    #[test]
    fn long_times_are_rounded_to_the_nearest_tick_too() {
        let (mut odd, second) = (0, Time::TICKS_PER_SECOND as f64);
        for ticks in [1_u64 << 50, 1 << 51, 1 << 52, 1 << 53].into_iter().flat_map(|from| from..from + 1000) {
            let seconds = ticks as f64 / second;
            let nearest = (seconds * second).round() as u64;
            odd += u32::from(nearest % 2 == 1);
            assert_eq!(Time::from_secs_f64(seconds).as_ticks(), nearest, "{seconds}");
        }
        assert!(odd > 0, "some times are odd numbers of ticks");
    }

    #[test]
    fn what_is_a_length_of_time_is_rounded_once() {
        let second = Time::TICKS_PER_SECOND;
        for (ticks, rounded) in [
            (0.0, 0),
            (-0.0, 0),
            (0.4, 0),
            (0.6, 1),
            (2.5 * second as f64, 5 * second / 2),
            (1e19, 10u64.pow(19)),
        ] {
            let seconds = ticks / second as f64;
            assert_eq!(Time::from_secs_f64(seconds), Time::ticks(rounded));
            assert_eq!(Time::try_from_secs_f64(seconds), Ok(Time::ticks(rounded)));
        }
        for seconds in [1.9e10, f64::MAX, f64::INFINITY] {
            assert_eq!(Time::from_secs_f64(seconds), Time::MAX);
            assert_eq!(Time::try_from_secs_f64(seconds), Err(TimeError::BeyondClock { seconds }));
        }
    }
}
