//! Roads shorter than a vehicle are connectors: with `storage` they hold nobody back, whatever their length,
//! lanes and place.

use paceline_kernel::Time;

use super::drive::drive;
use super::worlds::SECOND;
use crate::traffic::demand::{Draw, Trips};
use crate::traffic::lights::Lights;
use crate::traffic::network::{Network, RoadSpec};
use crate::traffic::{ANY_ROOM, Layout, Rules, Traffic};

/// A chain of roads from node 0 on, each with its length in millimetres, its time in seconds and its lanes;
/// `number` vehicles drive along it within an hour.
fn chain(roads: &[(u64, u64, u32)], number: f64, crossing: Time, lights: Option<Lights>) -> Traffic {
    let road = |(place, (length_mm, seconds, lanes)): (usize, &(u64, u64, u32))| {
        let (from, to) = (place as u32, place as u32 + 1);
        let free_flow = Time::nanos(seconds * SECOND);
        RoadSpec { from, to, free_flow, length_mm: *length_mm, lanes: *lanes, group: None }
    };
    let specs = roads.iter().enumerate().map(road).collect();
    let network = Network::new(roads.len() as u32 + 1, 0, specs).expect("small degrees");
    let trips = [Trips { origin: 0, destination: roads.len() as u32, number }];
    let rules = Rules { crossing, lights, offset: Time::ZERO, storage: true, vehicle_mm: 7500 };
    let draw = Draw { scale: 1.0, period: Time::secs(3600), crossing, seed: 1 };
    Traffic::build(network, Layout::City, &trips, rules, draw).expect("all trips are possible")
}

/// The mean delay of all vehicles, in seconds; all of them arrive.
fn mean_delay_s(model: &Traffic) -> f64 {
    let (output, _) = drive(model, Time::MAX);
    assert_eq!(output.arrivals.len() as u32, model.vehicles(), "nobody is left on the way");
    let delay = |vehicle, at: Time| at - model.demand.departs(vehicle) - model.demand.pair(vehicle).free_flow;
    let sum: f64 =
        output.arrivals.iter().map(|arrival| delay(arrival.vehicle, arrival.at).as_secs_f64()).sum();
    sum / output.arrivals.len() as f64
}

/// By hand: vehicles on a long road of 10 minutes with connectors at both ends take 600 s and a crossing at
/// each of two nodes, as no road is anywhere near full. With room for one vehicle, a connector would let 1 in
/// 2 s pass, 1,800 an hour, and 3,000 would wait.
#[test]
fn connectors_of_any_small_length_hold_nobody_back() {
    for (length_mm, lanes) in [(0, 1), (0, 556), (1, 1), (5000, 1), (7499, 1), (7499, 4)] {
        for crossing in [Time::secs(1), Time::secs(10)] {
            let long = (10_000_000, 600, 556);
            let connector = (length_mm, 0, lanes);
            for roads in [[connector, long, connector], [long, connector, long], [connector, connector, long]]
            {
                let model = chain(&roads, 3000.0, crossing, None);
                assert_eq!(mean_delay_s(&model), 0.0, "{roads:?}, {crossing}");
            }
        }
    }
}

#[test]
fn a_road_has_room_for_as_many_vehicles_as_are_long_as_its_lanes() {
    for (length_mm, lanes, room) in [
        (0, 3, ANY_ROOM),
        (7499, 3, ANY_ROOM),
        (7500, 1, 1),
        (7500, 3, 3),
        (14_999, 1, 1),
        (10_000, 3, 4),
        (u64::MAX, 2, ANY_ROOM),
    ] {
        assert_eq!(
            chain(&[(length_mm, 1, lanes)], 1.0, Time::secs(1), None).room,
            [room],
            "{length_mm} mm, {lanes} lanes"
        );
    }
    // A road that is a vehicle long holds one, and lets 1 in 2 s pass: the last of 3,000 vehicles waits for
    // 40 minutes.
    let short = chain(&[(10_000_000, 600, 556), (7500, 0, 1)], 3000.0, Time::secs(1), None);
    assert!(mean_delay_s(&short) > 1000.0);
}

/// What waits for room on a full road stands on the connector in front of it, as many as come, and goes on.
#[test]
fn vehicles_queue_on_connectors_in_front_of_full_roads() {
    let roads = [(0, 0, 1), (15_000, 2, 1), (0, 0, 1)];
    let model = chain(&roads, 3000.0, Time::secs(1), None);
    let (output, _) = drive(&model, Time::MAX);
    assert_eq!(output.arrivals.len(), 3000);
    let longest =
        |road: u32| output.roads.iter().find(|used| used.road == road).map_or(0, |used| used.longest);
    assert!(longest(0) > 100, "{}", longest(0));
    assert!(longest(1) <= 2 && longest(2) <= 1, "two vehicles fit on the road; nobody waits behind it");
}

#[test]
fn lights_hold_back_and_connectors_do_not() {
    let lights = Lights { cycle: Time::secs(8), green: Time::secs(4), headway: Time::secs(1) };
    // All nodes have one approach: nobody has red.
    let model = chain(&[(0, 0, 1), (1_000_000, 60, 10), (0, 0, 1)], 2000.0, Time::secs(1), Some(lights));
    assert_eq!(mean_delay_s(&model), 0.0);
}
