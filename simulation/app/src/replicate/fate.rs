//! How a replication ended: with an outcome, with a failure, or before it began.

use serde_json::{Value, json};

use crate::failure::CommandError;
use crate::summary::Outcome;

/// What came of a replication.
#[derive(Debug)]
pub enum Fate {
    /// It has ended, maybe interrupted; with the reason why its files could not be written, if they could
    /// not.
    Ended(Box<Outcome>, Option<CommandError>),
    /// It has failed.
    Failed(CommandError),
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
            Self::Ended(outcome, _) => outcome.ended_by.name(),
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
