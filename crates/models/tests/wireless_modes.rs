//! The wireless network gives the same digest and results in every mode of the engine, and its results are correct.

use std::path::Path;

use paceline_engine::{Protocol, QueueKind, Simulation};
use paceline_kernel::{Balance, Model, TieBreak, Time};
use paceline_models::wireless::{Computation, Deal, Deliveries, Wireless};
use paceline_models::wireless_csma::Csma;
use paceline_results::{Results, RunFacts};
use paceline_scenario::Scenario;
use serde_json::Value;

/// Digest and all results including the files.
fn outcome<M: Model + Results>(simulation: Simulation<M>) -> (String, Vec<(&'static str, Value)>, String) {
    let (report, model) = simulation.run_keeping_model().expect("the model keeps the rules");
    let facts = RunFacts { events: report.events, end_time: report.end_time };
    let summary = model.results(report.outputs, &facts).expect("no ping is lost");
    let mut files = Vec::new();
    for file in summary.files {
        file.write(&mut files).expect("memory takes everything");
    }
    (report.digest.to_string(), summary.lines, String::from_utf8(files).expect("text"))
}

fn network() -> Wireless {
    Wireless::ad_hoc(250, 12, Computation::Light)
}

fn all_agree<M: Model + Results>(model: impl Fn() -> M, until: Time) {
    let base = |protocol, queue, federates, threads| {
        let simulation = Simulation::new(model()).protocol(protocol).queue(queue).until(until);
        simulation.federates(federates).threads(threads)
    };
    let reference = outcome(base(Protocol::Sequential, QueueKind::Heap, 1, 1));
    for (queue, ..) in QueueKind::ALL {
        for (protocol, ..) in Protocol::ALL.into_iter().skip(1) {
            for (federates, threads) in [(1, 1), (7, 2), (40, 3)] {
                let found = outcome(base(protocol, queue, federates, threads));
                assert_eq!(
                    found, reference,
                    "{protocol:?}, {queue:?}, {federates} federates, {threads} threads"
                );
            }
        }
    }
    for (seed, protocol) in [(1, Protocol::Window), (2, Protocol::NullMessage), (3, Protocol::Optimistic)] {
        let moving = base(protocol, QueueKind::Bucket, 5, 2).leg_events(997).shuffle_lps(seed);
        assert_eq!(outcome(moving), reference, "{protocol:?} with LPs that move at random");
    }
    let moving = base(Protocol::Window, QueueKind::Bucket, 4, 2).balance(Balance::LoadAndCommunication);
    assert_eq!(outcome(moving.leg_events(2000)), reference, "with LPs that move by messages");
}

#[test]
fn pings_delivered_together() {
    all_agree(network, Time::MAX);
    all_agree(network, Time::from_secs_f64(7.3));
}

#[test]
fn pings_delivered_singly() {
    all_agree(|| network().deliver(Deliveries::Singly).deal(Deal::Number), Time::MAX);
    all_agree(|| network().deliver(Deliveries::Singly).deal(Deal::Number), Time::from_secs_f64(7.7));
}

#[test]
fn how_pings_are_delivered_and_ties_are_broken_changes_no_result() {
    let run = |deliveries, ties| {
        let simulation = Simulation::new(network().deliver(deliveries)).protocol(Protocol::Window).ties(ties);
        let (_, lines, files) = outcome(simulation);
        (lines, files)
    };
    let reference = run(Deliveries::Together, TieBreak::Fixed);
    for deliveries in [Deliveries::Together, Deliveries::Singly] {
        for ties in [TieBreak::Fixed, TieBreak::Random(4)] {
            assert_eq!(run(deliveries, ties), reference, "{deliveries:?}, {ties:?}");
        }
    }
}

#[test]
fn neighbours_are_as_many_as_the_density_says() {
    let (_, lines, _) = outcome(Simulation::new(Wireless::ad_hoc(3000, 5, Computation::Rounds(0))));
    let mean = lines.iter().find(|(name, _)| *name == "neighbours_mean").expect("there are neighbours");
    let expected = 2999.0 * std::f64::consts::PI * 250.0 * 250.0 / 1e8;
    // Each of the 4.5 million pairs is drawn independently: the limit is five standard deviations of the mean of one step.
    let limit = 5.0 * (2.0 * expected / 3000.0_f64).sqrt();
    let found = mean.1.as_f64().expect("a number");
    assert!((found - expected).abs() < limit, "{found} neighbours instead of {expected}");
}

fn read(text: &str) -> Result<Wireless, String> {
    let mut scenario = Scenario::parse("w.toml", text, Path::new(""), &[]).expect("good TOML");
    let mut section = scenario.section("model").expect("a table");
    let model = Wireless::from_section(&mut section, 1).map_err(|error| error.one_line())?;
    section.finish().map_err(|error| error.one_line())?;
    Ok(model)
}

#[test]
fn a_file_says_how_hosts_move() {
    let folder = std::env::temp_dir().join(format!("paceline-wireless-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for a file");
    let file = folder.join("three.movements");
    // The second host passes the first one; the third is far away, and no shorter way leads around the torus.
    std::fs::write(&file, "0 0 0\n0 -40 0 8 40 0\n0 1000 0\n").expect("a file");
    let text =
        format!("[model]\ntrace = {file:?}\nformat = \"bonnmotion\"\nrange = 10\nsteps = 9\nrounds = 0\n");
    let (_, lines, files) = outcome(Simulation::new(read(&text).expect("a good scenario")));
    std::fs::remove_dir_all(&folder).expect("it can be removed");
    // It is within 10 of the first host at -10, 0 and 10.
    assert!(lines.contains(&("deliveries", 6.into())), "{lines:?}");
    assert!(files.contains("\n2,1040.000,0.000,9,0"), "{files}");
}

#[test]
fn mistakes_are_told_with_what_is_allowed() {
    for (keys, word) in [
        ("hosts = 0", "`hosts`|0 hosts"),
        ("hosts = 10\nrange = 2501", "a quarter of `side`"),
        ("hosts = 10\nregions = 1", "from 2 to 40"),
        ("hosts = 10\nregions = 41", "from 2 to 40"),
        ("hosts = 10\nspeed = -1", "from 0 to a quarter"),
        ("hosts = 10\nrounds = 5\ncomputation = \"light\"", "one of them"),
        ("hosts = 10\nstep = \"1ns\"", "3ns"),
        ("hosts = 10\nsteps = 0", "from 1"),
        ("trace = \"nowhere.movements\"\nformat = \"setdest\"", "nowhere.movements"),
        ("hosts = 10\ndeal = \"luck\"", "position"),
    ] {
        let error = read(&format!("[model]\n{keys}\n")).map(drop).expect_err(keys);
        assert!(word.split('|').any(|word| error.contains(word)), "{keys}: {error}");
        assert!(
            error.contains("allowed: ") && error.starts_with("w.toml") || error.contains("nowhere"),
            "{error}"
        );
    }
}

fn lossy() -> Csma {
    let text = "[model]\nhosts = 40\nside = 500\nrange = 125\nrequest_every = \"50ms\"\nstep = \"7ms\"\nspeed = 60\nwindow = 7\n";
    let mut scenario = Scenario::parse("c.toml", text, Path::new(""), &[]).expect("good TOML");
    let mut section = scenario.section("model").expect("a table");
    let model = Csma::from_section(&mut section, 1).unwrap_or_else(|error| panic!("{}", error.one_line()));
    section.finish().expect("all keys are read");
    model
}

#[test]
fn frames_that_collide() {
    all_agree(lossy, Time::millis(25));
    let (_, lines, _) = outcome(Simulation::new(lossy()).until(Time::millis(500)));
    for name in ["collisions", "missed_while_sending", "frames_resent", "requests_answered"] {
        let count = lines.iter().find(|(line, _)| *line == name).and_then(|(_, value)| value.as_u64());
        assert!(count > Some(0), "no {name}: {lines:?}");
    }
}
