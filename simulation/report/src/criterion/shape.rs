//! How numbers lie, each by itself or to each other, and whether those that were found lie so.
//!
//! Answers are yes, no, or none where intervals leave it open.

use super::Estimate;
use crate::number::number;
use crate::sweep::Wanted;

/// How one or several numbers lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// Each is as wanted.
    Each(Wanted),
    /// Each is above this.
    Above(f64),
    /// Each is below this.
    Below(f64),
    /// The last is above the first, and none is below the one before it by more than this part of it.
    Rises(f64),
    /// The last is below the first, and none is above the one before it by more than this part of it.
    Falls(f64),
    /// The one at this place is below all others.
    Least(usize),
}

impl Shape {
    /// Each is this or more.
    pub const fn at_least(least: f64) -> Self {
        Self::Each(Wanted::AtLeast(least))
    }

    /// Each is this or less.
    pub const fn at_most(most: f64) -> Self {
        Self::Each(Wanted::AtMost(most))
    }

    /// Each is between these, or one of them.
    pub const fn within(least: f64, most: f64) -> Self {
        Self::Each(Wanted::Within(least, most))
    }

    /// Each is this.
    pub const fn exactly(value: f64) -> Self {
        Self::within(value, value)
    }

    /// Whether `ours` lie so; none if intervals leave it open.
    pub fn is_met(self, ours: &[Estimate]) -> Option<bool> {
        if ours.is_empty() || ours.iter().any(|one| one.value.is_nan()) {
            return Some(false);
        }
        match self {
            Self::Each(wanted) => all(ours.iter().map(|one| limits(wanted, *one))),
            Self::Above(limit) => all(ours.iter().map(|one| is_above(*one, limit.into()))),
            Self::Below(limit) => all(ours.iter().map(|one| is_above(limit.into(), *one))),
            Self::Rises(part) => runs(ours, part, |one| one),
            Self::Falls(part) => runs(ours, part, |one| one.map(|value| -value)),
            Self::Least(place) => {
                let Some(least) = ours.get(place) else { return Some(false) };
                let others = ours.iter().enumerate().filter(|(other, _)| *other != place);
                if ours.len() < 2 {
                    Some(false)
                } else {
                    all(others.map(|(_, other)| is_above(*other, *least)))
                }
            }
        }
    }

    pub(super) fn text(self, unit: &str) -> String {
        let with_unit = |text: String| format!("{text} {unit}").trim_end().to_owned();
        let part = |part: f64| {
            if part > 0.0 { format!(", but for {} %", number(100.0 * part)) } else { String::new() }
        };
        match self {
            Self::Each(Wanted::AtLeast(least)) => with_unit(format!("at least {}", number(least))),
            Self::Each(Wanted::AtMost(most)) => with_unit(format!("at most {}", number(most))),
            Self::Each(Wanted::Within(least, most)) if least == most => with_unit(number(least)),
            Self::Each(Wanted::Within(least, most)) => {
                with_unit(format!("{} to {}", number(least), number(most)))
            }
            Self::Above(limit) => with_unit(format!("above {}", number(limit))),
            Self::Below(limit) => with_unit(format!("below {}", number(limit))),
            Self::Rises(slack) => format!("rises{}", part(slack)),
            Self::Falls(slack) => format!("falls{}", part(slack)),
            Self::Least(place) => format!("number {} is the least", place + 1),
        }
    }
}

/// Yes if all are, no if one is not.
pub(super) fn all(answers: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let mut all = Some(true);
    for answer in answers {
        match answer {
            Some(true) => {}
            Some(false) => return Some(false),
            // A no that still follows counts more.
            None => all = None,
        }
    }
    all
}

/// Whether one is as wanted.
pub(super) fn limits(wanted: Wanted, one: Estimate) -> Option<bool> {
    let (least, most) = wanted.range();
    if one.value.is_nan() || one.high < least || one.low > most {
        Some(false)
    } else if one.low >= least && one.high <= most {
        Some(true)
    } else {
        None
    }
}

/// Whether one is above the other.
fn is_above(one: Estimate, other: Estimate) -> Option<bool> {
    match (one.low > other.high, one.high <= other.low) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    }
}

/// Whether numbers run upwards as `of` has them.
fn runs(ours: &[Estimate], part: f64, of: impl Fn(Estimate) -> Estimate) -> Option<bool> {
    let [first, .., last] = ours else { return Some(false) };
    let steps = ours.windows(2).map(|pair| {
        let (before, next) = (of(pair[0]), of(pair[1]));
        let floor = before.map(|value| value - part * value.abs());
        is_above(floor, next).map(|falls| !falls)
    });
    all(steps.chain([is_above(of(*last), of(*first))]))
}
