//! What a study has come to so far: its points, their runs, and which metrics are shown.

use paceline_report::name_and_unit;
use paceline_scenario::ScenarioError;

use crate::design::Point;
use crate::row::{Row, Status, metric_names};
use crate::sample::{Estimate, Sample};
use crate::settings::{Goal, Kind, Study};

/// A run that is needed, and what came of it.
#[derive(Clone, Debug)]
pub struct Run {
    /// By what it is known.
    pub name: String,
    /// Its seed.
    pub seed: u64,
    /// What came of it, if it has ended.
    pub row: Option<Row>,
}

/// What a study has come to.
#[derive(Clone, Debug)]
pub struct StudyResult<'s> {
    /// Its name: that of its file without the ending.
    pub name: String,
    /// What it asks.
    pub study: &'s Study,
    /// The seed of the first replication.
    pub first_seed: u64,
    /// The points.
    pub points: Vec<Point>,
    /// The runs that are needed, by point and replication.
    pub runs: Vec<Vec<Run>>,
    /// The metrics that are shown.
    pub shown: Vec<String>,
}

impl<'s> StudyResult<'s> {
    /// Puts together what is known.
    ///
    /// # Errors
    ///
    /// Runs have no metric of a name that the study shows.
    pub fn new(
        name: String,
        study: &'s Study,
        first_seed: u64,
        points: Vec<Point>,
        runs: Vec<Vec<Run>>,
    ) -> Result<Self, ScenarioError> {
        let rows = runs.iter().flatten().filter_map(|run| run.row.as_ref());
        let known = metric_names(rows);
        // Before the first run has ended nobody knows which names there are.
        let shown = if known.is_empty() { Vec::new() } else { shown_metrics(study, &known)? };
        Ok(Self { name, study, first_seed, points, runs, shown })
    }

    /// All runs that have ended or failed, with their points and replications.
    pub fn rows(&self) -> impl Iterator<Item = (&Point, usize, &Run, &Row)> {
        self.points.iter().zip(&self.runs).flat_map(|(point, runs)| {
            let done = runs.iter().enumerate();
            done.filter_map(move |(replication, run)| Some((point, replication, run, run.row.as_ref()?)))
        })
    }

    /// How many runs are needed, have ended and have failed.
    pub fn counts(&self) -> [usize; 3] {
        let with = |status| self.rows().filter(|(.., row)| row.status == status).count();
        [self.runs.iter().map(Vec::len).sum(), with(Status::Ended), with(Status::Failed)]
    }

    /// The values of a metric.
    pub fn sample(&self, metric: &str) -> Sample {
        let value = |run: &Run| run.row.as_ref().and_then(|row| row.value(metric));
        Sample { values: self.runs.iter().map(|runs| runs.iter().map(value).collect()).collect() }
    }

    /// For each point of a grid the place of its level in each factor; none for a sample of points.
    pub fn grid(&self) -> Option<Vec<Vec<usize>>> {
        let place = |(factor, level): (usize, &crate::Level)| match &self.study.factors[factor].levels {
            crate::Levels::List(levels) => levels.iter().position(|other| other == level),
            crate::Levels::Span(_) => None,
        };
        let places = |point: &Point| point.iter().enumerate().map(place).collect::<Option<Vec<_>>>();
        if self.study.kind == Kind::Grid { self.points.iter().map(places).collect() } else { None }
    }

    /// The point that others are compared with: the best one, or the first where nothing is said to be best.
    pub fn reference(&self, means: &[Option<Estimate>]) -> usize {
        let sign = match self.study.goal {
            None => return 0,
            Some(Goal::Least) => 1.0,
            Some(Goal::Greatest) => -1.0,
        };
        let known = means.iter().enumerate().filter_map(|(point, mean)| Some((point, sign * (*mean)?.mean)));
        known.min_by(|one, other| one.1.total_cmp(&other.1)).map_or(0, |(point, _)| point)
    }

    /// The levels of a point in a few words: `model.cycle = 60s`.
    pub fn words(&self, point: usize) -> String {
        let levels = self.study.factors.iter().zip(&self.points[point]);
        let words: Vec<_> =
            levels.map(|(factor, level)| format!("{} = {}", factor.key, level.shown)).collect();
        if words.is_empty() { "the scenario as it is".to_owned() } else { words.join(", ") }
    }

    /// Which point is best in a metric, and which are not distinguished from it; none where nothing is said
    /// to be best, or nothing can be compared.
    pub fn conclusion(&self, metric: &str) -> Option<String> {
        let sample = self.sample(metric);
        let means = sample.means();
        let word = match self.study.goal? {
            Goal::Least => "Least",
            Goal::Greatest => "Greatest",
        };
        let best = self.reference(&means);
        let found = means[best]?;
        let differences = sample.differences(best);
        let is_open = |point: &usize| {
            *point != best && differences[*point].is_none_or(|difference| !difference.differs_from_zero())
        };
        let open: Vec<_> = (0..self.points.len()).filter(is_open).map(|point| self.words(point)).collect();
        let others = match open.len() {
            0 => "all others differ from it".to_owned(),
            few if few <= 4 => format!("not distinguished from it: {}", open.join("; ")),
            many => format!("not distinguished from it: {many} other points"),
        };
        let ends = found.interval().map_or(String::new(), |(low, high)| {
            format!(", {} to {}", paceline_report::number(low), paceline_report::number(high))
        });
        let mean = paceline_report::number(found.mean);
        Some(format!("{word} {}: {} with {mean}{ends}; {others}.", label(metric), self.words(best)))
    }
}

/// A metric as people read it, with its unit: "mean travel, s".
pub fn label(metric: &str) -> String {
    let (name, unit) = name_and_unit(metric);
    if unit.is_empty() { name } else { format!("{name}, {unit}") }
}

/// The metrics that a study shows, of those that runs have.
fn shown_metrics(study: &Study, known: &[String]) -> Result<Vec<String>, ScenarioError> {
    let named: Vec<String> =
        study.metrics.iter().map(|metric| metric.find(known).map(str::to_owned)).collect::<Result<_, _>>()?;
    let of_rule = study.stop.as_ref().map(|stop| stop.metric.find(known)).transpose()?;
    Ok(match (named.is_empty(), of_rule) {
        (false, _) => named,
        // A rule says what the study is about.
        (true, Some(metric)) => vec![metric.to_owned()],
        (true, None) => known.to_vec(),
    })
}
