//! The section `[network]`.

use paceline_models::packets;
use paceline_packets::{LinkSpec, Network, NetworkBuilder, NodeKind, PacketError, Packets, Stations};
use paceline_scenario::{Picoseconds, Rate, ScenarioError, Section, nearest};

use crate::image::settings::{GuestSpec, Guests};

/// The longest latency between two guests: a million seconds.
const MOST_LATENCY_PS: u64 = 1_000_000_000_000_000_000;
const MOST_BPS: u64 = 1_000_000_000_000_000;
/// How many hosts an error lists.
const LISTED: usize = 6;

/// A network with what its file does not say and was taken instead.
pub(super) type Noticed = (Network, Vec<String>);

/// Reads the key `topology` with those of its kind; or else `latency` and `rate` ("1Gbps"), with which all
/// guests are at one router.
pub(super) fn read(section: &mut Section, seed: u64, guests: &Guests) -> Result<Noticed, ScenarioError> {
    if section.has("topology") {
        return packets::read_network(section, seed);
    }
    if !section.has("latency") {
        let allowed =
            "`latency`, one way between any two guests, such as \"10ms\"; or `topology` with its keys";
        return Err(section.refuse("", "a network without `latency` and `topology`", allowed));
    }
    let latency: Picoseconds = section.required("latency")?;
    if !(2_000..=MOST_LATENCY_PS).contains(&latency.ps) || !latency.ps.is_multiple_of(2) {
        let problem = format!("a latency of {latency} between guests");
        let allowed = "from \"2ns\" to \"1000000s\"; a run is the faster the longer the latency";
        return Err(section.refuse("latency", problem, allowed));
    }
    let rate = section.or("rate", Rate { bps: 1_000_000_000 })?;
    if rate.bps > MOST_BPS {
        let allowed = format!("at most {}", Rate { bps: MOST_BPS });
        return Err(section.refuse("rate", format!("a rate of {rate}"), allowed));
    }
    if let Some(guest) = guests.guests.iter().find(|guest| guest.name == ROUTER) {
        let problem = format!("a guest {ROUTER:?}, as the router between all guests is called");
        return Err(guest.refuse_key("name", problem, "another name, or a network with a `topology`"));
    }
    // A packet takes two links.
    let link = LinkSpec::new(rate.bps, latency.ps / 2);
    let network =
        around_a_router(guests, &link).map_err(|error| packets::refuse(section, "latency", &error))?;
    Ok((network, Vec::new()))
}

/// The node at which all guests are in a network of `latency` alone.
const ROUTER: &str = "router";

/// A host for each card of a guest, by its name, at one router.
fn around_a_router(guests: &Guests, link: &LinkSpec) -> Result<Network, PacketError> {
    let mut builder = NetworkBuilder::new();
    for guest in &guests.guests {
        builder.node(guest.name.clone(), NodeKind::Host)?;
        for card in 1..guest.cards.len() {
            builder.node(format!("{}-eth{card}", guest.name), NodeKind::Host)?;
        }
    }
    let router = builder.node(ROUTER, NodeKind::Router)?;
    for host in 0..router {
        builder.link(host, router, link)?;
    }
    builder.build()
}

/// Reads all other keys. Without the key `capture`, every link is captured at one of its ends.
pub(super) fn complete(
    section: &mut Section,
    seed: u64,
    network: Noticed,
    stations: Stations,
) -> Result<Packets, ScenarioError> {
    let captures_all = !section.has("capture");
    let model = packets::complete(section, seed, network, Some(stations))?;
    if !captures_all {
        return Ok(model);
    }
    let links = links(model.network());
    model.capture(&links, None).map_err(|error| packets::refuse(section, "capture", &error))
}

/// Each link once, at the end with the lower number: a host's, where there is one.
fn links(network: &Network) -> Vec<String> {
    let mut links = Vec::new();
    for node in 0..network.nodes() {
        for port in 0..network.ports(node) {
            let peer = network.peer(node, port);
            if node < peer {
                links.push(format!("{} <-> {}", network.name(node), network.name(peer)));
            }
        }
    }
    links
}

/// The host of this name, which `key` gives.
pub(super) fn host(
    guest: &GuestSpec,
    key: &str,
    name: &str,
    network: &Network,
) -> Result<u32, ScenarioError> {
    let node = network.node(name).ok();
    if let Some(node) = node.filter(|node| network.kind(*node) == NodeKind::Host) {
        return Ok(node);
    }
    let hosts = || network.hosts().iter().map(|host| network.name(*host));
    let problem = match node {
        Some(node) => format!("guest {}: {name:?} is a {}, no host", guest.name, network.kind(node).name()),
        None => {
            let hint =
                nearest(name, hosts()).map_or_else(String::new, |near| format!("; did you mean {near:?}?"));
            format!("guest {}: the network has no host {name:?}{hint}", guest.name)
        }
    };
    let mut allowed: Vec<String> = hosts().take(LISTED).map(|host| format!("{host:?}")).collect();
    if hosts().len() > LISTED {
        allowed.push(format!("and {} more hosts", hosts().len() - LISTED));
    }
    // The guest's name stands for its host where no host is given.
    let of = if key == "name" { "`host`, or a name, that is one of " } else { "" };
    Err(guest.refuse_key(key, problem, format!("{of}{}", allowed.join(", "))))
}

/// Whether time passes on the links of a guest: it is granted time by their latency.
pub(super) fn check_links(
    guest: &GuestSpec,
    key: &str,
    node: u32,
    network: &Network,
) -> Result<(), ScenarioError> {
    let links = || (0..network.ports(node)).map(|port| network.link(node, port));
    if links().all(|link| link.latency_ps >= 1_000) {
        return Ok(());
    }
    let problem =
        format!("a link of the host {:?} of guest {} has no latency", network.name(node), guest.name);
    let allowed = "at least \"1ns\" on the links of guests; a run is the faster the longer they are";
    Err(guest.refuse_key(key, problem, allowed))
}
