//! Reads a farm from a scenario's `[model]`.
//!
//! The fields, with their defaults, are in `farm.rs`.

use paceline_kernel::Time;
use paceline_scenario::{ScenarioError, Section};

use super::{Failing, Farm};

const MOST_WORKERS: u32 = 1_000_000;
const MOST_TASKS: u32 = 100_000_000;

impl Farm {
    /// Reads the keys `workers`, `tasks` (1000), `flops` (1e9), `bytes` (1e6), `limit` ("100s"),
    /// `between_failures` (hosts do not fail), `repair` ("60s") and `permanent_receivers` (false). Defaults
    /// are in brackets. The key `kind` is left to the caller.
    pub fn from_section(section: &mut Section) -> Result<Self, ScenarioError> {
        let default = Self::default();
        let workers = section.required("workers")?;
        if !(1..=MOST_WORKERS).contains(&workers) {
            let allowed = format!("a whole number from 1 to {MOST_WORKERS}");
            return Err(section.refuse("workers", format!("a farm of {workers} workers"), allowed));
        }
        let tasks = section.or("tasks", default.tasks)?;
        if !(1..=MOST_TASKS).contains(&tasks) {
            let allowed = format!("a whole number from 1 to {MOST_TASKS}");
            return Err(section.refuse("tasks", format!("a farm with {tasks} tasks"), allowed));
        }
        let failing = match span(section, "between_failures", None)? {
            Some(between_failures) => {
                let repair = span(section, "repair", Some(Time::secs(60)))?;
                repair.map(|repair| Failing { between_failures, repair })
            }
            None if section.has("repair") => {
                let problem = "hosts are to be repaired that do not fail";
                return Err(section.refuse("repair", problem, "only beside `between_failures`"));
            }
            None => None,
        };
        Ok(Self {
            workers,
            tasks,
            flops: amount(section, "flops", default.flops)?,
            bytes: amount(section, "bytes", default.bytes)?,
            limit: span(section, "limit", Some(default.limit))?.unwrap_or(default.limit),
            failing,
            permanent_receivers: section.or("permanent_receivers", default.permanent_receivers)?,
        })
    }
}

/// A duration above zero; `default` if the key is missing.
fn span(section: &mut Section, key: &str, default: Option<Time>) -> Result<Option<Time>, ScenarioError> {
    let given = match default {
        Some(default) => Some(section.or(key, default)?),
        None => section.optional(key)?,
    };
    match given {
        Some(Time::ZERO) => {
            let problem = "something would happen again and again at one instant";
            Err(section.refuse(key, problem, "a duration above zero"))
        }
        given => Ok(given),
    }
}

/// A number of flops or bytes.
fn amount(section: &mut Section, key: &str, default: f64) -> Result<f64, ScenarioError> {
    let amount = section.or(key, default)?;
    if amount.is_finite() && amount >= 0.0 {
        return Ok(amount);
    }
    Err(section.refuse(key, format!("tasks of {amount} {key}"), "a finite number from 0"))
}
