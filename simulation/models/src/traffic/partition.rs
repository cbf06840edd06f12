//! The partition of nodes: neighbours together, loads balanced.
//!
//! Every function distributes all nodes over exactly the requested number of federates, from 1 up to the
//! number of nodes. In a grid, the sizes of parts differ by at most one row, source and sink. In a city, some
//! nodes see a thousand times the vehicles of others; there the numbers of vehicles are balanced: the largest
//! load is the least that cuts of the same node order can achieve. Nodes joined by roads that take no time,
//! such as a zone and its access to the network, stay together if there are enough groups: a message along
//! such a road has no delay beyond the lookahead, along other roads far more.

use std::collections::VecDeque;

use paceline_kernel::{Partition, Time};

use super::grid::Grid;
use super::network::Network;

/// Strips of whole rows; tiles if there are more federates than rows. Sources and sinks are distributed in
/// equal runs.
pub(crate) fn grid(grid: Grid, federates: u32) -> Partition {
    let federates = federates.max(1);
    if federates > grid.inner() {
        return Partition::runs(grid.sinks().end, federates);
    }
    let mut owner = vec![0; grid.sinks().end as usize];
    if federates <= grid.side {
        for node in 0..grid.inner() {
            owner[node as usize] = share(grid.place(node).0, grid.side, federates);
        }
    } else {
        let mut nodes: Vec<u32> = (0..grid.inner()).collect();
        tiles(grid, &mut nodes, 0, federates, &mut owner);
    }
    for source in grid.sources() {
        // The same for left and right, so that the sources of a strip are at its own rows.
        owner[source as usize] = share((source - grid.inner()) % grid.side, grid.side, federates);
    }
    for sink in grid.sinks() {
        owner[sink as usize] = share(sink - grid.sinks().start, 2 * grid.side, federates);
    }
    Partition::table(&owner)
}

/// The part of `parts` that item `item` of `items` belongs to, for equal runs.
fn share(item: u32, items: u32, parts: u32) -> u32 {
    (u64::from(item) * u64::from(parts) / u64::from(items)) as u32
}

/// Recursive bisection: halves the federates and, in proportion, the intersections across their longer
/// extent.
fn tiles(grid: Grid, nodes: &mut [u32], first: u32, federates: u32, owner: &mut [u32]) {
    if federates == 1 {
        for node in nodes {
            owner[*node as usize] = first;
        }
        return;
    }
    let row = |node: u32| grid.place(node).0;
    let column = |node: u32| grid.place(node).1;
    if extent(nodes, row) >= extent(nodes, column) {
        nodes.sort_unstable_by_key(|node| (row(*node), column(*node)));
    } else {
        nodes.sort_unstable_by_key(|node| (column(*node), row(*node)));
    }
    let half = federates / 2;
    let cut = nodes.len() * half as usize / federates as usize;
    let (near, far) = nodes.split_at_mut(cut);
    tiles(grid, near, first, half, owner);
    tiles(grid, far, first + half, federates - half, owner);
}

fn extent(nodes: &[u32], coordinate: impl Fn(u32) -> u32) -> u32 {
    let least = nodes.iter().map(|node| coordinate(*node)).min();
    let most = nodes.iter().map(|node| coordinate(*node)).max();
    most.zip(least).map_or(0, |(most, least)| most - least)
}

/// Cuts a breadth-first order of the nodes into runs. The search starts at the lowest node and follows roads
/// in both directions; `loads` is the load of each node.
pub(crate) fn city(network: &Network, loads: &[u64], federates: u32) -> Partition {
    let nodes = network.nodes();
    let federates = federates.clamp(1, nodes.max(1));
    let mut order = breadth_first(network);
    if order.len() < federates as usize {
        order = order.into_iter().flatten().map(|node| vec![node]).collect();
    }
    let sums: Vec<u64> =
        order.iter().map(|group| group.iter().map(|node| loads[*node as usize]).sum()).collect();
    let (mut least, mut most) = (0, sums.iter().sum());
    while least < most {
        let middle = least + (most - least) / 2;
        match cut(&sums, federates, middle) {
            Some(_) => most = middle,
            None => least = middle + 1,
        }
    }
    let cuts = cut(&sums, federates, most).expect("everything fits where the load is that of all nodes");
    let mut owner = vec![0; nodes as usize];
    for (group, federate) in order.iter().zip(cuts) {
        group.iter().for_each(|node| owner[*node as usize] = federate);
    }
    Partition::table(&owner)
}

/// Cuts `loads` into one run for each federate, each as long as possible with a sum of at most `most`.
/// Returns the federate of each load, or `None` if there are too few federates.
fn cut(loads: &[u64], federates: u32, most: u64) -> Option<Vec<u32>> {
    let mut owner = Vec::with_capacity(loads.len());
    let (mut federate, mut load) = (0, 0);
    for (place, share) in loads.iter().enumerate() {
        // No federate stays empty: each of the remaining federates needs a load.
        let to_come = (federates - 1 - federate) as usize;
        if place > 0 && (load + share > most || loads.len() - place <= to_come) {
            (federate, load) = (federate + 1, 0);
        }
        load += share;
        if federate == federates || load > most {
            return None;
        }
        owner.push(federate);
    }
    Some(owner)
}

/// All nodes in the order of the search; nodes joined by roads that take no time form one group.
fn breadth_first(network: &Network) -> Vec<Vec<u32>> {
    let mut order = Vec::with_capacity(network.nodes() as usize);
    let mut found = VecDeque::new();
    let mut seen = vec![false; network.nodes() as usize];
    for start in 0..network.nodes() {
        found.push_back(start);
        while let Some(node) = found.pop_front() {
            if std::mem::replace(&mut seen[node as usize], true) {
                continue;
            }
            let (mut group, mut done) = (vec![node], 0);
            while let Some(member) = group.get(done).copied() {
                for (neighbour, free_flow) in neighbours(network, member) {
                    if free_flow == Time::ZERO && !std::mem::replace(&mut seen[neighbour as usize], true) {
                        group.push(neighbour);
                    }
                }
                done += 1;
            }
            let around = group.iter().flat_map(|member| neighbours(network, *member));
            found.extend(around.map(|(neighbour, _)| neighbour).filter(|node| !seen[*node as usize]));
            order.push(group);
        }
    }
    order
}

/// The nodes at the other ends of a node's roads, with the time that the road takes.
fn neighbours(network: &Network, node: u32) -> impl Iterator<Item = (u32, Time)> {
    let ahead = network.exits(node).iter().map(|road| (road.to, road.free_flow));
    let behind = network.approaches(node).iter().map(|road| network.road(*road));
    ahead.chain(behind.map(|road| (road.from, road.free_flow)))
}
