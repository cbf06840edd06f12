//! Numbers that are factors or shares of two whole numbers.

use std::fmt;

use paceline_packets::queue::Alpha;
use paceline_scenario::{Raw, Unfit, Value};

/// A factor as a fraction of two whole numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Factor(pub Alpha);

impl Value for Factor {
    const EXPECTED: &'static str = "a number above zero, or a fraction of two such as \"1/8\"";

    fn read(raw: &Raw) -> Result<Self, Unfit> {
        let unfit = || Unfit::Content("it is not a fraction of whole numbers from 1 to 4294967295".into());
        let (over, under) = match raw {
            Raw::Integer(number) => (u32::try_from(*number).map_err(|_| unfit())?, 1),
            Raw::Float(number) => {
                // Exact: a multiplication by a power of two changes the exponent alone.
                let whole = |places: &u32| (number * f64::from(1u32 << places)).fract() == 0.0;
                let places = (0..=16).find(whole).ok_or_else(unfit)?;
                let over = number * f64::from(1u32 << places);
                if over > f64::from(u32::MAX) {
                    return Err(unfit());
                }
                (over as u32, 1 << places)
            }
            Raw::String(text) => {
                let (over, under) = text.split_once('/').unwrap_or((text, "1"));
                let number = |text: &str| text.trim().parse::<u32>().map_err(|_| unfit());
                (number(over)?, number(under)?)
            }
            _ => return Err(Unfit::Kind),
        };
        if over == 0 || under == 0 { Err(unfit()) } else { Ok(Self(Alpha { over, under })) }
    }
}

impl fmt::Display for Factor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.under {
            1 => write!(f, "{}", self.0.over),
            under => write!(f, "{}/{under}", self.0.over),
        }
    }
}
