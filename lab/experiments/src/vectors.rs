//! What a source leaves open: the quantities, the values that are tried, and the vector that was fitted. Each
//! source has a file, `lab/experiments/calibration/PAPER.toml`, which is built in.
//!
//! `[source]` names the experiments whose numbers count, in printed order. `[open]` has the values that are
//! tried of each constant, `[vector]` the fitted ones. `[search]` and `[[row]]` are the record of the search:
//! how many vectors were tried, and for each number its half, its error with the vector and the least with
//! any. People write the first two, `paceline reproduce --calibrate PAPER` all.
//!
//! Invariants: the value of a constant before the fit, that of the table, is among those tried, and so is the
//! fitted one. The text of a file is what [`Open::text`] makes of it.

pub(crate) mod halves;

use std::fmt::Write;
use std::sync::LazyLock;

use paceline_report::{Finding, Fit, Half, Quantity};
use paceline_scenario::{Raw, Scenario, ScenarioError, Section, Unfit, Value};

use crate::constants::{CONSTANTS, Constant};
use halves::{RULE, rows};

/// The files, by their sources.
pub(crate) const FILES: [(&str, &str); 4] = [
    ("psx", include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/calibration/psx.toml"))),
    ("nsx", include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/calibration/nsx.toml"))),
    ("cs", include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/calibration/cs.toml"))),
    ("artis", include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/calibration/artis.toml"))),
];

/// The built-in files as they were read.
static ALL: LazyLock<Vec<Open>> = LazyLock::new(|| {
    let read = |(paper, text): (&'static str, &str)| {
        Open::read(paper, text).unwrap_or_else(|error| panic!("a built-in file is sound: {error}"))
    };
    FILES.map(read).into()
});

/// What a source leaves open.
#[derive(Clone, Debug, PartialEq)]
pub struct Open {
    /// The source's short name: `psx`.
    pub paper: &'static str,
    /// The experiments whose numbers count, in printed order.
    pub experiments: Vec<String>,
    pub quantities: Vec<Tried>,
    /// How many vectors the search tried; none if nothing was fitted yet.
    pub vectors: u64,
    /// The form of the experiments in the search.
    pub form: String,
    /// The record, in printed order.
    pub rows: Vec<Recorded>,
}

/// A constant whose value is open.
#[derive(Clone, Debug, PartialEq)]
pub struct Tried {
    pub constant: &'static Constant,
    /// Those that a fit tries, from the least on, in the constant's unit.
    pub values: Vec<u64>,
    /// One of them.
    pub fitted: u64,
}

/// A number of the source in the record of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// Its experiment and its name there.
    pub what: String,
    pub half: Half,
    /// In tolerances, with the vector that the search began with.
    pub before: f64,
    /// With the fitted vector.
    pub error: f64,
    /// The least with any vector that was tried.
    pub least: f64,
}

/// A list of whole numbers.
struct Numbers(Vec<u64>);

impl Value for Numbers {
    const EXPECTED: &'static str = "a list of whole numbers that ascends";

    fn read(raw: &Raw) -> Result<Self, Unfit> {
        let Raw::Array(items) = raw else { return Err(Unfit::Kind) };
        let number = |item: &Raw| match item {
            Raw::Integer(number) => u64::try_from(*number).map_err(|_| Unfit::Kind),
            _ => Err(Unfit::Kind),
        };
        let numbers = items.iter().map(number).collect::<Result<Vec<_>, _>>()?;
        if numbers.is_sorted_by(|one, next| one < next) { Ok(Self(numbers)) } else { Err(Unfit::Kind) }
    }
}

/// What the source of the experiment or the constant `name` leaves open, if it has a file.
pub fn of(name: &str) -> Option<&'static Open> {
    let paper = name.split(['-', '.']).next().unwrap_or(name);
    ALL.iter().find(|open| open.paper == paper)
}

/// All of them.
pub fn all() -> &'static [Open] {
    &ALL
}

impl Open {
    /// The file of `paper` with this text.
    ///
    /// # Errors
    /// A mistake in it, with its place.
    pub fn read(paper: &'static str, text: &str) -> Result<Self, ScenarioError> {
        let mut scenario = Scenario::parse(&format!("{paper}.toml"), text, "".as_ref(), &[])?;
        let mut source = scenario.section("source")?;
        let experiments = source.required("experiments")?;
        source.finish()?;
        let (mut open, mut vector) = (scenario.section("open")?, scenario.section("vector")?);
        let constants = CONSTANTS.iter().filter_map(|constant| {
            let key = constant.name.strip_prefix(paper)?.strip_prefix('.')?;
            open.has(key).then_some((key, constant))
        });
        let constants: Vec<_> = constants.collect();
        let quantities = constants
            .into_iter()
            .map(|(key, constant)| tried(&mut open, &mut vector, key, constant))
            .collect::<Result<_, _>>()?;
        open.finish()?;
        vector.finish()?;
        let mut search = scenario.section("search")?;
        let (vectors, form) = (search.or("vectors", 0)?, search.or("form", "quick".to_owned())?);
        search.finish()?;
        let rows = scenario.sections("row")?.into_iter().map(recorded).collect::<Result<_, _>>()?;
        scenario.finish(&["source", "open", "vector", "search", "row"])?;
        Ok(Self { paper, experiments, quantities, vectors, form, rows })
    }

    /// The file: what [`Open::read`] reads.
    pub fn text(&self) -> String {
        let quick = if self.form == "quick" { " --quick" } else { "" };
        let mut text = format!(
            "# What the {} paper leaves open, and what was fitted. `paceline reproduce --calibrate {}{quick}` writes this\n# file; \
             `[source]` and `[open]` are its input.\n",
            self.paper, self.paper
        );
        let names: Vec<_> = self.experiments.iter().map(|name| format!("{name:?}")).collect();
        let keys = |of: &dyn Fn(&Tried) -> String| {
            let line = |tried: &Tried| {
                let (_, key) = tried.constant.name.split_once('.').unwrap_or_default();
                format!("{key} = {}\n", of(tried))
            };
            self.quantities.iter().map(line).collect::<String>()
        };
        // Writing to a text does not fail.
        let _ = write!(
            text,
            "[source]\nexperiments = [{}]\n\n[open]\n{}\n[vector]\n{}\n[search]\nvectors = {}\nform = {:?}\n",
            names.join(", "),
            keys(&|tried| format!("{:?}", tried.values)),
            keys(&|tried| tried.fitted.to_string()),
            self.vectors,
            self.form
        );
        for Recorded { what, half, before, error, least } in &self.rows {
            let half = half.name();
            let _ = write!(
                text,
                "\n[[row]]\nwhat = {what:?}\nhalf = {half:?}\nbefore = {before:.3}\nerror = {error:.3}\nleast = {least:.3}\n"
            );
        }
        text
    }

    /// What `finding` shows with the values of constants that `value` gives by their names; nothing if its
    /// numbers do not count.
    pub fn fit_of(&self, finding: &Finding, value: impl Fn(&str) -> u64) -> Option<Fit> {
        let place = self.experiments.iter().position(|name| *name == finding.name)?;
        let quantity = |tried: &Tried| Quantity {
            name: tried.constant.name.into(),
            value: format!("{} {}", value(tried.constant.name), tried.constant.unit),
            meaning: tried.constant.reason.split(": ").next().unwrap_or_default().into(),
        };
        let named = |row: &&Recorded| row.what.starts_with(&format!("{}: ", finding.name));
        let unserved = self.rows.iter().filter(named).filter(|row| row.least > 1.0);
        Some(Fit {
            vector: self.quantities.iter().map(quantity).collect(),
            rule: RULE.into(),
            rows: rows(finding, place),
            unserved: unserved.map(|row| row.what.clone()).collect(),
            vectors: self.vectors,
        })
    }
}

/// The values of a constant that are tried, and the fitted one; before a fit that is its value of the table.
fn tried(
    open: &mut Section,
    vector: &mut Section,
    key: &str,
    constant: &'static Constant,
) -> Result<Tried, ScenarioError> {
    let Numbers(values) = open.required(key)?;
    let allowed = || format!("one of those tried, {values:?}");
    if !values.contains(&constant.value) {
        let problem = format!("`{key}` lacks {}, the value of the table of constants", constant.value);
        return Err(open.refuse(key, problem, "a list that has it"));
    }
    let fitted = vector.or(key, constant.value)?;
    if !values.contains(&fitted) {
        return Err(vector.refuse(key, format!("`{key}` in [vector] is {fitted}"), allowed()));
    }
    Ok(Tried { constant, values, fitted })
}

fn recorded(mut row: Section) -> Result<Recorded, ScenarioError> {
    let halves = [Half::Fitted, Half::Predicted];
    let half = row.required::<String>("half")?;
    let Some(half) = halves.into_iter().find(|known| known.name() == half) else {
        return Err(row.refuse("half", format!("`half` is {half:?}"), "fitted, predicted"));
    };
    let recorded = Recorded {
        what: row.required("what")?,
        half,
        before: row.required("before")?,
        error: row.required("error")?,
        least: row.required("least")?,
    };
    row.finish()?;
    Ok(recorded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vector_off_the_grid_and_a_grid_without_the_value_of_the_table_are_mistakes() {
        let refused = |open: &str, vector: &str| {
            let text = format!("[source]\nexperiments = []\n[open]\n{open}\n[vector]\n{vector}\n");
            Open::read("psx", &text).expect_err("it is a mistake").one_line()
        };
        assert!(refused("event = [500, 2000]", "event = 700").contains("`event` in [vector] is 700"));
        assert!(refused("event = [500]", "").contains("lacks 2000"));
        assert!(refused("evnt = [500]", "").contains("unknown key `evnt`"));
        assert!(refused("event = [2000, 500]", "").contains("ascends"));
    }
}
