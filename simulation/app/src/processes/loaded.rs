//! A scenario of a model of processes, read to the last key, with its model built.

use paceline_processes::TooFewHosts;
use paceline_scenario::ScenarioError;
use paceline_scenario::inputs::recorded;

use crate::loaded::Source;
use crate::process_model::AnyProcessModel;
use crate::process_model::network::NetworkSection;
use crate::process_model::settings::{self, ProcessSettings, read_threads};
use crate::program::{Build, Kind, Program};
use crate::provenance::Provenance;

/// A scenario of processes that can be run.
#[derive(Debug)]
pub struct Loaded {
    /// The kind of model that `model.kind` names.
    pub kind: Kind,
    /// The model with the parameters of the scenario.
    pub model: Box<dyn AnyProcessModel>,
    /// How it is run.
    pub settings: ProcessSettings,
    /// What its results come from.
    pub provenance: Provenance,
}

/// Reads a scenario of a model of processes of `program` to its last key.
pub fn read(program: &Program, source: &Source) -> Result<Loaded, ScenarioError> {
    let (read, inputs) = recorded(&source.folder, || read_sections(program, source));
    let (kind, model, settings) = read?;
    let provenance = program.provenance(&source.open()?, settings.until).inputs(inputs);
    Ok(Loaded { kind, model, settings, provenance })
}

type Sections = (Kind, Box<dyn AnyProcessModel>, ProcessSettings);

fn read_sections(program: &Program, source: &Source) -> Result<Sections, ScenarioError> {
    let mut scenario = source.open()?;
    let (mut section, mut run) = (scenario.section("model")?, scenario.section("run")?);
    let mut network = NetworkSection::new(scenario.section("network")?);
    scenario.finish(&["model", "run", "network"])?;
    let kind = program.choose(&mut section)?;
    let Build::Processes(build) = kind.build else {
        return Err(section.refuse("kind", "a model of LPs", "a model of processes"));
    };
    let model = build(section, &mut network)?;
    let threads = read_threads(&mut run)?;
    let network = network.finish(model.hosts(), |section, network| {
        model.check(network.hosts()).map_err(|TooFewHosts { problem, least }| {
            section.refuse("platform", problem, format!("a platform with at least {least} hosts"))
        })
    })?;
    let needs_horizon = model.needs_horizon();
    Ok((kind, model, settings::read(run, threads, network, needs_horizon)?))
}
