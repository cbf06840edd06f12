//! Addresses of hosts, and port numbers of flows: the model has neither.
//!
//! A host has the IPv4 address 10.0.0.1 plus its place among the hosts. The flows between two hosts have
//! ports of their own, of numbers for which Wireshark knows no protocol: it would look for one in the data,
//! which are zeros.
//!
//! Invariant: no two flows have the same addresses and ports.

use std::collections::BTreeMap;

use crate::PacketError;
use crate::flow::{Flow, Transport};
use crate::network::Network;

/// 10.0.0.1.
const FIRST_ADDRESS: u32 = 10 << 24 | 1;
/// The hosts that there are addresses for: neither the first of 10.0.0.0/8 nor the last, the broadcast.
const MOST_HOSTS: usize = (1 << 24) - 2;
/// The least port of a sender, and how many there are.
const FROM_PORT: u16 = 61_440;
const FROM_PORTS: u32 = 4_096;
/// The least port of a receiver, and how many there are.
const TO_PORT: u16 = 60_416;
const TO_PORTS: u32 = 1_024;

/// How the packets of one direction of a flow show in files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FlowAddress {
    /// The addresses of the host that sends and of the one that receives.
    pub addresses: [u32; 2],
    /// The ports of sender and receiver.
    pub ports: [u16; 2],
    /// The scales of the windows that they announce.
    pub scales: [u8; 2],
    /// The sum of the addresses by two bytes each, for checksums.
    pub sum: u32,
}

impl FlowAddress {
    pub fn new(addresses: [u32; 2], ports: [u16; 2], scales: [u8; 2]) -> Self {
        let sum = addresses.map(|address| (address >> 16) + (address & 0xffff)).into_iter().sum();
        Self { addresses, ports, scales, sum }
    }

    /// The same of the other direction.
    fn back(self) -> Self {
        let Self { addresses: [from, to], ports: [from_port, to_port], scales: [from_scale, to_scale], sum } =
            self;
        let (ports, scales) = ([to_port, from_port], [to_scale, from_scale]);
        Self { addresses: [to, from], ports, scales, sum }
    }
}

/// The address of the host of this place among the hosts, where it has no other.
pub(crate) fn default_address(place: u32) -> u32 {
    FIRST_ADDRESS + place
}

/// By flow: of packets that go to its receiver, and of those that go back.
pub(super) fn of_flows(network: &Network, flows: &[Flow]) -> Result<Vec<[FlowAddress; 2]>, PacketError> {
    let hosts = network.hosts();
    if hosts.len() > MOST_HOSTS {
        let what = "hosts, each with an IPv4 address since packets are captured";
        return Err(PacketError::TooMany { what, count: hosts.len(), most: MOST_HOSTS });
    }
    let address = |node: u32| {
        let place = hosts.binary_search(&node).expect("flows begin and end at hosts");
        default_address(place as u32)
    };
    let mut counts: BTreeMap<(u32, u32), u32> = BTreeMap::new();
    let of_flow = |flow: &Flow| {
        let (from, to) = (flow.from, flow.to);
        let count = counts.entry((from.min(to), from.max(to))).or_default();
        let number = *count;
        *count += 1;
        if number >= FROM_PORTS * TO_PORTS {
            let (what, most) = ("flows between two hosts, and packets are captured", FROM_PORTS * TO_PORTS);
            return Err(PacketError::TooMany { what, count: *count as usize, most: most as usize });
        }
        let scales = match &flow.transport {
            Transport::Tcp(tcp) if tcp.sender.window_scaling && tcp.receiver.window_scaling => {
                [tcp.sender.scale(), tcp.receiver.scale()]
            }
            _ => [0, 0],
        };
        let ports = [FROM_PORT + (number % FROM_PORTS) as u16, TO_PORT + (number / FROM_PORTS) as u16];
        let there = FlowAddress::new([address(from), address(to)], ports, scales);
        Ok([there, there.back()])
    };
    flows.iter().map(of_flow).collect()
}
