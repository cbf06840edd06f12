//! Logical time: the standard's two kinds, compared as whole numbers.
//!
//! Invariant: all times of a federation are of one kind.

use paceline_hla::{Bytes, LogicalTimeInterval};
use paceline_kernel::SendTime;

use crate::exception::{Answer, CallError, Exception};

/// Which numbers a federation's times are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimeKind {
    Float,
    Integer,
}

impl TimeKind {
    /// The kind of this name; floats if there is no name, as the standard has it.
    pub(crate) fn named(name: &str) -> Answer<Self> {
        match name {
            "" | "HLAfloat64Time" => Ok(Self::Float),
            "HLAinteger64Time" => Ok(Self::Integer),
            other => Err(CallError::new(
                Exception::CouldNotCreateLogicalTimeFactory,
                format!("{other} is not known; HLAfloat64Time and HLAinteger64Time are"),
            )),
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Float => "HLAfloat64Time",
            Self::Integer => "HLAinteger64Time",
        }
    }

    /// The time at which federates begin.
    pub(crate) fn initial(self) -> LogicalTime {
        match self {
            Self::Float => LogicalTime::float(0.0),
            Self::Integer => LogicalTime::Integer(0),
        }
    }

    /// Reads a time or an interval: 8 bytes, the greatest first.
    pub(crate) fn read(self, bytes: &[u8]) -> Result<LogicalTime, String> {
        let eight: Result<[u8; 8], _> = bytes.try_into();
        let eight =
            eight.map_err(|_| format!("a {} has 8 bytes, this one has {}", self.name(), bytes.len()))?;
        match self {
            Self::Integer => Ok(LogicalTime::Integer(i64::from_be_bytes(eight))),
            Self::Float => match f64::from_be_bytes(eight) {
                number if number.is_nan() => {
                    Err("a time that is no number has no place among others".to_owned())
                }
                number => Ok(LogicalTime::float(number)),
            },
        }
    }
}

/// A time or an interval. Floats are kept as whole numbers that are ordered as they are, so that no float is
/// compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogicalTime {
    /// Of the kind `HLAinteger64Time`.
    Integer(i64),
    /// Of the kind `HLAfloat64Time`: the bits of the number, with the sign bit inverted if it is positive and
    /// all bits inverted if it is negative.
    Float(u64),
}

const SIGN: u64 = 1 << 63;

impl LogicalTime {
    pub(crate) fn float(number: f64) -> Self {
        // Adding zero makes one zero of the two that there are.
        let bits = (number + 0.0).to_bits();
        Self::Float(if bits & SIGN == 0 { bits | SIGN } else { !bits })
    }

    fn to_float(bits: u64) -> f64 {
        f64::from_bits(if bits & SIGN == 0 { !bits } else { bits & !SIGN })
    }

    /// The number, rounded where a float has no room for all of its digits.
    pub fn to_f64(self) -> f64 {
        match self {
            Self::Integer(number) => number as f64,
            Self::Float(bits) => Self::to_float(bits),
        }
    }

    /// As it is sent.
    pub(crate) fn to_bytes(self) -> [u8; 8] {
        match self {
            Self::Integer(number) => number.to_be_bytes(),
            Self::Float(bits) => Self::to_float(bits).to_be_bytes(),
        }
    }

    fn bytes(self) -> Bytes {
        Bytes::copy_from_slice(&self.to_bytes())
    }

    /// The least interval that leads from this time to `to`, or beyond it where no float leads there; zero if
    /// that is past.
    pub(crate) fn until(self, to: Self) -> Self {
        match (self, to) {
            _ if to <= self => self.zero(),
            (Self::Integer(from), Self::Integer(to)) => Self::Integer(to.saturating_sub(from)),
            (Self::Float(from), Self::Float(to_bits)) => {
                let interval = Self::float(Self::to_float(to_bits) - Self::to_float(from));
                // A difference is rounded: where it falls short, the next float does not.
                match interval {
                    Self::Float(bits) if self.later_by(interval) < to => Self::Float(bits + 1),
                    interval => interval,
                }
            }
            _ => unreachable!("a federation has one kind of times"),
        }
    }

    /// As people read it.
    pub(crate) fn text(self) -> String {
        match self {
            Self::Integer(number) => number.to_string(),
            Self::Float(bits) => Self::to_float(bits).to_string(),
        }
    }

    /// Nothing, as an interval of the same kind.
    pub(crate) fn zero(self) -> Self {
        match self {
            Self::Integer(_) => Self::Integer(0),
            Self::Float(_) => Self::Float(SIGN),
        }
    }

    pub(crate) fn time(self) -> Option<paceline_hla::LogicalTime> {
        Some(paceline_hla::LogicalTime { data: self.bytes() })
    }

    pub(crate) fn interval(self) -> Option<LogicalTimeInterval> {
        Some(LogicalTimeInterval { data: self.bytes() })
    }
}

impl SendTime for LogicalTime {
    fn later_by(self, delay: Self) -> Self {
        match (self, delay) {
            (Self::Integer(time), Self::Integer(delay)) => Self::Integer(time.saturating_add(delay)),
            // As a federate's own sum is rounded, which has to be equal.
            (Self::Float(time), Self::Float(delay)) => {
                Self::float(Self::to_float(time) + Self::to_float(delay))
            }
            _ => unreachable!("a federation has one kind of times"),
        }
    }

    fn is_zero(self) -> bool {
        self == Self::Integer(0) || self == Self::Float(SIGN)
    }
}

#[cfg(test)]
mod test {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn floats_are_ordered_as_their_numbers(one: f64, other: f64) {
            prop_assume!(!one.is_nan() && !other.is_nan());
            prop_assert_eq!(LogicalTime::float(one).cmp(&LogicalTime::float(other)), one.partial_cmp(&other).unwrap());
            let read = TimeKind::Float.read(&LogicalTime::float(one).bytes());
            prop_assert_eq!(read, Ok(LogicalTime::float(one)));
        }

        #[test]
        fn an_interval_leads_to_its_time(from in 0.0..1e9, by in 0.0..1e3) {
            let (from, to) = (LogicalTime::float(from), LogicalTime::float(from).later_by(LogicalTime::float(by)));
            prop_assert!(from.later_by(from.until(to)) >= to);
        }
    }

    #[test]
    fn times_are_read_as_they_are_sent() {
        assert_eq!(LogicalTime::float(-0.0), LogicalTime::float(0.0));
        assert!(LogicalTime::float(0.0).is_zero() && LogicalTime::Integer(0).is_zero());
        assert!(!LogicalTime::float(f64::MIN_POSITIVE).is_zero());
        assert_eq!(&*LogicalTime::float(1.5).bytes(), 1.5_f64.to_be_bytes());
        assert_eq!(TimeKind::Integer.read(&[0, 0, 0, 0, 0, 0, 0, 7]), Ok(LogicalTime::Integer(7)));
        assert!(TimeKind::Float.read(&f64::NAN.to_be_bytes()).is_err());
        assert!(TimeKind::Float.read(&[0; 7]).is_err());
        let sum = LogicalTime::float(0.1).later_by(LogicalTime::float(0.2));
        assert_eq!(&*sum.bytes(), (0.1_f64 + 0.2).to_be_bytes());
    }
}
