//! A study file: which scenario, which factors, how often, until when.
//!
//! Sections: `[study]`, `[stop]`, `[factors]`, `[set]`. Invariant: whatever is wrong in it is reported with
//! file, line and what is allowed, before anything runs; but for names of metrics, which the first run knows.

use std::path::PathBuf;

use paceline_report::name_and_unit;
use paceline_scenario::{Raw, Scenario, ScenarioError, Section};

use crate::levels::{Level, Levels};

/// The most replications of a point.
pub const MOST_REPLICATIONS: u32 = 100_000;
/// The most points of a sample.
const MOST_POINTS: u32 = 65_536;
/// Replications of a point, where the file does not say how many.
const REPLICATIONS: u32 = 10;

/// What a study is to find out.
#[derive(Clone, Debug)]
pub struct Study {
    /// The scenario, as seen from the current folder.
    pub scenario: PathBuf,
    /// Keys of the scenario that have another value in all runs.
    pub set: Vec<Setting>,
    /// The keys that vary, in the order of the alphabet.
    pub factors: Vec<Factor>,
    /// How points are made of the factors.
    pub kind: Kind,
    /// Replications of each point; the least number, where there is a stop rule.
    pub replications: u32,
    /// When a point has had enough replications.
    pub stop: Option<Stop>,
    /// The seed of the first replication; that of the scenario, if none.
    pub seed: Option<u64>,
    /// Which random numbers points have.
    pub streams: Streams,
    /// The threads of a run.
    pub threads: u32,
    /// What is shown; all metrics, if none are named.
    pub metrics: Vec<Metric>,
    /// What is best; none if points are compared with the first.
    pub goal: Option<Goal>,
}

/// How points are made of the factors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Each level with each of the others.
    Grid,
    /// So many points, in each factor one in each of as many equal parts (McKay, Beckman and Conover, 1979).
    LatinHypercube(u32),
    /// So many points of Sobol's sequence, scrambled (Owen, 1995); more points leave the first as they are.
    Sobol(u32),
}

/// Which random numbers points have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Streams {
    /// Replication `n` has the same seed at all points, so that differences between them are those of the
    /// factors.
    Common,
    /// Each point has seeds of its own.
    Independent,
}

/// What is best.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// The least mean.
    Least,
    /// The greatest mean.
    Greatest,
}

/// A key of the scenario that varies.
#[derive(Clone, Debug)]
pub struct Factor {
    /// `section.key`, as `--set` takes it.
    pub key: String,
    /// Its values.
    pub levels: Levels,
    place: (Section, String),
}

/// A key of the scenario that has another value in all runs.
#[derive(Clone, Debug)]
pub struct Setting {
    /// As `--set` takes it.
    pub text: String,
    place: (Section, String),
}

/// A name of a result, and where it stands.
#[derive(Clone, Debug)]
pub struct Metric {
    /// As it was given: `mean_travel_s`, or `mean travel`.
    pub name: String,
    place: (Section, &'static str),
}

/// When a point has had enough replications.
#[derive(Clone, Debug)]
pub struct Stop {
    /// The metric that is looked at.
    pub metric: Metric,
    /// Half the width of its interval of 95 % is to be at most this part of its mean.
    pub within: f64,
    /// The most replications.
    pub most: u32,
    /// It is looked at each time that so many more have ended.
    pub by: u32,
}

impl Factor {
    /// A mistake of this factor, at its place in the study file.
    pub fn refuse(&self, problem: impl Into<String>, allowed: impl Into<String>) -> ScenarioError {
        self.place.0.refuse(&self.place.1, problem, allowed)
    }

    /// What `--set` takes to give it this level.
    pub fn set(&self, level: &Level) -> String {
        format!("{}={}", self.key, level.written)
    }
}

impl Setting {
    /// A mistake of this setting, at its place in the study file.
    pub fn refuse(&self, problem: impl Into<String>, allowed: impl Into<String>) -> ScenarioError {
        self.place.0.refuse(&self.place.1, problem, allowed)
    }
}

impl Metric {
    /// Whether a result of this name is meant, as summaries show it: without its unit.
    fn is(&self, result: &str) -> bool {
        name_and_unit(result).0 == self.name.replace('_', " ")
    }

