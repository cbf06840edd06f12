//! Numbers that are probabilities.

use paceline_packets::queue::Share;
use paceline_scenario::{ScenarioError, Section};

/// A probability.
pub fn share(section: &Section, key: &str, value: f64) -> Result<Share, ScenarioError> {
    let problem = || format!("`{key}` cannot be {value}: it is a probability");
    Share::new(value).ok_or_else(|| section.refuse(key, problem(), "a number from 0 to 1"))
}
