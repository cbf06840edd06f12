//! Sizes of memory: a number of bytes, or a number with its unit.
//!
//! Invariant: a size is above zero and fits the address space; other sizes are refused.

use std::fmt;

use bytesize::ByteSize;

use crate::decimal::{self, Unread};
use crate::value::{Raw, Unfit, Value};

/// A size of memory, above zero.
///
/// ```
/// use paceline_scenario::{Raw, Size, Value};
/// assert_eq!(Size::read(&Raw::String("64MiB".into())), Ok(Size { bytes: 64 << 20 }));
/// assert_eq!(Size::read(&Raw::Integer(4096)), Ok(Size { bytes: 4096 }));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size {
    /// The size in bytes.
    pub bytes: usize,
}

impl fmt::Display for Size {
    /// In the largest unit of which it is a whole number.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];
        let fits = |(_, bytes): &&(&str, usize)| self.bytes.is_multiple_of(*bytes);
        let (name, bytes) = units.iter().find(fits).expect("every size is of whole bytes");
        write!(f, "{}{name}", self.bytes / bytes)
    }
}

impl Value for Size {
    const EXPECTED: &'static str = "a size above zero, such as \"64MiB\", \"1GB\" or \"500kB\", or a number of bytes (units: B, kB, MB, GB, TB, \
         KiB, MiB, GiB, TiB)";
    const IS_TEXT: bool = true;

    fn read(raw: &Raw) -> Result<Self, Unfit> {
        let bytes = match raw {
            Raw::Integer(bytes) => usize::try_from(*bytes).map_err(|_| Unfit::Kind)?,
            Raw::String(text) => {
                let unfit = || Unfit::Content("it is not a number with such a unit".into());
                let (number, unit) = decimal::split(text);
                // One of the unit: the parser computes with floats, in which 2.3 MB are 2,299,999 bytes.
                let one = format!("1{unit}").parse::<ByteSize>().map_err(|_| unfit())?;
                let bytes = match decimal::times(number, one.as_u64()) {
                    Ok(parts) => usize::try_from(parts.whole).ok().filter(|bytes| *bytes < usize::MAX),
                    Err(Unread::TooLarge) => None,
                    Err(Unread::NoNumber) => return Err(unfit()),
                };
                bytes.ok_or_else(|| Unfit::Content("no machine has so much memory".into()))?
            }
            _ => return Err(Unfit::Kind),
        };
        if bytes == 0 { Err(Unfit::Content("it is nothing".into())) } else { Ok(Self { bytes }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Result<usize, Unfit> {
        Size::read(&Raw::String(text.to_owned())).map(|size| size.bytes)
    }

    #[test]
    fn units_are_those_of_the_standards() {
        let units = [("B", 1), ("kB", 1000), ("MB", 1_000_000), ("KiB", 1 << 10), ("MiB", 1 << 20)];
        for (unit, bytes) in units {
            assert_eq!(read(&format!("3{unit}")), Ok(3 * bytes), "{unit}");
            assert_eq!(read(&format!("2.5 {unit}")), Ok(5 * bytes / 2), "{unit}");
            assert_eq!(read(&format!("2.3{unit}")), Ok(23 * bytes / 10), "{unit}");
        }
        assert_eq!((read("4096"), read("1.5B")), (Ok(4096), Ok(1)));
        assert_eq!(
            (read("1GB"), read("1GiB"), read("1TB")),
            (Ok(1e9 as usize), Ok(1 << 30), Ok(1e12 as usize))
        );
    }

    #[test]
    fn what_is_no_size_is_refused() {
        for text in ["", "MiB", "-5MB", "5 parsec", "0", "0kB", "99999999999EB", "1.2.3MB", "nan", "inf"] {
            assert!(matches!(read(text), Err(Unfit::Content(_))), "{text:?}");
        }
        for raw in [Raw::Integer(-1), Raw::Float(1.5), Raw::Bool(true)] {
            assert_eq!(Size::read(&raw), Err(Unfit::Kind), "{raw}");
        }
        assert!(Size::read(&Raw::Integer(0)).is_err());
    }

    proptest! {
        #[test]
        fn what_is_shown_is_what_is_read(bytes in 1usize..usize::MAX) {
            prop_assert_eq!(read(&Size { bytes }.to_string()), Ok(bytes));
        }

        #[test]
        fn any_text_is_read_or_refused(text in "\\PC*", digits in "[0-9.e\\-]{0,60}", unit in "[a-zA-Z ]{0,4}") {
            let _ = read(&text);
            let _ = read(&format!("{digits}{unit}"));
        }
    }
}
