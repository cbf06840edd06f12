//! What a figure shows: axes and series of points, without a word on how it looks.
//!
//! A figure is plain data and may be anything; [`Figure::check`] says whether it can be drawn.

use thiserror::Error;

use crate::number::number;

/// The largest magnitude of a coordinate: spans between such numbers are still numbers.
pub const VALUE_MAX: f64 = 1e300;

/// How an axis maps values to places.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// Equal differences are equally long.
    #[default]
    Linear,
    /// Equal ratios are equally long. Points at or below zero have no place and are left out; the page says
    /// how many.
    Log,
    /// One place for each name; values are indices into the names.
    Categories(Vec<String>),
}

/// An axis of a figure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Axis {
    /// What is measured: `run time`.
    pub label: String,
    /// Its unit, empty for plain numbers: `s`.
    pub unit: String,
    /// How values become places.
    pub scale: Scale,
}

impl Axis {
    /// A linear axis.
    pub fn linear(label: impl Into<String>, unit: impl Into<String>) -> Self {
        Self { label: label.into(), unit: unit.into(), scale: Scale::Linear }
    }

    /// A logarithmic axis.
    pub fn log(label: impl Into<String>, unit: impl Into<String>) -> Self {
        Self { label: label.into(), unit: unit.into(), scale: Scale::Log }
    }

    /// An axis with a place for each of `names`.
    pub fn categories<N: Into<String>>(label: impl Into<String>, names: impl IntoIterator<Item = N>) -> Self {
        let scale = Scale::Categories(names.into_iter().map(Into::into).collect());
        Self { label: label.into(), unit: String::new(), scale }
    }

    /// Label and unit: `run time (s)`.
    pub fn name(&self) -> String {
        if self.unit.is_empty() { self.label.clone() } else { format!("{} ({})", self.label, self.unit) }
    }

    /// The names of its categories, none where it has none.
    pub fn names(&self) -> &[String] {
        if let Scale::Categories(names) = &self.scale { names } else { &[] }
    }

    /// A value as it is read on it: its category, or the number with its unit.
    pub fn text(&self, value: f64) -> String {
        match self.names().get(value as usize) {
            Some(name) => name.clone(),
            None => format!("{} {}", number(value), self.unit).trim_end().to_owned(),
        }
    }

    /// Whether a finite value has a place on it.
    pub(crate) fn holds(&self, value: f64) -> bool {
        self.scale != Scale::Log || value > 0.0
    }
}

/// How a series is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// Points joined by straight lines, in the order given; marked where they are few.
    #[default]
    Lines,
    /// A bar at each point, side by side with those of the other series of bars.
    Bars,
    /// Marks that no line joins.
    Points,
    /// Each point's value holds until the next point; without marks, so also for a line to compare with.
    Steps,
    /// Pairs of points with the same x: the lower and the upper end of an interval. They have the colour of
    /// the series of the same name, and no entry of their own in the legend.
    Intervals,
}

/// Points that belong together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// What they are. A published series has the name of the series it is to be compared with: it takes its
    /// colour.
    pub name: String,
    /// How they are drawn.
    pub kind: Kind,
    /// Whether they are stated by the source, not found by us: drawn hollow and dashed.
    pub published: bool,
    /// The points, x and y.
    pub points: Vec<(f64, f64)>,
}

impl Series {
    /// A series found by us.
    pub fn ours(name: impl Into<String>, kind: Kind, points: Vec<(f64, f64)>) -> Self {
        Self { name: name.into(), kind, published: false, points }
    }

    /// A series that the source states.
    pub fn published(name: impl Into<String>, kind: Kind, points: Vec<(f64, f64)>) -> Self {
        Self { name: name.into(), kind, published: true, points }
    }

    /// Its name, and whether it is the source's, or an interval.
    pub fn full_name(&self) -> String {
        match (self.published, self.kind) {
            (true, _) => format!("{} (published)", self.name),
            (false, Kind::Intervals) => format!("{} (interval)", self.name),
            (false, _) => self.name.clone(),
        }
    }
}

/// Series of points on two axes, with what is said of them.
///
/// ```
/// use paceline_report::{Axis, Figure, Kind, Series, svg};
///
/// let figure = Figure {
///     title: "Gain over the number of domains".into(),
///     caption: "Run time under credit by run time under PSX.".into(),
///     x: Axis::linear("domains", ""),
///     y: Axis::log("gain", ""),
///     series: vec![
///         Series::ours("optimistic", Kind::Lines, vec![(16.0, 0.9), (24.0, 1.1), (64.0, 18.2)]),
///         Series::published("optimistic", Kind::Points, vec![(64.0, 20.0)]),
///     ],
/// };
/// assert!(svg(&figure, "psx-fig12-1")?.starts_with("<svg"));
/// # Ok::<(), paceline_report::FigureError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figure {
    /// What it shows, in one line.
    pub title: String,
    /// What a reader should see in it.
    pub caption: String,
    /// The axis to the right.
    pub x: Axis,
    /// The axis upwards.
    pub y: Axis,
    /// What is drawn, the first at the bottom.
    pub series: Vec<Series>,
}

/// Why a figure cannot be drawn.
#[derive(Clone, Debug, PartialEq, Error)]
#[expect(missing_docs, reason = "the text of an error says what its fields are")]
pub enum FigureError {
    /// A coordinate is infinite, not a number, or beyond [`VALUE_MAX`].
    #[error("point {point} of series `{series}` is ({x}, {y}), which cannot be drawn")]
    NoPlace { series: String, point: usize, x: f64, y: f64 },
    /// A coordinate of an axis with categories is not the index of one.
    #[error("point {point} of series `{series}` is at {value}, but the axis has the categories 0 to {last}")]
    NoCategory { series: String, point: usize, value: f64, last: i64 },
}

impl Figure {
    /// Whether it can be drawn.
    ///
    /// # Errors
    ///
    /// The first point that has no place.
    pub fn check(&self) -> Result<(), FigureError> {
        for series in &self.series {
            for (point, &(x, y)) in series.points.iter().enumerate() {
                let name = || series.name.clone();
                if !(x.abs() <= VALUE_MAX && y.abs() <= VALUE_MAX) {
                    return Err(FigureError::NoPlace { series: name(), point, x, y });
                }
                for (axis, value) in [(&self.x, x), (&self.y, y)] {
                    let Scale::Categories(names) = &axis.scale else { continue };
                    if value.fract() != 0.0 || !(0.0..names.len() as f64).contains(&value) {
                        let last = names.len() as i64 - 1;
                        return Err(FigureError::NoCategory { series: name(), point, value, last });
                    }
                }
            }
        }
        Ok(())
    }

    /// How many points are left out because a logarithmic axis has no place for them.
    pub fn left_out(&self) -> usize {
        let points = self.series.iter().flat_map(|series| &series.points);
        points.filter(|point| !self.shows(point)).count()
    }

    /// Whether a finite point has a place.
    pub(crate) fn shows(&self, &(x, y): &(f64, f64)) -> bool {
        self.x.holds(x) && self.y.holds(y)
    }
}
