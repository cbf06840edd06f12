//! The effects of lights and full roads, checked from the log of stops alone.

use paceline_kernel::{Model, Time};

use super::drive::{Crossing, crossings, drive};
use super::worlds::world;
use crate::traffic::Traffic;
use crate::traffic::network::Signal;

const WORLDS: u64 = 600;

/// Whether the light lets vehicles off `road` at `at`: the definition, without the model's arithmetic.
fn green(model: &Traffic, road: u32, at: Time) -> bool {
    let Some(lights) = &model.rules.lights else { return true };
    let road = model.network.road(road);
    // The node's cycle starts `offset` times the node's number late, and repeats in both directions of time.
    let late = model.rules.offset.as_nanos() * u64::from(road.to);
    let phase =
        (i128::from(at.as_nanos()) - i128::from(late)).rem_euclid(i128::from(lights.cycle.as_nanos()));
    let first = phase < i128::from(lights.green.as_nanos());
    match road.signal {
        Signal::None => true,
        Signal::First => first,
        Signal::Second => !first,
    }
}

#[test]
fn nobody_crosses_on_red_or_overtakes_and_lanes_keep_their_headway() {
    let mut waited = 0;
    for seed in 0..WORLDS {
        let model = world(seed, true, seed % 2 == 0, seed % 3 == 0);
        let headway = model.rules.lights.as_ref().expect("lights are on").headway;
        let (_, stops) = drive(&model, Time::secs(2000));
        let all = crossings(&model, &stops);
        for crossing in &all {
            assert!(green(&model, crossing.road, crossing.went), "seed {seed}: {crossing:?} on red");
            assert!(crossing.went >= crossing.came, "seed {seed}: {crossing:?} too early");
            waited += u32::from(crossing.went > crossing.came);
        }
        for road in 0..model.network.roads().len() as u32 {
            let of_road: Vec<&Crossing> = all.iter().filter(|crossing| crossing.road == road).collect();
            assert!(
                of_road.windows(2).all(|two| two[0].came <= two[1].came),
                "seed {seed}: overtaking on {road}"
            );
            let lanes = model.network.road(road).lanes as usize;
            if model.network.road(road).signal != Signal::None {
                // The rounding of headway / lanes loses less than a nanosecond a lane.
                let least = headway.as_nanos().saturating_sub(lanes as u64);
                let kept =
                    of_road.windows(lanes + 1).all(|run| (run[lanes].went - run[0].went).as_nanos() >= least);
                assert!(kept, "seed {seed}: more than {lanes} a headway off {road}");
            }
        }
    }
    assert!(waited > 1000, "the lights do something: {waited}");
}

#[test]
fn every_light_lets_everybody_through() {
    for seed in 0..WORLDS {
        let model = world(seed, true, false, false);
        let (output, _) = drive(&model, Time::MAX);
        assert_eq!(output.arrivals.len() as u32, model.vehicles(), "seed {seed}");
    }
}

#[test]
fn roads_never_hold_more_than_their_room() {
    let mut full = 0;
    for seed in 0..WORLDS {
        let model = world(seed, seed % 2 == 0, true, seed % 3 == 0);
        let (_, stops) = drive(&model, Time::MAX);
        // +1 when a vehicle starts to cross onto a road or enters its first road; -1 when it leaves the road.
        let mut changes = Vec::new();
        for (place, stop) in stops.iter().enumerate() {
            let first = place == 0 || stops[place - 1].vehicle != stop.vehicle;
            let free_flow = model.network.road(stop.road).free_flow;
            let entry = stop.at - free_flow;
            changes.push((if first { entry } else { entry - model.lookahead() }, stop.road, 1));
            match stops.get(place + 1).filter(|next| next.vehicle == stop.vehicle) {
                Some(next) => {
                    let left = next.at - model.network.road(next.road).free_flow - model.lookahead();
                    changes.push((left, stop.road, -1));
                }
                None if model.demand.pair(stop.vehicle).destination == model.network.road(stop.road).to => {
                    changes.push((stop.at, stop.road, -1));
                }
                None => {}
            }
        }
        changes.sort_unstable_by_key(|(at, road, change)| (*at, *road, *change));
        let mut occupied = vec![0i64; model.network.roads().len()];
        for (at, road, change) in changes {
            occupied[road as usize] += change;
            let room = i64::from(model.room[road as usize]);
            // On roads that take no time a vehicle may enter and leave at one time, in either order.
            assert!(occupied[road as usize] <= room, "seed {seed}: road {road} is overfull at {at}");
            full += u32::from(occupied[road as usize] == room);
        }
    }
    assert!(full > 1000, "roads do fill up: {full}");
}

#[test]
fn without_cycles_full_roads_let_everybody_through_in_the_end() {
    for seed in 0..WORLDS {
        let model = world(seed, seed % 2 == 0, true, true);
        let (output, _) = drive(&model, Time::MAX);
        assert_eq!(output.arrivals.len() as u32, model.vehicles(), "seed {seed}");
    }
}

#[test]
fn a_free_place_goes_to_whoever_has_waited_longest() {
    let mut contested = 0;
    for seed in 0..3 * WORLDS {
        let model = world(seed, false, true, true);
        let (_, stops) = drive(&model, Time::MAX);
        let all = crossings(&model, &stops);
        for (place, first) in all.iter().enumerate() {
            // When the vehicle became the first of its approach. If two vehicles reached and left the stop
            // line at the same times, either may have been first.
            let ahead = |other: &Crossing| (other.went, other.came) <= (first.went, first.came);
            let others = all.iter().enumerate().filter(|(number, _)| *number != place);
            let before =
                others.map(|(_, other)| other).filter(|other| other.road == first.road && ahead(other));
            let front = before.map(|other| other.went).fold(first.came, Time::max);
            let rivals =
                all[..place].iter().filter(|other| other.next == first.next && other.road != first.road);
            for rival in rivals.filter(|rival| rival.went > front && rival.went < first.went) {
                contested += 1;
                assert!(rival.came <= first.came, "seed {seed}: {rival:?} before {first:?}");
            }
        }
    }
    assert!(contested > 500, "places are contested: {contested}");
}
