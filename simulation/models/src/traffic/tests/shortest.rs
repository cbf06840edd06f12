//! Routes compared with the Bellman-Ford algorithm.

use paceline_kernel::{Rng, Time};

use super::worlds::{SECOND, network, pick};
use crate::traffic::network::Network;
use crate::traffic::routes::{Routes, Tree};

/// The cost of the shortest route from every node to `destination`, by relaxing until nothing changes.
pub fn costs(network: &Network, crossing: Time, destination: u32) -> Vec<Option<u64>> {
    let mut cost = vec![None; network.nodes() as usize];
    cost[destination as usize] = Some(0);
    loop {
        let mut changed = false;
        for road in network.roads() {
            if let Some(through) = via(network, crossing, destination, road.to, &cost) {
                let way = through + road.free_flow.as_nanos();
                let known = &mut cost[road.from as usize];
                if known.is_none_or(|known| way < known) {
                    (*known, changed) = (Some(way), true);
                }
            }
        }
        if !changed {
            return cost;
        }
    }
}

/// The cost from the stop line at `node` on.
fn via(network: &Network, crossing: Time, destination: u32, node: u32, cost: &[Option<u64>]) -> Option<u64> {
    if node == destination {
        return Some(0);
    }
    let through = network.driven_through(node).then_some(crossing.as_nanos());
    Some(through? + cost[node as usize]?)
}

#[test]
fn routes_are_shortest_pass_no_closed_zone_and_end() {
    for seed in 0..3000 {
        let mut rng = Rng::new(seed, 1);
        let zero_times = rng.chance(0.5);
        let network = network(&mut rng, 12, false, zero_times);
        let crossing = Time::nanos(pick(&mut rng, 0, 2) * SECOND);
        let mut tree = Tree::new(network.nodes());
        let targets: Vec<u32> = (0..network.nodes()).collect();
        let routes = Routes::build(&network, crossing, targets, |_, _| {});
        for destination in 0..network.nodes() {
            let cost = costs(&network, crossing, destination);
            tree.grow(&network, crossing, destination);
            for origin in (0..network.nodes()).filter(|origin| *origin != destination) {
                let found = tree.route(&network, origin).map(|(time, _)| time.as_nanos());
                assert_eq!(found, cost[origin as usize], "seed {seed}, from {origin} to {destination}");
                if found.is_some() {
                    walk(&network, crossing, &routes, (origin, destination), &cost, zero_times, seed);
                }
            }
        }
    }
}

/// Walks a route and checks that it arrives and that each step is on a shortest route, to the lowest such
/// node.
fn walk(
    network: &Network,
    crossing: Time,
    routes: &Routes,
    (origin, destination): (u32, u32),
    cost: &[Option<u64>],
    zero_times: bool,
    seed: u64,
) {
    let mut node = origin;
    for _ in 0..network.nodes() {
        assert!(node == origin || network.driven_through(node), "seed {seed}: through zone {node}");
        let exits = network.exits(node);
        let chosen = &exits[usize::from(routes.exit(node, destination))];
        let way = |to: u32| via(network, crossing, destination, to, cost);
        let best = cost[node as usize].expect("the route leads to the destination");
        let optimal = |road: &&crate::traffic::network::Road| {
            way(road.to).is_some_and(|way| way + road.free_flow.as_nanos() == best)
        };
        assert!(optimal(&chosen), "seed {seed}: a detour at {node} to {destination}");
        if !zero_times {
            let lowest = exits.iter().filter(optimal).map(|road| road.to).min();
            assert_eq!(Some(chosen.to), lowest, "seed {seed}: a tie at {node} to {destination}");
        }
        node = chosen.to;
        if node == destination {
            return;
        }
    }
    panic!("seed {seed}: a loop between {origin} and {destination}");
}
