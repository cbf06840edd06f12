//! A number with the interval in which it is known.

use crate::number::number;

/// Up to so many numbers are listed; of more the least and the greatest are said.
const LISTED: usize = 8;

/// A number that was found, and the interval in which it lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The number: a mean, a median, or what a run that repeats exactly gave.
    pub value: f64,
    /// The low end of the interval; the number itself where it is exact.
    pub low: f64,
    /// The high end.
    pub high: f64,
}

impl From<f64> for Estimate {
    fn from(value: f64) -> Self {
        Self { value, low: value, high: value }
    }
}

impl Estimate {
    /// A number that is known up to `half_width`.
    pub fn within(value: f64, half_width: f64) -> Self {
        Self { value, low: value - half_width, high: value + half_width }
    }

    /// A number of which nothing is known, because there was nothing to measure.
    pub const UNKNOWN: Self = Self { value: 0.0, low: f64::NEG_INFINITY, high: f64::INFINITY };

    /// Of a function that rises or falls everywhere in the interval.
    #[must_use]
    pub fn map(self, of: impl Fn(f64) -> f64) -> Self {
        let (one, other) = (of(self.low), of(self.high));
        Self { value: of(self.value), low: one.min(other), high: one.max(other) }
    }

    fn text(self) -> String {
        match (self.low, self.high) {
            (f64::NEG_INFINITY, f64::INFINITY) => "unknown".to_owned(),
            (low, high) if low == high => number(self.value),
            _ => format!("{} [{}, {}]", number(self.value), number(self.low), number(self.high)),
        }
    }
}

/// Numbers with their unit.
pub(super) fn listed(values: &[Estimate], unit: &str) -> String {
    if values.is_empty() {
        return String::new();
    }
    let text = if values.len() > LISTED {
        let of = |pick: fn(f64, f64) -> f64| values.iter().map(|one| one.value).reduce(pick).map(number);
        let (least, most) = (of(f64::min).unwrap_or_default(), of(f64::max).unwrap_or_default());
        format!("{least} to {most} {unit} in {}", values.len())
    } else {
        let all: Vec<_> = values.iter().map(|one| one.text()).collect();
        format!("{} {unit}", all.join(", "))
    };
    text.trim().to_owned()
}
