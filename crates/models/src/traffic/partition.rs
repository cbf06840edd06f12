//! Which federate gets which node: neighbours together, numbers equal.
//!
//! Every function deals all nodes to exactly the federates asked for, from 1 to as many as there are nodes; sizes of
//! regions differ by at most one node (in a grid, by at most one row, source and sink).

use std::collections::VecDeque;

use paceline_kernel::Partition;

use super::grid::Grid;
use super::network::Network;

/// Strips of whole rows; tiles where there are more federates than rows. Sources and sinks are dealt in equal runs.
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
        // Left and right alike, so that a strip's sources lie at its own rows.
        owner[source as usize] = share((source - grid.inner()) % grid.side, grid.side, federates);
    }
    for sink in grid.sinks() {
        owner[sink as usize] = share(sink - grid.sinks().start, 2 * grid.side, federates);
    }
    Partition::table(&owner)
}

/// The part of `parts` that item `item` of `items` belongs to, in equal runs.
fn share(item: u32, items: u32, parts: u32) -> u32 {
    (u64::from(item) * u64::from(parts) / u64::from(items)) as u32
}

/// Recursive bisection: halves the federates and, in proportion, the intersections across their longer extent.
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

/// Equal runs of a breadth-first search that starts at the lowest node and takes roads both ways.
pub(crate) fn city(network: &Network, federates: u32) -> Partition {
    let nodes = network.nodes();
    let federates = federates.clamp(1, nodes.max(1));
    let mut owner = vec![u32::MAX; nodes as usize];
    let mut found = VecDeque::new();
    let mut seen = vec![false; nodes as usize];
    let mut taken = 0;
    for start in 0..nodes {
        if std::mem::replace(&mut seen[start as usize], true) {
            continue;
        }
        found.push_back(start);
        while let Some(node) = found.pop_front() {
            owner[node as usize] = share(taken, nodes, federates);
            taken += 1;
            let ahead = network.exits(node).iter().map(|road| road.to);
            let behind = network.approaches(node).iter().map(|road| network.road(*road).from);
            for neighbour in ahead.chain(behind) {
                if !std::mem::replace(&mut seen[neighbour as usize], true) {
                    found.push_back(neighbour);
                }
            }
        }
    }
    Partition::table(&owner)
}
