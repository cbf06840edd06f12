//! How nodes are divided among federates: neighbours together, few links cut, loads even.
//!
//! Invariant: the same network gives the same partition, whoever computes it.

use paceline_kernel::{Balance, Edge, LpId, Partition, improve, remote};

use crate::network::{Network, NodeKind};

/// A node's load beside that of its ports: a host has the work of its flows.
const HOST_LOAD: u64 = 2;

/// The partition of `network` for at most `federates` federates: the order of nodes is cut where loads are
/// even; then nodes go over to where most of their links lead, as far as loads allow, if that cuts fewer
/// links.
pub(crate) fn divide(network: &Network, federates: u32) -> Partition {
    let nodes = network.nodes();
    let federates = federates.clamp(1, nodes.max(1));
    if federates == 1 {
        return Partition::runs(nodes, 1);
    }
    let loads: Vec<u64> = (0..nodes).map(|node| load(network, node)).collect();
    let cut = cut(&network.order, &loads, federates);
    let mut edges = Vec::new();
    for node in 0..nodes {
        for port in 0..network.ports(node) {
            let peer = network.peer(node, port);
            if node < peer {
                edges.push(Edge::new(LpId(node), LpId(peer), 1));
            }
        }
    }
    edges.sort_unstable();
    let better = improve(Balance::LoadAndCommunication, &cut, federates, &loads, &edges);
    let fewer = remote(&better, &edges) < remote(&cut, &edges);
    Partition::table(if fewer { &better } else { &cut })
}

fn load(network: &Network, node: u32) -> u64 {
    let work = if network.kind(node) == NodeKind::Host { HOST_LOAD } else { 0 };
    u64::from(network.ports(node)) + work
}

/// Runs of `order`, each of about the same load and none empty.
fn cut(order: &[u32], loads: &[u64], federates: u32) -> Vec<u32> {
    let all: u64 = loads.iter().sum();
    let mut owner = vec![0; order.len()];
    let (mut before, mut part, mut last_start) = (0u64, 0u32, 0usize);
    for (place, &node) in order.iter().enumerate() {
        let middle = before + loads[node as usize] / 2;
        let left = order.len() - place;
        let wanted = (u128::from(middle) * u128::from(federates) / u128::from(all.max(1))) as u32;
        // Each part gets a node, whatever the loads: the rest must go round for the parts still to come.
        let must = left <= (federates - 1 - part) as usize;
        if place > last_start && part + 1 < federates && (wanted > part || must) {
            (part, last_start) = (part + 1, place);
        }
        owner[node as usize] = part;
        before += loads[node as usize];
    }
    owner
}
