//! Lines of results as one HTML page: a section for each group, with plots and tables.
//!
//! What a section checks is whether the measurement can be trusted: that all rows of a table computed the
//! same, and that the rounds agree. Of the long run it checks whether it keeps its speed.

use std::path::Path;

use paceline_report::{
    Axis, Check, Criterion, Figure, Finding, Kind, Ours, RanOn, Series, Shape, Table, page,
};

use crate::drift;
use crate::groups::{self, Group};
use crate::results::Line;

/// The spread of a row that is small enough.
const SPREAD_PERCENT: f64 = 10.0;
/// How much of its speed a long run keeps at least.
const LAST_BY_FIRST: f64 = 0.8;

/// Draws the lines of one file as a page in another.
pub fn write(lines: &Path, to: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(lines).map_err(|error| format!("{}: {error}", lines.display()))?;
    let parsed: Result<Vec<Line>, _> = text.lines().map(serde_json::from_str).collect();
    let all = parsed.map_err(|error| format!("{}: {error}", lines.display()))?;
    let of = |group: &Group| -> Vec<Line> {
        all.iter().filter(|line| line.group == group.name).cloned().collect()
    };
    let groups = groups::all().into_iter().map(|group| (of(&group), group));
    let findings: Vec<Finding> =
        groups.filter(|(lines, _)| !lines.is_empty()).map(|(lines, group)| finding(&group, &lines)).collect();
    let rounds = all.iter().map(|line| line.rounds).max().unwrap_or(0);
    let lead = [
        format!(
            "Committed events a second, medians of {rounds} interleaved rounds; the long run is one run."
        ),
        "The checks show whether the measurement can be trusted and whether a long run keeps its speed."
            .into(),
    ];
    let page = page("Performance of the engine", &lead, &findings, &[]);
    std::fs::write(to, page).map_err(|error| format!("{}: {error}", to.display()))
}

/// The different values of `of`, in the order of the lines.
fn distinct<'a>(lines: &'a [Line], of: impl Fn(&'a Line) -> &'a str) -> Vec<&'a str> {
    let mut found = Vec::new();
    for value in lines.iter().map(of) {
        if !found.contains(&value) {
            found.push(value);
        }
    }
    found
}

fn finding(group: &Group, lines: &[Line]) -> Finding {
    let cases = distinct(lines, |line| &line.case);
    let of = |case: &str| lines.iter().filter(|line| line.case == case).cloned().collect::<Vec<Line>>();
    let rates = figure(group, lines, "committed events a second", "M/s", |line| Some(line.rate / 1e6));
    let ratios = figure(group, lines, &format!("rate, {}", group.per), "", |line| Some(line.ratio));
    let efficiency =
        figure(group, lines, "efficiency", "%", |line| line.efficiency.map(|share| 100.0 * share));
    let mut figures = vec![rates, ratios];
    figures.extend(Some(efficiency).filter(|figure| !figure.series.is_empty() && group.name != "drift"));
    Finding {
        name: group.name.into(),
        title: group.title.into(),
        ran_on: RanOn::RealThreads,
        about: group.about.iter().map(|&paragraph| paragraph.into()).collect(),
        checks: checks(&cases, lines),
        figures,
        tables: cases.iter().map(|case| table(case, &of(case), group.per)).collect(),
        wall_seconds: lines.iter().map(|line| line.rounds as f64 * line.events as f64 / line.rate).sum(),
        ..Finding::default()
    }
}

/// One figure: a place for each case and a series for each way; in the long run a place for each tenth.
fn figure(
    group: &Group,
    lines: &[Line],
    what: &str,
    unit: &str,
    value: impl Fn(&Line) -> Option<f64>,
) -> Figure {
    let is_course = group.name == "drift";
    let place = |line: &'_ Line| if is_course { line.way.clone() } else { line.case.clone() };
    let name = |line: &'_ Line| if is_course { line.case.clone() } else { line.way.clone() };
    let (mut places, mut series): (Vec<String>, Vec<Series>) = (Vec::new(), Vec::new());
    // A whole run is no part of its course.
    let lines = lines.iter().filter(|line| !is_course || line.way != drift::WHOLE);
    for line in lines {
        if !places.contains(&place(line)) {
            places.push(place(line));
        }
        let Some(value) = value(line) else { continue };
        let at = places.iter().position(|known| *known == place(line)).expect("it was added above");
        let point = (at as f64, value);
        match series.iter_mut().find(|known| known.name == name(line)) {
            Some(known) => known.points.push(point),
            None => series.push(Series::ours(name(line), Kind::Bars, vec![point])),
        }
    }
    // Rates differ by up to a thousand times.
    let y = if unit == "%" || is_course { Axis::linear(what, unit) } else { Axis::log(what, unit) };
    let (title, x) = (format!("{}: {what}", group.title), if is_course { "part of the run" } else { "case" });
    Figure { title, caption: String::new(), x: Axis::categories(x, places), y, series }
}

fn table(case: &str, lines: &[Line], per: &str) -> Table {
    let mut table = Table::new(case, Line::columns(per));
    lines.iter().for_each(|line| table.row(line.cells()));
    table
}

fn checks(cases: &[&str], lines: &[Line]) -> Vec<Check> {
    let check = |what: String, ours: Ours, shape| Check { what, criterion: Criterion::goal(shape), ours };
    let mut checks = Vec::new();
    for case in cases {
        let digests: Vec<&String> =
            lines.iter().filter(|line| line.case == *case).filter_map(|line| line.digest.as_ref()).collect();
        if let Some(first) = digests.first() {
            let differ = digests.iter().filter(|digest| digest != &first).count();
            let ours = Ours::one(differ as f64, "rows").with(format!("digest {first}"));
            let criterion = Criterion::invariant(Shape::exactly(0.0));
            checks.push(Check {
                what: format!("{case}: rows whose digest differs from the first"),
                criterion,
                ours,
            });
        }
    }
    if let Some(last) = lines.iter().rfind(|line| line.group == "drift" && line.way != drift::WHOLE) {
        let what = "rate of the last tenth by that of the first".into();
        checks.push(check(what, Ours::one(last.ratio, ""), Shape::at_least(LAST_BY_FIRST)));
        return checks;
    }
    let widest = lines.iter().map(|line| line.spread_percent).fold(0.0, f64::max);
    checks.push(check("largest spread".into(), Ours::one(widest, "%"), Shape::at_most(SPREAD_PERCENT)));
    checks
}
