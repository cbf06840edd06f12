//! An emulation from a scenario: the section `[network]`, and the tables `[[guest]]` at hosts of it.
//!
//! - `network` reads `[network]`: what a packet scenario has in `[model]`, or `latency` alone.
//! - `resume` starts guests from a checkpoint.
//! - `start` packs the image, boots it once for each kind of guest, and starts all guests from there; `boots`
//!   keeps what was booted for further runs.
//!
//! Invariant: guests and hosts are matched here alone. Every mistake is refused at its place in the file
//! before anything runs.

mod boots;
mod network;
mod resume;
mod start;

use std::net::Ipv4Addr;

use paceline_models::packets::problem_and_allowed;
use paceline_packets::{Network, PacketError, Packets, Stations};
use paceline_scenario::{Scenario, ScenarioError};

use crate::image::settings::{Address, GuestCard, GuestSpec, Guests};
pub use start::{LeftBehind, Ready, StartError, Started, Starting, Watched};

/// The gateway of guests whose addresses the network gives. No host has it: the network forwards what is sent
/// there by its IPv4 address.
const GATEWAY: Ipv4Addr = Ipv4Addr::new(169, 254, 1, 1);

/// A network, and guests at some of its hosts.
#[derive(Clone, Debug)]
pub struct Emulation {
    /// The network with the places of the guests, and all that is simulated.
    pub model: Packets,
    /// As their tables say, in the order of the file.
    pub guests: Guests,
    /// By guest and card: where it is.
    places: Vec<Vec<Place>>,
}

/// Where a card of a guest is in the network.
#[derive(Clone, Copy, Debug)]
struct Place {
    node: u32,
    address: Address,
    mac: [u8; 6],
    gateway: Option<Ipv4Addr>,
}

impl Emulation {
    /// Takes `[network]` and `[[guest]]` out of a scenario; `seed` is that of the run.
    ///
    /// # Errors
    ///
    /// A key or a value that is not allowed, with its place.
    pub fn read(scenario: &mut Scenario, seed: u64) -> Result<Self, ScenarioError> {
        let mut section = scenario.section("network")?;
        let guests = Guests::read(scenario)?;
        let network = network::read(&mut section, seed, &guests)?;
        let nodes = nodes(&guests, &network.0)?;
        let stations = stations(&guests, &nodes, &network.0)?;
        let places_of = |(guest, nodes): (&GuestSpec, Vec<u32>)| {
            let cards = guest.cards.iter().zip(nodes).enumerate();
            cards.map(|(number, (card, node))| Place::new(card, number, node, &stations)).collect()
        };
        let places = guests.guests.iter().zip(nodes).map(places_of).collect();
        let model = network::complete(&mut section, seed, network, stations)?;
        section.finish()?;
        Ok(Self { model, guests, places })
    }

    /// The nodes of the guests' first cards, in the order of guests.
    pub fn nodes(&self) -> impl Iterator<Item = u32> {
        self.places.iter().map(|cards| cards[0].node)
    }

    /// How many federates there are where what is simulated has so many.
    #[must_use]
    pub fn federates(&self, simulated: u32) -> u32 {
        let cards = self.places.iter().map(Vec::len).sum::<usize>() as u32;
        simulated.clamp(1, self.model.network().nodes() - cards) + self.places.len() as u32
    }
}

impl Place {
    /// Of the card with this number of its guest.
    fn new(card: &GuestCard, number: usize, node: u32, stations: &Stations) -> Self {
        let given = stations.address(node).expect("a host has an address");
        // Alone in its network, a guest sends everything to its gateway, whose Ethernet address it is told:
        // no request for an address delays a packet. It has one such way, that of its first card.
        let address = card.address.unwrap_or(Address { ip: given, prefix: 32 });
        let gateway = card.gateway.or((card.address.is_none() && number == 0).then_some(GATEWAY));
        let mac = card.mac.map_or(Stations::ethernet_address(given), |mac| mac.0);
        Self { node, address, mac, gateway }
    }
}

/// By guest: the hosts of its cards.
fn nodes(guests: &Guests, network: &Network) -> Result<Vec<Vec<u32>>, ScenarioError> {
    let mut nodes = Vec::new();
    for guest in &guests.guests {
        if guest.cards.iter().filter(|card| card.gateway.is_some()).count() > 1 {
            let problem = format!("guest {} has a gateway at more than one of its cards", guest.name);
            return Err(guest.refuse_key(
                "cards",
                problem,
                "one gateway; other ways by `ip route` in its script",
            ));
        }
        let mut cards = Vec::new();
        for (number, card) in guest.cards.iter().enumerate() {
            let key = if card.host.is_some() { "host" } else { "name" };
            let key = if guest.cards.len() > 1 { "cards" } else { key };
            let node = network::host(guest, key, &guest.host(number), network)?;
            network::check_links(guest, key, node, network)?;
            cards.push(node);
        }
        nodes.push(cards);
    }
    Ok(nodes)
}

fn stations(guests: &Guests, nodes: &[Vec<u32>], network: &Network) -> Result<Stations, ScenarioError> {
    let cards = guests.guests.iter().flat_map(|guest| &guest.cards);
    let addresses = cards.map(|card| card.address.map(|address| address.ip));
    let at: Vec<_> = nodes.iter().flatten().copied().zip(addresses).collect();
    let stations = Stations::new(network, &at).map_err(|error| {
        let is_at = |name: &String| {
            nodes.iter().rposition(|cards| cards.iter().any(|node| network.name(*node) == name))
        };
        let (key, guest) = match &error {
            PacketError::Address { node, .. } => ("address", is_at(node)),
            PacketError::AddressTwice { first, second, .. } => ("address", is_at(second).or(is_at(first))),
            PacketError::MachineNotAHost { node, .. } | PacketError::MachineTwice { node } => {
                ("host", is_at(node))
            }
            _ => ("host", None),
        };
        let guest = &guests.guests[guest.unwrap_or(0)];
        refuse(guest, if guest.cards.len() > 1 { "cards" } else { key }, &error)
    })?;
    Ok(stations.cards(nodes))
}

fn refuse(guest: &GuestSpec, key: &str, error: &PacketError) -> ScenarioError {
    let (problem, allowed) = problem_and_allowed(error);
    guest.refuse_key(key, format!("guest {}: {problem}", guest.name), allowed)
}
