//! Road traffic gives the same digest and byte-identical files in every mode of the engine.

use std::path::Path;

use paceline_engine::{Protocol, Simulation};
use paceline_kernel::{Model, Time};
use paceline_models::traffic::Traffic;
use paceline_results::{Results, RunFacts};
use paceline_scenario::Scenario;

/// The modes that a scenario is run in, the reference first.
fn modes() -> Vec<(Protocol, u32, u32)> {
    let mut modes = vec![(Protocol::Sequential, 1, 1)];
    for (sync, ..) in Protocol::ALL.into_iter().skip(1) {
        modes.extend([(sync, 1, 1), (sync, 7, 2), (sync, 23, 3)]);
    }
    modes
}

fn model(text: &str) -> Traffic {
    let scenarios = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut scenario = Scenario::parse("modes.toml", text, &scenarios, &[]).expect("good TOML");
    let mut section = scenario.section("model").expect("a table");
    let model = Traffic::from_section(&mut section, 1).unwrap_or_else(|error| panic!("{}", error.one_line()));
    section.finish().expect("all keys are read");
    model
}

/// Digest, events, and all results including the files.
fn outcome(text: &str, until: Time, (sync, federates, threads): (Protocol, u32, u32)) -> String {
    let simulation = Simulation::new(model(text)).protocol(sync).until(until);
    let run = simulation.federates(federates).threads(threads).run_keeping_model();
    let (report, model) = run.expect("the model keeps the rules");
    let facts = RunFacts { events: report.events, end_time: report.end_time };
    let summary = model.results(report.outputs, &facts).expect("no vehicle is lost");
    let mut said = format!("{} {} {:?}\n", report.digest, report.events, summary.lines).into_bytes();
    for file in summary.files {
        file.write(&mut said).expect("memory takes everything");
    }
    String::from_utf8(said).expect("text")
}

fn all_agree(text: &str, until: Time) {
    let mut reference = None;
    for mode in modes() {
        let outcome = outcome(text, until, mode);
        let reference = reference.get_or_insert_with(|| outcome.clone());
        assert!(outcome == *reference, "{mode:?} differs: {}", outcome.lines().next().unwrap_or(""));
    }
}

#[test]
fn a_jammed_grid() {
    let text =
        "model = { grid = 7, rate = 120, lights = true, storage = true, block = 0.2, offset = \"1.3s\" }";
    all_agree(text, Time::secs(900));
}

#[test]
fn a_grid_in_free_flow() {
    all_agree("model = { grid = 5, rate = 40, crossing = \"0.7s\" }", Time::secs(1000));
}

#[test]
fn a_town_with_lights_and_full_roads() {
    let files = "network = \"data/ringtown_net.tntp\", trips = \"data/ringtown_trips.tntp\"";
    let rules = "lights = true, cycle = \"50s\", storage = true, crossing = \"2s\", demand = 0.5";
    let text = format!("model = {{ {files}, {rules} }}");
    all_agree(&text, Time::secs(2400));
    all_agree(&text, Time::MAX);
}

#[test]
fn the_grid_has_as_many_lps_as_intersections_sources_and_sinks() {
    for side in [1, 2, 9] {
        assert_eq!(model(&format!("model = {{ grid = {side}, rate = 0.5 }}")).lps(), side * side + 4 * side);
    }
}
