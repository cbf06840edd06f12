//! Parameters that are changed while the run goes on, in the words of those who ask for it.

use paceline_engine::{Run, RunError};
use paceline_kernel::{Change, ChangeError, Model, Parameter, ParameterValue};
use serde::Deserialize;
use serde_json::{Value, json};

/// A change as it is asked for.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(crate) struct Setting {
    /// The name of the parameter.
    set: String,
    /// A duration as in scenarios, or a number.
    to: String,
    /// The simulated time; unless said, the earliest that there is.
    at: Option<String>,
}

impl Setting {
    pub(super) fn new(set: &str, to: &str, at: Option<&str>) -> Self {
        Self { set: set.to_owned(), to: to.to_owned(), at: at.map(str::to_owned) }
    }

    /// The change, or what is wrong with it.
    fn read<M: Model>(&self, run: &Run<M>, declared: &[Parameter]) -> Result<Change, String> {
        let Self { set, to, at } = self;
        let parameter = declared.iter().find(|parameter| parameter.name == *set);
        let parameter = parameter.ok_or_else(|| ChangeError::unknown(set, declared).to_string())?;
        let value = match parameter.least {
            ParameterValue::Time(_) => paceline_scenario::duration(to).ok().map(ParameterValue::Time),
            ParameterValue::Number(_) => to.parse().ok().map(ParameterValue::Number),
        };
        let value = value.ok_or_else(|| {
            let (name, value, allowed) = (set.clone(), to.clone(), parameter.allowed());
            ChangeError::Value { name, value, allowed }.to_string()
        })?;
        let at = match at {
            None => run.earliest_change(),
            Some(at) => {
                paceline_scenario::duration(at).map_err(|problem| format!("a change at {at}: {problem}"))?
            }
        };
        Ok(Change { at, set: set.clone(), to: value })
    }
}

/// Changes a parameter. The outer error is that of the run, which cannot go on.
pub(super) fn set<M: Model>(run: &mut Run<M>, setting: &Setting) -> Result<Result<Change, String>, RunError> {
    let declared = run.parameters()?;
    let change = match setting.read(run, &declared) {
        Ok(change) => change,
        Err(problem) => return Ok(Err(problem)),
    };
    match run.change(change.clone()) {
        Ok(()) => Ok(Ok(change)),
        Err(RunError::Change(problem)) => Ok(Err(problem.to_string())),
        Err(error) => Err(error),
    }
}

/// What is said of a change that was made.
pub(super) fn said(Change { at, set, to }: &Change) -> String {
    format!("{set} is {to} from {at} on")
}

/// All parameters in a line.
pub(super) fn list<M: Model>(run: &Run<M>) -> Result<String, RunError> {
    let one = |parameter: &Parameter| {
        let Parameter { name, value, .. } = parameter;
        format!("{name} is {value} (allowed: {})", parameter.allowed())
    };
    let list: Vec<String> = run.parameters()?.iter().map(one).collect();
    Ok(match list.is_empty() {
        true => "the model declares no parameter that can be changed".into(),
        false => list.join("; "),
    })
}

/// All parameters, for programs: durations in the words of scenarios.
pub(crate) fn described(parameters: &[Parameter]) -> Value {
    let value = |value: ParameterValue| match value {
        ParameterValue::Time(time) => Value::from(time.to_string()),
        ParameterValue::Number(number) => number.into(),
    };
    let one = |parameter: &Parameter| {
        let Parameter { name, unit, least, most, value: now } = parameter;
        json!({
            "name": name, "unit": unit, "value": value(*now), "least": value(*least), "most": value(*most),
            "allowed": parameter.allowed(),
        })
    };
    parameters.iter().map(one).collect()
}
