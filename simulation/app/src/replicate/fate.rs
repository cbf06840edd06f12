//! What came of a replication.

use std::time::Duration;

use paceline_kernel::Time;
use serde_json::{Value, json};

use crate::failure::Failure;

/// A replication that has ended, as its run tells it.
#[derive(Debug)]
pub struct Outcome {
    /// Events committed, or, in a run of processes, messages sent.
    pub work: u64,
    /// Real time.
    pub wall: Duration,
    /// The digest.
    pub digest: String,
    /// The simulated time reached.
    pub end_time: Time,
    /// Why it ended.
    pub ended_by: &'static str,
    /// The results of the model, by name.
    pub lines: Vec<(&'static str, Value)>,
    /// What `paceline run --out` writes as the summary.
    pub results: Value,
    /// What `paceline run --json` prints.
    pub everything: Value,
}

impl Outcome {
    /// Whether it came to its end: an interrupted run says nothing that could be compared.
    pub fn is_complete(&self) -> bool {
        self.ended_by != "interrupted"
    }

    /// Events or messages a second.
    pub fn per_second(&self) -> f64 {
        self.work as f64 / self.wall.as_secs_f64().max(1e-9)
    }
}

/// What came of a replication.
#[derive(Debug)]
pub enum Fate {
    /// It has ended, maybe interrupted; with the reason why its files could not be written, if they could not.
    Ended(Box<Outcome>, Option<Failure>),
    /// It has failed.
    Failed(Failure),
    /// All were asked to end before it began.
    NotBegun,
}

impl Fate {
    /// The outcome, if it has ended.
    pub fn outcome(&self) -> Option<&Outcome> {
        match self {
            Self::Ended(outcome, _) => Some(outcome),
            Self::Failed(_) | Self::NotBegun => None,
        }
    }

    /// Why it ended, in a word.
    pub fn ended(&self) -> &'static str {
        match self {
            Self::Ended(outcome, _) => outcome.ended_by,
            Self::Failed(_) => "failed",
            Self::NotBegun => "not begun",
        }
    }

    /// The object of JSON that `part` is of an outcome, or one that says why there is none.
    pub fn json(&self, seed: u64, part: impl FnOnce(&Outcome) -> &Value) -> Value {
        match self {
            Self::Ended(outcome, _) => part(outcome).clone(),
            Self::Failed(failure) => {
                json!({ "seed": seed, "ended_by": "failed", "error": failure.problem() })
            }
            Self::NotBegun => json!({ "seed": seed, "ended_by": null }),
        }
    }
}
