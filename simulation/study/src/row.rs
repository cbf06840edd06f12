//! What is known of a run that has ended, and by what a run is known.
//!
//! Invariant: two runs have the same name if and only if the scenario with all overrides, the files that it
//! names and the seed are the same; how many threads it had does not count unless they are a factor.

use paceline_kernel::Rng;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

use crate::settings::Streams;

/// Seeds are whole numbers of TOML, which have a sign.
const SEED_BITS: u32 = 63;

/// Whether a run came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It did.
    Ended,
    /// It did not: `error` says why.
    Failed,
}

/// A run that has ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// By what it is known: 16 hexadecimal digits.
    pub run: String,
    /// The seed.
    pub seed: u64,
    /// Whether it came to its end.
    pub status: Status,
    /// Why it did not.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub error: String,
    /// Why it ended: `horizon`, `no-events`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub ended_by: String,
    /// The digest, 16 hexadecimal digits.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub digest: String,
    /// The model's results that are numbers, by name in their order, as texts, so that reading them again
    /// changes no digit; null for one that this run does not have.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metrics: Map<String, Value>,
}

impl Row {
    /// The value of a metric, if the run has come to its end and has it.
    pub fn value(&self, metric: &str) -> Option<f64> {
        if self.status == Status::Failed { None } else { self.metrics.get(metric)?.as_str()?.parse().ok() }
    }
}

/// What the content of a scenario is known by, of a text that holds all of it: 32 hexadecimal digits.
pub fn content(text: &str) -> String {
    format!("{:032x}", xxh3_128(text.as_bytes()))
}

/// What a run with this scenario and seed is called.
pub fn name(content: &str, seed: u64) -> String {
    format!("{:016x}", xxh3_64(format!("{seed}\n{content}").as_bytes()))
}

/// The seed of a replication, from 0, of the point with this content.
///
/// Streams of random numbers are mixed from the seed, so that neighbouring seeds have streams that do not
/// depend on each other ([`Rng`]). Where they are common, replications have the seeds that `replicate` gives
/// them.
pub fn seed(first: u64, streams: Streams, content: &str, replication: u32) -> u64 {
    let seed = match streams {
        Streams::Common => first.wrapping_add(replication.into()),
        Streams::Independent => Rng::new(first ^ xxh3_64(content.as_bytes()), replication.into()).u64(),
    };
    seed & (u64::MAX >> (u64::BITS - SEED_BITS))
}

/// The names of all metrics of these rows, each once, in the order in which they are met.
pub fn metric_names<'r>(rows: impl IntoIterator<Item = &'r Row>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in rows.into_iter().flat_map(|row| row.metrics.keys()) {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    names
}
