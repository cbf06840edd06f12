//! Random small road networks with trips.

use paceline_kernel::{Rng, Time};

use crate::traffic::demand::{Draw, Trips};
use crate::traffic::lights::Lights;
use crate::traffic::network::{Network, RoadSpec};
use crate::traffic::routes::Tree;
use crate::traffic::{Layout, Rules, Traffic};

pub const SECOND: u64 = 1_000_000_000;

/// A number from `least` to `most`.
pub fn pick(rng: &mut Rng, least: u64, most: u64) -> u64 {
    least + rng.below(most - least + 1)
}

/// A network of up to `most` nodes with many ties; some of its zones may not be driven through. If `forward`,
/// roads lead only from lower to higher numbers.
pub fn network(rng: &mut Rng, most: u64, forward: bool, zero_times: bool) -> Network {
    let nodes = pick(rng, 2, most);
    let zones = pick(rng, 1, nodes);
    let first_through = if rng.chance(0.5) { 0 } else { zones };
    let mut roads = Vec::new();
    for _ in 0..pick(rng, 1, 4 * nodes) {
        let (mut from, mut to) = (rng.below(nodes) as u32, rng.below(nodes) as u32);
        if forward && from > to {
            (from, to) = (to, from);
        }
        if forward && from == to {
            continue;
        }
        let free_flow = Time::nanos(pick(rng, u64::from(!zero_times), 6) * SECOND / 2);
        let (length_mm, lanes) = (pick(rng, 0, 40_000), pick(rng, 1, 3) as u32);
        let group = rng.chance(0.5).then(|| rng.below(2) as u8);
        roads.push(RoadSpec { from, to, free_flow, length_mm, lanes, group });
    }
    Network::new(nodes as u32, first_through as u32, roads).expect("small degrees")
}

/// Trips between connected nodes, and some that end where they start.
pub fn trips(rng: &mut Rng, network: &Network, crossing: Time, most: u64) -> Vec<Trips> {
    let mut trips = Vec::new();
    let mut tree = Tree::new(network.nodes());
    for destination in 0..network.nodes() {
        tree.grow(network, crossing, destination);
        for origin in 0..network.nodes() {
            let connected = origin == destination || tree.route(network, origin).is_some();
            if connected && rng.chance(0.4) {
                let number = rng.unit() * most as f64;
                trips.push(Trips { origin, destination, number });
            }
        }
    }
    trips.sort_by_key(|trips| (trips.origin, trips.destination));
    trips
}

/// A model on a random network.
pub fn world(seed: u64, lights: bool, storage: bool, forward: bool) -> Traffic {
    let mut rng = Rng::new(seed, 0);
    // If crossing takes no time, roads that take no time may form circles; routes must not.
    let crossing = Time::nanos(pick(&mut rng, 0, 3) * SECOND / 2);
    let network = network(&mut rng, 12, forward, true);
    let trips = trips(&mut rng, &network, crossing, 12);
    let cycle = pick(&mut rng, 2, 9) * SECOND;
    let green = pick(&mut rng, 1, cycle / SECOND - 1) * SECOND;
    let headway = Time::nanos(pick(&mut rng, 0, 3) * SECOND / 2);
    let plan = Lights { cycle: Time::nanos(cycle), green: Time::nanos(green), headway };
    let offset = Time::nanos(pick(&mut rng, 0, 20) * SECOND / 4);
    let rules = Rules { crossing, lights: lights.then_some(plan), offset, storage, vehicle_mm: 7500 };
    let period = Time::nanos(pick(&mut rng, 0, 60) * SECOND);
    let draw = Draw { scale: 1.0, period, crossing, seed };
    Traffic::build(network, Layout::City, &trips, rules, draw).expect("all trips are possible")
}
