//! The parameters of experiments: sizes, points, horizons, repetitions. Each experiment has a scenario file
//! of its own, `lab/experiments/parameters/NAME.toml`, which is built in; a [`Given`] file takes its place.
//!
//! `[experiment]` names the experiment, `[parameters]` has what its full form takes, `[quick]` what the quick
//! form has otherwise, and `[constants]`, in a given file only, the constants of the table that this run has
//! otherwise ([`crate::CONSTANTS`]).
//!
//! Invariants: everything is read and checked when experiments are planned, before anything runs, and both
//! forms are checked whichever runs; a key that a plan does not ask for is a mistake.

mod given;
pub(crate) mod kinds;
#[cfg(test)]
mod test;

use paceline_scenario::{Raw, Scenario, ScenarioError, Section, Unfit, Value};

use crate::batch::Setup;
pub use given::Given;
use kinds::Kind;

const SECTIONS: [&str; 4] = ["experiment", "parameters", "quick", "constants"];

/// The parameters of an experiment, to be read by its plan.
#[derive(Debug)]
pub struct Parameters {
    full: Section,
    quick: Section,
    is_quick: bool,
}

/// A value of any type.
struct Any(Raw);

impl Value for Any {
    const EXPECTED: &'static str = "a value";

    fn read(raw: &Raw) -> Result<Self, Unfit> {
        Ok(Self(raw.clone()))
    }
}

impl Parameters {
    /// Those of the experiment `name`: the given ones, if they are for it, or else those of `text`, its
    /// built-in file.
    pub(crate) fn open(name: &'static str, text: &str, setup: &Setup) -> Result<Self, ScenarioError> {
        let mut scenario = match setup.given.as_ref().filter(|given| given.experiment() == name) {
            Some(given) => given.scenario()?,
            None => Scenario::parse(&format!("{name}.toml"), text, "".as_ref(), &[])?,
        };
        let parameters = Self::of(&mut scenario, setup.quick)?;
        // Given constants are read with the set-up.
        let _ = scenario.section("constants")?;
        let mut experiment = scenario.section("experiment")?;
        experiment.required::<String>("name")?;
        experiment.finish()?;
        scenario.finish(&SECTIONS)?;
        Ok(parameters)
    }

    fn of(scenario: &mut Scenario, is_quick: bool) -> Result<Self, ScenarioError> {
        let (full, quick) = (scenario.section("parameters")?, scenario.section("quick")?);
        Ok(Self { full, quick, is_quick })
    }

    /// Ends the reading: a key that was not asked for is a mistake.
    pub(crate) fn finish(self) -> Result<(), ScenarioError> {
        self.full.finish()?;
        self.quick.finish()
    }

    /// The value of `key`, of the given kind; it is required.
    pub(crate) fn one<T>(&mut self, key: &str, kind: &Kind<T>) -> Result<T, ScenarioError> {
        self.read(key, &kind.words, &|raw| (kind.read)(raw).map_err(|why| prefixed(": ", &why)))
    }

    /// Points: an ascending list of at least one.
    pub(crate) fn points<T: PartialOrd>(
        &mut self,
        key: &str,
        kind: &Kind<T>,
    ) -> Result<Vec<T>, ScenarioError> {
        let allowed = format!("a list that ascends and is not empty, each {}", kind.words);
        self.read(key, &allowed, &|raw| ascending(filled(items(raw, kind)?)?))
    }

    /// Values that are tried beside our own: an ascending list, which may be empty.
    pub(crate) fn tried<T: PartialOrd>(
        &mut self,
        key: &str,
        kind: &Kind<T>,
    ) -> Result<Vec<T>, ScenarioError> {
        let allowed = format!("a list that ascends, each {}", kind.words);
        self.read(key, &allowed, &|raw| ascending(items(raw, kind)?))
    }

