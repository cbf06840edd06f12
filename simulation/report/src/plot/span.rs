//! The part of an axis that a figure shows, and its ticks.
//!
//! The plotting library's own ranges are not used: spans and values below 1e-16 are nothing to them, and get
//! no ticks.
//!
//! Invariant: ends and ticks are finite, the start is below the end, and ticks rise.

use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};

use crate::figure::{Axis, Scale};
use crate::number::{number, tick};
use crate::plot::short;

/// The margin between the outermost points and the frame, as a share of the span.
const MARGIN: f64 = 0.04;
/// Values that may have ticks of their own: so many, so far from each other, of an axis' whole length.
const VALUES_MAX: usize = 10;
const APART: i32 = 650;
const FINE: i32 = 10_000;
/// About how many ticks there are.
const TICKS: f64 = 6.0;
/// The least span, as a share of the largest magnitude in it: below, differences are lost in rounding.
const SPAN_MIN: f64 = 1e-9;
/// Magnitudes below count as zero on linear axes, and are the least of logarithmic ones.
const VALUE_MIN: f64 = 1e-290;
/// Powers of ten beyond are not finite, or not exact.
const LOG_MAX: f64 = 305.0;

/// A span of an axis.
#[derive(Clone, Debug)]
pub struct Span {
    range: Range<f64>,
    ticks: Vec<f64>,
    minor: Vec<f64>,
    labels: Labels,
    /// Whether ticks are at values that were given.
    exact: bool,
}

#[derive(Clone, Debug)]
enum Labels {
    Step(f64),
    Number,
    Names(Vec<String>),
}

impl Span {
    /// The span of `axis` that shows all `values`, those it has no place for aside. It begins at zero if the
    /// least value is below `zero_from` times the greatest: 1 where bars stand on it.
    pub fn of(axis: &Axis, values: impl Iterator<Item = f64>, zero_from: f64) -> Self {
        let bounds =
            values.filter(|value| axis.holds(*value)).fold(None, |bounds: Option<(f64, f64)>, value| {
                let (low, high) = bounds.unwrap_or((value, value));
                Some((low.min(value), high.max(value)))
            });
        match &axis.scale {
            Scale::Linear => Self::linear(bounds.unwrap_or((0.0, 1.0)), zero_from),
            Scale::Log => Self::log(bounds.unwrap_or((1.0, 10.0))),
            Scale::Categories(names) => Self {
                range: -0.5..names.len().max(1) as f64 - 0.5,
                ticks: (0..names.len()).map(|place| place as f64).collect(),
                minor: Vec::new(),
                labels: Labels::Names(names.iter().map(|name| short(name)).collect()),
                exact: false,
            },
        }
    }

    fn linear((mut low, mut high): (f64, f64), zero_from: f64) -> Self {
        if low > 0.0 && low <= high * zero_from {
            low = 0.0;
        } else if high < 0.0 && high >= low * zero_from {
            high = 0.0;
        }
        let least = (low.abs().max(high.abs()) * SPAN_MIN).max(VALUE_MIN);
        if high - low < least {
            let wider =
                if low.abs().max(high.abs()) <= VALUE_MIN { 1.0 } else { low.abs().max(high.abs()) * 0.1 };
            (low, high) = (low - wider, high + wider);
        }
        let margin = (high - low) * MARGIN;
        let range =
            (if low == 0.0 { 0.0 } else { low - margin })..(if high == 0.0 { 0.0 } else { high + margin });
        let step = nice((range.end - range.start) / TICKS);
        let (first, last) = ((range.start / step).ceil(), (range.end / step).floor());
        let count = (last - first) as usize;
        let ticks = (0..=count).map(|place| (first + place as f64) * step).collect();
        Self { range, ticks, minor: Vec::new(), labels: Labels::Step(step), exact: false }
    }

    fn log((low, high): (f64, f64)) -> Self {
        let (mut low, mut high) = (low.max(VALUE_MIN).log10(), high.max(VALUE_MIN).log10());
        if high - low < 0.5 {
            let middle = low.midpoint(high);
            (low, high) = (middle - 0.3, middle + 0.3);
        }
        let margin = (high - low) * MARGIN;
        (low, high) = ((low - margin).max(-LOG_MAX), (high + margin).min(LOG_MAX));
        let decades = low.floor() as i32..=high.floor() as i32;
        let within = |exponent: i32, units: &[i32]| {
            let logs = units.iter().map(move |unit| f64::from(*unit).log10() + f64::from(exponent));
            logs.filter(|log| (low..=high).contains(log)).map(|log| 10_f64.powf(log)).collect::<Vec<_>>()
        };
        let every = ((high - low) / 8.0).ceil().max(1.0) as i32;
        let units: &[i32] = match high - low {
            narrow if narrow < 0.9 => &[1, 2, 3, 4, 5, 6, 7, 8, 9],
            middling if middling < 2.5 => &[1, 2, 5],
            _ => &[1],
        };
        let bold = decades.clone().filter(|exponent| exponent.rem_euclid(every) == 0);
        let ticks = bold.flat_map(|exponent| within(exponent, units)).collect();
        let minor = if high - low < 4.0 {
            decades.flat_map(|exponent| within(exponent, &[1, 2, 3, 4, 5, 6, 7, 8, 9])).collect()
        } else {
            Vec::new()
        };
        Self {
            range: 10_f64.powf(low)..10_f64.powf(high),
            ticks,
            minor,
            labels: Labels::Number,
            exact: false,
        }
    }

