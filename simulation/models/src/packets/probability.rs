//! Numbers that are probabilities.

use paceline_packets::queue::Share;
use paceline_scenario::{ScenarioError, Section};

/// The share nearest to a probability; what is not from 0 to 1 is refused at its key.
pub fn share(section: &Section, key: &str, value: f64) -> Result<Share, ScenarioError> {
    let problem = || format!("`{key}` cannot be {value}: it is a probability");
    Share::new(value).ok_or_else(|| section.refuse(key, problem(), "a number from 0 to 1"))
}
