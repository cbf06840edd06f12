//! What is said of a run of LPs: the report of the engine, by name.

use paceline_engine::{Balancing, Link, Protocol, Report, Tried};
use paceline_kernel::{Change, ParameterValue};
use serde_json::{Map, Value, json};

use super::rollbacks::Explained;
use super::{Account, Basics, Finished};
use crate::settings::RunSettings;
use crate::text::{self, Row};

/// A run of LPs that has ended.
#[derive(Debug)]
pub struct EventRun {
    /// How it was to be run.
    pub settings: RunSettings,
    /// What came of it.
    pub report: Report<()>,
}

impl Account for EventRun {
    fn basics(&self) -> Basics {
        let Report { ended_by, end_time, digest, wall, .. } = self.report;
        Basics { seed: self.settings.seed, ended_by, end_time, digest, wall }
    }

    fn work(&self) -> (u64, &'static str) {
        (self.report.events, "events")
    }

    fn facts(&self) -> Map<String, Value> {
        let named = [("lps", self.report.lps.into()), ("events_committed", self.report.events.into())];
        named.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    fn everything(&self, finished: &Finished) -> Value {
        let Self { settings, report } = self;
        let balancing = report.balancing;
        let mut everything = json!({
            "model": finished.subject.model,
            "scenario": finished.subject.scenario,
            "protocol": settings.protocol.name(),
            "seed": settings.seed,
            "federates": report.federates,
            "groups": report.groups,
            "tried": report.tried.iter().map(tried).collect::<Vec<_>>(),
            "threads": report.threads,
            "processes": report.processes,
            "links": report.links.iter().map(link).collect::<Vec<_>>(),
            "lps": report.lps,
            "events_committed": report.events,
            "events_resumed": report.resumed_events,
            "wall_seconds": report.wall.as_secs_f64(),
            "events_per_second": self.events_per_second(),
            "digest": report.digest.to_string(),
            "end_time_s": report.end_time.as_secs_f64(),
            "ended_by": report.ended_by.name(),
            "windows": report.windows,
            "null_messages": report.null_messages,
            "rollbacks": self.explained().as_ref().map(Explained::everything),
            "changes": self.changes().map(|(change, made_live)| changed(change, made_live)).collect::<Vec<_>>(),
            "legs": report.legs,
            "checkpoints": report.checkpoints,
            "checkpoints_failed": report.checkpoints_failed,
            "checkpoint_seconds": report.checkpoints_wall.as_secs_f64(),
            "balance_looks": balancing.map(|found| found.looks),
            "balance_undone": balancing.map(|found| found.undone),
            "balance_seconds": balancing.map(|found| found.wall.as_secs_f64()),
            "lps_moved": balancing.map(|found| found.moved),
            "lps_moved_between_processes": balancing.map(|found| found.migrated),
            "remote_before": balancing.and_then(|found| found.remote_before),
            "remote_after": balancing.and_then(|found| found.remote_after),
            "between_processes_before": balancing.and_then(|found| found.apart_before),
            "between_processes_after": balancing.and_then(|found| found.apart_after),
            "imbalance_before": balancing.map(|found| found.imbalance_before),
            "imbalance_after": balancing.map(|found| found.imbalance_after),
            "peak_memory_bytes": finished.peak_memory_bytes,
            "results": finished.model_results(),
        });
        finished.subject.provenance.add_to(&mut everything);
        everything
    }

    fn rows(&self) -> Vec<(&'static str, String)> {
        let Self { settings, report } = self;
        let mut rows = vec![("events", text::count(report.events))];
        if report.resumed_events > 0 {
            rows.push(("before resumed", text::count(report.resumed_events)));
        }
        rows.extend([
            ("wall time", text::span(report.wall)),
            ("speed", text::rate(self.events_per_second())),
            ("protocol", settings.protocol.name().to_owned()),
        ]);
        if !report.tried.is_empty() {
            rows.push(("tried", report.tried.iter().map(trial).collect::<Vec<_>>().join("; ")));
            rows.extend(self.faster().map(|faster| ("faster", faster)));
        }
        rows.extend(self.changes().map(|(Change { at, set, to }, made_live)| {
            let source = if made_live { "made while it went on" } else { "by the scenario" };
            ("changed", format!("{set} to {to} at {at}, {source}"))
        }));
        rows.extend(self.pauses());
        rows.extend([
            ("LPs", text::count(report.lps.into())),
            ("federates", self.federates()),
            ("threads", text::count(report.threads.into())),
        ]);
        if report.processes > 1 {
            rows.push(("processes", text::count(report.processes.into())));
            rows.push(("links", links(&report.links)));
        }
        rows
    }

    fn more(&self) -> Option<(&'static str, Vec<Row>)> {
        self.explained().map(|rollbacks| ("Rollbacks", rollbacks.rows()))
    }
}

impl EventRun {
    /// The changes of parameters that took effect, first those of the scenario; and whether each was made
    /// while the run went on.
    fn changes(&self) -> impl Iterator<Item = (&Change, bool)> {
        let scheduled = self.settings.changes.iter().map(|scheduled| (&scheduled.change, false));
        let made = self.report.changes.iter().map(|change| (change, true));
        // A run that was stopped has not come to all of them.
        scheduled.chain(made).filter(|(change, _)| change.at < self.report.end_time)
    }

