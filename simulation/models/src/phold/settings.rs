//! Reads PHOLD from a scenario's `[model]`, and reports its results.
//!
//! The fields are in `phold.rs`. A new field is also set where programs make a `Phold` themselves:
//! `lab/experiments/src/psx/runs.rs`, `simulation/engine/benches`, tests of this crate and of the machine.

use paceline_kernel::Time;
use paceline_scenario::{ScenarioError, Section};

use super::{Destination, Phold};
use paceline_results::{Results, RunFacts, Summary};

const MOST_MESSAGES_PER_LP: f64 = 1e6;

#[derive(Clone, Copy, PartialEq)]
enum Law {
    Any,
    Group,
}

impl Phold {
    /// Reads the keys `lps`, `messages_per_lp` (1), `lookahead` ("1s"), `mean` ("1s"), `work_ns` (0),
    /// `destination` ("any" or "group"); then `remote` (0.25), or `groups` and `locality`. Defaults are
    /// in brackets. The key `kind` is left to the caller.
    pub fn from_section(section: &mut Section) -> Result<Self, ScenarioError> {
        let lps = section.required("lps")?;
        if lps == 0 {
            return Err(section.refuse("lps", "a model without LPs", "a whole number from 1 to 4294967295"));
        }
        let messages_per_lp = section.or("messages_per_lp", 1.0)?;
        if !(0.0..=MOST_MESSAGES_PER_LP).contains(&messages_per_lp) {
            let problem = format!("`messages_per_lp` cannot be {messages_per_lp}");
            return Err(section.refuse("messages_per_lp", problem, "a number from 0 to 1000000"));
        }
        let (lookahead, mean) = (section.or("lookahead", Time::secs(1))?, section.or("mean", Time::secs(1))?);
        if lookahead == Time::ZERO && mean == Time::ZERO {
            let problem = "with `lookahead` and `mean` both zero, time would stand still";
            return Err(section.refuse("mean", problem, "at least one of the two above \"0s\""));
        }
        let work_ns = section.or("work_ns", 0)?;
        let laws = [("any", Law::Any), ("group", Law::Group)];
        let destination = match section.choice("destination", &laws, Some(Law::Any))? {
            Law::Any => {
                let remote = section.or("remote", 0.25)?;
                Destination::Any { remote: probability(section, "remote", remote)? }
            }
            Law::Group => {
                let groups = section.required("groups")?;
                if groups == 0 || groups > lps {
                    let problem = format!("{lps} LPs cannot be dealt to {groups} groups");
                    return Err(section.refuse("groups", problem, format!("a whole number from 1 to {lps}")));
                }
                let locality = section.required("locality")?;
                Destination::Group { groups, locality: probability(section, "locality", locality)? }
            }
        };
        Ok(Self { lps, messages_per_lp, lookahead, mean, work_ns, destination })
    }
}

fn probability(section: &Section, key: &str, value: f64) -> Result<f64, ScenarioError> {
    if (0.0..=1.0).contains(&value) {
        return Ok(value);
    }
    Err(section.refuse(
        key,
        format!("`{key}` cannot be {value}: it is a probability"),
        "a number from 0 to 1",
    ))
}

impl Results for Phold {
    fn results(&self, _: Vec<()>, facts: &RunFacts) -> Result<Summary, String> {
        let mut summary = Summary::default();
        let messages: u64 = (f64::from(self.lps) * self.messages_per_lp).round() as u64;
        summary.line("messages", messages);
        summary.line("events_per_lp", facts.events as f64 / f64::from(self.lps));
        if facts.end_time > Time::ZERO {
            summary.line("events_per_simulated_s", facts.events as f64 / facts.end_time.as_secs_f64());
        }
        Ok(summary)
    }
}
