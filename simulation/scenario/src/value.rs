//! The values that a key can hold, and how each type reads them.
//!
//! No type accepts a value of another kind: a number is not a duration, a string is not a number. The
//! exception: an integer is accepted where a real number is expected.
//!
//! To add a unit, see `duration.rs` and `size.rs`, which options of the program use as well.

use std::fmt;

use paceline_kernel::{ParameterValue, Time};
use toml::de::DeValue;

use crate::duration::{DurationError, duration};

/// A value as it stands in the file.
#[derive(Clone, Debug, PartialEq)]
pub enum Raw {
    /// `true` or `false`.
    Bool(bool),
    /// A whole number of any size up to 128 bits.
    Integer(i128),
    /// A number with a point or exponent.
    Float(f64),
    /// A string without its quotation marks.
    String(String),
    /// An array of values of any kinds.
    Array(Vec<Raw>),
    /// A value that no key accepts: a table, a date.
    Other(&'static str),
}

impl Raw {
    pub(crate) fn new(value: &DeValue<'_>) -> Self {
        match value {
            DeValue::Boolean(value) => Self::Bool(*value),
            DeValue::String(text) => Self::String(text.to_string()),
            DeValue::Integer(number) => match i128::from_str_radix(number.as_str(), number.radix()) {
                Ok(number) => Self::Integer(number),
                Err(_) => Self::Other("an integer that is too large"),
            },
            DeValue::Float(number) => float(number.as_str()),
            DeValue::Datetime(_) => Self::Other("a date or time of day"),
            DeValue::Array(values) => {
                Self::Array(values.iter().map(|value| Self::new(value.get_ref())).collect())
            }
            DeValue::Table(_) => Self::Other("a table"),
        }
    }
}

/// A number with a point or exponent, unless a float cannot distinguish it from infinity or from zero.
fn float(text: &str) -> Raw {
    let Ok(number) = text.parse::<f64>() else { return Raw::Other("a number that cannot be read") };
    let is_word = text.ends_with("inf") || text.ends_with("nan");
    let mantissa = text.split(['e', 'E']).next().unwrap_or(text);
    let is_zero = !mantissa.bytes().any(|digit| (b'1'..=b'9').contains(&digit));
    match number {
        number if number.is_infinite() && !is_word => Raw::Other("a number that is too large"),
        0.0 if !is_zero => Raw::Other("a number that is too near to zero"),
        number => Raw::Float(number),
    }
}

/// The whole number as a float, if that is exactly the same.
pub(crate) fn whole_as_f64(number: i128) -> Option<f64> {
    let float = number as f64;
    // A float that is beyond 128 bits becomes the nearest number of 128 bits.
    (float as i128 == number && float.abs() < i128::MAX as f64).then_some(float)
}

impl fmt::Display for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(value) => write!(f, "{value}"),
            Self::Integer(number) => write!(f, "the integer {number}"),
            Self::Float(number) => write!(f, "the number {number:?}"),
            Self::String(text) => write!(f, "the string {text:?}"),
            Self::Array(_) => f.write_str("an array"),
            Self::Other(what) => f.write_str(what),
        }
    }
}

/// Why a value is not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// It is of another type, or out of range.
    Kind,
    /// Its type is right, its content is not.
    Content(String),
}

/// The type of a key's value.
pub trait Value: Sized {
    /// What is allowed, for messages.
    const EXPECTED: &'static str;

    /// Whether a scenario gives it as a string, between quotation marks.
    const IS_TEXT: bool = false;

    /// A value as a scenario would give it, without quotation marks.
    fn written(&self) -> String
    where
        Self: fmt::Display,
    {
        self.to_string()
    }

    /// Reads a value as it stands in the file; why it does not fit is the error.
    fn read(raw: &Raw) -> Result<Self, Unfit>;
}

impl Value for bool {
    const EXPECTED: &'static str = "true or false";

    fn read(raw: &Raw) -> Result<Self, Unfit> {
        match raw {
            Raw::Bool(value) => Ok(*value),
            _ => Err(Unfit::Kind),
        }
    }
}

