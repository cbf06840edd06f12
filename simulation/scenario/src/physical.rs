//! Rates of links and times finer than a tick of the clock: what scenarios of packet networks hold.

use std::fmt;

use crate::decimal::{self, Unread};
use crate::duration::{self, DurationError};
use crate::value::{Raw, Unfit, Value};

/// The units of rates, in bits a second.
const UNITS: [(&str, u64); 5] =
    [("bps", 1), ("kbps", 1_000), ("Mbps", 1_000_000), ("Gbps", 1_000_000_000), ("Tbps", 1_000_000_000_000)];

/// A rate in bits a second.
///
/// ```
/// use paceline_scenario::{Rate, Raw, Value};
/// assert_eq!(Rate::read(&Raw::String("2.5Gbps".into())), Ok(Rate { bps: 2_500_000_000 }));
/// assert!(Rate::read(&Raw::Integer(10)).is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rate {
    /// Bits a second.
    pub bps: u64,
}

impl Value for Rate {
    const EXPECTED: &'static str = "a rate above zero with its unit, such as \"10Mbps\" or \"2.5Gbps\" (units: bps, kbps, Mbps, Gbps, Tbps)";
    const IS_TEXT: bool = true;

    fn read(raw: &Raw) -> Result<Self, Unfit> {
        let unfit = |why: &str| Err(Unfit::Content(why.to_owned()));
        let text = match raw {
            Raw::String(text) => text.trim(),
            Raw::Integer(_) | Raw::Float(_) => return unfit("it has no unit"),
            _ => return Err(Unfit::Kind),
        };
        if text.starts_with('-') {
            return unfit("a rate is not negative");
        }
        let (number, unit) = decimal::split(text);
        let Some((_, parts)) = UNITS.iter().find(|(name, _)| *name == unit) else {
            return match unit {
                "" => unfit("it has no unit"),
                _ => unfit(&format!("there is no unit {unit:?}")),
            };
        };
        match decimal::times(number, *parts) {
            Ok(parts) if parts.is_cut => unfit("it has parts of a bit a second"),
            Ok(parts) if parts.whole == 0 => unfit("at it nothing is sent"),
            Ok(parts) => u64::try_from(parts.whole).map(|bps| Self { bps }).or(unfit("it is too high")),
            Err(Unread::TooLarge) => unfit("it is too high"),
            Err(Unread::NoNumber) => unfit("it does not start with a number"),
        }
    }
}

impl fmt::Display for Rate {
    /// In the largest unit of which it is a whole number.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fits = |(_, parts): &&(&str, u64)| self.bps.is_multiple_of(*parts);
        let (name, parts) = UNITS.iter().rev().find(fits).expect("every rate is of whole bits");
        write!(f, "{}{name}", self.bps / parts)
    }
}

/// A time in picoseconds, whatever a tick of the clock is.
///
/// ```
/// use paceline_scenario::{Picoseconds, Raw, Value};
/// assert_eq!(Picoseconds::read(&Raw::String("1.5ns".into())), Ok(Picoseconds { ps: 1_500 }));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Picoseconds {
    /// The duration in picoseconds.
    pub ps: u64,
}

impl Value for Picoseconds {
    const EXPECTED: &'static str = "a duration with its unit, such as \"100us\", \"20ms\" or \"1.5ns\" (units: ps, ns, us, ms, s, min, h, d)";
    const IS_TEXT: bool = true;

    fn read(raw: &Raw) -> Result<Self, Unfit> {
        let unfit = |why: String| Err(Unfit::Content(why));
        match raw {
            Raw::String(text) => match duration::parts(text, 1) {
                Ok(ps) => {
                    u64::try_from(ps).map(|ps| Self { ps }).or(unfit("it is longer than 213 days".to_owned()))
                }
                // In words of its own: a tick may be longer than a picosecond, and the longest time with it.
                Err(DurationError::TooFine) => unfit("it has parts of a picosecond".to_owned()),
                Err(DurationError::TooLong) => unfit("it is longer than 213 days".to_owned()),
                Err(error) => unfit(error.to_string()),
            },
            Raw::Integer(_) | Raw::Float(_) => unfit(DurationError::NoUnit.to_string()),
            _ => Err(Unfit::Kind),
        }
    }
}

impl fmt::Display for Picoseconds {
    /// In the largest unit of which it is a whole number.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units =
            [("s", 1_000_000_000_000), ("ms", 1_000_000_000), ("us", 1_000_000), ("ns", 1_000), ("ps", 1)];
        let fits = |(_, parts): &&(&str, u64)| self.ps.is_multiple_of(*parts);
        let (name, parts) = units.iter().find(fits).expect("every time is of whole picoseconds");
        write!(f, "{}{name}", self.ps / parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn why<T: Value>(text: &str) -> String {
        match T::read(&Raw::String(text.to_owned())) {
            Err(Unfit::Content(why)) => why,
            Err(Unfit::Kind) => "kind".to_owned(),
            Ok(_) => "it is read".to_owned(),
        }
    }

    #[test]
    fn what_is_no_rate_is_refused() {
        for (text, reason) in [
            ("10", "it has no unit"),
            ("", "it has no unit"),
            ("10Mb", "there is no unit \"Mb\""),
            ("0Mbps", "at it nothing is sent"),
            ("0.5bps", "it has parts of a bit a second"),
            ("-1bps", "a rate is not negative"),
            ("Mbps", "it does not start with a number"),
            ("20000000Tbps", "it is too high"),
        ] {
            assert_eq!(why::<Rate>(text), reason, "{text:?}");
        }
        for raw in [Raw::Integer(10), Raw::Float(1e9), Raw::Bool(true)] {
            assert!(Rate::read(&raw).is_err() && Picoseconds::read(&raw).is_err(), "{raw}");
        }
    }

    #[test]
    fn what_is_no_time_is_refused() {
        assert_eq!(why::<Picoseconds>("0.1ps"), "it has parts of a picosecond");
        assert_eq!(why::<Picoseconds>("214d"), "it is longer than 213 days");
        assert_eq!(why::<Picoseconds>("-1s"), "a duration is not negative");
    }

    proptest! {
        #[test]
        fn what_is_shown_is_what_is_read(number in 1u64..) {
            let (rate, time) = (Rate { bps: number }, Picoseconds { ps: number });
            prop_assert_eq!(Rate::read(&Raw::String(rate.to_string())), Ok(rate));
            prop_assert_eq!(Picoseconds::read(&Raw::String(time.to_string())), Ok(time));
        }

        #[test]
        fn any_text_is_read_or_refused(text in "\\PC*", digits in "[0-9.\\-]{0,60}", unit in "[a-zA-Z ]{0,4}") {
            for text in [text, format!("{digits}{unit}"), format!("{digits}Gbps"), format!("{digits}d")] {
                let (_, _) = (why::<Rate>(&text), why::<Picoseconds>(&text));
            }
        }
    }
}
