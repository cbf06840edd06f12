//! The curves of a run, as figures: events a second, simulated time, how far federates are apart, rollbacks,
//! queues, memory, and what the model says of itself.

use paceline_report::{Axis, Figure, Kind, Series};

use super::history::History;

/// Curves of the model that are drawn.
pub(crate) const SERIES_MAX: usize = 6;
/// The largest number that is drawn.
const MOST: f64 = 1e15;

/// The places of the numbers in a [`Course`].
pub(crate) const SIMULATED_S: usize = 0;
pub(crate) const EVENTS: usize = 1;
pub(crate) const EFFICIENCY: usize = 2;
pub(crate) const WAITING: usize = 3;
pub(crate) const MEMORY_MB: usize = 4;
/// From the LVT furthest behind to the middle one, and to the one furthest ahead, in simulated seconds.
pub(crate) const SPREAD_MIDDLE_S: usize = 5;
pub(crate) const SPREAD_S: usize = 6;
/// Rollbacks, and events undone, since the start.
pub(crate) const ROLLBACKS: usize = 7;
pub(crate) const UNDONE: usize = 8;

/// Numbers of the run over real seconds.
pub(crate) type Course = History<9>;
/// Numbers of the model over simulated seconds.
pub(crate) type ModelCourse = History<SERIES_MAX>;

fn figure(title: &str, x: Axis, y: Axis, series: Vec<Series>) -> Figure {
    Figure { title: title.into(), caption: String::new(), x, y, series }
}

/// A series without what cannot be drawn.
fn series(name: &str, points: Vec<(f64, f64)>) -> Series {
    let drawn = |(x, y): &(f64, f64)| x.abs() <= MOST && y.abs() <= MOST;
    Series::ours(name, Kind::Lines, points.into_iter().filter(drawn).collect())
}

/// Of the run over real time. `work` is what it counts: events, or steps.
pub(crate) fn of_run(course: &Course, work: &str) -> Vec<Figure> {
    let real = || Axis::linear("real time", "s");
    let one =
        |title: &str, y: Axis, points: Vec<(f64, f64)>| figure(title, real(), y, vec![series(title, points)]);
    let is_any = |number: usize| course.of(number).iter().any(|(_, value)| *value > 0.0);
    let per_second = format!("{work} a second");
    let mut figures = vec![
        one(&per_second, Axis::linear(per_second.clone(), ""), course.rates_of(EVENTS)),
        one("Simulated time", Axis::linear("simulated time", "s"), course.of(SIMULATED_S)),
    ];
    if is_any(SPREAD_S) {
        let ahead = Axis::linear("ahead of the furthest behind", "s");
        let lines = [("the middle federate", SPREAD_MIDDLE_S), ("the furthest ahead", SPREAD_S)];
        let lines = lines.map(|(name, number)| series(name, course.of(number)));
        figures.push(figure("Spread of LVTs", real(), ahead, lines.to_vec()));
    }
    let efficiency = course.of(EFFICIENCY);
    if efficiency.iter().any(|(_, part)| *part < 100.0) {
        figures.push(one("Efficiency", Axis::linear("events that stay", "%"), efficiency));
    }
    if is_any(ROLLBACKS) {
        let lines = [("rollbacks", ROLLBACKS), ("events undone", UNDONE)];
        let lines = lines.map(|(name, number)| series(name, course.rates_of(number)));
        figures.push(figure("Rollbacks", real(), Axis::linear("a second", ""), lines.to_vec()));
    }
    if is_any(WAITING) {
        figures.push(one("Events waiting", Axis::linear("events", ""), course.of(WAITING)));
    }
    figures.push(one("Memory", Axis::linear("memory", "MB"), course.of(MEMORY_MB)));
    figures.retain(has_points);
    figures
}

/// What the model says of itself over simulated time, by these names.
pub(crate) fn of_model(course: &ModelCourse, names: &[String]) -> Vec<Figure> {
    let one = |(number, name): (usize, &String)| {
        let (x, y) = (Axis::linear("simulated time", "s"), Axis::linear(name, ""));
        figure(name, x, y, vec![series(name, course.of(number))])
    };
    names.iter().enumerate().map(one).filter(has_points).collect()
}

/// Whether there is more than a single moment.
fn has_points(figure: &Figure) -> bool {
    figure.series.iter().any(|series| series.points.len() > 1)
}
