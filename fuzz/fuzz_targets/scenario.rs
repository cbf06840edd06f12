//! Any text as a scenario file: it reads as one, or is refused with a message; the reader never panics.
//!
//! What follows the first line that is `--set` is taken as overrides, one a line.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use paceline_kernel::Time;
use paceline_models::phold::Phold;
use paceline_scenario::{Scenario, ScenarioError};

fuzz_target!(|input: &str| {
    let (text, overrides) = input.split_once("\n--set\n").unwrap_or((input, ""));
    let overrides: Vec<String> = overrides.lines().map(str::to_owned).collect();
    if let Err(error) = read(text, &overrides) {
        paceline_fuzz::show(&error);
    }
});

fn read(text: &str, overrides: &[String]) -> Result<(), ScenarioError> {
    let mut scenario = Scenario::parse("fuzz.toml", text, Path::new("."), overrides)?;
    let mut model = scenario.section("model")?;
    model.choice("kind", &[("phold", ())], None)?;
    Phold::from_section(&mut model)?;
    model.finish()?;
    let mut run = scenario.section("run")?;
    run.required::<Time>("until")?;
    run.optional::<u32>("threads")?;
    run.optional::<u64>("seed")?;
    run.or("pin", false)?;
    run.or("note", String::new())?;
    run.finish()?;
    scenario.finish(&["model", "run"])
}
