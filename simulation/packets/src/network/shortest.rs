//! The shortest routes of any graph.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::{Hop, Network, NodeKind};
use crate::PacketError;
use crate::routing::{NO_COLUMN, Table, Target};

/// The most entries of a table: 1 GiB.
pub(super) const MOST_ENTRIES: usize = 1 << 28;

/// The table of the shortest routes of a network.
pub(crate) fn table(network: &Network) -> Result<Table, PacketError> {
    let (targets, columns) = targets(network);
    let count = (network.nodes() as usize).saturating_mul(columns.len());
    if count > MOST_ENTRIES {
        return Err(PacketError::TooMany { what: "routes in its table", count, most: MOST_ENTRIES });
    }
    let mut table =
        Table { columns: columns.len(), targets, entries: vec![0; count], sets: vec![0, 0], ports: vec![] };
    let mut known = BTreeMap::from([(Vec::new(), 0)]);
    for (&to, &column) in &columns {
        let distances = distances(network, to, |_| true);
        for node in (0..network.nodes()).filter(|node| *node != to) {
            let ports = ways(network, &distances, to, node, |_| true);
            table.entries[node as usize * table.columns + column as usize] =
                set(ports, &mut known, &mut table.sets, &mut table.ports);
        }
    }
    Ok(table)
}

/// How hosts are reached, and the nodes to which there are routes, with their columns.
pub(super) fn targets(network: &Network) -> (Vec<Target>, BTreeMap<u32, u32>) {
    let nodes = network.nodes() as usize;
    let mut targets = vec![Target { column: NO_COLUMN, attached: NO_COLUMN, port: 0 }; nodes];
    let mut columns: BTreeMap<u32, u32> = BTreeMap::new();
    for &host in network.hosts() {
        // Not to another host, which would have to forward.
        let attached = match network.ports(host) {
            1 if network.kind(network.peer(host, 0)) != NodeKind::Host => network.peer(host, 0),
            _ => host,
        };
        let fresh = columns.len() as u32;
        let target = &mut targets[host as usize];
        target.column = *columns.entry(attached).or_insert(fresh);
        if attached != host {
            target.attached = attached;
            let port = network.port_to(attached, host).expect("a link has two ends");
            target.port = port as u16;
        }
    }
    (targets, columns)
}

/// The number of a set of ports; a new one is added to `sets` and `ports`, as a [`Table`] has them.
pub(super) fn set(
    of: Vec<u16>,
    known: &mut BTreeMap<Vec<u16>, u32>,
    sets: &mut Vec<u32>,
    ports: &mut Vec<u16>,
) -> u32 {
    let fresh = known.len() as u32;
    *known.entry(of).or_insert_with_key(|of| {
        ports.extend(of);
        sets.push(ports.len() as u32);
        fresh
    })
}

/// The ports of `node` on shortest ways to `to` over links whose wires are up, by their weights; none where
/// there is no way.
pub(super) fn ways(
    network: &Network,
    distances: &[u64],
    to: u32,
    node: u32,
    is_up: impl Fn(u32) -> bool,
) -> Vec<u16> {
    let mut set = Vec::new();
    for port in 0..network.ports(node) {
        let hop = network.hop(node, port);
        if is_up(hop.wire) && is_way(network, distances, to, node, hop) {
            set.push((port as u16, network.link(node, port).weight));
        }
    }
    repeated(&set)
}

/// Whether the link at a port of `node` is on a shortest way to `to`.
pub(super) fn is_way(network: &Network, distances: &[u64], to: u32, node: u32, hop: Hop) -> bool {
    let (here, there) = (distances[node as usize], distances[hop.peer as usize]);
    let forwards = hop.peer == to || network.kind(hop.peer) != NodeKind::Host;
    let metric = u64::from(network.specs[hop.wire as usize].metric);
    forwards && here != u64::MAX && there.checked_add(metric) == Some(here)
}

/// The sums of metrics on the shortest ways to `to` over links whose wires are up (Dijkstra), `u64::MAX`
/// where there is none. Ways do not lead through hosts.
pub(super) fn distances(network: &Network, to: u32, is_up: impl Fn(u32) -> bool) -> Vec<u64> {
    let mut distances = vec![u64::MAX; network.nodes() as usize];
    let mut open = BinaryHeap::from([Reverse((0, to))]);
    distances[to as usize] = 0;
    while let Some(Reverse((distance, node))) = open.pop() {
        if distance > distances[node as usize] || (node != to && network.kind(node) == NodeKind::Host) {
            continue;
        }
        for hop in (0..network.ports(node)).map(|port| network.hop(node, port)) {
            let longer = distance + u64::from(network.specs[hop.wire as usize].metric);
            if is_up(hop.wire) && longer < distances[hop.peer as usize] {
                distances[hop.peer as usize] = longer;
                open.push(Reverse((longer, hop.peer)));
            }
        }
    }
    distances
}

/// The ports, each as often as its weight says, divided by what all weights have in common.
fn repeated(set: &[(u16, u32)]) -> Vec<u16> {
    let common = set.iter().fold(0, |common, (_, weight)| divisor(common, *weight));
    let times = |(port, weight): &(u16, u32)| std::iter::repeat_n(*port, (weight / common) as usize);
    set.iter().flat_map(times).collect()
}

/// The greatest common divisor.
const fn divisor(mut one: u32, mut other: u32) -> u32 {
    while other != 0 {
        (one, other) = (other, one % other);
    }
    one
}
