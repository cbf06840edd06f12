//! Recording packets on links, and pcap files of what was recorded.
//!
//! A port of a captured link logs each packet that begins to be sent ([`Log`]), in the state of its node:
//! what is rolled back takes its records with it, and every protocol and partition leaves the same. The bytes
//! of headers are formed when a file is written. A file holds what one port sends ("A -> B"), or also what
//! comes to it ("A <-> B"), which follows from what the other end has logged.
//!
//! Invariants: nothing here changes what the model does, so that the digest of a run does not depend on what
//! is captured. Lengths in files are those on the wire, where these leave room for the headers.

mod addresses;
mod headers;
mod log;
mod names;
mod order;
mod patterns;
mod pcap;
mod record;
mod words;

use std::collections::BTreeSet;

use crate::PacketError;
use crate::flow::Flow;
use crate::network::Network;

pub(crate) use addresses::{FlowAddress, default_address};
pub(crate) use headers::{checksum, data_sum, frame_of_segment};
pub(crate) use log::Log;
pub(crate) use pcap::add_files;
pub(crate) use record::{Packet, Record, Seen, Shown, seen_in};

/// The bytes of a packet that a file holds at most: what Wireshark reads.
const MOST_SNAP: u32 = 262_144;
/// The bytes of a packet that a file holds at least: the headers of PPP and IPv4.
const LEAST_SNAP: u32 = 22;

/// A file to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Tap {
    /// The port at which packets are seen.
    node: u32,
    port: u32,
    /// Also those that come to it.
    is_both: bool,
}

/// What is captured, and how hosts and flows show in files.
#[derive(Clone, Debug)]
pub(crate) struct Capture {
    taps: BTreeSet<Tap>,
    /// The bytes of a packet that files hold; without a number, its headers.
    snap: Option<u32>,
    /// By flow: of packets that go to its receiver, and of those that go back.
    flows: Vec<[FlowAddress; 2]>,
    /// Files are of Ethernet, since there are frames of machines; of PPP otherwise.
    pub is_ethernet: bool,
}

impl Capture {
    /// What `patterns` name of `network`: see [`Packets::capture`](crate::Packets::capture).
    pub fn new<P: AsRef<str>>(
        network: &Network,
        flows: &[Flow],
        patterns: &[P],
        snap: Option<u32>,
    ) -> Result<Self, PacketError> {
        if let Some(snap) = snap.filter(|snap| !(LEAST_SNAP..=MOST_SNAP).contains(snap)) {
            return Err(PacketError::Snap { snap, least: LEAST_SNAP, most: MOST_SNAP });
        }
        let mut taps = BTreeSet::new();
        for pattern in patterns {
            taps.extend(patterns::taps(network, pattern.as_ref())?);
        }
        Ok(Self { taps, snap, flows: addresses::of_flows(network, flows)?, is_ethernet: false })
    }

    /// The ports that log what they send, as (node, port).
    pub fn ports(&self, network: &Network) -> BTreeSet<(u32, u32)> {
        let of_tap = |tap: &Tap| {
            let back = if tap.is_both { back(network, tap) } else { None };
            [Some((tap.node, tap.port)), back]
        };
        self.taps.iter().flat_map(of_tap).flatten().collect()
    }

    /// What tells this from other captures, for checkpoints: what was not logged cannot be written.
    pub fn parameters(&self) -> String {
        format!("captured {:?}", self.taps)
    }
}

/// The port at the other end of a link.
fn back(network: &Network, tap: &Tap) -> Option<(u32, u32)> {
    let peer = network.peer(tap.node, tap.port);
    network.port_to(peer, tap.node).map(|port| (peer, port))
}
