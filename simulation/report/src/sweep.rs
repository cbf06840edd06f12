//! What would have to be true for a published value that is not ours.
//!
//! A source seldom states everything that its numbers depend on. A [`Sweep`] repeats runs with other values
//! of one such quantity. It says with which of them a check is reproduced, in one
//! [sentence](Sweep::sentence), and draws ours over the quantity beside what is wanted ([`Sweep::figure`]).
//! It belongs to the check whose `what` it names, and is put into
//! [`Finding::sweeps`](crate::Finding::sweeps).
//!
//! Invariant: the sentence is computed from the points; no number in it is typed in.

mod json;
#[cfg(test)]
mod test;

use crate::figure::{Axis, Figure, Kind, Series};
use crate::number::number;

/// What a check wants of a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Wanted {
    /// This or more.
    AtLeast(f64),
    /// This or less.
    AtMost(f64),
    /// Between these two, or one of them.
    Within(f64, f64),
}

impl Wanted {
    /// By how much a number misses it; zero where it does not.
    pub fn miss(self, value: f64) -> f64 {
        let (least, most) = self.range();
        (least - value).max(value - most).max(0.0)
    }

    /// The least and the greatest number that do not miss it.
    pub(crate) fn range(self) -> (f64, f64) {
        match self {
            Self::AtLeast(least) => (least, f64::INFINITY),
            Self::AtMost(most) => (f64::NEG_INFINITY, most),
            Self::Within(least, most) => (least, most),
        }
    }

    /// The numbers where it begins and ends.
    fn limits(self) -> Vec<f64> {
        match self {
            Self::AtLeast(limit) | Self::AtMost(limit) => vec![limit],
            Self::Within(least, most) => vec![least, most],
        }
    }

    fn text(self, axis: &Axis) -> String {
        match self {
            Self::AtLeast(least) => format!("at least {}", axis.text(least)),
            Self::AtMost(most) => format!("at most {}", axis.text(most)),
            Self::Within(least, most) => format!("{} to {}", number(least), axis.text(most)),
        }
    }
}

/// A number that was measured for each value of the quantity.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// What it is: `4 LPs`.
    pub name: String,
    /// The quantity, and what was measured with it, ascending.
    pub points: Vec<(f64, f64)>,
    /// What the check wants of it.
    pub wanted: Wanted,
}

/// A check over a quantity that the source does not state.
///
/// ```
/// use paceline_report::{Axis, Curve, Sweep, Wanted};
///
/// let sweep = Sweep {
///     check: "gain with 4 LPs".into(),
///     quantity: Axis::linear("speed of a sibling", "permille"),
///     ours: 600.0,
///     measured: Axis::linear("gain", "%"),
///     curves: vec![Curve {
///         name: "4 LPs".into(),
///         points: vec![(400.0, -20.0), (500.0, -1.0), (600.0, 19.0)],
///         wanted: Wanted::AtMost(0.0),
///     }],
///     reason: "Siblings share their caches.".into(),
///     spoilt: Vec::new(),
/// };
/// assert_eq!(
///     sweep.sentence(),
///     "\"gain with 4 LPs\" is reproduced if the speed of a sibling is 400 to 500 permille, not 600 permille; here it is 600 permille."
/// );
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sweep {
    /// The check that it decides: its `what`.
    pub check: String,
    /// What is changed. Its label goes with "the": `speed of a sibling`.
    pub quantity: Axis,
    /// The value in the runs that the check itself judges.
    pub ours: f64,
    /// What is measured.
    pub measured: Axis,
    /// The measured quantity, for all the cases that the check names. The check is reproduced with a value of
    /// the quantity if all of them are as wanted.
    pub curves: Vec<Curve>,
    /// Why this quantity: what is known of it, in sentences.
    pub reason: String,
    /// Other checks, by their `what`, that are reproduced with our own value, and the values of the quantity
    /// with which they are not.
    pub spoilt: Vec<(String, Vec<f64>)>,
}

impl Sweep {
    /// With which values of the quantity the check is reproduced, and which other checks are not with these,
    /// in a sentence.
    pub fn sentence(&self) -> String {
        let Self { check, quantity, ours, .. } = self;
        let (label, here) = (&quantity.label, quantity.text(*ours));
        let values = self.values();
        let fits: Vec<bool> = values.iter().map(|value| self.miss(*value) == 0.0).collect();
        if fits.contains(&true) {
            let ranges = ranges(&values, &fits, quantity);
            let but = self.but(&values, &fits);
            return format!("\"{check}\" is reproduced if the {label} is {ranges}{but}; here it is {here}.");
        }
        let tried = span(&values, quantity);
        format!(
            "\"{check}\" is reproduced with no {label} tried, {tried}; here it is {here}{}.",
            self.nearest(&values)
        )
    }

    /// Which other checks are not reproduced with values with which this one is.
    fn but(&self, values: &[f64], fits: &[bool]) -> String {
        let clause = |(other, not): &(String, Vec<f64>)| {
            let both = values.iter().zip(fits).filter(|(value, fits)| **fits && not.contains(value));
            let both: Vec<String> = both.map(|(value, _)| self.quantity.text(*value)).collect();
            (!both.is_empty()).then(|| format!(", but with {} \"{other}\" is not", both.join(" or ")))
        };
        self.spoilt.iter().filter_map(clause).collect()
    }