    /// The result that is meant, of those that a run has.
    ///
    /// # Errors
    ///
    /// There is none, or more than one.
    pub fn find<'n>(&self, results: &'n [String]) -> Result<&'n str, ScenarioError> {
        if let Some(same) = results.iter().find(|result| **result == self.name) {
            return Ok(same);
        }
        let found: Vec<&String> = results.iter().filter(|result| self.is(result)).collect();
        match found[..] {
            [one] => Ok(one),
            _ => {
                let problem =
                    if found.is_empty() { "there is no metric" } else { "several metrics are called" };
                let problem = format!("{problem} {:?}", self.name);
                let near = paceline_scenario::nearest(&self.name, results.iter().map(String::as_str));
                let hint = near.map_or(String::new(), |near| format!("; did you mean {near:?}?"));
                let (section, key) = &self.place;
                Err(section.refuse(key, format!("{problem}{hint}"), results.join(", ")))
            }
        }
    }
}

impl Study {
    /// Reads a study file to its last key.
    ///
    /// # Errors
    ///
    /// Its first mistake.
    pub fn read(mut scenario: Scenario) -> Result<Self, ScenarioError> {
        let mut section = scenario.section("study")?;
        let has_stop = scenario.has("stop");
        let mut stop = scenario.section("stop")?;
        let (factors, set) = (scenario.section("factors")?, scenario.section("set")?);
        scenario.finish(&["study", "stop", "factors", "set"])?;
        let whole = "a whole number above zero";
        let replications = section.or_where(
            "replications",
            REPLICATIONS,
            |count| (1..=MOST_REPLICATIONS).contains(&count),
            format!("1 to {MOST_REPLICATIONS}"),
        )?;
        let path = section.needed_file("scenario")?;
        let Some(path) = path else {
            return Err(section.refuse(
                "scenario",
                "missing key `scenario` in [study]",
                "the path of a scenario",
            ));
        };
        let factors = read_factors(&factors)?;
        let kind = read_kind(&mut section, &factors)?;
        let stop = if has_stop { Some(read_stop(&mut stop, replications)?) } else { None };
        let streams = [("common", Streams::Common), ("independent", Streams::Independent)];
        let goals = [("least", Some(Goal::Least)), ("greatest", Some(Goal::Greatest)), ("none", None)];
        let study = Self {
            scenario: path,
            set: read_set(&set)?,
            factors,
            kind,
            replications,
            stop,
            seed: section.optional("seed")?,
            streams: section.choice("streams", &streams, Some(Streams::Common))?,
            threads: section.or_where("threads", 1, |threads| threads > 0, whole)?,
            metrics: read_metrics(&mut section)?,
            goal: section.choice("goal", &goals, Some(None))?,
        };
        section.finish()?;
        Ok(study)
    }
}

fn read_kind(section: &mut Section, factors: &[Factor]) -> Result<Kind, ScenarioError> {
    type Make = fn(u32) -> Kind;
    // By their places: functions cannot be compared.
    let kinds: [(&str, usize); 3] = [("grid", 0), ("latin-hypercube", 1), ("sobol", 2)];
    let kind = section.choice("design", &kinds, Some(0))?;
    let points: Option<u32> = section.optional("points")?;
    let make: Make = match kind {
        0 => {
            let span = factors.iter().find(|factor| matches!(factor.levels, Levels::Span(_)));
            if let Some(factor) = span {
                let problem = format!("the range of the factor `{}` has neither step nor count", factor.key);
                return Err(
                    factor.refuse(problem, "`step` or `count`, or a design that draws a sample of points")
                );
            }
            if points.is_some() {
                let problem = "`points` in a grid, which has all combinations of the levels";
                let allowed = "no `points`, or design = \"latin-hypercube\" or \"sobol\"";
                return Err(section.refuse("points", problem, allowed));
            }
            return Ok(Kind::Grid);
        }
        1 => Kind::LatinHypercube,
        _ => Kind::Sobol,
    };
    let allowed = format!("`points`, from 1 to {MOST_POINTS}");
    match points.filter(|points| (1..=MOST_POINTS).contains(points)) {
        Some(points) => Ok(make(points)),
        None => Err(section.refuse(
            "points",
            "a design that draws a sample of points needs their number",
            allowed,
        )),
    }
}

