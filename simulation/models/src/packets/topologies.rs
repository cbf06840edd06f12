//! Networks by name: which keys belong to which topology.

use paceline_packets::{Network, PacketError, topology};
use paceline_scenario::{ScenarioError, Section};

use super::refusal::refuse_topology;
use super::{changes, graph, links, platform};

#[derive(Clone, Copy, PartialEq)]
enum Topology {
    Dumbbell,
    Line,
    Star,
    LeafSpine,
    FatTree,
    Torus,
    Dragonfly,
    Random,
    File,
    Platform,
}

const TOPOLOGIES: [(&str, Topology); 10] = [
    ("dumbbell", Topology::Dumbbell),
    ("line", Topology::Line),
    ("star", Topology::Star),
    ("leaf-spine", Topology::LeafSpine),
    ("fat-tree", Topology::FatTree),
    ("torus", Topology::Torus),
    ("dragonfly", Topology::Dragonfly),
    ("random", Topology::Random),
    ("file", Topology::File),
    ("platform", Topology::Platform),
];

/// Reads the key `topology`, and those of that topology: numbers of nodes, links by what they join, and the
/// tables `changes`. Gives also what a file does not say and was taken instead.
pub fn read(section: &mut Section, seed: u64) -> Result<(Network, Vec<String>), ScenarioError> {
    let chosen = section.choice("topology", &TOPOLOGIES, None)?;
    if chosen == Topology::File {
        return graph::read(section);
    }
    if chosen == Topology::Platform {
        let (network, notices) = platform::read(section)?;
        return Ok((changes::read(section, network)?, notices));
    }
    let network = build(section, chosen, seed)?.map_err(|error| refuse_topology(section, &error))?;
    Ok((changes::read(section, network)?, Vec::new()))
}

/// The inner error is one of the network, the outer one of what the scenario says.
fn build(
    section: &mut Section,
    chosen: Topology,
    seed: u64,
) -> Result<Result<Network, PacketError>, ScenarioError> {
    Ok(match chosen {
        Topology::Dumbbell => {
            let pairs = section.required("pairs")?;
            let (access, bottleneck) = (links::read(section, "access")?, links::read(section, "bottleneck")?);
            topology::dumbbell(pairs, &access, &bottleneck)
        }
        Topology::Line => {
            let hosts = section.required("hosts")?;
            topology::line(hosts, &links::read(section, "access")?, &links::read(section, "trunk")?)
        }
        Topology::Star => {
            let hosts = section.required("hosts")?;
            topology::star(hosts, &links::read(section, "link")?)
        }
        Topology::LeafSpine => {
            let (leaves, spines) = (section.required("leaves")?, section.required("spines")?);
            let hosts = section.required("hosts")?;
            let (access, fabric) = (links::read(section, "access")?, links::read(section, "fabric")?);
            topology::leaf_spine(leaves, spines, hosts, &access, &fabric)
        }
        Topology::FatTree => {
            let k = section.required("k")?;
            topology::fat_tree(k, &links::read(section, "link")?)
        }
        Topology::Torus => {
            let sides: Vec<u32> = section.required("sides")?;
            topology::torus(&sides, &links::read(section, "access")?, &links::read(section, "trunk")?)
        }
        Topology::Dragonfly => {
            let (groups, routers) = (section.required("groups")?, section.required("routers")?);
            let (hosts, global) = (section.required("hosts")?, section.required("global")?);
            let (access, local) = (links::read(section, "access")?, links::read(section, "local")?);
            let between = links::read(section, "between")?;
            topology::dragonfly([groups, routers, hosts, global], &access, &local, &between)
        }
        Topology::File | Topology::Platform => unreachable!("files are read elsewhere"),
        Topology::Random => {
            let (hosts, links) = (section.required("hosts")?, section.required("links")?);
            let (access, trunk) = (links::read(section, "access")?, links::read(section, "trunk")?);
            topology::random(hosts, links, seed, &access, &trunk)
        }
    })
}
