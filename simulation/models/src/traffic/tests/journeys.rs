//! No vehicle gets lost, and without lights and storage every trip takes exactly its shortest route's time.

use paceline_kernel::{Model, Time};

use super::drive::drive;
use super::shortest::costs;
use super::worlds::{SECOND, world};
use crate::traffic::Output;
use crate::traffic::network::Numbering;
use crate::traffic::output::write_links;
use paceline_results::{Results, RunFacts};

#[test]
fn free_flow_is_exact_at_any_demand() {
    let mut arrived = 0;
    for seed in 0..400 {
        let model = world(seed, false, false, false);
        let (output, _) = drive(&model, Time::MAX);
        assert_eq!(output.arrivals.len() as u32, model.vehicles(), "seed {seed}: everybody arrives");
        for arrival in &output.arrivals {
            let pair = model.demand.pair(arrival.vehicle);
            let cost = costs(&model.network, model.lookahead(), pair.destination)[pair.origin as usize];
            let took = arrival.at - model.demand.departs(arrival.vehicle);
            assert_eq!(Some(took.as_nanos()), cost, "seed {seed}, vehicle {}", arrival.vehicle);
            assert_eq!(took, pair.free_flow);
        }
        arrived += output.arrivals.len();
    }
    assert!(arrived > 10_000, "the worlds are not empty: {arrived}");
}

#[test]
fn vehicles_are_conserved_at_every_horizon() {
    for seed in 0..400 {
        let model = world(seed, seed % 2 == 0, seed % 3 == 0, false);
        for until in [0, 1, 7, 20, 50, 90, 1000].map(|s| Time::nanos(s * SECOND)) {
            let output = Output::join(vec![drive(&model, until).0], until);
            let due = (0..model.vehicles()).filter(|vehicle| model.demand.departs(*vehicle) < until).count();
            assert_eq!(
                output.generated, due as u64,
                "seed {seed}: who departs before {until}, and nobody else"
            );
            assert_eq!(
                output.generated,
                output.arrivals.len() as u64 + output.on_road(),
                "seed {seed} at {until}"
            );
        }
    }
}

#[test]
fn a_lost_vehicle_is_an_error_that_names_the_numbers() {
    let model = world(3, false, false, false);
    let (mut output, _) = drive(&model, Time::MAX);
    let facts = RunFacts { events: 0, end_time: Time::MAX };
    assert!(model.results(vec![Output::default(), output.clone()], &facts).is_ok());
    output.generated += 1;
    let error = model.results(vec![output.clone()], &facts).expect_err("one is missing");
    for number in [output.generated, output.generated - 1, 0] {
        assert!(error.contains(&number.to_string()), "{error}");
    }
}

#[test]
fn files_hold_exact_times_and_do_not_depend_on_the_order_of_outputs() {
    let model = world(5, true, true, true);
    let facts = RunFacts { events: 0, end_time: Time::MAX };
    let files = |outputs: Vec<Output>| {
        let summary = model.results(outputs, &facts).expect("nobody is lost");
        let mut written = Vec::new();
        for file in summary.files {
            written.push((file.name.clone(), Vec::new()));
            file.write(&mut written.last_mut().expect("just pushed").1).expect("memory takes everything");
        }
        written
    };
    let (output, _) = drive(&model, Time::MAX);
    let (mut near, mut far) = (output.clone(), Output::default());
    far.arrivals = near.arrivals.split_off(near.arrivals.len() / 3);
    far.roads = near.roads.split_off(near.roads.len() / 2);
    let whole = files(vec![output.clone()]);
    assert_eq!(whole, files(vec![far, near]));
    let trips = String::from_utf8(whole[0].1.clone()).expect("text");
    assert_eq!(trips.lines().count(), 1 + output.arrivals.len());
    for (line, arrival) in trips.lines().skip(1).zip(Output::join(vec![output], Time::MAX).arrivals) {
        let fields: Vec<&str> = line.split(',').collect();
        assert_eq!(fields[0], arrival.vehicle.to_string());
        assert_eq!(nanos(fields[3]), model.demand.departs(arrival.vehicle).as_nanos());
        assert_eq!(nanos(fields[4]), arrival.at.as_nanos());
    }
}

#[test]
fn every_road_has_its_line_in_the_order_of_its_ends() {
    for seed in 0..50 {
        let model = world(seed, true, true, false);
        let (output, _) = drive(&model, Time::secs(30));
        let roads = &Output::join(vec![output], Time::secs(30)).roads;
        let mut written = Vec::new();
        let network = model.network.as_ref().clone().numbered(Numbering::From(1));
        write_links(&mut written, roads, &network).expect("memory takes everything");
        let written = String::from_utf8(written).expect("text");
        let ends = |line: &str| {
            let mut fields =
                line.split(',').map(|field| field.parse::<u32>().expect("node numbers come first"));
            (fields.next().expect("from"), fields.next().expect("to"))
        };
        let lines: Vec<(u32, u32)> = written.lines().map(ends).collect();
        assert!(lines.is_sorted(), "seed {seed}");
        let mut roads: Vec<_> =
            model.network.roads().iter().map(|road| (road.from + 1, road.to + 1)).collect();
        roads.sort_unstable();
        assert_eq!(lines, roads, "seed {seed}");
    }
}

/// Converts a decimal number of seconds to nanoseconds without floating point.
fn nanos(decimal: &str) -> u64 {
    let (whole, fraction) = decimal.split_once('.').unwrap_or((decimal, ""));
    format!("{whole}{fraction:0<9}").parse().expect("at most nine decimals")
}
