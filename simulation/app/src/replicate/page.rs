//! What is said of replications: to people, to programs, and to the output folder, which gets summary.json
//! and replications.csv with a row for each.
//!
//! Invariant: what is written into the folder depends on nothing of how the replications were run.

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use paceline_report::{Table, name_and_unit, number};
use serde_json::{Map, Value, json};

use super::fate::Fate;
use super::plan::Plan;
use super::together::{OfRun, Quantity, quantities};
use crate::failure::CommandError;
use crate::output::Output;
use crate::summary::Outcome;
use crate::{memory, text};

/// Quantities of every run that are results.
pub const OF_RESULTS: [OfRun; 1] = [("end_time_s", |outcome| outcome.end_time.as_secs_f64())];
/// The columns of a table of quantities.
pub const COLUMNS: [&str; 5] =
    ["quantity", "replications", "mean", "standard deviation", "95 % confidence interval"];
/// Those of the machine.
const OF_MACHINE: [OfRun; 1] = [("wall_time_s", |outcome| outcome.wall.as_secs_f64())];

/// All replications of a scenario.
#[derive(Debug)]
pub struct Replicated<'p> {
    plan: &'p Plan,
    fates: Vec<Fate>,
    wall: Duration,
    peak_memory_bytes: Option<u64>,
}

impl<'p> Replicated<'p> {
    /// Puts together what is known.
    pub fn new(plan: &'p Plan, fates: Vec<Fate>, wall: Duration) -> Self {
        Self { plan, fates, wall, peak_memory_bytes: memory::peak_bytes() }
    }

    /// Each replication with its seed.
    fn each(&self) -> impl Iterator<Item = (u64, &Fate)> {
        self.fates.iter().enumerate().map(|(number, fate)| (self.plan.seed(number as u32), fate))
    }

    /// Those that came to their end.
    fn complete(&self) -> Vec<&Outcome> {
        self.fates.iter().filter_map(Fate::outcome).filter(|outcome| outcome.is_complete()).collect()
    }

    /// Whether all were asked to end before their end.
    pub fn is_interrupted(&self) -> bool {
        let is_over = |fate: &Fate| match fate {
            Fate::Ended(outcome, _) => outcome.is_complete(),
            Fate::Failed(_) => true,
            Fate::NotBegun => false,
        };
        !self.fates.iter().all(is_over)
    }

    /// What the work of a run is counted in: a name, and that of the speed.
    fn unit(&self) -> [&'static str; 2] {
        self.plan.units
    }

    /// The quantities that are results, and the names of results that are no quantities.
    fn results_together(&self) -> (Vec<Quantity>, Vec<String>) {
        let [work, _] = self.unit();
        let work = [(work, (|outcome| outcome.work as f64) as fn(&Outcome) -> f64)];
        quantities(&self.complete(), &[work.as_slice(), &OF_RESULTS].concat())
    }

    /// The quantities that depend on the machine.
    fn speeds_together(&self) -> Vec<Quantity> {
        let [_, speed] = self.unit();
        let speed: [OfRun; 1] = [(speed, Outcome::per_second)];
        let values =
            |(name, value): &OfRun| Quantity::new(*name, self.complete().into_iter().map(value).collect());
        [OF_MACHINE, speed].concat().iter().map(values).filter(|quantity| quantity.count() > 0).collect()
    }

    /// Work a second of all together.
    fn per_second(&self) -> f64 {
        let work: u64 = self.fates.iter().filter_map(Fate::outcome).map(|outcome| outcome.work).sum();
        work as f64 / self.wall.as_secs_f64().max(1e-9)
    }

    fn opening(&self) -> Map<String, Value> {
        let opening = json!({
            "model": self.plan.model,
            "scenario": self.plan.scenario(),
            "replications": self.plan.replications,
            "completed": self.complete().len(),
            "first_seed": self.plan.first_seed,
            "quantities": of_quantities(&self.results_together().0),
        });
        let Value::Object(opening) = opening else { return Map::new() };
        opening
    }

    /// Everything, for programs.
    pub fn everything(&self) -> Value {
        let mut all = self.opening();
        let name = format!("{}_per_second", self.unit()[0]);
        all.extend([
            ("at_once".into(), self.plan.at_once.into()),
            ("threads".into(), self.plan.threads.into()),
            ("wall_seconds".into(), self.wall.as_secs_f64().into()),
            (name, self.per_second().into()),
            ("speeds".into(), of_quantities(&self.speeds_together())),
            ("peak_memory_bytes".into(), self.peak_memory_bytes.into()),
            (
                "runs".into(),
                self.each().map(|(seed, fate)| fate.json(seed, |outcome| &outcome.everything)).collect(),
            ),
        ]);
        Value::Object(all)
    }

    /// What does not depend on how they were run.
    fn results(&self) -> Value {
        let mut all = self.opening();
        let runs = self.each().map(|(seed, fate)| fate.json(seed, |outcome| &outcome.results)).collect();
        all.insert("runs".into(), runs);
        Value::Object(all)
    }

    /// Writes what all say together into the output folder, and gives back which files that are.
    pub fn write(&self, mut output: Output) -> Result<Vec<PathBuf>, CommandError> {
        const ROWS: &str = "replications.csv";
        output.write_summary(&self.results(), [ROWS.to_owned()]);
        output.write(ROWS, |file| self.write_rows(file));
        output.finish()
    }

