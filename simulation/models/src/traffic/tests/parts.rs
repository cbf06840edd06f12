//! Partitions are complete and balanced, loads are correct, and neighbours stay together.

use paceline_kernel::{LpId, Partition, Rng, Time};

use super::drive::drive;
use super::worlds::{network, world};
use crate::traffic::grid::Grid;
use crate::traffic::partition;

fn sizes(partition: &Partition) -> Vec<usize> {
    (0..partition.federates()).map(|federate| partition.members(federate).len()).collect()
}

fn square(side: u32) -> Grid {
    Grid { side, free_flow: Time::secs(1), length_mm: 1000, lanes: 1 }
}

#[test]
fn grids_are_dealt_to_any_number_of_federates() {
    for side in 1..=9 {
        let grid = square(side);
        let nodes = grid.sinks().end;
        for federates in 1..=nodes {
            let dealt = partition::grid(grid, federates);
            assert_eq!((dealt.federates(), dealt.lps()), (federates, nodes), "side {side}");
            let sizes = sizes(&dealt);
            let (least, most) = (sizes.iter().min().expect("one"), sizes.iter().max().expect("one"));
            let fair = nodes.div_ceil(federates) as usize;
            assert!(*least >= 1 && *most <= fair + side as usize + 4, "side {side}, {federates}: {sizes:?}");
        }
    }
}

#[test]
fn tiles_are_compact() {
    let grid = square(12);
    for federates in grid.side + 1..=grid.inner() {
        let dealt = partition::grid(grid, federates);
        for federate in 0..federates {
            let inner = dealt.members(federate).into_iter().filter(|lp| lp.0 < grid.inner());
            let places: Vec<(u32, u32)> = inner.map(|lp| grid.place(lp.0)).collect();
            let span = |coordinate: fn(&(u32, u32)) -> u32| {
                let least = places.iter().map(coordinate).min().expect("every tile has an intersection");
                1 + places.iter().map(coordinate).max().expect("as above") - least
            };
            // A square of n intersections has 2 sqrt(n) rows and columns together; cuts through a row may add
            // one on either side.
            let around = f64::from(span(|place| place.0) + span(|place| place.1));
            let most = 2.5 * (places.len() as f64).sqrt() + 2.0;
            assert!(
                around <= most,
                "{federates} federates, number {federate}: {around} of {most}, {places:?}"
            );
        }
    }
}

#[test]
fn the_published_grid_gives_every_federate_equal_sources_and_sinks() {
    let grid = square(64);
    for federates in [1, 2, 4, 8, 16, 32, 64] {
        let dealt = partition::grid(grid, federates);
        for range in [0..grid.inner(), grid.sources(), grid.sinks()] {
            let mut counts = vec![0; federates as usize];
            for node in range.clone() {
                counts[dealt.place(LpId(node)).0 as usize] += 1;
            }
            assert!(
                counts.iter().all(|count| *count == range.len() as u32 / federates),
                "{federates}: {counts:?}"
            );
        }
    }
}

/// The smallest possible largest load when `loads` is cut into nonempty runs: the definition, by dynamic
/// programming.
fn least_largest(loads: &[u64], federates: usize) -> u64 {
    let mut largest = vec![u64::MAX; loads.len() + 1];
    largest[0] = 0;
    for _ in 0..federates {
        let before = std::mem::replace(&mut largest, vec![u64::MAX; loads.len() + 1]);
        for end in 1..=loads.len() {
            let runs = (0..end).filter(|start| before[*start] < u64::MAX);
            let cut = runs.map(|start| before[start].max(loads[start..end].iter().sum()));
            largest[end] = cut.min().unwrap_or(u64::MAX);
        }
    }
    largest[loads.len()]
}

#[test]
fn cities_are_dealt_in_regions_of_equal_load() {
    for seed in 0..200 {
        let mut rng = Rng::new(seed, 2);
        let network = network(&mut rng, 25, false, false);
        let most = [1, 10, 1_000_000][rng.below(3) as usize];
        let loads: Vec<u64> = (0..network.nodes()).map(|_| 1 + rng.below(most)).collect();
        // One node per federate shows the order in which nodes are distributed.
        let single = partition::city(&network, &loads, network.nodes());
        let order: Vec<LpId> = (0..network.nodes()).flat_map(|federate| single.members(federate)).collect();
        let ordered: Vec<u64> = order.iter().map(|lp| loads[lp.index()]).collect();
        for federates in 1..=network.nodes() {
            let dealt = partition::city(&network, &loads, federates);
            assert_eq!((dealt.federates(), dealt.lps()), (federates, network.nodes()), "seed {seed}");
            assert!(*sizes(&dealt).iter().min().expect("one") >= 1, "seed {seed}: {:?}", sizes(&dealt));
            assert!(order.is_sorted_by_key(|lp| dealt.place(*lp).0), "seed {seed}: runs of one order");
            let load = |federate| dealt.members(federate).iter().map(|lp| loads[lp.index()]).sum::<u64>();
            let largest = (0..federates).map(load).max().expect("one");
            assert_eq!(largest, least_largest(&ordered, federates as usize), "seed {seed}, {federates}");
        }
    }
}

#[test]
fn nodes_without_time_between_them_stay_together() {
    for seed in 0..200 {
        let network = network(&mut Rng::new(seed, 3), 25, false, true);
        let none: Vec<_> = network.roads().iter().filter(|road| road.free_flow == Time::ZERO).collect();
        // Each node's group, named by its lowest node.
        let mut group: Vec<u32> = (0..network.nodes()).collect();
        for _ in 0..network.nodes() {
            for road in &none {
                let least = group[road.from as usize].min(group[road.to as usize]);
                (group[road.from as usize], group[road.to as usize]) = (least, least);
            }
        }
        let groups = (0..network.nodes()).filter(|node| group[*node as usize] == *node).count() as u32;
        let loads = vec![1; network.nodes() as usize];
        for federates in 1..=network.nodes() {
            let dealt = partition::city(&network, &loads, federates);
            assert_eq!(dealt.federates(), federates, "seed {seed}");
            let parted =
                none.iter().any(|road| dealt.place(LpId(road.from)).0 != dealt.place(LpId(road.to)).0);
            assert!(federates > groups || !parted, "seed {seed}: {federates} federates, {groups} groups");
        }
    }
}

#[test]
fn loads_are_the_vehicles_that_start_and_come_to_stop_lines() {
    for seed in 0..200 {
        let model = world(seed, false, false, false);
        let mut expected = vec![1; model.network.nodes() as usize];
        for vehicle in 0..model.vehicles() {
            expected[model.demand.pair(vehicle).origin as usize] += 1;
        }
        for stop in drive(&model, Time::MAX).1 {
            expected[model.network.road(stop.road).to as usize] += 1;
        }
        assert_eq!(model.demand.loads(&model.network, &model.routes), expected, "seed {seed}");
    }
}