    /// A list of at least one, in any order, in which nothing stands twice.
    pub(crate) fn distinct<T: PartialEq>(
        &mut self,
        key: &str,
        kind: &Kind<T>,
    ) -> Result<Vec<T>, ScenarioError> {
        let allowed = format!("a list that is not empty and holds nothing twice, each {}", kind.words);
        self.read(key, &allowed, &|raw| once(filled(items(raw, kind)?)?))
    }

    /// The same, but it may be empty.
    pub(crate) fn any<T: PartialEq>(&mut self, key: &str, kind: &Kind<T>) -> Result<Vec<T>, ScenarioError> {
        let allowed = format!("a list that holds nothing twice, each {}", kind.words);
        self.read(key, &allowed, &|raw| once(items(raw, kind)?))
    }

    /// A list with one value for each of `points`, a list that has been read before: as long as that.
    pub(crate) fn beside<T, P>(
        &mut self,
        key: &str,
        kind: &Kind<T>,
        points: (&str, &[P]),
    ) -> Result<Vec<T>, ScenarioError> {
        let allowed = format!("a list with one value for each of `{}`, each {}", points.0, kind.words);
        let found = self.read(key, &allowed, &|raw| filled(items(raw, kind)?))?;
        if found.len() == points.1.len() {
            return Ok(found);
        }
        let (given, all) = (found.len(), points.1.len());
        Err(self.refuse(key, format!("has {given} values, and `{}` has {all}", points.0), &allowed))
    }

    /// A mistake in the value of `key` that the form that runs has.
    pub(crate) fn refuse(&self, key: &str, problem: impl AsRef<str>, allowed: &str) -> ScenarioError {
        let (section, name) = match self.is_quick && self.quick.has(key) {
            true => (&self.quick, "quick"),
            false => (&self.full, "parameters"),
        };
        section.refuse(key, format!("`{key}` in [{name}] {}", problem.as_ref()), allowed)
    }

    /// The value of the form that runs; that of the other is checked too.
    fn read<T>(
        &mut self,
        key: &str,
        allowed: &str,
        read: &dyn Fn(&Raw) -> Result<T, String>,
    ) -> Result<T, ScenarioError> {
        let Any(raw) = self.full.required_within(key, allowed)?;
        let refusal = |section: &Section, name: &str, raw: &Raw, why: &str| {
            section.refuse(key, format!("`{key}` in [{name}] cannot be {raw}{why}"), allowed)
        };
        let full = read(&raw).map_err(|why| refusal(&self.full, "parameters", &raw, &why))?;
        let Some(Any(raw)) = self.quick.optional_within(key, allowed)? else { return Ok(full) };
        let quick = read(&raw).map_err(|why| refusal(&self.quick, "quick", &raw, &why))?;
        Ok(if self.is_quick { quick } else { full })
    }
}

fn prefixed(before: &str, why: &str) -> String {
    match why {
        "" => String::new(),
        _ if why.starts_with("did you mean") => format!("; {why}"),
        _ => format!("{before}{why}"),
    }
}

fn items<T>(raw: &Raw, kind: &Kind<T>) -> Result<Vec<T>, String> {
    let Raw::Array(values) = raw else { return Err(String::new()) };
    let item =
        |raw: &Raw| (kind.read)(raw).map_err(|why| format!(": it holds {raw}{}", prefixed(", and ", &why)));
    values.iter().map(item).collect()
}

fn filled<T>(items: Vec<T>) -> Result<Vec<T>, String> {
    if items.is_empty() { Err(" that is empty".into()) } else { Ok(items) }
}

fn once<T: PartialEq>(items: Vec<T>) -> Result<Vec<T>, String> {
    let twice = (1..items.len()).any(|place| items[..place].contains(&items[place]));
    if twice { Err(" that holds something twice".into()) } else { Ok(items) }
}

fn ascending<T: PartialOrd>(items: Vec<T>) -> Result<Vec<T>, String> {
    let ascends = items.windows(2).all(|pair| pair[0] < pair[1]);
    if ascends { Ok(items) } else { Err(" that does not ascend".into()) }
}