    /// A row for each replication that has ended, a column for each quantity.
    fn write_rows(&self, to: &mut dyn Write) -> io::Result<()> {
        let [work, _] = self.unit();
        let names: Vec<_> =
            quantities(&self.complete(), &[]).0.into_iter().map(|quantity| quantity.name).collect();
        let header: String = names.iter().map(|name| format!(",{name}")).collect();
        writeln!(to, "seed,ended_by,end_time_s,digest,{work}{header}")?;
        for (seed, fate) in self.each() {
            let Some(outcome) = fate.outcome() else { continue };
            let Outcome { ended_by, end_time, digest, work, lines, .. } = outcome;
            let (ended, end) = (ended_by.name(), end_time.as_secs_f64());
            write!(to, "{seed},{ended},{end},{digest},{work}")?;
            for name in &names {
                let value = lines.iter().find(|(other, value)| other == name && !value.is_null());
                write!(to, ",{}", value.map_or(String::new(), |(_, value)| value.to_string()))?;
            }
            writeln!(to)?;
        }
        Ok(())
    }

    /// A line for each replication.
    pub fn lines(&self) -> String {
        let (scenario, [work, _]) = (self.plan.scenario(), self.unit());
        let line = |(seed, fate): (u64, &Fate)| match fate.outcome() {
            Some(Outcome { work: done, ended_by, digest, .. }) => {
                let ended = ended_by.name();
                format!("{scenario}, seed {seed}: {done} {work}, {ended}, digest {digest}\n")
            }
            None => format!("{scenario}, seed {seed}: {}\n", fate.ended()),
        };
        self.each().map(line).collect()
    }

    /// The summary for people.
    pub fn page(&self) -> String {
        let (results, others) = self.results_together();
        let title = format!(
            "{} ({}): {} of {} replications, seeds {} to {}",
            self.plan.scenario(),
            self.plan.model,
            self.complete().len(),
            self.plan.replications,
            self.plan.first_seed,
            self.plan.seed(self.plan.replications - 1),
        );
        let mut table = Table::new(title, COLUMNS);
        results.iter().chain(&self.speeds_together()).for_each(|quantity| table.row(cells(quantity)));
        let together =
            if table.rows().is_empty() { format!("{}\n", table.title()) } else { text::table(&table) };
        let mut rows = vec![
            (
                "at once".to_owned(),
                format!("{}, with {} each", self.plan.at_once, threads(self.plan.threads)),
            ),
            ("wall time".to_owned(), text::span(self.wall)),
            (self.unit()[1].to_owned(), format!("{} of all together", number(self.per_second().round()))),
        ];
        rows.extend(self.peak_memory_bytes.map(|bytes| ("peak memory".to_owned(), text::bytes(bytes))));
        if !others.is_empty() {
            let names = others.iter().map(|name| name.replace('_', " ")).collect::<Vec<_>>().join(", ");
            rows.push(("not numbers".to_owned(), format!("{names}: see --json or --out")));
        }
        let all = text::groups(&[("All together", rows)]);
        format!("{together}\n{}\n{all}", text::table(&self.runs()))
    }

    fn runs(&self) -> Table {
        let [work, speed] = self.unit();
        let columns = ["seed", "ended", work, "wall time, s", speed, "digest"];
        let mut table = Table::new("The replications", columns);
        for (seed, fate) in self.each() {
            let dash = || "-".to_owned();
            let cells = match fate.outcome() {
                Some(outcome) => [
                    text::count(outcome.work),
                    format!("{:.3}", outcome.wall.as_secs_f64()),
                    text::count(outcome.per_second().round() as u64),
                    outcome.digest.clone(),
                ],
                None => [dash(), dash(), dash(), dash()],
            };
            table.row([seed.to_string(), fate.ended().to_owned()].into_iter().chain(cells));
        }
        table
    }

    /// Those that have failed: their seeds, and why.
    pub fn into_failures(self) -> Vec<(u64, CommandError)> {
        let seeds = (0..self.plan.replications).map(|number| self.plan.seed(number));
        let failed = |(seed, fate)| match fate {
            Fate::Failed(failure) | Fate::Ended(_, Some(failure)) => Some((seed, failure)),
            Fate::Ended(_, None) | Fate::NotBegun => None,
        };
        seeds.zip(self.fates).filter_map(failed).collect()
    }
}

fn of_quantities(quantities: &[Quantity]) -> Value {
    Value::Object(quantities.iter().map(|quantity| (quantity.name.clone(), quantity.json())).collect())
}

/// A row of a table of quantities.
pub fn cells(quantity: &Quantity) -> [String; 5] {
    let (name, unit) = name_and_unit(&quantity.name);
    let dash = || "-".to_owned();
    [
        if unit.is_empty() { name } else { format!("{name}, {unit}") },
        quantity.count().to_string(),
        number(quantity.mean()),
        quantity.deviation().map_or_else(dash, number),
        quantity.interval().map_or_else(dash, |(low, high)| format!("{} to {}", number(low), number(high))),
    ]
}

fn threads(threads: u32) -> String {
    if threads == 1 { "1 thread".to_owned() } else { format!("{threads} threads") }
}
