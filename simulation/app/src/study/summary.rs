//! What is said of a study: to people, to programs, and in its folder.
//!
//! Invariant: what is written into the folder depends on nothing of how the runs were run.

use std::path::PathBuf;
use std::time::Duration;

use paceline_study::course::Slice;
use paceline_study::rows::rows;
use paceline_study::sample::Estimate;
use paceline_study::{StudyResult, page, point_table};
use serde_json::{Map, Value, json};

use crate::failure::CommandError;
use crate::output::Output;
use crate::text;

/// The most metrics that are printed for people.
const MOST_TABLES: usize = 3;

/// What a study has come to, and how it was run.
#[derive(Debug)]
pub struct Summary<'s> {
    /// What it has come to.
    pub result: StudyResult<'s>,
    /// How many runs were side by side, if any were run.
    pub at_once: Option<u32>,
    /// How many rows are new.
    pub new: usize,
    /// Real time that it took.
    pub wall: Duration,
    /// The part that was run, if not all.
    pub slice: Option<Slice>,
}

impl Summary<'_> {
    fn scenario(&self) -> String {
        let path = &self.result.study.scenario;
        path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// In how many words it is said how many runs there are.
    fn title(&self) -> String {
        let [needed, ended, failed] = self.result.counts();
        let (name, scenario, points) = (&self.result.name, self.scenario(), self.result.points.len());
        let points = if points == 1 { "1 point".to_owned() } else { format!("{points} points") };
        let part =
            self.slice.map_or(String::new(), |Slice { number, of }| format!(", part {number} of {of}"));
        let failed = if failed == 0 { String::new() } else { format!(", {failed} failed") };
        format!("{name} ({scenario}){part}: {ended} of {needed} runs ended{failed}, {points}")
    }

    /// All of it in one line.
    pub fn line(&self) -> String {
        format!("{}\n", self.title())
    }

    /// The summary for people.
    pub fn page(&self) -> String {
        let shown = &self.result.shown;
        let mut page = format!("{}\n", self.title());
        for metric in shown.iter().take(MOST_TABLES) {
            page += &format!("\n{}", text::table(&point_table(&self.result, metric)));
            if let Some(conclusion) = self.result.conclusion(metric) {
                page += &format!("\n{conclusion}\n");
            }
        }
        let mut rows = vec![("new runs".to_owned(), text::count(self.new as u64))];
        rows.extend(self.at_once.map(|at_once| ("at once".to_owned(), at_once.to_string())));
        rows.push(("wall time".to_owned(), text::span(self.wall)));
        if let Some(more) = shown.len().checked_sub(MOST_TABLES).filter(|more| *more > 0) {
            rows.push((
                "more metrics".to_owned(),
                format!("{more}: see study.html, or `metrics` in [study]"),
            ));
        }
        format!("{page}\n{}", text::groups(&[("The study", rows)]))
    }

    /// What does not depend on how the runs were run.
    fn results(&self) -> Map<String, Value> {
        let [needed, ended, failed] = self.result.counts();
        let (study, result) = (self.result.study, &self.result);
        let means: Vec<_> =
            result.shown.iter().map(|metric| (metric, result.sample(metric).means())).collect();
        let point = |place: usize| {
            let levels = study.factors.iter().zip(&result.points[place]);
            let levels: Map<String, Value> =
                levels.map(|(factor, level)| (factor.key.clone(), level.shown.clone().into())).collect();
            let metrics: Map<String, Value> =
                means.iter().map(|(metric, means)| ((*metric).clone(), of_estimate(means[place]))).collect();
            json!({ "levels": levels, "metrics": metrics })
        };
        let failures = result.rows().filter(|(.., row)| !row.error.is_empty());
        let failures =
            failures.map(|(.., row)| json!({ "run": row.run, "seed": row.seed, "error": row.error }));
        let conclusions: Vec<_> =
            result.shown.iter().filter_map(|metric| result.conclusion(metric)).collect();
        let all = json!({
            "study": result.name,
            "scenario": self.scenario(),
            "first_seed": result.first_seed,
            "runs": { "needed": needed, "ended": ended, "failed": failed },
            "points": (0..result.points.len()).map(point).collect::<Vec<_>>(),
            "conclusions": conclusions,
            "failures": failures.collect::<Vec<_>>(),
        });
        if let Value::Object(all) = all { all } else { Map::new() }
    }

    /// Everything, for programs.
    pub fn everything(&self) -> Value {
        let mut all = self.results();
        all.insert("new_runs".to_owned(), self.new.into());
        all.insert("at_once".to_owned(), self.at_once.into());
        all.insert("wall_seconds".to_owned(), self.wall.as_secs_f64().into());
        all.into()
    }

    /// Writes table and page into the folder of the study, and gives back which files that are.
    pub fn write(&self, mut output: Output) -> Result<Vec<PathBuf>, CommandError> {
        const CSV: &str = "runs.csv";
        const PAGE: &str = "study.html";
        let table = rows(&self.result);
        let parquet = cfg!(feature = "parquet").then_some("runs.parquet");
        let files = [CSV].into_iter().chain(parquet).chain([PAGE]).map(str::to_owned);
        output.write_summary(&self.results().into(), files);
        output.write(CSV, |file| file.write_all(table.csv.as_bytes()));
        #[cfg(feature = "parquet")]
        output.write("runs.parquet", |file| {
            let columns: Vec<_> =
                table.columns.iter().map(|(name, values)| (name.as_str(), *values)).collect();
            crate::tables::write_parquet(CSV, table.csv.as_bytes(), &columns, file)
        });
        output.write(PAGE, |file| file.write_all(page(&self.result).as_bytes()));
        output.finish()
    }

    /// What is said of runs that have failed, if any have.
    pub fn failures(&self) -> Option<String> {
        let failed: Vec<_> = self.result.rows().filter(|(.., row)| !row.error.is_empty()).collect();
        let (.., row) = failed.first()?;
        let count = failed.len();
        let runs = if count == 1 { "1 run has".to_owned() } else { format!("{count} runs have") };
        Some(format!(
            "{runs} failed; the first is {}: {}; `--retry failed` does them again",
            row.run,
            row.error.lines().next().unwrap_or_default()
        ))
    }
}

fn of_estimate(estimate: Option<Estimate>) -> Value {
    let interval = estimate.and_then(|estimate| estimate.interval());
    json!({
        "replications": estimate.map_or(0, |estimate| estimate.count),
        "mean": estimate.map(|estimate| estimate.mean),
        "confidence_95_low": interval.map(|(low, _)| low),
        "confidence_95_high": interval.map(|(_, high)| high),
    })
}
