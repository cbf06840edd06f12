//! Any two texts as TNTP network and trip file: a traffic model comes of them, or a refusal with a message;
//! nothing panics, and nothing takes memory or time out of proportion.
//!
//! The two texts are parted by the first line that is `~~~~`. They are read from files, as every user's are.
#![no_main]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use paceline_models::traffic::Traffic;
use paceline_scenario::{Scenario, ScenarioError};

const SCENARIO: &str = "model.network = \"fuzz_net.tntp\"\nmodel.trips = \"fuzz_trips.tntp\"\n";

static FOLDER: LazyLock<PathBuf> = LazyLock::new(paceline_fuzz::folder);

fuzz_target!(|input: &str| {
    let (network, trips) = input.split_once("\n~~~~\n").unwrap_or((input, ""));
    if let Err(error) = read(&FOLDER, network, trips) {
        paceline_fuzz::show(&error);
    }
});

fn read(folder: &Path, network: &str, trips: &str) -> Result<(), ScenarioError> {
    fs::write(folder.join("fuzz_net.tntp"), network).expect("a temporary file can be written");
    fs::write(folder.join("fuzz_trips.tntp"), trips).expect("a temporary file can be written");
    let mut scenario = Scenario::parse("fuzz.toml", SCENARIO, folder, &[])?;
    let mut model = scenario.section("model")?;
    Traffic::from_section(&mut model, 1)?;
    model.finish()
}
