//! All that a report shows of a run, maps aside, as data: what stands in the page as JSON.

use paceline_engine::Gauge;
use paceline_report::{Axis, Figure, Kind, Series, name_and_unit};
use paceline_results::{Chart, ChartKind};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Recorded;
use crate::executable;
use crate::loaded::Source;
use crate::sampling::curves;
use crate::summary::Finished;
use crate::text::{self, Row};

/// The format of the data; another one is refused.
pub const FORMAT: u32 = 1;
/// Federates that have a bar each; more are drawn as a line, the busiest first.
const BARS_MAX: usize = 64;

/// A run, as its report shows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// [`FORMAT`].
    pub format: u32,
    pub scenario: String,
    pub model: String,
    /// Name and version of the program.
    pub program: String,
    /// Why it ended, and when.
    pub ended: String,
    pub digest: String,
    /// Whether it was asked to end before its end.
    pub is_interrupted: bool,
    /// How many processes it had; figures of how it went are of the first one.
    #[serde(default = "one")]
    pub processes: u32,
    pub results: Vec<Row>,
    /// How it was run, and more of it under a title.
    pub run: Vec<Row>,
    pub more: Option<(String, Vec<Row>)>,
    /// The keys of the scenario and their values.
    pub settings: Vec<Row>,
    /// What to type to repeat it.
    pub command: String,
    pub figures: Vec<Drawn>,
}

/// The processes of a run whose report is of a time when that was not said.
const fn one() -> u32 {
    1
}

/// Where in a report a figure stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Place {
    Run,
    Federates,
    Model,
}

/// A figure of a report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Drawn {
    pub place: Place,
    pub title: String,
    pub caption: String,
    /// Label and unit.
    pub x: (String, String),
    pub y: (String, String),
    pub is_bars: bool,
    /// A name and points each.
    pub series: Vec<(String, Vec<(f64, f64)>)>,
}

/// What a run was made from.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    settings: Vec<Row>,
    command: String,
}

impl Origin {
    /// The scenario that was read, and its keys.
    pub(crate) fn of(source: &Source) -> Self {
        let given = source.open().ok().map(|scenario| {
            let verb = if scenario.has("guest") { "emulate" } else { "run" };
            (serde_json::to_value(scenario.given()).unwrap_or_default(), verb)
        });
        let (given, verb) = given.unwrap_or((Value::Null, "run"));
        let mut settings = Vec::new();
        rows("", &given, &mut settings);
        let file = source.file.display().to_string();
        let overrides = source.overrides.iter().map(|change| format!(" --set {}", quoted(change)));
        let command =
            format!("{} {verb} {}{}", executable::name(), quoted(&file), overrides.collect::<String>());
        Self { settings, command }
    }
}

/// Adds a row for each value, by the path of its key.
fn rows(path: &str, value: &Value, to: &mut Vec<Row>) {
    match value {
        Value::Object(keys) => keys.iter().for_each(|(key, value)| {
            let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            rows(&path, value, to);
        }),
        Value::Array(values) if values.iter().any(Value::is_object) => {
            values.iter().enumerate().for_each(|(place, value)| rows(&format!("{path}[{place}]"), value, to));
        }
        Value::String(text) => to.push((path.to_owned(), text.clone())),
        Value::Null => {}
        other => to.push((path.to_owned(), other.to_string())),
    }
}

/// A word as a POSIX shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./=:,+%@".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

impl Record {
    /// What is to be known of the figures of a place, where they do not show the whole run.
    pub fn of_first(&self, place: Place) -> Option<String> {
        let said = || {
            format!(
                "The run had {} processes. These figures are of the first one alone, which has a part of the LPs; \
                 results and digest are of all.",
                self.processes
            )
        };
        (self.processes > 1 && place != Place::Model).then(said)
    }

