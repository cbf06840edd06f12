//! Durations of simulated time in structs that serde reads: `#[serde(with = "paceline_scenario::time")]`.
//!
//! They are written as everywhere in scenarios, "1.5h" or "300us", and exactly preserved.

use paceline_kernel::Time;
use serde::{Deserialize, Deserializer, Serializer, de};

use crate::{Value, duration};

/// Reads a text such as "300us"; what is no length of time is an error.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Time, D::Error> {
    let text = String::deserialize(deserializer)?;
    duration(&text).map_err(|problem| {
        let allowed = Time::EXPECTED;
        de::Error::custom(format!("{text:?} is no length of time: {problem}; allowed: {allowed}"))
    })
}

/// Writes whole nanoseconds: "300000ns".
pub fn serialize<S: Serializer>(time: &Time, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{}{}", time.as_ticks(), Time::UNIT))
}
