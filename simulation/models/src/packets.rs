//! Packet networks (`paceline-packets`) from scenarios: topologies by name or from files, links, and flows
//! between hosts.
//!
//! Invariant: every number is checked where it stands, and what the library refuses is told with the key that
//! it comes from.
//!
//! The tables of keys in `docs/scenarios.md` list what is read with the scenarios of
//! `command/tests/program/book/keys/packets.rs`: a key that only a new kind of thing has needs one there.

mod applications;
mod arrivals;
mod capture;
mod changes;
mod factor;
mod files;
mod flows;
mod graph;
mod hosts;
mod links;
mod platform;
mod probability;
mod queues;
mod rdma;
mod refusal;
mod sample;
mod switches;
mod tcp;
#[cfg(test)]
mod test;
mod topologies;
mod waits;

use paceline_packets::{Ecmp, Flow, Network, Packets, Stations};
use paceline_scenario::{ScenarioError, Section};

use flows::Entries;
pub use refusal::{problem_and_allowed, refuse};

/// The names of [`Ecmp`] in scenarios.
const WAYS: [(&str, Ecmp); 2] = [("flow", Ecmp::Flow), ("packet", Ecmp::Packet)];

/// Reads the keys `topology` with those of its kind, `convergence`, `ecmp` ("flow", "packet"), the tables
/// `switch`, `sample`, `flows` and `applications`, and `capture` with `snap`. `seed` is that of the run:
/// random networks are drawn from it, and the ways of packets. The key `kind` is left to the caller.
///
/// # Errors
///
/// A key or a value that is not allowed, with its place.
pub fn from_section(section: &mut Section, seed: u64) -> Result<Packets, ScenarioError> {
    let network = read_network(section, seed)?;
    complete(section, seed, network, None)
}

/// Reads the keys `topology` with those of its kind. Gives also what a file does not say and was taken
/// instead.
///
/// # Errors
///
/// A key or a value that is not allowed, with its place.
pub fn read_network(section: &mut Section, seed: u64) -> Result<(Network, Vec<String>), ScenarioError> {
    topologies::read(section, seed)
}

/// Reads all keys but those of the topology, of this network. With real machines at some of its hosts, flows
/// are between the others, and there need be none.
///
/// # Errors
///
/// A key or a value that is not allowed, with its place.
pub fn complete(
    section: &mut Section,
    seed: u64,
    (network, notices): (Network, Vec<String>),
    stations: Option<Stations>,
) -> Result<Packets, ScenarioError> {
    let network = changes::read_convergence(section, network)?;
    let ecmp = section.choice("ecmp", &WAYS, Some(Ecmp::Flow))?;
    let switches = switches::read(section)?;
    let mut all = flows::read(section, &network, seed)?;
    let transfers = waits::transfers(&all.waits, &all.entries, &all.flows, &network)?;
    let applications = applications::read(section, &network, transfers, &mut all)?;
    let Entries { flows, entries, .. } = all;
    if flows.is_empty() && stations.is_none() && !applications.has_web() {
        let allowed = "lines `[[model.flows]]`, each followed by `from`, `to`, `transport` and its keys, or \
                       `[[model.applications]]`";
        return Err(section.refuse("flows", "a network in which nobody sends", allowed));
    }
    // The last table that begins at or before the flow: one without flows begins where the next does.
    let entry_of = |flow: usize| &entries[entries.partition_point(|(first, _)| *first <= flow) - 1].1;
    if let Some(stations) = &stations {
        refuse_flows_of_machines(&flows, stations, &network, entry_of)?;
    }
    let model = Packets::new(network, flows).map_err(|error| match refusal::flow_of(&error) {
        Some((flow, key)) => refuse(entry_of(flow), key, &error),
        None => refuse(section, "topology", &error),
    })?;
    let model = match stations {
        None => model,
        Some(stations) => model.machines(stations).map_err(|error| refuse(section, "topology", &error))?,
    };
    let model = match switches {
        None => model,
        Some(settings) => model.switches(settings).map_err(|error| refuse(section, "switch", &error))?,
    };
    let model = applications.complete(model, section, &entries)?;
    let model = sample::read(section, model.ecmp(ecmp).seed(seed).notices(notices))?;
    capture::read(section, model)
}

/// What a real machine sends and receives is its own affair.
fn refuse_flows_of_machines<'e>(
    flows: &[Flow],
    stations: &Stations,
    network: &Network,
    entry_of: impl Fn(usize) -> &'e Section,
) -> Result<(), ScenarioError> {
    for (number, flow) in flows.iter().enumerate() {
        for (key, node) in [("from", flow.from), ("to", flow.to)] {
            if stations.machines().any(|(machine, _)| machine == node) {
                let problem =
                    format!("a simulated flow at the host {:?}, which is a guest", network.name(node));
                return Err(entry_of(number).refuse(key, problem, "hosts that are no guests"));
            }
        }
    }
    Ok(())
}
