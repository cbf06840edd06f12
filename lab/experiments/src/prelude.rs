//! What the files of experiments use of the crate and of reports.

pub(crate) use paceline_report::{Axis, Check, Curve, Figure, Finding, Kind, Series, Sweep, Table, Wanted};
pub(crate) use paceline_scenario::ScenarioError;

pub(crate) use crate::Calibration;
pub(crate) use crate::claims::{Claims, Ours, among, check, several};
pub(crate) use crate::experiment::{catalogue, named};
pub(crate) use crate::parameters::Parameters;
pub(crate) use crate::plan::{Cell, CellError, Found, Measure, Plan, Results, Setup};
pub(crate) use crate::sample::{mean, median};
pub(crate) use crate::sweep::Over;

/// A figure over two axes.
pub(crate) fn plot(
    title: impl Into<String>,
    caption: impl Into<String>,
    [x, y]: [Axis; 2],
    series: Vec<Series>,
) -> Figure {
    Figure { title: title.into(), caption: caption.into(), x, y, series }
}