impl Value for u32 {
    const EXPECTED: &'static str = "a whole number from 0 to 4294967295";

    fn read(raw: &Raw) -> Result<Self, Unfit> {
        match raw {
            Raw::Integer(number) => Self::try_from(*number).map_err(|_| Unfit::Kind),
            _ => Err(Unfit::Kind),
        }
    }
}

impl Value for u64 {
    const EXPECTED: &'static str = "a whole number from 0 to 18446744073709551615";

    fn read(raw: &Raw) -> Result<Self, Unfit> {
        match raw {
            Raw::Integer(number) => Self::try_from(*number).map_err(|_| Unfit::Kind),
            _ => Err(Unfit::Kind),
        }
    }
}

impl Value for f64 {
    const EXPECTED: &'static str = "a finite number";

    fn read(raw: &Raw) -> Result<Self, Unfit> {
        match raw {
            Raw::Float(number) if number.is_finite() => Ok(*number),
            Raw::Integer(number) => whole_as_f64(*number)
                .ok_or_else(|| Unfit::Content("a float of 64 bits does not hold it exactly".into())),
            _ => Err(Unfit::Kind),
        }
    }
}

impl Value for String {
    const EXPECTED: &'static str = "a string";
    const IS_TEXT: bool = true;

    fn read(raw: &Raw) -> Result<Self, Unfit> {
        match raw {
            Raw::String(text) => Ok(text.clone()),
            _ => Err(Unfit::Kind),
        }
    }
}

impl Value for Vec<u32> {
    const EXPECTED: &'static str = "a list of whole numbers, such as [0, 1]";

    fn read(raw: &Raw) -> Result<Self, Unfit> {
        match raw {
            Raw::Array(values) => {
                let number = |raw| u32::read(raw).map_err(|_| Unfit::Content(format!("it holds {raw}")));
                values.iter().map(number).collect()
            }
            _ => Err(Unfit::Kind),
        }
    }
}

impl Value for Vec<String> {
    const EXPECTED: &'static str = "a list of strings, such as [\"a\", \"b\"]";

    fn read(raw: &Raw) -> Result<Self, Unfit> {
        match raw {
            Raw::Array(values) => {
                let text = |raw| String::read(raw).map_err(|_| Unfit::Content(format!("it holds {raw}")));
                values.iter().map(text).collect()
            }
            _ => Err(Unfit::Kind),
        }
    }
}

impl Value for ParameterValue {
    const EXPECTED: &'static str = "a number, or a duration with its unit, such as \"60s\"";

    fn read(raw: &Raw) -> Result<Self, Unfit> {
        match raw {
            Raw::String(_) => Time::read(raw).map(Self::Time),
            _ => f64::read(raw).map(Self::Number),
        }
    }
}

impl Value for Time {
    const EXPECTED: &'static str = "a duration with its unit, such as \"300s\", \"1.5h\" or \"1ms\" (units: ps, ns, us, ms, s, min, h, d)";
    const IS_TEXT: bool = true;

    /// In the largest unit of which it is a whole number.
    fn written(&self) -> String {
        const UNITS: [(&str, u64); 5] = [
            ("h", 3_600_000_000_000),
            ("min", 60_000_000_000),
            ("s", 1_000_000_000),
            ("ms", 1_000_000),
            ("us", 1_000),
        ];
        let nanos = self.as_nanos();
        // As `Time` shows them: zero, which is a multiple of every unit, never, and parts of a nanosecond.
        if *self == Self::ZERO || *self == Self::MAX || *self != Self::nanos(nanos) {
            return self.to_string();
        }
        let unit = UNITS.into_iter().find(|(_, length)| nanos.is_multiple_of(*length));
        unit.map_or_else(|| format!("{nanos}ns"), |(name, length)| format!("{}{name}", nanos / length))
    }

    fn read(raw: &Raw) -> Result<Self, Unfit> {
        match raw {
            Raw::String(text) => duration(text).map_err(|error| Unfit::Content(error.to_string())),
            Raw::Integer(_) | Raw::Float(_) => Err(Unfit::Content(DurationError::NoUnit.to_string())),
            _ => Err(Unfit::Kind),
        }
    }
}
