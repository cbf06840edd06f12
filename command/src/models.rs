//! The models that scenarios of this program may name.
//!
//! Invariant: nothing else knows which models of LPs there are. A further one is a line in [`PROGRAM`].

use paceline_app::loaded::Source;
use paceline_app::program::{AnyModel, Kind, Program};
use paceline_models::phold::Phold;
use paceline_models::traffic::Traffic;
use paceline_models::wireless::Wireless;
use paceline_models::wireless_csma::Csma;
use paceline_scenario::{ScenarioError, Section};

/// The program, with all its models.
pub const PROGRAM: Program = Program {
    name: "paceline",
    version: env!("CARGO_PKG_VERSION"),
    about: env!("CARGO_PKG_DESCRIPTION"),
    kinds: &[
        Kind {
            name: "phold",
            about: "messages travel among LPs: the synthetic benchmark of the field",
            build: |section, _| build(section, Phold::from_section),
        },
        Kind {
            name: "traffic",
            about: "vehicles on a grid or a city's roads, with lights and full roads if wanted",
            build: |section, seed| build(section, |section| Traffic::from_section(section, seed)),
        },
        Kind {
            name: "wireless",
            about: "hosts of an ad hoc network move about and ping all within range",
            build: |section, seed| build(section, |section| Wireless::from_section(section, seed)),
        },
        Kind {
            name: "wireless-csma",
            about: "the same with path loss and CSMA/CA: hosts find routes by flooding",
            build: |section, seed| build(section, |section| Csma::from_section(section, seed)),
        },
    ],
    others: &PROCESSES,
};

/// Kinds of models whose parts are processes: the name used in scenario files and a line about each.
pub const PROCESSES: [(&str, &str); 5] = [
    ("chord", "peers on a ring look up keys: processes that send each other messages"),
    ("mpi-trace", "what the ranks of an MPI program did, replayed on a platform"),
    ("master-workers", "masters deal computations to workers, placed by a deployment file"),
    ("bittorrent", "peers of a swarm share a file, the rarest pieces first: processes that come and go"),
    ("farm", "a master hands out tasks to workers on hosts that fail and come back"),
];

/// Whether the model of a scenario is one of processes, which are run otherwise than LPs.
pub fn is_of_processes(source: &Source) -> Result<bool, ScenarioError> {
    let mut scenario = source.open()?;
    // A mistake in it is reported by the code that reads the whole file.
    let kind: Option<String> = scenario.section("model")?.optional("kind").unwrap_or(None);
    Ok(kind.is_some_and(|name| PROCESSES.iter().any(|(known, _)| *known == name)))
}

/// A model, once its section was read to the last key.
fn build<M: AnyModel>(
    mut section: Section,
    read: impl FnOnce(&mut Section) -> Result<M, ScenarioError>,
) -> Result<Box<dyn AnyModel>, ScenarioError> {
    let model = read(&mut section)?;
    section.finish()?;
    Ok(Box::new(model))
}
