//! Nodes in an order in which neighbours are near each other: what partitions are cut from.

use std::collections::VecDeque;

use super::{Network, NodeKind};

/// All nodes, neighbours near each other: in breadth first order from a node far out, hosts right after what
/// they are attached to. Graphs in several parts come part by part.
pub(crate) fn neighbours_together(network: &Network) -> Vec<u32> {
    let mut order = Vec::with_capacity(network.nodes() as usize);
    let mut seen = vec![false; network.nodes() as usize];
    let mut tried = seen.clone();
    for node in 0..network.nodes() {
        if !seen[node as usize] {
            // The node found last is as far out as any: from there layers are narrow.
            let far = *search(network, node, &mut tried).last().expect("a search finds its start");
            order.extend(search(network, far, &mut seen));
        }
    }
    order
}

fn search(network: &Network, from: u32, seen: &mut [bool]) -> Vec<u32> {
    let (mut found, mut open) = (Vec::new(), VecDeque::from([from]));
    seen[from as usize] = true;
    while let Some(node) = open.pop_front() {
        found.push(node);
        for port in 0..network.ports(node) {
            let peer = network.peer(node, port);
            if !seen[peer as usize] {
                seen[peer as usize] = true;
                if network.kind(peer) == NodeKind::Host && network.ports(peer) == 1 {
                    found.push(peer);
                } else {
                    open.push_back(peer);
                }
            }
        }
    }
    found
}
