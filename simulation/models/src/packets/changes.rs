//! What is other of single links, and how routes follow their failures.

use paceline_kernel::Time;
use paceline_packets::Network;
use paceline_scenario::{ScenarioError, Section};

use super::links;
use super::refusal::refuse;

/// Reads the tables `changes` of a network that does not come from a file: `from` and `to`, by their names,
/// and the keys of the link between them that are other than those of the links beside it.
pub fn read(section: &mut Section, mut network: Network) -> Result<Network, ScenarioError> {
    for mut change in section.tables("changes")? {
        let (from, to): (String, String) = (change.required("from")?, change.required("to")?);
        let node = |key: &str, name: &str| network.node(name).map_err(|error| refuse(&change, key, &error));
        let ends = (node("from", &from)?, node("to", &to)?);
        let mut spec = match network.port_to(ends.0, ends.1) {
            Some(port) => network.link(ends.0, port).clone(),
            None => {
                let problem = format!("no link joins {from:?} and {to:?}");
                return Err(change.refuse("to", problem, "the two ends of a link"));
            }
        };
        links::read_changes(&mut change, &mut spec)?;
        network.change_link(ends.0, ends.1, &spec).map_err(|error| refuse(&change, "to", &error))?;
        change.finish()?;
    }
    Ok(network)
}

/// Reads the key `convergence`, without which routes stay as they are when links fail.
pub fn read_convergence(section: &mut Section, network: Network) -> Result<Network, ScenarioError> {
    match section.optional::<Time>("convergence")? {
        Some(time) => network.converging(time).map_err(|error| refuse(section, "convergence", &error)),
        None => Ok(network),
    }
}
