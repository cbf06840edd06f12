//! The shortest routes of any graph.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::{Network, NodeKind};
use crate::PacketError;
use crate::routing::{NO_COLUMN, Table, Target};

/// The most entries of a table: 1 GiB.
const MOST_ENTRIES: usize = 1 << 28;

/// The table of the shortest routes of a network.
pub(crate) fn table(network: &Network) -> Result<Table, PacketError> {
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
    let count = nodes.saturating_mul(columns.len());
    if count > MOST_ENTRIES {
        return Err(PacketError::TooMany { what: "routes in its table", count, most: MOST_ENTRIES });
    }
    let mut table =
        Table { columns: columns.len(), targets, entries: vec![0; count], sets: vec![0, 0], ports: vec![] };
    let mut known = BTreeMap::from([(Vec::new(), 0)]);
    for (&to, &column) in &columns {
        fill(&mut table, network, to, column as usize, &mut known);
    }
    Ok(table)
}

/// The column of the routes to `to`.
fn fill(table: &mut Table, network: &Network, to: u32, column: usize, known: &mut BTreeMap<Vec<u16>, u32>) {
    let distances = distances(network, to);
    for node in 0..network.nodes() {
        let here = distances[node as usize];
        if node == to || here == u64::MAX {
            continue;
        }
        let mut set = Vec::new();
        for port in 0..network.ports(node) {
            let (peer, link) = (network.peer(node, port), network.link(node, port));
            let there = distances[peer as usize];
            let forwards = peer == to || network.kind(peer) != NodeKind::Host;
            if forwards && there.checked_add(u64::from(link.metric)) == Some(here) {
                set.push((port as u16, link.weight));
            }
        }
        let set = repeated(&set);
        let fresh = known.len() as u32;
        let number = *known.entry(set).or_insert_with_key(|set| {
            table.ports.extend(set);
            table.sets.push(table.ports.len() as u32);
            fresh
        });
        table.entries[node as usize * table.columns + column] = number;
    }
}

/// The sums of metrics on the shortest ways to `to` (Dijkstra), `u64::MAX` where there is none. Ways do not
/// lead through hosts.
fn distances(network: &Network, to: u32) -> Vec<u64> {
    let mut distances = vec![u64::MAX; network.nodes() as usize];
    let mut open = BinaryHeap::from([Reverse((0, to))]);
    distances[to as usize] = 0;
    while let Some(Reverse((distance, node))) = open.pop() {
        if distance > distances[node as usize] || (node != to && network.kind(node) == NodeKind::Host) {
            continue;
        }
        for port in 0..network.ports(node) {
            let peer = network.peer(node, port);
            let longer = distance + u64::from(network.link(node, port).metric);
            if longer < distances[peer as usize] {
                distances[peer as usize] = longer;
                open.push(Reverse((longer, peer)));
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
