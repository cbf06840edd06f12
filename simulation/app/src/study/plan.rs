//! A study before it runs: its points, what each of them runs, and by what its runs are known.
//!
//! Invariant: every point was read to the last key, so that a mistake is reported before anything runs.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use paceline_scenario::{Scenario, ScenarioError};
use paceline_study::course::{Course, Enough, Rule, Slice, Wanted};
use paceline_study::design::{self, Point};
use paceline_study::journal::{Header, Rows};
use paceline_study::{Run, Study, StudyResult, row};
use serde_json::{Value, json};

use crate::args::ScenarioArguments;
use crate::failure::CommandError;
use crate::loaded::Source;
use crate::panics;
use crate::program::Program;
use crate::replicate::Replicas;

/// The most points of a study: each is read before anything runs.
const MOST_POINTS: u128 = 1_000_000;
/// The key that says how many threads a run has.
const THREADS: &str = "run.threads";

/// Gives the models of a scenario.
pub type ReplicasOf<'f, 'p> = &'f dyn Fn(&Source) -> Result<Box<dyn Replicas + 'p>, CommandError>;

/// A study, read to the last key of its last point.
#[derive(Debug)]
pub struct Plan {
    /// Its name: that of its file without the ending.
    pub name: String,
    /// What it asks.
    pub study: Study,
    /// Where its journal and its results are.
    pub folder: PathBuf,
    /// The first line of its journals.
    pub header: Header,
    first_seed: u64,
    source: Source,
    points: Vec<Point>,
    /// By what the scenario of each point is known.
    contents: Vec<String>,
}

impl Plan {
    /// Reads a study file and its scenario, at every point.
    pub fn read(
        program: &Program,
        replicas: ReplicasOf<'_, '_>,
        (file, overrides): (&Path, &[String]),
        folder: Option<&Path>,
    ) -> Result<Self, CommandError> {
        let study = Study::read(Scenario::load(file, overrides)?)?;
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let set = study.set.iter().map(|setting| setting.text.clone()).collect();
        let mut source =
            Source::read(&ScenarioArguments { scenario: study.scenario.clone(), overrides: set })?;
        if !study.factors.iter().any(|factor| factor.key == THREADS) {
            source.overrides.push(format!("{THREADS}={}", study.threads));
        }
        let count = design::count(&study.factors, study.kind);
        if let Some(factor) = study.factors.last().filter(|_| count > MOST_POINTS) {
            let problem = format!("the factors make {count} points");
            return Err(factor.refuse(problem, format!("at most {MOST_POINTS} points")).into());
        }
        let read = |source: &Source| -> Result<_, CommandError> { replicas(source)?.subject(source) };
        let first_seed = match study.seed {
            Some(seed) => seed,
            // A scenario may lack what each point gives it.
            None => match design::points(&study.factors, study.kind, 0).first() {
                Some(point) => read_point(&study, &source, point, &read)?.first_seed,
                None => 0,
            },
        };
        let points = design::points(&study.factors, study.kind, first_seed);
        let folder = folder.map_or_else(|| PathBuf::from(format!("{name}.study")), Path::to_owned);
        let header = Header::new(program.name, program.version);
        let mut plan = Self { name, study, folder, header, first_seed, source, points, contents: Vec::new() };
        plan.contents = plan
            .points
            .iter()
            .map(|point| {
                let source = plan.source_of(point);
                match panics::as_failures(|| read_point(&plan.study, &plan.source, point, &read)) {
                    Ok(series) => content(&source, &series.provenance.content(), &plan.study),
                    // A model that fails where it is built fails in each of its runs, which are rows then.
                    Err(CommandError::Run(..)) => content(&source, &Value::Null, &plan.study),
                    Err(mistake) => Err(mistake),
                }
            })
            .collect::<Result<_, CommandError>>()?;
        Ok(plan)
    }

    /// The name of the scenario.
    #[cfg(feature = "live")]
    pub fn scenario(&self) -> String {
        self.source.name()
    }

    /// How many points it has.
    pub fn points(&self) -> usize {
        self.points.len()
    }

    /// The journal of the whole, or of a part.
    pub fn journal(&self, slice: Option<Slice>) -> PathBuf {
        let name = slice.map_or_else(
            || "study.journal".to_owned(),
            |Slice { number, of }| format!("part-{number}-of-{of}.journal"),
        );
        self.folder.join(name)
    }