    /// Ours over the quantity, and the limits of what is wanted.
    pub fn figure(&self) -> Figure {
        let values = self.values();
        let mut series: Vec<Series> = Vec::new();
        for Curve { name, points, .. } in &self.curves {
            series.push(Series::ours(name, Kind::Lines, points.clone()));
        }
        let points_here =
            self.curves.iter().flat_map(|curve| &curve.points).filter(|point| point.0 == self.ours);
        series.push(Series::ours("this experiment", Kind::Points, points_here.copied().collect()));
        if let [first, .., last] = values[..] {
            for (name, limit) in self.limits() {
                series.push(Series::published(name, Kind::Steps, vec![(first, limit), (last, limit)]));
            }
        }
        series.retain(|series| !series.points.is_empty());
        let text = |curve: &Curve| format!("{} {}", curve.name, curve.wanted.text(&self.measured));
        let wanted: Vec<_> = self.curves.iter().map(text).collect();
        Figure {
            title: format!("{}, over the {}", self.check, self.quantity.label),
            caption: format!("Wanted: {}. {}", wanted.join(", "), self.reason).trim_end().to_owned(),
            x: self.quantity.clone(),
            y: self.measured.clone(),
            series,
        }
    }

    /// The values of the quantity that were tried, ascending.
    fn values(&self) -> Vec<f64> {
        let points = self.curves.iter().flat_map(|curve| &curve.points);
        let mut values: Vec<f64> = points.map(|point| point.0).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        values
    }

    /// By how much the curve that misses most does so with a value; infinite where one was not measured.
    fn miss(&self, value: f64) -> f64 {
        let misses = self.curves.iter().map(|curve| match at(curve, value) {
            Some(measured) => curve.wanted.miss(measured),
            None => f64::INFINITY,
        });
        misses.fold(0.0, f64::max)
    }

    /// The value with which the least is missing, and what is.
    fn nearest(&self, values: &[f64]) -> String {
        let nearest =
            values.iter().copied().min_by(|one, other| self.miss(*one).total_cmp(&self.miss(*other)));
        let missing = nearest.and_then(|value| {
            let of = |curve: &Curve| at(curve, value).map_or(f64::INFINITY, |found| curve.wanted.miss(found));
            let curve = self.curves.iter().max_by(|one, other| of(one).total_cmp(&of(other)))?;
            Some((value, curve, at(curve, value)?))
        });
        let Some((value, Curve { name, wanted, .. }, found)) = missing else { return String::new() };
        let (found, wanted) = (self.measured.text(found), wanted.text(&self.measured));
        format!(", and with {} {name} comes nearest: {found}, not {wanted}", self.quantity.text(value))
    }

    /// The limits, each once, with the name of the curve that it is for; one that is for several has no
    /// curve's name.
    fn limits(&self) -> Vec<(String, f64)> {
        let mut limits: Vec<(String, f64)> = Vec::new();
        for Curve { name, wanted, .. } in &self.curves {
            for limit in wanted.limits() {
                match limits.iter_mut().find(|known| known.1 == limit) {
                    Some(known) => known.0 = "limit".into(),
                    None => limits.push((name.clone(), limit)),
                }
            }
        }
        limits
    }
}

fn at(curve: &Curve, value: f64) -> Option<f64> {
    curve.points.iter().find(|point| point.0 == value).map(|point| point.1)
}

/// All of some values: a category's names, or the first and the last of numbers.
fn span(values: &[f64], axis: &Axis) -> String {
    match values {
        _ if !axis.names().is_empty() => {
            values.iter().map(|value| axis.text(*value)).collect::<Vec<_>>().join(", ")
        }
        [first, .., last] => format!("{} to {}", number(*first), axis.text(*last)),
        _ => values.iter().map(|value| axis.text(*value)).collect(),
    }
}

/// The values that fit, in runs of neighbours, and the neighbours of those that do not.
fn ranges(values: &[f64], fits: &[bool], axis: &Axis) -> String {
    let (mut ranges, mut beyond) = (Vec::new(), Vec::new());
    let mut start = 0;
    for run in fits.chunk_by(|one, next| one == next) {
        let run_values = &values[start..start + run.len()];
        if run[0] {
            ranges.push(span(run_values, axis));
        } else {
            // Of those that do not fit the nearest to others that do.
            let (first, last) = (run_values[0], run_values[run_values.len() - 1]);
            let before = (start > 0).then_some(first);
            let after = (start + run.len() < values.len()).then_some(last);
            beyond.extend(before.into_iter().chain(after));
        }
        start += run.len();
    }
    beyond.dedup();
    let beyond: Vec<_> = beyond.into_iter().map(|value| axis.text(value)).collect();
    let not = if beyond.is_empty() { String::new() } else { format!(", not {}", beyond.join(" or ")) };
    format!("{}{not}", ranges.join(" or "))
}
