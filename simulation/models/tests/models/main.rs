//! The models run as a user would run them.

mod bittorrent;
mod cellular;
mod changes;
mod chord;
mod chord_federates;
mod damaged_checkpoints;
mod farm;
mod federates;
mod interrupted;
mod known;
mod master_workers;
mod modes;
mod mpi_collectives;
mod mpi_damaged;
mod mpi_reader;
mod mpi_requests;
mod mpi_trace;
mod packets_modes;
mod packets_platforms;
mod phold;
mod queueing;
mod seir;
mod supply_chain;
mod traffic_modes;
mod wireless_modes;

use std::path::Path;

use paceline_scenario::{Scenario, ScenarioError, Section};

/// What a scenario's `[model]` describes.
pub fn built<M>(keys: &str, read: impl Fn(&mut Section) -> Result<M, ScenarioError>) -> M {
    let scenarios = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let text = format!("[model]\n{keys}\n");
    let mut scenario = Scenario::parse("model.toml", &text, &scenarios, &[]).expect("good TOML");
    let mut section = scenario.section("model").expect("a table");
    let model = read(&mut section).unwrap_or_else(|error| panic!("{}", error.one_line()));
    section.finish().expect("all keys are read");
    model
}

/// Fails unless the keys are refused, with this problem, at a place, and with what is allowed.
pub fn refused<M>(keys: &str, problem: &str, read: impl Fn(&mut Section) -> Result<M, ScenarioError>) {
    let text = format!("[model]\n{keys}\n");
    let mut scenario = Scenario::parse("model.toml", &text, Path::new(""), &[]).expect("good TOML");
    let mut section = scenario.section("model").expect("a table");
    let read = read(&mut section).map(drop).and_then(|()| section.finish());
    let error = read.expect_err(keys).one_line();
    assert!(error.contains(problem) && error.contains("allowed: "), "{keys}: {error}");
}
