//! What a parameter can be: how it is read, and what is allowed in words.
//!
//! Invariant: every kind has bounds, so that no value that is read makes a run overflow or divide by zero.

use std::fmt::Display;
use std::ops::RangeInclusive;

use paceline_scenario::{Raw, duration, nearest};

/// Reads a value, or says why not. If its type is wrong or it is out of bounds, there is nothing more to say:
/// the reason is empty.
type Read<T> = dyn Fn(&Raw) -> Result<T, String>;

/// A kind of value.
pub struct Kind<T> {
    /// What is allowed.
    pub words: String,
    pub read: Box<Read<T>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Nanos,
    Micros,
    Secs,
}

impl Unit {
    const fn parts(self) -> (u64, &'static str, &'static str) {
        match self {
            Self::Nanos => (1, "nanoseconds", "ns"),
            Self::Micros => (1_000, "microseconds", "us"),
            Self::Secs => (1_000_000_000, "seconds", "s"),
        }
    }
}

/// A whole number.
pub fn count<T: TryFrom<i128> + PartialOrd + Display + 'static>(range: RangeInclusive<T>) -> Kind<T> {
    let words = format!("a whole number from {} to {}", range.start(), range.end());
    let read = move |raw: &Raw| match raw {
        Raw::Integer(number) => match T::try_from(*number) {
            Ok(number) if range.contains(&number) => Ok(number),
            _ => Err(String::new()),
        },
        _ => Err(String::new()),
    };
    Kind { words, read: Box::new(read) }
}

pub fn number(range: RangeInclusive<f64>) -> Kind<f64> {
    let words = format!("a number from {} to {}", range.start(), range.end());
    let read = move |raw: &Raw| {
        let number = match raw {
            Raw::Integer(number) => *number as f64,
            Raw::Float(number) => *number,
            _ => return Err(String::new()),
        };
        if range.contains(&number) { Ok(number) } else { Err(String::new()) }
    };
    Kind { words, read: Box::new(read) }
}

/// A span of time, as a whole number of `unit`.
pub fn span(unit: Unit, range: RangeInclusive<u64>) -> Kind<u64> {
    let (unit_ns, units, short) = unit.parts();
    let words = format!(
        "a duration of whole {units} from {}{short} to {}{short}, such as \"{}{short}\"",
        range.start(),
        range.end(),
        (*range.start()).max(30).min(*range.end())
    );
    let read = move |raw: &Raw| {
        let Raw::String(text) = raw else { return Err(String::new()) };
        let nanos = duration(text).map_err(|error| error.to_string())?.as_nanos();
        if nanos % unit_ns != 0 {
            return Err(format!("it is no whole number of {units}"));
        }
        let in_units = nanos / unit_ns;
        if range.contains(&in_units) { Ok(in_units) } else { Err(String::new()) }
    };
    Kind { words, read: Box::new(read) }
}

/// A span of seconds, as horizons are.
pub fn secs(range: RangeInclusive<u64>) -> Kind<u64> {
    span(Unit::Secs, range)
}

pub fn micros(range: RangeInclusive<u64>) -> Kind<u64> {
    span(Unit::Micros, range)
}

pub fn nanos(range: RangeInclusive<u64>) -> Kind<u64> {
    span(Unit::Nanos, range)
}

/// One of some things that have names.
pub fn choice<T: Copy + 'static>(choices: impl IntoIterator<Item = (&'static str, T)>) -> Kind<T> {
    let choices: Vec<_> = choices.into_iter().collect();
    let names = choices.iter().map(|(name, _)| format!("{name:?}")).collect::<Vec<_>>();
    let words = format!("one of {}", names.join(", "));
    let read = move |raw: &Raw| {
        let Raw::String(text) = raw else { return Err(String::new()) };
        if let Some((_, found)) = choices.iter().find(|(name, _)| name == text) {
            return Ok(*found);
        }
        let near = nearest(text, choices.iter().map(|(name, _)| *name));
        Err(near.map_or(String::new(), |near| format!("did you mean {near:?}?")))
    };
    Kind { words, read: Box::new(read) }
}

pub fn pair<T: 'static, U: 'static>(one: Kind<T>, other: Kind<U>) -> Kind<(T, U)> {
    let words = format!("a list of two, {} and {}", one.words, other.words);
    let read = move |raw: &Raw| match raw {
        Raw::Array(values) => match &values[..] {
            [first, second] => Ok(((one.read)(first)?, (other.read)(second)?)),
            _ => Err(format!("it has {} values", values.len())),
        },
        _ => Err(String::new()),
    };
    Kind { words, read: Box::new(read) }
}
