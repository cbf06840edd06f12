//! Parameters that are given for one experiment in place of the built-in ones: a file, or changes to the
//! built-in one.

use std::collections::BTreeMap;

use paceline_scenario::{Raw, Scenario, ScenarioError, nearest};

use super::{Parameters, kinds};
use crate::batch::Setup;
use crate::{CONSTANTS, Calibration, Experiment};

/// A constant may be so many times its value in the table: more is a slip of the pen, and would fill the
/// memory where it counts things.
const MOST_TIMES: u64 = 1_000;

/// What is given for an experiment.
#[derive(Clone, Debug)]
pub struct Given {
    experiment: Experiment,
    file: String,
    text: String,
    /// As [`Scenario::parse`] has them.
    overrides: Vec<String>,
    quick: bool,
}

impl Given {
    /// The file `file` with the text `text`, for that of `all` which it names. Each override is "KEY=VALUE"
    /// for a key of the form that runs, or "SECTION.KEY=VALUE".
    pub fn read(
        file: &str,
        text: &str,
        overrides: &[String],
        quick: bool,
        all: &[Experiment],
    ) -> Result<Self, ScenarioError> {
        let overrides = complete(overrides, quick);
        let mut scenario = Scenario::parse(file, text, "".as_ref(), &overrides)?;
        let mut section = scenario.section("experiment")?;
        let names = || all.iter().map(|experiment| experiment.name);
        let allowed = "the name of an experiment, as `paceline reproduce --list` prints it";
        let name: String = section.required_within("name", allowed)?;
        let Some(experiment) = all.iter().find(|experiment| experiment.name == name) else {
            let near = nearest(&name, names());
            let hint = near.map_or(String::new(), |near| format!("; did you mean {near:?}?"));
            return Err(section.refuse("name", format!("there is no experiment {name:?}{hint}"), allowed));
        };
        Ok(Self { experiment: *experiment, file: file.into(), text: text.into(), overrides, quick })
    }

    /// The built-in file of `experiment` with changes, as [`Given::read`] has them.
    pub fn changed(experiment: &Experiment, overrides: &[String], quick: bool) -> Self {
        Self {
            experiment: *experiment,
            file: format!("{}.toml", experiment.name),
            text: experiment.parameters.into(),
            overrides: complete(overrides, quick),
            quick,
        }
    }

    /// The name of the experiment.
    pub fn experiment(&self) -> &'static str {
        self.experiment.name
    }

    /// The set-up with these parameters and constants. Constants are mistakes here already; parameters are
    /// when the experiment is planned.
    pub fn setup(self) -> Result<Setup, ScenarioError> {
        let calibration = self.calibration()?;
        Ok(Setup { quick: self.quick, calibration, given: Some(self), ..Setup::default() })
    }

    pub(super) fn scenario(&self) -> Result<Scenario, ScenarioError> {
        Scenario::parse(&self.file, &self.text, "".as_ref(), &self.overrides)
    }

    /// The constants of the experiment's paper, those in `[constants]` as they stand there.
    fn calibration(&self) -> Result<Calibration, ScenarioError> {
        let mut section = self.scenario()?.section("constants")?;
        let paper = self.experiment.name.split('-').next().unwrap_or_default();
        let of_paper = |name: &'static str| name.strip_prefix(paper)?.strip_prefix('.');
        let chosen: Vec<_> =
            CONSTANTS.iter().filter_map(|constant| Some((of_paper(constant.name)?, constant))).collect();
        let mut calibration = Calibration::default();
        if chosen.is_empty() {
            let given = section.rest();
            return given.first().map_or(Ok(calibration), |(key, _)| {
                let problem = format!("`{key}` in [constants]: {} measures real time", self.experiment.name);
                Err(section.refuse(key, problem, "no constants for this experiment"))
            });
        }
        let names: Vec<_> = chosen.iter().map(|(name, _)| *name).collect();
        let mut table = section.table(paper)?;
        section.finish()?;
        for (key, raw) in table.rest() {
            let Some((_, constant)) = chosen.iter().find(|(name, _)| *name == key) else {
                return Err(table.unknown(&key, format!("there is no constant `{paper}.{key}`"), &names));
            };
            let kind = kinds::count(1..=constant.value * MOST_TIMES);
            let value = (kind.read)(&raw).map_err(|_| {
                let (problem, unit) =
                    (format!("`{key}` in [constants.{paper}] cannot be {raw}"), constant.unit);
                table.refuse(&key, problem, format!("{}, in {unit}", kind.words))
            })?;
            calibration = calibration.with(constant.name, value);
        }
        Ok(calibration)
    }

    /// What is not as in the built-in file and in the table of constants, in a sentence; nothing if all is.
    pub(crate) fn differences(&self) -> Result<String, ScenarioError> {
        let built_in = Scenario::parse(&self.file, self.experiment.parameters, "".as_ref(), &[])?;
        let (chosen, built_in) = (values(self.scenario()?, self.quick)?, values(built_in, self.quick)?);
        let mut differences: Vec<_> = chosen
            .iter()
            .filter_map(|(key, raw)| {
                let usual = built_in.get(key).filter(|usual| *usual != raw)?;
                Some(format!("{key} = {} in place of {}", written(raw), written(usual)))
            })
            .collect();
        let (calibration, built_in) = (self.calibration()?, Calibration::default());
        differences.extend(CONSTANTS.iter().filter_map(|constant| {
            let (chosen, usual) = (calibration.get(constant.name), built_in.get(constant.name));
            let difference = || format!("{} = {chosen} in place of {usual} {}", constant.name, constant.unit);
            (chosen != usual).then(difference)
        }));
        if differences.is_empty() {
            return Ok(String::new());
        }
        Ok(format!("With other parameters than the built-in ones: {}.", differences.join("; ")))
    }
}

/// Each override with its section: a key alone is one of the form that runs.
fn complete(overrides: &[String], quick: bool) -> Vec<String> {
    let section = if quick { "quick" } else { "parameters" };
    let whole = |argument: &String| match argument.split_once('=') {
        Some((key, _)) if !key.contains('.') => format!("{section}.{argument}"),
        _ => argument.clone(),
    };
    overrides.iter().map(whole).collect()
}

/// The values that the form takes.
pub(super) fn values(mut scenario: Scenario, quick: bool) -> Result<BTreeMap<String, Raw>, ScenarioError> {
    let Parameters { mut full, quick: mut other, .. } = Parameters::of(&mut scenario, quick)?;
    let mut values: BTreeMap<_, _> = full.rest().into_iter().collect();
    if quick {
        values.extend(other.rest());
    }
    Ok(values)
}

/// A value as it is written in a file.
pub(super) fn written(raw: &Raw) -> String {
    match raw {
        Raw::Bool(value) => value.to_string(),
        Raw::Integer(number) => number.to_string(),
        Raw::Float(number) => number.to_string(),
        Raw::String(text) => format!("{text:?}"),
        Raw::Array(values) => format!("[{}]", values.iter().map(written).collect::<Vec<_>>().join(", ")),
        Raw::Other(what) => (*what).to_owned(),
    }
}
