//! The models that scenarios of this program may name.
//!
//! Invariant: nothing else knows which models there are, but for the starts that `init.rs` writes, which a
//! test compares with them. A further one is an entry in [`PROGRAM`] and a start.

use paceline_app::{AnyModel, AnyProcessModel, Build, Kind, Program};
use paceline_models::bittorrent::Bittorrent;
use paceline_models::cellular::Cellular;
use paceline_models::chord::Chord;
use paceline_models::farm::Farm;
use paceline_models::master_workers::MasterWorkers;
use paceline_models::mpi_trace::MpiTrace;
use paceline_models::packets;
use paceline_models::phold::Phold;
use paceline_models::queueing::Queueing;
use paceline_models::seir::Seir;
use paceline_models::supply_chain::SupplyChain;
use paceline_models::traffic::Traffic;
use paceline_models::wireless::Wireless;
use paceline_models::wireless_csma::Csma;
use paceline_scenario::{ScenarioError, Section};

pub const PROGRAM: Program = Program {
    name: "paceline",
    version: env!("CARGO_PKG_VERSION"),
    about: env!("CARGO_PKG_DESCRIPTION"),
    kinds: &[
        Kind {
            name: "phold",
            about: "messages travel among LPs: the synthetic benchmark of the field",
            build: Build::Lps(|section, _| build(section, Phold::from_section)),
        },
        Kind {
            name: "traffic",
            about: "vehicles on a grid or a city's roads, with lights and full roads if wanted",
            build: Build::Lps(|section, seed| build(section, |section| Traffic::from_section(section, seed))),
        },
        Kind {
            name: "wireless",
            about: "hosts of an ad hoc network move about and ping all within range",
            build: Build::Lps(|section, seed| {
                build(section, |section| Wireless::from_section(section, seed))
            }),
        },
        Kind {
            name: "wireless-csma",
            about: "the same with path loss and CSMA/CA: hosts find routes by flooding",
            build: Build::Lps(|section, seed| build(section, |section| Csma::from_section(section, seed))),
        },
        Kind {
            name: "packets",
            about: "hosts, switches and routers send each other packets over links with queues",
            build: Build::Lps(|section, seed| build(section, |section| packets::from_section(section, seed))),
        },
        Kind {
            name: "queueing",
            about: "customers wait at stations, with servers and priorities, and walk on to others",
            build: Build::Lps(|section, _| build(section, Queueing::from_section)),
        },
        Kind {
            name: "cellular",
            about: "calls take channels of cells, and are handed over as phones move",
            build: Build::Lps(|section, _| build(section, Cellular::from_section)),
        },
        Kind {
            name: "seir",
            about: "an epidemic on a graph: people are exposed, infectious and recovered",
            build: Build::Lps(|section, seed| build(section, |section| Seir::from_section(section, seed))),
        },
        Kind {
            name: "supply-chain",
            about: "stages keep base stocks of products, and order what they deliver",
            build: Build::Lps(|section, _| build(section, SupplyChain::from_section)),
        },
        Kind {
            name: "chord",
            about: "peers on a ring look up keys: processes that send each other messages",
            build: Build::Processes(|section, _| build_processes(section, Chord::from_section)),
        },
        Kind {
            name: "mpi-trace",
            about: "what the ranks of an MPI program did, replayed on a platform",
            build: Build::Processes(|section, _| build_processes(section, MpiTrace::from_section)),
        },
        Kind {
            name: "master-workers",
            about: "masters deal computations to workers, placed by a deployment file",
            build: Build::Processes(|section, network| {
                // It names hosts of the platform.
                let network = network.read(0)?;
                let (name, platform) = (network.name, network.platform());
                build_processes(section, |section| MasterWorkers::from_section(section, name, platform))
            }),
        },
        Kind {
            name: "bittorrent",
            about: "peers of a swarm share a file, the rarest pieces first: processes that come and go",
            build: Build::Processes(|section, _| build_processes(section, Bittorrent::from_section)),
        },
        Kind {
            name: "farm",
            about: "a master hands out tasks to workers on hosts that fail and come back",
            build: Build::Processes(|section, _| build_processes(section, Farm::from_section)),
        },
    ],
};

/// A model, once its section was read to the last key.
fn build<M: AnyModel>(
    mut section: Section,
    read: impl FnOnce(&mut Section) -> Result<M, ScenarioError>,
) -> Result<Box<dyn AnyModel>, ScenarioError> {
    let model = read(&mut section)?;
    section.finish()?;
    Ok(Box::new(model))
}

/// A model of processes, once its section was read to the last key.
fn build_processes<M: AnyProcessModel + 'static>(
    mut section: Section,
    read: impl FnOnce(&mut Section) -> Result<M, ScenarioError>,
) -> Result<Box<dyn AnyProcessModel>, ScenarioError> {
    let model = read(&mut section)?;
    section.finish()?;
    Ok(Box::new(model))
}
