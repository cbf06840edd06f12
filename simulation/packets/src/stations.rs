//! Where real machines are in a network, and the addresses by which frames are forwarded.
//!
//! Invariant: no two hosts have one address.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Arc;

use crate::PacketError;
use crate::capture::default_address;
use crate::frame::{FrameBody, content};
use crate::network::{Network, NodeKind};

/// What the network does with a frame that a card sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It goes to this host.
    Forward(u32),
    /// It is a request that the network itself answers.
    Answer,
    /// Nothing: it is counted.
    Drop,
}

/// The hosts of a network with their addresses, and which of them are real machines.
#[derive(Clone, Debug, Default)]
pub struct Stations {
    /// By node: the address of the machine there.
    machines: BTreeMap<u32, u32>,
    /// By the first host of a machine with several cards: the hosts of the others.
    more_cards: BTreeMap<u32, Vec<u32>>,
    /// By address: all hosts.
    hosts: BTreeMap<u32, u32>,
}

impl Stations {
    /// Machines at these hosts of `network`, with their addresses. Without one, a host has 10.0.0.1 plus its
    /// place among the hosts; so have those that are no machines.
    ///
    /// # Errors
    ///
    /// [`PacketError::MachineNotAHost`], [`PacketError::MachineTwice`], [`PacketError::AddressTwice`] and
    /// [`PacketError::Address`].
    pub fn new(network: &Network, machines: &[(u32, Option<Ipv4Addr>)]) -> Result<Self, PacketError> {
        let mut given = BTreeMap::new();
        for &(node, address) in machines {
            let name = || network.name(node).to_owned();
            if network.kind(node) != NodeKind::Host {
                let kind = network.kind(node).name();
                return Err(PacketError::MachineNotAHost { node: name(), kind });
            }
            if let Some(address) = address.filter(|address| !is_of_a_host(*address)) {
                return Err(PacketError::Address { node: name(), address });
            }
            if given.insert(node, address.map(u32::from)).is_some() {
                return Err(PacketError::MachineTwice { node: name() });
            }
        }
        let mut stations = Self::default();
        for (place, &node) in (0..).zip(network.hosts()) {
            let machine = given.get(&node);
            let address = machine.copied().flatten().unwrap_or(default_address(place));
            if let Some(other) = stations.hosts.insert(address, node) {
                let [first, second] = [other, node].map(|node| network.name(node).to_owned());
                return Err(PacketError::AddressTwice { address: address.into(), first, second });
            }
            if machine.is_some() {
                stations.machines.insert(node, address);
            }
        }
        Ok(stations)
    }

    /// The same where each of these lists is one machine, with a card at each of the hosts. Without it every
    /// host is a machine of its own.
    ///
    /// # Panics
    ///
    /// If no machine is at one of the hosts, or two lists have it.
    #[must_use]
    pub fn cards(mut self, machines: &[Vec<u32>]) -> Self {
        let mut seen = BTreeMap::new();
        for (first, node) in machines.iter().flat_map(|nodes| nodes.iter().map(|node| (nodes[0], *node))) {
            assert!(self.is_machine(node) && seen.insert(node, first).is_none(), "a card at node {node}");
        }
        for nodes in machines.iter().filter(|nodes| nodes.len() > 1) {
            self.more_cards.insert(nodes[0], nodes[1..].to_vec());
        }
        self
    }

    /// The hosts at which a machine has its cards, in the order of cards; `first` is that of the first.
    pub fn cards_of(&self, first: u32) -> Vec<u32> {
        let more = self.more_cards.get(&first).into_iter().flatten();
        std::iter::once(first).chain(more.copied()).collect()
    }

    /// By machine, in the order of their first hosts: the hosts of its cards.
    pub(crate) fn machines_by_card(&self) -> Vec<Vec<u32>> {
        let is_later = |node: &u32| self.more_cards.values().any(|nodes| nodes.contains(node));
        let first = self.machines.keys().copied().filter(|node| !is_later(node));
        first.map(|node| self.cards_of(node)).collect()
    }

    /// The nodes at which machines are, ascending, with their addresses.
    pub fn machines(&self) -> impl Iterator<Item = (u32, Ipv4Addr)> {
        self.machines.iter().map(|(node, address)| (*node, (*address).into()))
    }

    /// The host that has an address.
    pub(crate) fn host(&self, address: u32) -> Option<u32> {
        self.hosts.get(&address).copied()
    }

    /// The address of a host.
    pub fn address(&self, node: u32) -> Option<Ipv4Addr> {
        self.hosts.iter().find(|(_, host)| **host == node).map(|(address, _)| (*address).into())
    }

    /// The Ethernet address of a host's card: what the network answers to ARP requests for its address.
    pub fn ethernet_address(address: Ipv4Addr) -> [u8; 6] {
        content::ethernet_address(address.into())
    }

    /// What the network answers to a frame of the machine at `node`, if it is an ARP request for an address
    /// other than its own.
    pub fn answer(&self, node: u32, frame: &FrameBody) -> Option<Vec<u8>> {
        content::arp_answer(&frame.bytes, *self.machines.get(&node)?)
    }

    /// All hosts by their addresses.
    pub(crate) fn hosts(&self) -> impl Iterator<Item = (u32, u32)> {
        self.hosts.iter().map(|(address, node)| (*address, *node))
    }

    pub(crate) fn is_machine(&self, node: u32) -> bool {
        self.machines.contains_key(&node)
    }

    /// What is done with a frame of the machine at `node`.
    pub(crate) fn fate(&self, node: u32, frame: &Arc<FrameBody>) -> Fate {
        if self.answer(node, frame).is_some() {
            return Fate::Answer;
        }
        // A machine that routes gets what is sent to its card, for whatever address that is.
        let at = |address: u32| self.hosts.get(&address);
        let router = content::next_hop(&frame.bytes).and_then(at).filter(|router| self.is_machine(**router));
        let to = router.or_else(|| content::destination(&frame.bytes).and_then(at));
        // What a machine sends to itself never leaves it.
        to.filter(|to| **to != node).map_or(Fate::Drop, |to| Fate::Forward(*to))
    }
}

/// Whether a host can have it: neither for many, nor for all, nor none.
fn is_of_a_host(address: Ipv4Addr) -> bool {
    let first = address.octets()[0];
    (1..224).contains(&first) && first != 127
}
