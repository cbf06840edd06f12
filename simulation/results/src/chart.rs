//! What a model wants drawn of a finished run: how values are distributed, or a number over simulated time.
//!
//! Invariant: a chart depends on the model and its outputs only, as all results do, and has a bounded number
//! of points.

/// Bars of a histogram, at most.
const BARS_MAX: usize = 40;
/// Points of a course, at most.
const POINTS_MAX: usize = 400;

/// What the points of a [`Chart`] are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChartKind {
    /// The middle of a range of values, and how many values lie in it.
    Histogram,
    /// Simulated time in seconds, and a number from then on.
    Course,
}

/// A chart in the report of a run, see [`Summary::chart`](crate::Summary::chart).
///
/// ```
/// use paceline_results::Chart;
///
/// let chart = Chart::histogram("travel_s", [12.0, 14.0, 31.0]);
/// assert_eq!(chart.points.iter().map(|(_, count)| count).sum::<f64>(), 3.0);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// In snake_case with its unit last: `travel_s`.
    pub name: String,
    /// What its points are.
    pub kind: ChartKind,
    /// The points, from left to right.
    pub points: Vec<(f64, f64)>,
}

impl Chart {
    /// How many of `values` lie in which range. Ranges have equal widths of 1, 2 or 5 times a power of ten;
    /// what is not finite is left out.
    pub fn histogram<V>(name: impl Into<String>, values: V) -> Self
    where
        V: IntoIterator<Item = f64, IntoIter: Clone>,
    {
        // Gone through twice rather than sorted: there may be millions.
        let values = values.into_iter().filter(|value| value.is_finite());
        let ends = values.clone().fold(None, |ends: Option<(f64, f64)>, value| {
            let (least, greatest) = ends.unwrap_or((value, value));
            Some((least.min(value), greatest.max(value)))
        });
        let mut points = Vec::new();
        if let Some((least, greatest)) = ends {
            let width = width(greatest - least, greatest.abs().max(least.abs()));
            let first = (least / width).floor();
            let bars = ((greatest / width).floor() - first) as usize + 1;
            points = (0..bars).map(|bar| ((first + bar as f64 + 0.5) * width, 0.0)).collect();
            for value in values {
                let bar = ((value / width).floor() - first) as usize;
                points[bar.min(bars - 1)].1 += 1.0;
            }
        }
        Self { name: name.into(), kind: ChartKind::Histogram, points }
    }

    /// A number over simulated time in seconds. Of a great many points those are kept that lie evenly among
    /// them, the last one too.
    pub fn course(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        let finite = points.into_iter().filter(|(at, value)| at.is_finite() && value.is_finite());
        let points: Vec<_> = finite.collect();
        let step = points.len().div_ceil(POINTS_MAX).max(1);
        let last = points.len().saturating_sub(1);
        let kept = points.iter().enumerate().filter(|(place, _)| place % step == 0 || *place == last);
        Self { name: name.into(), kind: ChartKind::Course, points: kept.map(|(_, point)| *point).collect() }
    }
}

/// The least width of 1, 2 or 5 times a power of ten that divides `span` into few enough ranges.
fn width(span: f64, most: f64) -> f64 {
    // Below this, neighbouring ranges would be the same number.
    let least = (span / (BARS_MAX - 2) as f64).max(most * 1e-12).max(1e-300);
    let decade = 10_f64.powf(least.log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0].into_iter().find(|factor| factor * decade >= least);
    factor.unwrap_or(10.0) * decade
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn each_value_is_in_the_bar_of_its_range(
            values in prop::collection::vec(-1e9..1e9, 1..200),
            scale in -9..9_i32,
        ) {
            let values: Vec<f64> = values.iter().map(|value| value * 10_f64.powi(scale)).collect();
            let chart = Chart::histogram("any", values.clone());
            let bars = chart.points.len();
            prop_assert!((1..=BARS_MAX).contains(&bars), "{bars} bars");
            prop_assert_eq!(chart.points.iter().map(|bar| bar.1).sum::<f64>(), values.len() as f64);
            if bars > 1 {
                let width = chart.points[1].0 - chart.points[0].0;
                for (middle, count) in &chart.points {
                    // The ends of ranges are rounded.
                    let near = |by: f64| {
                        let inside = |value: &&f64| (**value - middle).abs() <= width * (0.5 + by);
                        values.iter().filter(inside).count() as f64
                    };
                    prop_assert!((near(-1e-6)..=near(1e-6)).contains(count), "{middle}: {count}");
                }
            }
        }

        #[test]
        fn a_course_keeps_its_ends(points in 1..5000_usize) {
            let all: Vec<_> = (0..points).map(|place| (place as f64, 1.0)).collect();
            let chart = Chart::course("any", all.clone());
            prop_assert!(chart.points.len() <= POINTS_MAX + 1);
            prop_assert_eq!((chart.points.first(), chart.points.last()), (all.first(), all.last()));
        }
    }

    #[test]
    fn strange_values_are_left_out() {
        let values = [f64::NAN, 1.0, f64::INFINITY, 1.0];
        assert_eq!(Chart::histogram("any", values).points.iter().map(|bar| bar.1).sum::<f64>(), 2.0);
        assert!(Chart::histogram("any", []).points.is_empty());
        assert_eq!(Chart::histogram("any", [0.0, 0.0]).points.len(), 1);
    }
}