fn read_stop(stop: &mut Section, least: u32) -> Result<Stop, ScenarioError> {
    let metric = Metric { name: stop.required("metric")?, place: (stop.clone(), "metric") };
    let within: f64 = stop.required("within")?;
    if !(within > 0.0 && within < 1.0) {
        return Err(stop.refuse(
            "within",
            format!("`within` is {within}"),
            "a part between 0 and 1, such as 0.01",
        ));
    }
    let most: u32 = stop.required("most")?;
    if !(least..=MOST_REPLICATIONS).contains(&most) {
        let allowed = format!("from `replications` in [study], {least}, to {MOST_REPLICATIONS}");
        return Err(stop.refuse("most", format!("`most` is {most}"), allowed));
    }
    let by = stop.or_where("by", least, |by| by > 0, "a whole number above zero")?;
    stop.clone().finish()?;
    Ok(Stop { metric, within, most, by })
}

fn read_metrics(section: &mut Section) -> Result<Vec<Metric>, ScenarioError> {
    let names: Vec<String> = section.optional("metrics")?.unwrap_or_default();
    let place = section.clone();
    Ok(names.into_iter().map(|name| Metric { name, place: (place.clone(), "metrics") }).collect())
}

/// The keys of a section and of the tables in it, as `--set` takes them, each with the table it stands in.
fn keys(
    section: &Section,
    before: &str,
    is_value: fn(&Section, &str) -> bool,
) -> Vec<(String, Section, String)> {
    let mut found = Vec::new();
    for (key, _) in section.clone().rest() {
        let path = if before.is_empty() { key.clone() } else { format!("{before}.{key}") };
        match section.clone().table(&key) {
            // A range is a table as well, but a value, and leads to no other keys.
            Ok(table) if section.is_table(&key) && !is_value(section, &key) => {
                found.extend(keys(&table, &path, is_value));
            }
            _ => found.push((path, section.clone(), key)),
        }
    }
    found
}

/// Refuses what is no key of a scenario, or one that the study itself decides.
fn check_key(path: &str, section: &Section, key: &str) -> Result<(), ScenarioError> {
    let allowed = "section.key of the scenario, such as model.cycle or run.until";
    if path.split('.').count() < 2 || path.split('.').any(|part| part.trim().is_empty()) || path.contains('=')
    {
        return Err(section.refuse(key, format!("`{path}` is no section and key of a scenario"), allowed));
    }
    if path == "run.seed" {
        let problem = "`run.seed` is what replications differ by";
        return Err(section.refuse(key, problem, "`seed` and `replications` in [study]"));
    }
    Ok(())
}

fn read_factors(section: &Section) -> Result<Vec<Factor>, ScenarioError> {
    let is_range = |section: &Section, key: &str| {
        section.clone().table(key).is_ok_and(|table| table.has("from") || table.has("to"))
    };
    let mut factors: Vec<Factor> = Vec::new();
    for (path, table, key) in keys(section, "", is_range) {
        check_key(&path, &table, &key)?;
        if factors.iter().any(|factor| factor.key == path) {
            return Err(table.refuse(
                &key,
                format!("the factor `{path}` stands there twice"),
                "each factor once",
            ));
        }
        let levels = Levels::read(&table, &key, &path)?;
        factors.push(Factor { key: path, levels, place: (table, key) });
    }
    // With quotation marks or without: the same order.
    factors.sort_by(|one, other| one.key.cmp(&other.key));
    Ok(factors)
}

fn read_set(section: &Section) -> Result<Vec<Setting>, ScenarioError> {
    let mut set = Vec::new();
    for (path, table, key) in keys(section, "", |_, _| false) {
        check_key(&path, &table, &key)?;
        let raw = table.clone().rest().into_iter().find(|(name, _)| *name == key).map(|(_, raw)| raw);
        let level = raw.as_ref().and_then(Level::of);
        let level = level.ok_or_else(|| {
            let given = raw.unwrap_or(Raw::Other("nothing"));
            table.refuse(&key, format!("`{path}` cannot be {given}"), "a value, as the scenario has it")
        })?;
        set.push(Setting { text: format!("{path}={}", level.written), place: (table, key) });
    }
    Ok(set)
}

#[cfg(test)]
mod tests;
