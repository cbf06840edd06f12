//! Partitions: complete, balanced, and neighbours together.

use paceline_kernel::{LpId, Partition, Rng, Time};

use super::worlds::network;
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
            // A square has 2 sqrt(n) rows and columns together; cuts through a row may add one on either side.
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

#[test]
fn cities_are_dealt_in_equal_regions() {
    for seed in 0..200 {
        let mut rng = Rng::new(seed, 2);
        let network = network(&mut rng, 40, false, true);
        for federates in 1..=network.nodes() {
            let dealt = partition::city(&network, federates);
            assert_eq!((dealt.federates(), dealt.lps()), (federates, network.nodes()), "seed {seed}");
            let sizes = sizes(&dealt);
            let (least, most) = (sizes.iter().min().expect("one"), sizes.iter().max().expect("one"));
            assert!(most - least <= 1, "seed {seed}: {sizes:?}");
        }
    }
}
