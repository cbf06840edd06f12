//! What is said of a finished run: to people, to programs, and to the output folder.
//!
//! One frame holds what is said of every run: [`Finished`]. What only runs of LPs or only runs of processes
//! have comes from the report of the run, which is kept as the engine gave it ([`Account`]). The words for
//! why a run ended are those of [`EndedBy`], for programs and for people.
//!
//! Invariant: [`Finished::results`] holds nothing that depends on protocol, partition, threads or the
//! machine.

mod events;
mod rollbacks;

use std::borrow::Cow;
use std::fmt::Debug;
use std::time::Duration;

use paceline_engine::EndedBy;
use paceline_kernel::{Digest, Time};
use paceline_report::name_and_unit;
use paceline_results::Chart;
use serde_json::{Map, Value, json};

use crate::memory;
use crate::provenance::Provenance;
use crate::text::{self, Row};

pub use events::EventRun;

/// The results of a model, by name.
pub type Lines = Vec<(Cow<'static, str>, Value)>;

/// What was run.
#[derive(Debug)]
pub struct Subject {
    /// The kind of its model.
    pub model: &'static str,
    /// The scenario's name.
    pub scenario: String,
    /// What the results come from.
    pub provenance: Provenance,
}

/// What is known of every run.
#[derive(Clone, Copy, Debug)]
pub struct Basics {
    /// The seed of its random numbers.
    pub seed: u64,
    /// Why it ended.
    pub ended_by: EndedBy,
    /// The simulated time reached.
    pub end_time: Time,
    /// The digest over what happened.
    pub digest: Digest,
    /// Real time that it took.
    pub wall: Duration,
}

/// What is known of a run by the report of what ran it.
pub trait Account: Debug {
    /// What every run has.
    fn basics(&self) -> Basics;

    /// The work done, and what it is counted in.
    fn work(&self) -> (u64, &'static str);

    /// What does not depend on how it was run, by name, besides what every run has.
    fn facts(&self) -> Map<String, Value>;

    /// Everything, for programs, of a run of which `finished` knows what every run has.
    fn everything(&self, finished: &Finished) -> Value;

    /// The rows of the summary for people: how it was run. The digest comes behind them.
    fn rows(&self) -> Vec<(&'static str, String)>;

    /// More rows for people, under a title of their own.
    fn more(&self) -> Option<(&'static str, Vec<Row>)> {
        None
    }
}

/// A finished run.
#[derive(Debug)]
pub struct Finished {
    subject: Subject,
    run: Box<dyn Account>,
    peak_memory_bytes: Option<u64>,
    lines: Lines,
    charts: Vec<Chart>,
}

/// What is said of a finished run for people.
#[derive(Clone, Debug)]
pub struct Shown {
    /// The name of the scenario.
    pub scenario: String,
    /// The kind of the model.
    pub model: String,
    /// Name and version of the program.
    pub program: String,
    /// Why and when it ended.
    pub ended: String,
    /// The digest in hexadecimal digits.
    pub digest: String,
    /// The results of the model.
    pub results: Vec<Row>,
    /// How it was run.
    pub run: Vec<Row>,
    /// More of that, under a title.
    pub more: Option<(String, Vec<Row>)>,
}

/// A replication that has ended, from the summary of its run.
#[derive(Debug)]
pub struct Outcome {
    /// Events committed, or, in a run of processes, messages sent.
    pub work: u64,
    /// Real time that the run took.
    pub wall: Duration,
    /// The digest of the run in hexadecimal digits.
    pub digest: String,
    /// The simulated time reached.
    pub end_time: Time,
    /// Why it ended.
    pub ended_by: EndedBy,
    /// The results of the model, by name.
    pub lines: Lines,
    /// What `paceline run --out` writes as the summary.
    pub results: Value,
    /// What `paceline run --json` prints.
    pub everything: Value,
}

impl Outcome {
    /// Whether it came to its end: an interrupted run says nothing that could be compared.
    pub fn is_complete(&self) -> bool {
        self.ended_by != EndedBy::Interrupted
    }

    /// Events or messages a second.
    pub fn per_second(&self) -> f64 {
        self.work as f64 / self.wall.as_secs_f64().max(1e-9)
    }
}

impl Finished {
    /// Puts together what is known; `lines` are the model's own results.
    pub fn new(subject: Subject, run: Box<dyn Account>, lines: Lines) -> Self {
        Self { subject, run, peak_memory_bytes: memory::peak_bytes(), lines, charts: Vec::new() }
    }

    /// The same with charts of the model.
    pub fn with_charts(self, charts: Vec<Chart>) -> Self {
        Self { charts, ..self }
    }

    /// The charts of the model.
    pub fn charts(&self) -> &[Chart] {
        &self.charts
    }

    /// The same with more results, behind those that there are.
    pub fn with(mut self, lines: Lines) -> Self {
        self.lines.extend(lines);
        self
    }

    /// Whether it was asked to end before its end.
    pub fn is_interrupted(&self) -> bool {
        self.run.basics().ended_by == EndedBy::Interrupted
    }

    /// The most memory that this program has had, where that is known.
    pub fn peak_memory_bytes(&self) -> Option<u64> {
        self.peak_memory_bytes
    }

    fn model_results(&self) -> Value {
        self.lines.iter().map(|(name, value)| (name.to_string(), value.clone())).collect()
    }

    /// Everything, for programs.
    pub fn everything(&self) -> Value {
        self.run.everything(self)
    }

    /// What does not depend on how it was run, for the output folder.
    pub fn results(&self) -> Value {
        let (run, Subject { model, scenario, provenance }) = (&self.run, &self.subject);
        let Basics { seed, ended_by, end_time, digest, .. } = run.basics();
        let mut results = json!({ "model": model, "scenario": scenario, "seed": seed });
        extend(&mut results, run.facts().into());
        let end = json!({
            "digest": digest.to_string(),
            "end_time_s": end_time.as_secs_f64(),
            "ended_by": ended_by.name(),
            "results": self.model_results(),
        });
        extend(&mut results, end);
        provenance.add_to(&mut results);
        results
    }

    /// What replications are compared by.
    pub fn outcome(self) -> Outcome {
        let Basics { ended_by, end_time, digest, wall, .. } = self.run.basics();
        Outcome {
            work: self.run.work().0,
            wall,
            digest: digest.to_string(),
            end_time,
            ended_by,
            results: self.results(),
            everything: self.everything(),
            lines: self.lines,
        }
    }

    /// The summary in one line: work, why the run ended, and digest.
    pub fn line(&self) -> String {
        let (work, unit) = self.run.work();
        let Basics { ended_by, digest, .. } = self.run.basics();
        format!("{}: {work} {unit}, {}, digest {digest}\n", self.subject.scenario, ended_by.name())
    }

    /// What is said of it for people.
    pub fn shown(&self) -> Shown {
        let run = &self.run;
        let Basics { ended_by, end_time, digest, .. } = run.basics();
        let ended = ended_by.at(text::time(end_time));
        let mut rows = vec![("ended", ended.clone())];
        rows.extend(run.rows());
        rows.extend(self.peak_memory_bytes.map(|bytes| ("peak memory", text::bytes(bytes))));
        rows.push(("digest", digest.to_string()));
        Shown {
            scenario: self.subject.scenario.clone(),
            model: self.subject.model.to_owned(),
            program: self.subject.provenance.program(),
            ended,
            digest: digest.to_string(),
            results: self.lines.iter().map(|(name, value)| label(name, value)).collect(),
            run: rows.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
            more: run.more().map(|(title, rows)| (title.to_owned(), rows)),
        }
    }

    /// The summary for people.
    pub fn page(&self) -> String {
        let Shown { scenario, model, results, run, more, .. } = self.shown();
        let title = format!("{scenario} ({model})");
        let mut groups = vec![(title.as_str(), results), ("The run", run)];
        groups.extend(more.as_ref().map(|(title, rows)| (title.as_str(), rows.clone())));
        text::groups(&groups)
    }
}

/// Adds the members of an object to another one, behind those that it has.
pub(crate) fn extend(object: &mut Value, members: Value) {
    if let (Some(object), Value::Object(members)) = (object.as_object_mut(), members) {
        object.extend(members);
    }
}

/// A name in snake_case with its unit last, and its value, as people read them: "mean travel", "12.5 s".
pub fn label(name: &str, value: &Value) -> (String, String) {
    let (name, unit) = name_and_unit(name);
    if let Value::Array(values) = value {
        let shown = |value: &Value| value.as_f64().and_then(|number| text::span_in(number, unit));
        let values: Option<Vec<String>> = values.iter().map(shown).collect();
        if let Some(values) = values {
            return (name, values.join(", "));
        }
    }
    if let Some(span) = value.as_f64().and_then(|number| text::span_in(number, unit)) {
        return (name, span);
    }
    let value = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => match (number.as_u64(), number.as_f64()) {
            (Some(whole), _) => text::count(whole),
            (None, Some(number)) => text::decimal(number),
            (None, None) => number.to_string(),
        },
        other => other.to_string(),
    };
    (name, format!("{value} {unit}").trim_end().to_owned())
}
