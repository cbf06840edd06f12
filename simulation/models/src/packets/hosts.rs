//! Hosts by the patterns of `from` and `to`.

use paceline_packets::{Network, NodeKind, PacketError, pairs};
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

/// The hosts that the pattern at `key` names.
pub fn select_at(entry: &mut Section, network: &Network, key: &str) -> Result<Vec<u32>, ScenarioError> {
    let pattern: String = entry.required(key)?;
    let nodes = network.select(&pattern).map_err(|error| refuse(entry, key, &error))?;
    if let Some(node) = nodes.iter().find(|node| network.kind(**node) != NodeKind::Host) {
        let problem = format!("{:?}, which is a {}", network.name(*node), network.kind(*node).name());
        return Err(entry.refuse(key, problem, "hosts"));
    }
    Ok(nodes)
}
