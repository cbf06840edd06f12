//! What is said of a finished run: to people, to programs, and to the output folder.
//!
//! Invariant: [`Finished::results`] holds nothing that depends on protocol, partition, threads or the machine.

use std::time::Duration;

use paceline_engine::Report;
use paceline_kernel::Time;
use serde_json::{Map, Value, json};

use crate::memory;
use crate::settings::RunSettings;
use crate::text;

/// A finished run.
#[derive(Debug)]
pub struct Finished {
    model: &'static str,
    scenario: String,
    settings: RunSettings,
    federates: u32,
    threads: u32,
    lps: u32,
    events: u64,
    wall: Duration,
    digest: String,
    end_time: Time,
    ended_by: &'static str,
    windows: u64,
    null_messages: u64,
    peak_memory_bytes: Option<u64>,
    lines: Vec<(&'static str, Value)>,
}

impl Finished {
    /// Puts together what is known; `lines` are the model's own results.
    pub fn new<O>(
        (model, scenario): (&'static str, String),
        settings: RunSettings,
        report: &Report<O>,
        lines: Vec<(&'static str, Value)>,
    ) -> Self {
        Self {
            model,
            scenario,
            settings,
            federates: report.federates,
            threads: report.threads,
            lps: report.lps,
            events: report.events,
            wall: report.wall,
            digest: report.digest.to_string(),
            end_time: report.end_time,
            ended_by: report.ended_by.name(),
            windows: report.windows,
            null_messages: report.null_messages,
            peak_memory_bytes: memory::peak_bytes(),
            lines,
        }
    }

    fn events_per_second(&self) -> f64 {
        self.events as f64 / self.wall.as_secs_f64().max(1e-9)
    }

    fn model_results(&self) -> Value {
        Value::Object(
            self.lines.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect::<Map<_, _>>(),
        )
    }

    /// Everything, for programs.
    pub fn everything(&self) -> Value {
        json!({
            "model": self.model,
            "scenario": self.scenario,
            "protocol": self.settings.protocol.name(),
            "queue": self.settings.queue.name(),
            "seed": self.settings.seed,
            "federates": self.federates,
            "threads": self.threads,
            "lps": self.lps,
            "events_committed": self.events,
            "wall_seconds": self.wall.as_secs_f64(),
            "events_per_second": self.events_per_second(),
            "digest": self.digest,
            "end_time_s": self.end_time.as_secs_f64(),
            "ended_by": self.ended_by,
            "windows": self.windows,
            "null_messages": self.null_messages,
            "peak_memory_bytes": self.peak_memory_bytes,
            "results": self.model_results(),
        })
    }

    /// What does not depend on how it was run, for the output folder.
    pub fn results(&self) -> Value {
        json!({
            "model": self.model,
            "scenario": self.scenario,
            "seed": self.settings.seed,
            "lps": self.lps,
            "events_committed": self.events,
            "digest": self.digest,
            "end_time_s": self.end_time.as_secs_f64(),
            "ended_by": self.ended_by,
            "results": self.model_results(),
        })
    }

    /// One line.
    pub fn line(&self) -> String {
        format!("{}: {} events, {}, digest {}\n", self.scenario, self.events, self.ended_by, self.digest)
    }

    /// The summary for people.
    pub fn page(&self) -> String {
        let ended = match self.ended_by {
            "horizon" => format!("at the horizon, {}", self.end_time),
            "no-events" => format!("without further events, after {}", self.end_time),
            _ => format!("interrupted at {}", self.end_time),
        };
        let mut rows = vec![
            ("ended", ended),
            ("events", text::count(self.events)),
            ("wall time", text::span(self.wall)),
            ("speed", text::rate(self.events_per_second())),
            ("protocol", self.settings.protocol.name().to_owned()),
        ];
        for (name, number) in [("windows", self.windows), ("null messages", self.null_messages)] {
            if number > 0 {
                rows.push((name, text::count(number)));
            }
        }
        rows.extend([
            ("queue", self.settings.queue.name().to_owned()),
            ("LPs", text::count(self.lps.into())),
            ("federates", text::count(self.federates.into())),
            ("threads", text::count(self.threads.into())),
        ]);
        if let Some(bytes) = self.peak_memory_bytes {
            rows.push(("peak memory", text::bytes(bytes)));
        }
        rows.push(("digest", self.digest.clone()));
        let own: Vec<_> = self.lines.iter().map(|(name, value)| label(name, value)).collect();
        let run: Vec<_> = rows.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        text::groups(&[(&format!("{} ({})", self.scenario, self.model), own), ("The run", run)])
    }
}

/// A name in snake_case with its unit last, and its value, as people read them: "mean travel", "12.5 s".
fn label(name: &str, value: &Value) -> (String, String) {
    const UNITS: [&str; 6] = ["s", "ms", "ns", "km", "m", "bytes"];
    let (name, unit) = match name.rsplit_once('_') {
        Some((rest, unit)) if UNITS.contains(&unit) && !rest.ends_with("_simulated") => (rest, unit),
        _ => (name, ""),
    };
    let value = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => match (number.as_u64(), number.as_f64()) {
            (Some(whole), _) => text::count(whole),
            (None, Some(number)) => text::decimal(number),
            (None, None) => number.to_string(),
        },
        other => other.to_string(),
    };
    (name.replace('_', " "), format!("{value} {unit}").trim_end().to_owned())
}
