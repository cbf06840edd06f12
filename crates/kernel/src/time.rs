//! Simulated time: an integer count of nanoseconds.
//!
//! Invariant: no floating-point number ever decides an order. Floats enter only through [`Time::from_secs_f64`],
//! which rounds once, and leave only through [`Time::as_secs_f64`], for people to read.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

use serde::{Deserialize, Serialize};

/// A point in simulated time, or a span of it, in nanoseconds since the start of the simulation.
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
    /// Later than every event: "never".
    pub const MAX: Self = Self(u64::MAX);

    /// `n` nanoseconds.
    pub const fn nanos(n: u64) -> Self {
        Self(n)
    }

    /// `n` microseconds; [`Time::MAX`] where that is beyond the clock.
    pub const fn micros(n: u64) -> Self {
        Self(n.saturating_mul(1_000))
    }

    /// `n` milliseconds; [`Time::MAX`] where that is beyond the clock.
    pub const fn millis(n: u64) -> Self {
        Self(n.saturating_mul(1_000_000))
    }

    /// `n` seconds; [`Time::MAX`] where that is beyond the clock (about 584 years).
    pub const fn secs(n: u64) -> Self {
        Self(n.saturating_mul(1_000_000_000))
    }

    /// `s` seconds, rounded to the nearest nanosecond; negative and not-a-number become zero, too large becomes
    /// [`Time::MAX`].
    pub fn from_secs_f64(s: f64) -> Self {
        Self((s * 1e9 + 0.5) as u64)
    }

    /// Nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds, for people to read; never to be compared.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
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

impl Add for Time {
    type Output = Self;
    /// Panics where the sum is beyond the clock: a simulation that adds up to 584 years has lost its units.
    fn add(self, span: Self) -> Self {
        self.checked_add(span).expect("simulated time stays below 2^64 ns")
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
        let (s, ns) = (self.0 / 1_000_000_000, self.0 % 1_000_000_000);
        if ns == 0 {
            return f.pad(&format!("{s}s"));
        }
        let fraction = format!("{ns:09}");
        f.pad(&format!("{s}.{}s", fraction.trim_end_matches('0')))
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
