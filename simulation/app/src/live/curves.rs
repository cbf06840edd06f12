//! The curves of a run, drawn as SVG: events a second, simulated time, efficiency, queues, memory, and what
//! the model says of itself.

use paceline_report::{Axis, Figure, Kind, Series, svg};

use super::history::History;

/// Curves of the model that are drawn.
pub(super) const SERIES_MAX: usize = 6;
/// The largest number that is drawn.
const MOST: f64 = 1e15;

/// The places of the numbers in a [`Course`].
pub(super) const SIMULATED_S: usize = 0;
pub(super) const EVENTS: usize = 1;
pub(super) const EFFICIENCY: usize = 2;
pub(super) const WAITING: usize = 3;
pub(super) const MEMORY_MB: usize = 4;

/// Numbers of the run over real seconds.
pub(super) type Course = History<5>;
/// Numbers of the model over simulated seconds.
pub(super) type ModelCourse = History<SERIES_MAX>;

fn figure(title: &str, x: Axis, y: Axis, series: Vec<Series>) -> Figure {
    Figure { title: title.into(), caption: String::new(), x, y, series }
}

/// A series without what cannot be drawn.
fn series(name: &str, points: Vec<(f64, f64)>) -> Series {
    let drawn = |(x, y): &(f64, f64)| x.abs() <= MOST && y.abs() <= MOST;
    Series::ours(name, Kind::Lines, points.into_iter().filter(drawn).collect())
}

/// All curves, as HTML. `work` is what the run counts: events, or steps.
pub(super) fn html(course: &Course, model: &ModelCourse, names: &[String], work: &str) -> String {
    let real = || Axis::linear("real time", "s");
    let one =
        |title: &str, y: Axis, points: Vec<(f64, f64)>| figure(title, real(), y, vec![series(title, points)]);
    let per_second = format!("{work} a second");
    let mut figures = vec![
        one(&per_second, Axis::linear(per_second.clone(), ""), course.rates_of(EVENTS)),
        one("Simulated time", Axis::linear("simulated time", "s"), course.of(SIMULATED_S)),
    ];
    let efficiency = course.of(EFFICIENCY);
    if efficiency.iter().any(|(_, part)| *part < 100.0) {
        figures.push(one("Efficiency", Axis::linear("events that stay", "%"), efficiency));
    }
    let waiting = course.of(WAITING);
    if waiting.iter().any(|(_, events)| *events > 0.0) {
        figures.push(one("Events waiting", Axis::linear("events", ""), waiting));
    }
    figures.push(one("Memory", Axis::linear("memory", "MB"), course.of(MEMORY_MB)));
    for (number, name) in names.iter().enumerate() {
        let simulated = Axis::linear("simulated time", "s");
        figures.push(figure(name, simulated, Axis::linear(name, ""), vec![series(name, model.of(number))]));
    }
    let drawn = figures.iter().enumerate().filter(|(_, figure)| has_points(figure));
    let drawn = drawn.filter_map(|(number, figure)| {
        // What cannot be drawn is left out; the numbers stand beside.
        let svg = svg(figure, &format!("curve{number}")).ok()?;
        Some(format!("<figure><figcaption>{}</figcaption>{svg}</figure>", title(&figure.title)))
    });
    // A line of an event must not have one.
    drawn.collect::<String>().replace('\r', " ")
}

/// A title as HTML, with a capital: a model may have named it.
fn title(title: &str) -> String {
    let mut letters = title.chars();
    let title: String =
        letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect());
    title.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn has_points(figure: &Figure) -> bool {
    figure.series.iter().any(|series| series.points.len() > 1)
}
