//! What the library refuses, told with a place in the scenario.

use paceline_packets::PacketError;
use paceline_scenario::{ScenarioError, Section};

/// What stands between the problem and what is allowed in the texts of the library's errors.
const ALLOWED: &str = "; allowed: ";

/// The error at the value of `key`, or at the section if the key is missing.
pub fn refuse(section: &Section, key: &str, error: &PacketError) -> ScenarioError {
    let (problem, allowed) = problem_and_allowed(error);
    section.refuse(key, problem, allowed)
}

/// What is wrong, and what is allowed instead.
pub fn problem_and_allowed(error: &PacketError) -> (String, String) {
    let text = error.to_string();
    let (problem, allowed) = text.rsplit_once(ALLOWED).unwrap_or((&text, "what the library can simulate"));
    (problem.to_owned(), allowed.to_owned())
}

/// The same for a topology: a parameter is told at its key, anything else at the topology's name.
pub fn refuse_topology(section: &Section, error: &PacketError) -> ScenarioError {
    let key = match error {
        // A product of several is told at the first of them.
        PacketError::Parameter { key, .. } => key.split(' ').next().unwrap_or_default(),
        _ => "topology",
    };
    let key = if section.has(key) { key } else { "topology" };
    refuse(section, key, error)
}

/// Which flow an error is about, and the key that it comes from.
pub fn flow_of(error: &PacketError) -> Option<(usize, &'static str)> {
    match error {
        PacketError::FlowNumber { flow, key, .. } => Some((*flow, *key)),
        PacketError::NotAHost { flow, .. } => Some((*flow, "from")),
        PacketError::FlowToItself { flow, .. } => Some((*flow, "to")),
        _ => None,
    }
}
