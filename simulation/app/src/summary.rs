//! What is said of a finished run: to people, to programs, and to the output folder.
//!
//! Invariant: [`Finished::results`] holds nothing that depends on protocol, partition, threads or the machine.

mod rollbacks;

use std::time::Duration;

use paceline_engine::{Balancing, EndedBy, Link, Protocol, Report, Tried};
use paceline_kernel::Time;
use serde_json::{Map, Value, json};

use crate::memory;
use crate::provenance::Provenance;
use crate::replicate::Outcome;
use crate::settings::RunSettings;
use crate::text;

use rollbacks::Explained;

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

/// A finished run.
#[derive(Debug)]
pub struct Finished {
    model: &'static str,
    scenario: String,
    provenance: Provenance,
    settings: RunSettings,
    federates: u32,
    groups: u32,
    tried: Vec<Tried>,
    threads: u32,
    processes: u32,
    links: Vec<Link>,
    lps: u32,
    events: u64,
    resumed_events: u64,
    wall: Duration,
    digest: String,
    end_time: Time,
    ended_by: &'static str,
    windows: u64,
    null_messages: u64,
    rollbacks: Option<Explained>,
    legs: u64,
    checkpoints: u64,
    checkpoints_wall: Duration,
    checkpoints_failed: u64,
    balancing: Option<Balancing>,
    peak_memory_bytes: Option<u64>,
    lines: Vec<(&'static str, Value)>,
}

impl Finished {
    /// Puts together what is known; `lines` are the model's own results.
    pub fn new<O>(
        Subject { model, scenario, provenance }: Subject,
        settings: RunSettings,
        report: &Report<O>,
        lines: Vec<(&'static str, Value)>,
    ) -> Self {
        let rollbacks = Explained::of(report, &settings.speculation);
        Self {
            model,
            scenario,
            provenance,
            settings,
            federates: report.federates,
            groups: report.groups,
            tried: report.tried.clone(),
            threads: report.threads,
            processes: report.processes,
            links: report.links.clone(),
            lps: report.lps,
            events: report.events,
            resumed_events: report.resumed_events,
            wall: report.wall,
            digest: report.digest.to_string(),
            end_time: report.end_time,
            ended_by: report.ended_by.name(),
            windows: report.windows,
            null_messages: report.null_messages,
            rollbacks,
            legs: report.legs,
            checkpoints: report.checkpoints,
            checkpoints_wall: report.checkpoints_wall,
            checkpoints_failed: report.checkpoints_failed,
            balancing: report.balancing,
            peak_memory_bytes: memory::peak_bytes(),
            lines,
        }
    }

    /// Whether it was asked to end before its end.
    pub fn is_interrupted(&self) -> bool {
        self.ended_by == EndedBy::Interrupted.name()
    }

    fn events_per_second(&self) -> f64 {
        (self.events - self.resumed_events) as f64 / self.wall.as_secs_f64().max(1e-9)
    }

    /// What would be faster than the protocol that was asked for.
    fn faster(&self) -> Option<String> {
        let given = self.settings.protocol;
        let rate_of = |own: bool| {
            let rates = self
                .tried
                .iter()
                .filter(|tried| (tried.protocol == given) == own)
                .filter_map(|tried| tried.rate);
            rates.max_by(f64::total_cmp)
        };
        let sequential = self.tried.iter().find(|tried| tried.protocol == Protocol::Sequential)?;
        let times = rate_of(false)? / rate_of(true)?;
        if given == Protocol::Auto || times <= 1.0 {
            return None;
        }
        let share = 100.0 * sequential.events as f64 / (self.events - self.resumed_events).max(1) as f64;
        Some(format!(
            "protocol = \"sequential\", {} times as fast; {} % of the events were run so",
            text::decimal(times),
            text::decimal(share)
        ))
    }

    fn model_results(&self) -> Value {
        Value::Object(
            self.lines.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect::<Map<_, _>>(),
        )
    }

    /// Everything, for programs.
    pub fn everything(&self) -> Value {
        let mut everything = json!({
            "model": self.model,
            "scenario": self.scenario,
            "protocol": self.settings.protocol.name(),
            "seed": self.settings.seed,
            "federates": self.federates,
            "groups": self.groups,
            "tried": self.tried.iter().map(tried).collect::<Vec<_>>(),
            "threads": self.threads,
            "processes": self.processes,
            "links": self.links.iter().map(link).collect::<Vec<_>>(),
            "lps": self.lps,
            "events_committed": self.events,
            "events_resumed": self.resumed_events,
            "wall_seconds": self.wall.as_secs_f64(),
            "events_per_second": self.events_per_second(),
            "digest": self.digest,
            "end_time_s": self.end_time.as_secs_f64(),
            "ended_by": self.ended_by,
            "windows": self.windows,
            "null_messages": self.null_messages,
            "rollbacks": self.rollbacks.as_ref().map(Explained::everything),
            "legs": self.legs,
            "checkpoints": self.checkpoints,
            "checkpoints_failed": self.checkpoints_failed,
            "checkpoint_seconds": self.checkpoints_wall.as_secs_f64(),
            "balance_looks": self.balancing.map(|found| found.looks),
            "balance_undone": self.balancing.map(|found| found.undone),
            "balance_seconds": self.balancing.map(|found| found.wall.as_secs_f64()),
            "lps_moved": self.balancing.map(|found| found.moved),
            "lps_moved_between_processes": self.balancing.map(|found| found.migrated),
            "remote_before": self.balancing.and_then(|found| found.remote_before),
            "remote_after": self.balancing.and_then(|found| found.remote_after),
            "between_processes_before": self.balancing.and_then(|found| found.apart_before),
            "between_processes_after": self.balancing.and_then(|found| found.apart_after),
            "imbalance_before": self.balancing.map(|found| found.imbalance_before),
            "imbalance_after": self.balancing.map(|found| found.imbalance_after),
            "peak_memory_bytes": self.peak_memory_bytes,
            "results": self.model_results(),
        });
        self.provenance.add_to(&mut everything);
        everything
    }

    /// What does not depend on how it was run, for the output folder.
    pub fn results(&self) -> Value {
        let mut results = json!({
            "model": self.model,
            "scenario": self.scenario,
            "seed": self.settings.seed,
            "lps": self.lps,
            "events_committed": self.events,
            "digest": self.digest,
            "end_time_s": self.end_time.as_secs_f64(),
            "ended_by": self.ended_by,
            "results": self.model_results(),
        });
        self.provenance.add_to(&mut results);
        results
    }

    /// What replications are compared by.
    pub fn outcome(self) -> Outcome {
        Outcome {
            work: self.events,
            wall: self.wall,
            results: self.results(),
            everything: self.everything(),
            digest: self.digest,
            end_time: self.end_time,
            ended_by: self.ended_by,
            lines: self.lines,
        }
    }

    /// One line.
    pub fn line(&self) -> String {
        format!("{}: {} events, {}, digest {}\n", self.scenario, self.events, self.ended_by, self.digest)
    }

    /// The summary for people.
    pub fn page(&self) -> String {
        let ended = match self.ended_by {
            "horizon" => format!("at the horizon, {}", text::time(self.end_time)),
            "no-events" => format!("without further events, after {}", text::time(self.end_time)),
            _ => format!("interrupted at {}", text::time(self.end_time)),
        };
        let mut rows = vec![
            ("ended", ended),
            ("events", text::count(self.events)),
            ("wall time", text::span(self.wall)),
            ("speed", text::rate(self.events_per_second())),
            ("protocol", self.settings.protocol.name().to_owned()),
        ];
        if !self.tried.is_empty() {
            rows.push(("tried", self.tried.iter().map(trial).collect::<Vec<_>>().join("; ")));
            rows.extend(self.faster().map(|faster| ("faster", faster)));
        }
        if self.resumed_events > 0 {
            rows.insert(2, ("before resumed", text::count(self.resumed_events)));
        }
        if self.checkpoints + self.checkpoints_failed > 0 {
            let (number, wall) = (text::count(self.checkpoints), text::span(self.checkpoints_wall));
            let failed = match self.checkpoints_failed {
                0 => String::new(),
                failed => format!("; {} could not be written", text::count(failed)),
            };
            rows.push(("checkpoints", format!("{number}, in {wall}{failed}")));
        }
        if let Some(found) = self.balancing {
            rows.push(("LPs moved", moves(found, self.processes)));
        }
        let legs = if self.legs > 1 { self.legs } else { 0 };
        for (name, number) in
            [("legs", legs), ("windows", self.windows), ("null messages", self.null_messages)]
        {
            if number > 0 {
                rows.push((name, text::count(number)));
            }
        }
        let mut federates = text::count(self.federates.into());
        if self.groups != self.federates {
            let groups = if self.groups == 1 {
                "one group".to_owned()
            } else {
                format!("{} groups", text::count(self.groups.into()))
            };
            federates = format!("{federates}, run in {groups}");
        }
        rows.extend([
            ("LPs", text::count(self.lps.into())),
            ("federates", federates),
            ("threads", text::count(self.threads.into())),
        ]);
        if self.processes > 1 {
            rows.push(("processes", text::count(self.processes.into())));
            rows.push(("links", links(&self.links)));
        }
        if let Some(bytes) = self.peak_memory_bytes {
            rows.push(("peak memory", text::bytes(bytes)));
        }
        rows.push(("digest", self.digest.clone()));
        let own: Vec<_> = self.lines.iter().map(|(name, value)| label(name, value)).collect();
        let run: Vec<_> = rows.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let title = format!("{} ({})", self.scenario, self.model);
        let mut groups = vec![(title.as_str(), own), ("The run", run)];
        groups.extend(self.rollbacks.as_ref().map(|rollbacks| ("Rollbacks", rollbacks.rows())));
        text::groups(&groups)
    }
}

/// The result of a trial under `auto`, as JSON.
fn tried(tried: &Tried) -> Value {
    json!({
        "protocol": tried.protocol.name(),
        "groups_per_thread": tried.groups_per_thread,
        "events_per_second": tried.rate,
        "events_committed": tried.events,
        "wall_seconds": tried.wall.as_secs_f64(),
    })
}

/// The same for people.
fn trial(tried: &Tried) -> String {
    let name = match tried.groups_per_thread {
        Some(groups) => format!("{} ({groups} a thread)", tried.protocol.name()),
        None if tried.protocol == Protocol::Sequential => tried.protocol.name().to_owned(),
        None => format!("{} (one group)", tried.protocol.name()),
    };
    match tried.rate {
        Some(rate) => format!("{name} {}, for {}", text::rate(rate), text::span(tried.wall)),
        None => format!("{name} not yet"),
    }
}

/// A name in snake_case with its unit last, and its value, as people read them: "mean travel", "12.5 s".
pub fn label(name: &str, value: &Value) -> (String, String) {
    let (name, unit) = text::name_and_unit(name);
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

/// A link to another process, for programs.
fn link(Link { path, sent, .. }: &Link) -> Value {
    json!({
        "process": path.peer,
        "kind": path.kind,
        "frames_sent": path.frames_sent,
        "bytes_sent": path.bytes_sent,
        "frames_received": path.frames_received,
        "bytes_received": path.bytes_received,
        "messages_sent": sent.records,
        "messages_withdrawn": sent.withdrawn,
    })
}

/// What moving LPs came to.
fn moves(found: Balancing, processes: u32) -> String {
    let Balancing { looks, moved, migrated, imbalance_before, imbalance_after, .. } = found;
    let (before, after) = (text::decimal(imbalance_before), text::decimal(imbalance_after));
    let loads = format!("largest federate {before}, then {after} times the mean");
    let across = if processes > 1 {
        format!(", {} to another process,", text::count(migrated))
    } else {
        String::new()
    };
    format!("{}{across} in {} looks; {loads}", text::count(moved), text::count(looks))
}

/// The links of the first process to all others, by kind.
fn links(links: &[Link]) -> String {
    let mut kinds: Vec<&str> = links.iter().map(|link| link.path.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let of = |kind: &&str| {
        let links = || links.iter().filter(|link| link.path.kind == *kind);
        let sum = |count: fn(&Link) -> u64| links().map(count).sum::<u64>();
        let bytes = sum(|link| link.path.bytes_sent + link.path.bytes_received);
        let frames = sum(|link| link.path.frames_sent + link.path.frames_received);
        let (messages, sent) = (sum(|link| link.sent.records), sum(|link| link.path.frames_sent));
        let withdrawn = match sum(|link| link.sent.withdrawn) {
            0 => String::new(),
            withdrawn => format!(", {} withdrawn", text::count(withdrawn)),
        };
        format!(
            "{kind} to {}: {} frames, {}; sent {} messages in {} frames{withdrawn}",
            links().count(),
            text::count(frames),
            text::bytes(bytes),
            text::count(messages),
            text::count(sent)
        )
    };
    kinds.iter().map(of).collect::<Vec<_>>().join("; ")
}
