//! Hosts by the patterns of `from` and `to`.

use paceline_packets::{Network, PacketError, pairs};
use paceline_scenario::{ScenarioError, Section};

use super::refusal::refuse;

/// The pairs of nodes that the patterns `from` and `to` name.
pub fn ends(
    entry: &Section,
    network: &Network,
    from: &str,
    to: &str,
) -> Result<Vec<(u32, u32)>, ScenarioError> {
    pairs(network, from, to).map_err(|error| {
        let key = match &error {
            PacketError::UnknownNode { pattern, .. } if pattern == from => "from",
            _ => "to",
        };
        refuse(entry, key, &error)
    })
}

/// The nodes that the pattern `from` names.
pub fn select(entry: &Section, network: &Network, from: &str) -> Result<Vec<u32>, ScenarioError> {
    network.select(from).map_err(|error| refuse(entry, "from", &error))
}
