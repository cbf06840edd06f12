//! The live page of a study: how many runs have ended, and what they say so far.

use std::sync::Arc;

use paceline_report::{Figure, Table};
use paceline_study::row::Status;
use paceline_study::{figures, label, point_table};

use super::arguments::Part;
use super::plan::Plan;
use super::side_by_side::{Looker, Stopper};
use crate::live::{About, Course, Drawing, Now, Scene};
use crate::text;

/// Metrics that have a table and figures, and figures of all.
const METRICS: usize = 4;
const FIGURES: usize = 8;

/// What the page shows of a study.
#[derive(Debug)]
pub struct StudyPage {
    plan: Arc<Plan>,
    looker: Looker,
    stopper: Stopper,
    part: Option<Part>,
    at_once: u32,
}

impl StudyPage {
    /// Of a study, or of a part of it.
    pub fn new(
        plan: &Arc<Plan>,
        (looker, stopper): (Looker, Stopper),
        part: Option<Part>,
        at_once: u32,
    ) -> Arc<Self> {
        Arc::new(Self { plan: Arc::clone(plan), looker, stopper, part, at_once })
    }
}

impl Scene for StudyPage {
    fn about(&self) -> About {
        let of = self
            .part
            .map_or(String::new(), |Part(slice)| format!("part {} of {} of ", slice.number, slice.of));
        let kind = format!("{of}a study of {}", self.plan.scenario());
        About { name: self.plan.name.clone(), kind, ..About::default() }
    }

    fn requests(&self) -> &'static [&'static str] {
        &["stop"]
    }

    fn answer(&self, _: &str) -> Result<String, String> {
        self.stopper.stop();
        Ok("the study stops; the same command continues it".into())
    }

    fn now(&self) -> Now {
        let standing = self.looker.standing();
        let mut numbers = vec![
            ("Points", text::count(standing.points as u64)),
            ("Runs needed", text::count(standing.needed)),
            ("Runs done", text::count(standing.settled)),
            ("New in this go", text::count(standing.new as u64)),
            ("Running", format!("{} of {} at once", standing.running, self.at_once)),
        ];
        if standing.failed > 0 {
            numbers.push(("Failed", text::count(standing.failed as u64)));
        }
        let done = standing.settled as f64;
        Now {
            done: Some(done / (standing.needed as f64).max(1.0)),
            is_stopping: standing.is_stopped,
            numbers,
            courses: vec![Course { name: "Runs done", unit: "", value: done, is_total: false }],
            ..Now::default()
        }
    }

    fn drawing(&self) -> Drawing {
        let (targets, rows) = self.looker.rows();
        let failed: Vec<_> = rows.values().filter(|row| row.status == Status::Failed).collect();
        let mut failures = Table::new("Failed", ["run", "seed", "why"]);
        failed.iter().for_each(|row| {
            failures.row([row.run.clone(), row.seed.to_string(), row.error.clone()]);
        });
        // A metric that no run has ends the study by itself, with its place.
        let Ok(result) = self.plan.result(&targets, &rows) else { return Drawing::default() };
        let mut drawing = Drawing::default();
        for metric in result.shown.iter().take(METRICS) {
            drawing.tables.push(point_table(&result, metric));
            let named = |figure: Figure| Figure { title: titled(metric, &figure.title), ..figure };
            drawing.figures.extend(figures(&result, metric).into_iter().map(named));
        }
        drawing.figures.truncate(FIGURES);
        drawing.tables.extend((!failed.is_empty()).then_some(failures));
        drawing
    }
}

/// The title of a figure with its metric, where it does not name it.
fn titled(metric: &str, title: &str) -> String {
    let metric = label(metric);
    if title.contains(&metric) { title.to_owned() } else { format!("{metric}: {title}") }
}
