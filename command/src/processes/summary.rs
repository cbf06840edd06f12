//! What is said of a finished run of processes: to people, to programs, and to the output folder.

use paceline_app::memory;
use paceline_app::provenance::Provenance;
use paceline_app::replicate::Outcome;
use paceline_app::summary::label;
use paceline_app::text;
use paceline_processes::{EndedBy, Report, amdahl_bound};
use serde_json::{Value, json};

use super::settings::{CONTEXTS, COORDINATIONS, ProcessSettings, WAITINGS, round_name};

/// What the model says of a run, by name.
pub type Lines = Vec<(&'static str, Value)>;

/// A finished run.
#[derive(Debug)]
pub struct Finished<'r> {
    scenario: String,
    model: &'static str,
    settings: &'r ProcessSettings,
    report: &'r Report,
    lines: Lines,
    provenance: Provenance,
    peak_memory_bytes: Option<u64>,
}

impl<'r> Finished<'r> {
    /// Puts together what is known.
    pub fn new(
        scenario: String,
        model: &'static str,
        settings: &'r ProcessSettings,
        report: &'r Report,
        lines: Lines,
        provenance: Provenance,
    ) -> Self {
        Self { scenario, model, settings, report, lines, provenance, peak_memory_bytes: memory::peak_bytes() }
    }

    fn ended_by(&self) -> &'static str {
        match self.report.ended_by {
            EndedBy::Processes => "processes",
            EndedBy::Horizon => "horizon",
            EndedBy::Interrupted => "interrupted",
        }
    }

    /// How much faster than one thread it could be (Amdahl).
    fn amdahl_bound(&self) -> f64 {
        amdahl_bound(self.report.parallel_share, self.settings.threads)
    }

    fn per_second(&self, number: u64) -> f64 {
        number as f64 / self.report.wall.as_secs_f64().max(1e-9)
    }

    fn model_results(&self) -> Value {
        Value::Object(self.lines.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect())
    }

    fn unreceived(&self) -> usize {
        self.report.unreceived.iter().map(|(_, messages)| messages).sum()
    }

    /// What does not depend on how it was run, for the output folder.
    pub fn results(&self) -> Value {
        let Report { counts, .. } = self.report;
        let mut results = json!({
            "model": self.model,
            "scenario": self.scenario,
            "seed": self.settings.seed,
            "network": self.settings.network,
            "processes": counts.processes,
            "messages": counts.messages,
            "messages_unreceived": self.unreceived(),
            "processes_run": counts.steps,
            "digest": self.report.digest.to_string(),
            "end_time_s": self.report.end_time.as_secs_f64(),
            "ended_by": self.ended_by(),
            "results": self.model_results(),
        });
        self.provenance.add_to(&mut results);
        results
    }

    /// Everything, for programs.
    pub fn everything(&self) -> Value {
        let Report { counts, rounds, wall, .. } = self.report;
        let name = |names: &[(&'static str, bool)]| names.iter().find(|(_, own)| *own).map(|(name, _)| *name);
        let coordination = COORDINATIONS.map(|(name, way)| (name, way == self.settings.coordination));
        let context = CONTEXTS.map(|(name, way)| (name, way == self.settings.context));
        let waiting = WAITINGS.map(|(name, way)| (name, way == self.settings.waiting));
        let mut all = self.results();
        let how = json!({
            "federates": self.settings.federates,
            "windows": self.report.windows,
            "rounds": counts.rounds,
            "threads": self.settings.threads,
            "context": name(&context),
            "round": round_name(self.settings.round),
            "coordination": name(&coordination),
            "waiting": name(&waiting),
            "wall_seconds": wall.as_secs_f64(),
            "messages_per_second": self.per_second(counts.messages),
            "parallel_rounds": rounds.parallel_rounds,
            "processes_run_in_parallel_rounds": rounds.parallel_steps,
            "processes_run_beside_others": rounds.shared_steps,
            "largest_round": rounds.largest,
            "parallel_share": self.report.parallel_share,
            "amdahl_bound": self.amdahl_bound(),
            "peak_memory_bytes": self.peak_memory_bytes,
        });
        if let (Some(all), Value::Object(how)) = (all.as_object_mut(), how) {
            all.extend(how);
        }
        all
    }

    /// What replications are compared by.
    pub fn outcome(self) -> Outcome {
        Outcome {
            work: self.report.counts.messages,
            wall: self.report.wall,
            digest: self.report.digest.to_string(),
            end_time: self.report.end_time,
            ended_by: self.ended_by(),
            results: self.results(),
            everything: self.everything(),
            lines: self.lines,
        }
    }

    /// One line.
    pub fn line(&self) -> String {
        let Report { counts, digest, .. } = self.report;
        format!("{}: {} messages, {}, digest {digest}\n", self.scenario, counts.messages, self.ended_by())
    }

    /// The summary for people.
    pub fn page(&self) -> String {
        let Report { counts, rounds, wall, end_time, .. } = self.report;
        let ended = match self.report.ended_by {
            EndedBy::Processes => format!("with the last process, after {}", text::time(*end_time)),
            EndedBy::Horizon => format!("at the horizon, {}", text::time(*end_time)),
            EndedBy::Interrupted => format!("interrupted at {}", text::time(*end_time)),
        };
        let row = |name: &str, value: String| (name.to_owned(), value);
        let percent = |share: f64| format!("{} %", text::decimal(100.0 * share));
        let own = self.lines.iter().map(|(name, value)| label(name, value)).collect();
        let per_message = wall.as_secs_f64() / (counts.messages as f64).max(1.0);
        let mut run = vec![
            row("ended", ended),
            row("messages", text::count(counts.messages)),
            row("wall time", text::span(*wall)),
            row("a message", text::seconds(per_message)),
            row("network", self.settings.network.to_owned()),
            row("processes", text::count(counts.processes)),
            row(
                "rounds",
                format!("{}, the largest of {}", text::count(counts.rounds), text::count(rounds.largest)),
            ),
            row("threads", text::count(self.settings.threads.into())),
        ];
        if let Some(federates) = self.settings.federates {
            let windows = text::count(self.report.windows);
            run.push(row("federates", format!("{federates}, in {windows} windows")));
        } else if self.settings.threads > 1 {
            let (parallel, steps) =
                (rounds.parallel_rounds, rounds.parallel_steps as f64 / counts.steps.max(1) as f64);
            let said = format!("{} rounds, {} of the processes run", text::count(parallel), percent(steps));
            run.push(row("in parallel", said));
            let bound = format!(
                "{} times one thread, with {} of its time in code of rounds of several",
                text::decimal(self.amdahl_bound()),
                percent(self.report.parallel_share)
            );
            run.push(row("Amdahl's bound", bound));
        }
        if self.unreceived() > 0 {
            run.push(row("never received", text::count(self.unreceived() as u64)));
        }
        if let Some(bytes) = self.peak_memory_bytes {
            run.push(row("peak memory", text::bytes(bytes)));
        }
        run.push(row("digest", self.report.digest.to_string()));
        let title = format!("{} ({})", self.scenario, self.model);
        text::groups(&[(title.as_str(), own), ("The run", run)])
    }
}