    /// This span with ticks at `values`, if they are few and far enough from each other: they are what was
    /// measured.
    pub fn with_ticks_at(mut self, values: impl Iterator<Item = f64>) -> Self {
        let values = sorted(values);
        let place = |value: &f64| self.map(value, (0, FINE));
        let apart = values.windows(2).all(|pair| place(&pair[1]) - place(&pair[0]) >= APART);
        if (2..=VALUES_MAX).contains(&values.len()) && apart && !matches!(self.labels, Labels::Names(_)) {
            self.ticks = values;
            self.exact = true;
        }
        self
    }

    /// This span with room for half a bar beyond the outermost of `values`.
    pub fn with_room_for_bars(mut self, values: impl Iterator<Item = f64>) -> Self {
        let values = sorted(values);
        let Range { start, end } = self.range;
        self.range = match (self.labels.clone(), values.len().max(2) as f64 - 1.0) {
            (Labels::Names(_), _) => start..end,
            (Labels::Step(_), gaps) => {
                let room = (end - start) / gaps / 2.0;
                start - room..end + room
            }
            (Labels::Number, gaps) => {
                let room = (end / start).powf(0.5 / gaps);
                start / room..end * room
            }
        };
        self
    }

    /// This span without ticks and labels.
    pub fn silent(mut self) -> Self {
        self.ticks.clear();
        self
    }

    /// The value at which bars stand: zero, or the end next to it.
    pub fn foot(&self) -> f64 {
        match self.labels {
            Labels::Step(_) => 0_f64.clamp(self.range.start, self.range.end),
            Labels::Number | Labels::Names(_) => self.range.start,
        }
    }

    /// The largest number of characters of a tick's label.
    pub fn label_chars(&self) -> usize {
        self.ticks.iter().map(|tick| self.format_ext(tick).chars().count()).max().unwrap_or(0)
    }
}

/// The different values, rising.
fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    values
}

/// The next step at or above `about` that people count in: 1, 2 or 5 times a power of ten.
fn nice(about: f64) -> f64 {
    let power = 10_f64.powf(about.log10().floor());
    let unit = [1.0, 2.0, 5.0].into_iter().find(|unit| unit * power >= about);
    unit.unwrap_or(10.0) * power
}

impl Ranged for Span {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (from, to): (i32, i32)) -> i32 {
        let share = |value: f64, start: f64, end: f64| (value - start) / (end - start);
        let share = match self.labels {
            Labels::Number => share(value.log10(), self.range.start.log10(), self.range.end.log10()),
            Labels::Step(_) | Labels::Names(_) => share(*value, self.range.start, self.range.end),
        };
        from + (share.clamp(0.0, 1.0) * f64::from(to - from)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if hint.weight().allow_light_points() { self.minor.clone() } else { self.ticks.clone() }
    }

    fn range(&self) -> Range<f64> {
        self.range.clone()
    }
}

impl ValueFormatter<f64> for Span {
    fn format_ext(&self, value: &f64) -> String {
        match &self.labels {
            Labels::Step(step) if !self.exact => tick(*value, *step),
            Labels::Step(_) | Labels::Number => number(*value),
            Labels::Names(names) => names.get(value.round() as usize).cloned().unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::figure::VALUE_MAX;

    fn check(axis: &Axis, values: &[f64], zero_from: f64) -> Result<(), TestCaseError> {
        let span = Span::of(axis, values.iter().copied(), zero_from);
        let Range { start, end } = span.range();
        prop_assert!(start.is_finite() && end.is_finite() && start < end, "{start}..{end}");
        prop_assert!((2..=30).contains(&span.ticks.len()), "{:?}", span.ticks);
        for ticks in [&span.ticks, &span.minor] {
            prop_assert!(ticks.is_sorted_by(|one, next| one < next), "{ticks:?}");
            prop_assert!(ticks.iter().all(|tick| (start..=end).contains(tick)), "{ticks:?} {start}..{end}");
        }
        for pair in values.iter().filter(|value| axis.holds(**value)).collect::<Vec<_>>().windows(2) {
            let (one, next) = (span.map(pair[0], (0, 7000)), span.map(pair[1], (0, 7000)));
            prop_assert!((0..=7000).contains(&one) && (0..=7000).contains(&next));
            prop_assert!(one == next || (one < next) == (pair[0] < pair[1]), "order is kept");
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn any_values_have_a_span_with_ticks(
            values in proptest::collection::vec((-1.0..1.0, -320..300_i32), 0..6),
            spread in prop_oneof![Just(1.0), Just(1e-12)],
            zero_from in 0.0..=1.0,
            base in prop_oneof![Just(0.0), Just(1.0), Just(-1e9)],
        ) {
            let value = |(unit, decade): (f64, i32)| (base + spread * unit * 10_f64.powi(decade)).clamp(-VALUE_MAX, VALUE_MAX);
            let values: Vec<f64> = values.into_iter().map(value).collect();
            check(&Axis::linear("", ""), &values, zero_from)?;
            check(&Axis::log("", ""), &values, zero_from)?;
        }
    }

    #[test]
    fn bars_stand_on_zero_and_counting_starts_there() {
        let span = |values: &[f64], zero_from| {
            Span::of(&Axis::linear("", ""), values.iter().copied(), zero_from).range()
        };
        assert!(span(&[90.0, 100.0], 1.0).start == 0.0);
        assert!(span(&[90.0, 100.0], 0.5).start > 80.0);
        assert!(span(&[10.0, 100.0], 0.5).start == 0.0);
        assert!(span(&[-90.0, -100.0], 1.0).end == 0.0);
    }
}
