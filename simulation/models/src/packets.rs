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

use paceline_packets::{Ecmp, Packets};
use paceline_scenario::{ScenarioError, Section};

use flows::Entries;
use refusal::refuse;

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
    let (network, notices) = topologies::read(section, seed)?;
    let network = changes::read_convergence(section, network)?;
    let ecmp = section.choice("ecmp", &WAYS, Some(Ecmp::Flow))?;
    let switches = switches::read(section)?;
    let mut all = flows::read(section, &network, seed)?;
    let transfers = waits::transfers(&all.waits, &all.entries, &all.flows, &network)?;
    let applications = applications::read(section, &network, transfers, &mut all)?;
    let Entries { flows, entries, .. } = all;
    if flows.is_empty() {
        let allowed = "lines `[[model.flows]]`, each followed by `from`, `to`, `transport` and its keys, or \
                       `[[model.applications]]`";
        return Err(section.refuse("flows", "a network in which nobody sends", allowed));
    }
    let model = Packets::new(network, flows).map_err(|error| match refusal::flow_of(&error) {
        // The last table that begins at or before the flow: one without flows begins where the next does.
        Some((flow, key)) => {
            let place = entries.partition_point(|(first, _)| *first <= flow) - 1;
            refuse(&entries[place].1, key, &error)
        }
        None => refuse(section, "topology", &error),
    })?;
    let model = match switches {
        None => model,
        Some(settings) => model.switches(settings).map_err(|error| refuse(section, "switch", &error))?,
    };
    let model = applications.complete(model, section, &entries)?;
    let model = sample::read(section, model.ecmp(ecmp).seed(seed).notices(notices))?;
    capture::read(section, model)
}