    /// Of a run that has ended.
    pub(crate) fn of(finished: &Finished, origin: Origin, recorded: &Recorded) -> Self {
        let sampler = &recorded.sampler;
        let of_run = curves::of_run(&sampler.course, sampler.work());
        let of_model = curves::of_model(&sampler.model_course, &sampler.names);
        let mut figures: Vec<Drawn> = of_run.into_iter().map(|figure| drawn(Place::Run, figure)).collect();
        figures.extend(loads(&recorded.last.gauges));
        figures.extend(finished.charts().iter().map(chart));
        figures.extend(of_model.into_iter().map(|figure| drawn(Place::Model, figure)));
        let shown = finished.shown();
        Self {
            format: FORMAT,
            scenario: shown.scenario,
            model: shown.model,
            program: shown.program,
            ended: shown.ended,
            digest: shown.digest,
            is_interrupted: finished.is_interrupted(),
            processes: sampler.facts.processes,
            results: shown.results,
            run: shown.run,
            more: shown.more,
            settings: origin.settings,
            command: origin.command,
            figures,
        }
    }
}

fn drawn(place: Place, figure: Figure) -> Drawn {
    let Figure { title, caption, x, y, series } = figure;
    let series = series.into_iter().map(|series| (series.name, series.points)).collect();
    let axis = |Axis { label, unit, .. }| (label, unit);
    Drawn { place, title, caption, x: axis(x), y: axis(y), is_bars: false, series }
}

impl Drawn {
    /// The figure of these series of it.
    pub fn figure(&self, series: Vec<Series>) -> Figure {
        let axis = |(label, unit): &(String, String)| Axis::linear(label.as_str(), unit.as_str());
        Figure {
            title: capital(&self.title),
            caption: self.caption.clone(),
            x: axis(&self.x),
            y: axis(&self.y),
            series,
        }
    }

    /// How its points are drawn.
    pub fn kind(&self) -> Kind {
        if self.is_bars { Kind::Bars } else { Kind::Lines }
    }
}

/// With a capital letter at the start.
fn capital(title: &str) -> String {
    let mut letters = title.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// How busy each federate was; nothing where there is one.
fn loads(gauges: &[Gauge]) -> Option<Drawn> {
    let busy: Vec<f64> = gauges.iter().map(|gauge| gauge.busy_ns as f64 / 1e9).collect();
    let all: f64 = busy.iter().sum();
    if busy.len() < 2 || all <= 0.0 {
        return None;
    }
    let most = busy.iter().copied().fold(0.0, f64::max);
    let is_bars = busy.len() <= BARS_MAX;
    let (label, busy) = if is_bars {
        ("federate", busy)
    } else {
        let mut sorted = busy;
        sorted.sort_by(|one, other| other.total_cmp(one));
        ("federates, the busiest first", sorted)
    };
    let times = text::decimal(most * busy.len() as f64 / all);
    Some(Drawn {
        place: Place::Federates,
        title: "Load of federates".into(),
        caption: format!(
            "Real time that threads spent on each federate, since federates were last merged or dealt anew. The most \
             loaded has {times} times the mean."
        ),
        x: (label.into(), String::new()),
        y: ("busy".into(), "s".into()),
        is_bars,
        series: vec![("busy".into(), (0..).map(f64::from).zip(busy).collect())],
    })
}

/// A chart of the model.
fn chart(chart: &Chart) -> Drawn {
    let (name, unit) = name_and_unit(&chart.name);
    let unit = unit.to_owned();
    let (x, y, is_bars) = match chart.kind {
        ChartKind::Histogram => ((name.clone(), unit), ("how many".into(), String::new()), true),
        ChartKind::Course => (("simulated time".into(), "s".into()), (name.clone(), unit), false),
    };
    let series = vec![(name.clone(), chart.points.clone())];
    Drawn { place: Place::Model, title: name, caption: String::new(), x, y, is_bars, series }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_as_shells_take_them() {
        assert_eq!(quoted("run.until=1h"), "run.until=1h");
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }

    #[test]
    fn each_key_has_a_row() {
        let given = serde_json::json!({ "model": { "kind": "any", "hosts": [{ "at": 1 }, { "at": 2 }], "parts": [1, 2] } });
        let mut found = Vec::new();
        rows("", &given, &mut found);
        let found: Vec<String> = found.into_iter().map(|(key, value)| format!("{key} {value}")).collect();
        assert_eq!(
            found,
            ["model.kind any", "model.hosts[0].at 1", "model.hosts[1].at 2", "model.parts [1,2]"]
        );
    }
}