    fn explained(&self) -> Option<Explained<'_>> {
        Explained::of(&self.report, &self.settings.speculation)
    }

    /// Events that this program has committed: those before it resumed a run are not its own.
    fn events_here(&self) -> u64 {
        self.report.events - self.report.resumed_events
    }

    fn events_per_second(&self) -> f64 {
        self.events_here() as f64 / self.report.wall.as_secs_f64().max(1e-9)
    }

    /// Checkpoints, moved LPs, and counts of what happened at all.
    fn pauses(&self) -> Vec<(&'static str, String)> {
        let (report, mut rows) = (&self.report, Vec::new());
        if report.checkpoints + report.checkpoints_failed > 0 {
            let (number, wall) = (text::count(report.checkpoints), text::span(report.checkpoints_wall));
            let failed = match report.checkpoints_failed {
                0 => String::new(),
                failed => format!("; {} could not be written", text::count(failed)),
            };
            rows.push(("checkpoints", format!("{number}, in {wall}{failed}")));
        }
        rows.extend(report.balancing.map(|found| ("LPs moved", moves(found, report.processes))));
        // Every run has one leg.
        let legs = if report.legs > 1 { report.legs } else { 0 };
        for (name, number) in
            [("legs", legs), ("windows", report.windows), ("null messages", report.null_messages)]
        {
            if number > 0 {
                rows.push((name, text::count(number)));
            }
        }
        rows
    }

    fn federates(&self) -> String {
        let (federates, groups) = (self.report.federates, self.report.groups);
        let number = text::count(federates.into());
        match groups {
            _ if groups == federates => number,
            1 => format!("{number}, run in one group"),
            _ => format!("{number}, run in {} groups", text::count(groups.into())),
        }
    }

    /// What would be faster than the protocol that was asked for.
    fn faster(&self) -> Option<String> {
        let given = self.settings.protocol;
        let rate_of = |is_given: bool| {
            let rates = self
                .report
                .tried
                .iter()
                .filter(|tried| (tried.protocol == given) == is_given)
                .filter_map(|tried| tried.rate);
            rates.max_by(f64::total_cmp)
        };
        let sequential = self.report.tried.iter().find(|tried| tried.protocol == Protocol::Sequential)?;
        let times = rate_of(false)? / rate_of(true)?;
        if given == Protocol::Auto || times <= 1.0 {
            return None;
        }
        let share = 100.0 * sequential.events as f64 / self.events_here().max(1) as f64;
        Some(format!(
            "protocol = \"sequential\", {} times as fast; {} % of the events were run so",
            text::decimal(times),
            text::decimal(share)
        ))
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

/// One way that was tried, in words for people.
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

/// A change of a parameter, with a duration in the words of scenarios.
fn changed(change: &Change, made_live: bool) -> Value {
    let Change { at, set, to } = change;
    let to: Value = match to {
        ParameterValue::Time(time) => time.to_string().into(),
        ParameterValue::Number(number) => (*number).into(),
    };
    json!({ "at_s": at.as_secs_f64(), "set": set, "to": to, "made_while_running": made_live })
}
