//! The wireless network gives the same digest and results in every mode of the engine, and its results are
//! correct.

use std::borrow::Cow;
use std::path::Path;

use paceline_engine::{Protocol, Simulation};
use paceline_kernel::{TieBreak, Time};
use paceline_models::wireless::{Computation, Deal, Deliveries, Wireless};
use paceline_models::wireless_csma::Csma;
use paceline_scenario::Scenario;
use serde_json::Value;

use crate::built;
use crate::modes::{all_agree, outcome};

fn network() -> Wireless {
    Wireless::ad_hoc(250, 12, Computation::Light)
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
    // Each of the 4.5 million pairs is drawn independently: the limit is five standard deviations of the mean
    // of one step.
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
    assert!(lines.contains(&("deliveries".into(), 6.into())), "{lines:?}");
    assert!(files.contains("\n2,1000.000,0.000,9,0"), "{files}");
}

/// A scenario of hosts that move as the text of a file says; the file's name ends so.
fn traced(text: &[u8], name: &str, format: &str, keys: &str) -> Result<Wireless, String> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join(name);
    std::fs::write(&file, text).expect("a file");
    let file = file.display().to_string();
    read(&format!("[model]\ntrace = {file:?}\nformat = \"{format}\"\nrounds = 1\n{keys}\n"))
}

fn line(lines: &[(Cow<'static, str>, Value)], name: &str) -> Option<f64> {
    lines.iter().find(|(line, _)| *line == name).and_then(|(_, value)| value.as_f64())
}

/// Two hosts walk side by side, 5 apart, and hear each other in every step, however the file is written.
#[test]
fn one_walk_in_all_its_forms_is_heard_alike() {
    let flat = "0 10 20 50 60 70 100 110 120\n0 15 20 50 65 70 100 115 120\n";
    let spatial = "#3D\n0 10 20 0 50 60 70 0 100 110 120 0\n0 15 20 0 50 65 70 0 100 115 120 0\n";
    let mut commands = String::new();
    for (host, x) in [(3, 10.0), (8, 15.0)] {
        commands += &format!("$node_({host}) set X_ {x} # first\r\n$node_({host}) set Y_ 20\r\n");
        let speed = 50f64.hypot(50.0) / 50.0;
        commands += &format!("$ns_ at 0.0 \"$node_({host}) setdest {} 120 {speed}\"\r\n", x + 100.0);
    }
    let gzip = |text: &str| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        std::io::Write::write_all(&mut encoder, text.as_bytes()).expect("memory takes everything");
        encoder.finish().expect("memory takes everything")
    };
    for (what, text, name, format) in [
        ("plain", flat.into(), "a.movements", "bonnmotion"),
        ("3D", spatial.into(), "a.movements", "bonnmotion"),
        ("gzip", gzip(flat), "a.movements.gz", "bonnmotion"),
        ("3D by gzip", gzip(spatial), "a.movements.gz", "bonnmotion"),
        ("byte order mark", format!("\u{feff}{flat}").into_bytes(), "a.movements", "bonnmotion"),
        ("Latin-1", [b"# Stra\xdfe\n", flat.as_bytes()].concat(), "a.movements", "bonnmotion"),
        ("commands", commands.clone().into_bytes(), "a.ns", "setdest"),
        ("commands by gzip", gzip(&commands), "a.ns.gz", "setdest"),
    ] {
        let model = traced(&text, name, format, "steps = 100\nstep = \"1s\"\nrange = 10").expect(what);
        let (_, lines, files) = outcome(Simulation::new(model));
        assert_eq!(
            (line(&lines, "deliveries"), line(&lines, "neighbours_mean")),
            (Some(200.0), Some(1.0)),
            "{what}"
        );
        let numbers = if format == "setdest" { ["3", "8"] } else { ["0", "1"] };
        for (number, x) in numbers.iter().zip(["109.000", "114.000"]) {
            assert!(files.contains(&format!("\n{number},{x},119.000,100,100")), "{what}: {files}");
        }
        assert_eq!(line(&lines, "host_numbers_not_used"), (format == "setdest").then_some(4.0), "{what}");
    }
}

#[test]
fn what_is_no_movement_is_refused_by_what_it_seems_to_be() {
    let binary: Vec<u8> = (0..=255).collect();
    for (text, word) in [
        (b"PK\x03\x04zip".to_vec(), "a zip archive"),
        (b"<html>Not found".to_vec(), "HTML"),
        (b"\xff\xfe0\0 \x001\0".to_vec(), "UTF-16"),
        (binary, "a binary file"),
        (b"0 0 0 0 50 50 0 1 100 100 0 0\n".to_vec(), "two places at 0 s"),
        (vec![b'7'; 100_000], "`7777777777777777777777777777777777777777...`"),
        (b"0 1 \x1b[31m2\n".to_vec(), "`\\u{1b}[31m2`"),
    ] {
        let error = traced(&text, "a.movements", "bonnmotion", "").map(drop).expect_err(word);
        assert!(error.contains(word) && error.contains("allowed: "), "{error}");
        assert!(error.len() < 1000 && !error.contains(|c: char| c.is_control()), "{error}");
    }
}

/// The two halves of a step are a whole one also where its nanoseconds are odd: no remainder is lost from
/// step to step.
#[test]
fn steps_are_as_long_as_they_are_whatever_their_halves() {
    for (step_ns, deliveries) in
        [(3, "together"), (1001, "together"), (1000, "together"), (7, "singly"), (1001, "singly")]
    {
        let keys = format!("step = \"{step_ns}ns\"\nsteps = 1000\nrange = 10\ndeliveries = \"{deliveries}\"");
        let model = traced(b"0 0 0\n0 5 0\n", "a.movements", "bonnmotion", &keys).expect(&keys);
        let last =
            Simulation::new(model).protocol(Protocol::Sequential).run().expect("it keeps the rules").end_time;
        let exact = Time::nanos(step_ns * 1000);
        assert!(last <= exact && exact - last < Time::nanos(step_ns), "{keys}: {last} instead of {exact}");
    }
}

#[test]
fn mistakes_are_reported_with_what_is_allowed() {
    for (keys, word) in [
        ("hosts = 0", "`hosts`|0 hosts"),
        ("hosts = 10\nrange = 2501", "a quarter of `side`"),
        ("hosts = 10\nregions = 1", "from 2 to 40"),
        ("hosts = 10\nregions = 41", "from 2 to 40"),
        ("hosts = 10\nspeed = -1", "from 0 to a quarter"),
        ("hosts = 10\nspeed = 1e-4", "2^32 steps a side"),
        ("hosts = 10\nrange = 1e-4", "2^32 steps a side"),
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
    let keys = "hosts = 40\nside = 500\nrange = 125\nrequest_every = \"50ms\"\nstep = \"7ms\"\nspeed = 60\nwindow = 7";
    built(keys, |section| Csma::from_section(section, 1))
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
