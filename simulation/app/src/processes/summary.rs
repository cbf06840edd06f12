//! What is said of a run of processes: its report, by name.

use paceline_processes::{Report, amdahl_bound};
use serde_json::{Map, Value, json};

use crate::process_model::settings::{CONTEXTS, COORDINATIONS, ProcessSettings, WAITINGS, round_name};
use crate::summary::{Account, Basics, Finished, extend};
use crate::text;

/// A run of processes that has ended.
#[derive(Debug)]
pub struct ProcessRun {
    /// How it was to be run.
    pub settings: ProcessSettings,
    /// What came of it.
    pub report: Report,
}

impl Account for ProcessRun {
    fn basics(&self) -> Basics {
        let Report { ended_by, end_time, digest, wall, .. } = self.report;
        Basics { seed: self.settings.seed, ended_by, end_time, digest, wall }
    }

    fn work(&self) -> (u64, &'static str) {
        (self.report.counts.messages, "messages")
    }

    fn facts(&self) -> Map<String, Value> {
        let counts = self.report.counts;
        let named: [(&str, Value); 5] = [
            ("network", self.settings.network.name.into()),
            ("processes", counts.processes.into()),
            ("messages", counts.messages.into()),
            ("messages_unreceived", self.unreceived().into()),
            ("processes_run", counts.steps.into()),
        ];
        named.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    fn everything(&self, finished: &Finished) -> Value {
        let Report { counts, rounds, wall, .. } = &self.report;
        let mut all = finished.results();
        let how = json!({
            "federates": self.settings.federates.map(|_| self.report.federates),
            "windows": self.report.windows,
            "rounds": counts.rounds,
            "threads": self.settings.threads,
            "context": name_of(&CONTEXTS, self.settings.context),
            "round": round_name(self.settings.round),
            "coordination": name_of(&COORDINATIONS, self.settings.coordination),
            "waiting": name_of(&WAITINGS, self.settings.waiting),
            "wall_seconds": wall.as_secs_f64(),
            "messages_per_second": counts.messages as f64 / wall.as_secs_f64().max(1e-9),
            "parallel_rounds": rounds.parallel_rounds,
            "processes_run_in_parallel_rounds": rounds.parallel_steps,
            "processes_run_beside_others": rounds.shared_steps,
            "largest_round": rounds.largest,
            "parallel_share": self.report.parallel_share,
            "amdahl_bound": self.amdahl_bound(),
            "peak_memory_bytes": finished.peak_memory_bytes(),
        });
        extend(&mut all, how);
        all
    }

    fn rows(&self) -> Vec<(&'static str, String)> {
        let Report { counts, rounds, wall, .. } = &self.report;
        let largest = text::count(rounds.largest);
        // Where no messages are sent, the work is what processes do between two waits.
        let (work, done, each) = match counts.messages {
            0 => ("turns", counts.steps, "a turn"),
            messages => ("messages", messages, "a message"),
        };
        let mut rows = vec![
            (work, text::count(done)),
            ("wall time", text::span(*wall)),
            (each, text::seconds(wall.as_secs_f64() / (done as f64).max(1.0))),
            ("network", self.settings.network.name.to_owned()),
            ("processes", text::count(counts.processes)),
            ("rounds", format!("{}, the largest of {largest}", text::count(counts.rounds))),
            ("threads", text::count(self.settings.threads.into())),
        ];
        if self.settings.federates.is_some() && self.report.federates > 1 {
            let federates = self.report.federates;
            let windows = text::count(self.report.windows);
            rows.push(("federates", format!("{federates}, in {windows} windows")));
        } else if self.settings.threads > 1 {
            rows.extend(self.side_by_side());
        }
        if self.unreceived() > 0 {
            rows.push(("never received", text::count(self.unreceived() as u64)));
        }
        rows
    }
}

impl ProcessRun {
    /// What ran on several threads, and how much faster than on one the run could be by that.
    fn side_by_side(&self) -> [(&'static str, String); 2] {
        let Report { counts, rounds, parallel_share, .. } = &self.report;
        let percent = |share: f64| format!("{} %", text::decimal(100.0 * share));
        let steps = percent(rounds.parallel_steps as f64 / counts.steps.max(1) as f64);
        let parallel = text::count(rounds.parallel_rounds);
        let (bound, share) = (text::decimal(self.amdahl_bound()), percent(*parallel_share));
        [
            ("in parallel", format!("{parallel} rounds, {steps} of the processes run")),
            (
                "Amdahl's bound",
                format!("{bound} times one thread, with {share} of its time in code of rounds of several"),
            ),
        ]
    }

    /// How much faster than one thread it could be (Amdahl).
    fn amdahl_bound(&self) -> f64 {
        amdahl_bound(self.report.parallel_share, self.settings.threads)
    }

    fn unreceived(&self) -> usize {
        self.report.unreceived.iter().map(|(_, messages)| messages).sum()
    }
}

/// The name of a choice in scenario files.
fn name_of<T: PartialEq>(names: &[(&'static str, T)], choice: T) -> Option<&'static str> {
    names.iter().find(|(_, named)| *named == choice).map(|(name, _)| *name)
}
