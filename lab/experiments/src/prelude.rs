//! What the files of experiments use of the crate and of reports.

pub(crate) use paceline_report::{
    Axis, Check, Criterion, Curve, Estimate, Figure, Finding, Kind, Ours, Series, Shape, Statement, Sweep,
    Table, Tolerance, Wanted,
};
pub(crate) use paceline_scenario::ScenarioError;

pub(crate) use crate::Calibration;
pub(crate) use crate::claims::{Claims, Compared, among, check, several};
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
