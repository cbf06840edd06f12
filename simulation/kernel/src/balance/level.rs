//! The three moves of [`improve`](super::improve), on LPs or on groups of them: even out loads, bring nodes
//! that send to each other together, find groups.
//!
//! Invariant: a node that is alone in its federate stays there. The number of moves is bounded: each move of
//! `even_out` lowers the sum of the squares of the loads, each one of `gather` the messages between
//! federates, and both in rounds that are counted.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::graph::{Graph, Tally};
use super::{LOAD_SLACK, TALK_SLACK, sums};

/// Rounds through all nodes, at most.
const ROUNDS: u32 = 12;
/// A group's load is at most the mean load of a federate divided by this, so that groups can be packed.
const GROUPS_PER_FEDERATE: u64 = 4;

/// The most load that a federate may have with this slack over the mean.
pub(super) fn limit(loads: &[u64], federates: u32, slack: f64) -> u64 {
    let mean = loads.iter().sum::<u64>() as f64 / f64::from(federates.max(1));
    (mean * (1.0 + slack)).floor() as u64
}

/// Moves nodes from the largest federates to the smallest until the largest is within the slack of the mean,
/// or nothing helps.
pub(super) fn even_out(owner: &mut [u32], federates: u32, loads: &[u64]) {
    let (limit, mean) =
        (limit(loads, federates, LOAD_SLACK), loads.iter().sum::<u64>() / u64::from(federates));
    let mut members: Vec<BTreeSet<(u64, Reverse<u32>)>> = vec![BTreeSet::new(); federates as usize];
    for (node, owner) in owner.iter().enumerate() {
        members[*owner as usize].insert((loads[node], Reverse(node as u32)));
    }
    let sums = sums(owner, federates, loads);
    // Of equal federates the one with the lowest number goes first, at both ends.
    let mut light: BTreeSet<(u64, u32)> = sums.into_iter().zip(0..).collect();
    let mut heavy: BTreeSet<(u64, Reverse<u32>)> =
        light.iter().map(|(load, id)| (*load, Reverse(*id))).collect();
    for _ in 0..owner.len() * ROUNDS as usize {
        let Some(&(most, Reverse(from))) = heavy.last().filter(|(most, _)| *most > limit) else { return };
        let Some(&(least, to)) = light.first() else { return };
        match fitting(&members[from as usize], most, least, mean) {
            Some((load, node)) => {
                members[from as usize].remove(&(load, node));
                members[to as usize].insert((load, node));
                owner[node.0 as usize] = to;
                for (id, before, after) in [(from, most, most - load), (to, least, least + load)] {
                    light.remove(&(before, id));
                    light.insert((after, id));
                    // One that was given up stays out.
                    if heavy.remove(&(before, Reverse(id))) {
                        heavy.insert((after, Reverse(id)));
                    }
                }
            }
            // The smallest federate only grows: a move that does not help now never will.
            None => {
                heavy.remove(&(most, Reverse(from)));
            }
        }
    }
}

/// The node to move from a federate with load `most` to one with `least`: the largest that leaves neither on
/// the wrong side of the mean, else the smallest that helps. An LP that is alone has all of the load and
/// never fits.
fn fitting(
    members: &BTreeSet<(u64, Reverse<u32>)>,
    most: u64,
    least: u64,
    mean: u64,
) -> Option<(u64, Reverse<u32>)> {
    // A load up to this leaves the larger one at or above the mean, the smaller one at or below it.
    let fits = most.saturating_sub(mean).min(mean.saturating_sub(least));
    let largest = members.range(..=(fits, Reverse(0))).next_back().filter(|(load, _)| *load > 0);
    let smallest = || members.range((1, Reverse(u32::MAX))..).next().filter(|(load, _)| *load < most - least);
    largest.or_else(smallest).copied()
}

/// Moves each node to the federate that it sends to most, while that federate keeps within the slack of the
/// mean or below the one the node comes from.
pub(super) fn gather(owner: &mut [u32], federates: u32, loads: &[u64], graph: &Graph) {
    let limit = limit(loads, federates, TALK_SLACK);
    let mut sums = sums(owner, federates, loads);
    let mut members = vec![0u32; federates as usize];
    owner.iter().for_each(|owner| members[*owner as usize] += 1);
    let mut tally = Tally::new(federates as usize);
    for _ in 0..ROUNDS {
        let mut moves = 0;
        for node in 0..owner.len() {
            let (from, load) = (owner[node], loads[node]);
            // Its last node stays: no federate becomes empty.
            if members[from as usize] < 2 {
                continue;
            }
            tally.count(graph, node, owner);
            let here = tally.to(from);
            let allowed = |to: u32| sums[to as usize] + load <= limit.max(sums[from as usize]);
            let better = tally.drain().filter(|(to, messages)| *messages > here && allowed(*to));
            let best = better.max_by_key(|(to, messages)| (*messages, Reverse((sums[*to as usize], *to))));
            if let Some((to, _)) = best {
                owner[node] = to;
                let (from, to) = (from as usize, to as usize);
                sums[from] -= load;
                sums[to] += load;
                members[from] -= 1;
                members[to] += 1;
                moves += 1;
            }
        }
        if moves == 0 {
            return;
        }
    }
}

/// Groups of nodes that send to each other, none larger than its part of a federate: each node joins the
/// group it sends to most (size-constrained label propagation; Meyerhenke, Sanders and Schulz, 2014). Gives
/// the group of each node, and how many there are.
pub(super) fn groups(loads: &[u64], graph: &Graph, federates: u32) -> (Vec<u32>, u32) {
    // A node without load still takes room.
    let mut size: Vec<u64> = loads.iter().map(|load| load + 1).collect();
    let sizes = size.clone();
    let most = (size.iter().sum::<u64>() / u64::from(federates) / GROUPS_PER_FEDERATE).max(1);
    let mut group: Vec<u32> = (0..loads.len() as u32).collect();
    let mut tally = Tally::new(loads.len());
    for _ in 0..ROUNDS {
        let mut moves = 0;
        for node in 0..loads.len() {
            tally.count(graph, node, &group);
            let (from, load) = (group[node], sizes[node]);
            let here = tally.to(from);
            let fits = |to: u32| size[to as usize] + load <= most;
            let better = tally.drain().filter(|(to, messages)| *messages > here && fits(*to));
            if let Some((to, _)) = better.max_by_key(|(to, messages)| (*messages, Reverse(*to))) {
                size[from as usize] -= load;
                size[to as usize] += load;
                group[node] = to;
                moves += 1;
            }
        }
        if moves == 0 {
            break;
        }
    }
    let mut used = group.clone();
    used.sort_unstable();
    used.dedup();
    for group in &mut group {
        *group = used.binary_search(group).expect("every group was listed") as u32;
    }
    (group, used.len() as u32)
}