    /// Which runs are needed, before any has ended.
    pub fn course(&self, slice: Option<Slice>) -> Course {
        let enough =
            self.study.stop.as_ref().map(|stop| Enough { within: stop.within, most: stop.most, by: stop.by });
        let rule = Rule { least: self.study.replications, enough };
        Course::new(rule, self.points.len() as u32, slice.unwrap_or(Slice::ALL))
    }

    /// The seed of a run, and its name.
    pub fn run(&self, wanted: Wanted) -> (u64, String) {
        let content = &self.contents[wanted.point as usize];
        let seed = row::seed(self.first_seed, self.study.streams, content, wanted.replication);
        (seed, row::name(content, seed))
    }

    /// The names of all runs that the study may need.
    pub fn names(&self) -> BTreeSet<String> {
        let most = self.study.stop.as_ref().map_or(self.study.replications, |stop| stop.most);
        let of = |point| (0..most).map(move |replication| self.run(Wanted { replication, point }).1);
        (0..self.points.len() as u32).flat_map(of).collect()
    }

    fn source_of(&self, point: &Point) -> Source {
        at(&self.study, &self.source, point)
    }

    /// What a run runs.
    pub fn source(&self, wanted: Wanted) -> Source {
        let mut source = self.source_of(&self.points[wanted.point as usize]);
        source.overrides.push(format!("run.seed={}", self.run(wanted).0));
        source
    }

    /// How many threads a run has at most.
    pub fn threads(&self) -> u32 {
        let place = self.study.factors.iter().position(|factor| factor.key == THREADS);
        let most = place.and_then(|place| {
            self.points.iter().filter_map(|point| point[place].number).max_by(f64::total_cmp)
        });
        most.map_or(self.study.threads, |most| most as u32)
    }

    /// What the study has come to with these rows, where so many replications of each point are needed.
    pub fn result(&self, targets: &[u32], rows: &Rows) -> Result<StudyResult<'_>, ScenarioError> {
        let runs = targets.iter().zip(0..).map(|(target, point)| {
            let run = |replication| {
                let (seed, name) = self.run(Wanted { replication, point });
                Run { row: rows.get(&name).cloned(), seed, name }
            };
            (0..*target).map(run).collect()
        });
        let runs: Vec<Vec<Run>> = runs.collect();
        StudyResult::new(self.name.clone(), &self.study, self.first_seed, self.points.clone(), runs)
    }
}

/// The scenario at a point.
fn at(study: &Study, source: &Source, point: &Point) -> Source {
    let mut source = source.clone();
    source.overrides.extend(study.factors.iter().zip(point).map(|(factor, level)| factor.set(level)));
    source
}

/// Reads the scenario at a point. A mistake that comes from the study file is reported there.
fn read_point<R>(
    study: &Study,
    source: &Source,
    point: &Point,
    read: &impl Fn(&Source) -> Result<R, CommandError>,
) -> Result<R, CommandError> {
    let failure = match read(&at(study, source, point)) {
        Err(CommandError::Scenario(error)) => error,
        other => return other,
    };
    let place = failure.place();
    for setting in &study.set {
        if place == format!("--set {}", setting.text) {
            return Err(setting.refuse(failure.to_string(), failure.allowed()).into());
        }
    }
    for (factor, level) in study.factors.iter().zip(point) {
        if place == format!("--set {}", factor.set(level)) {
            return Err(factor.refuse(failure.to_string(), failure.allowed()).into());
        }
    }
    let Some((factor, _)) = study.factors.iter().zip(point).next() else { return Err(failure.into()) };
    // The scenario may be wrong without the study, or only at this point.
    if let Err(CommandError::Scenario(same)) = read(source)
        && same.place() == place
    {
        return Err(same.into());
    }
    let levels = study.factors.iter().zip(point).map(|(factor, level)| factor.set(level));
    let levels = levels.collect::<Vec<_>>().join(", ");
    let problem = format!("with {levels} the scenario cannot run: {place}: {failure}");
    Err(factor.refuse(problem, failure.allowed()).into())
}

/// By what the scenario of a point is known: everything in it but the seed, and the number of threads where
/// that is no factor.
fn content(source: &Source, of_model: &Value, study: &Study) -> Result<String, CommandError> {
    let mut given = serde_json::to_value(source.open()?.given()).unwrap_or_default();
    let mut run = given["run"].take();
    if let Some(keys) = run.as_object_mut() {
        keys.shift_remove("seed");
        if !study.factors.iter().any(|factor| factor.key == THREADS) {
            keys.shift_remove("threads");
        }
    }
    Ok(row::content(&json!({ "model": of_model, "run": run }).to_string()))
}
