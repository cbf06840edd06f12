//! A scenario of a model of LPs: its text and overrides as a checkpoint keeps them ([`Source`]), and, read to
//! the last key, with its model built ([`Loaded`]).

pub(crate) mod paths;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use paceline_engine::CheckpointFile;
use paceline_scenario::inputs::{Input, recorded};
use paceline_scenario::{Scenario, ScenarioError};
use serde::{Deserialize, Serialize};

use crate::args::ScenarioArguments;
use crate::executable;
use crate::lp_model::AnyModel;
use crate::memory::Estimate;
use crate::program::{Build, Kind, Program};
use crate::provenance::Provenance;
use crate::settings::RunSettings;

/// A scenario as it was given, with all that is needed to read it again: what a checkpoint holds of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Source {
    /// The file, as it was named.
    #[serde(with = "paths")]
    pub file: PathBuf,
    /// What stands in it.
    pub text: String,
    /// Where the files are that it names.
    #[serde(with = "paths")]
    pub folder: PathBuf,
    /// The values put in place of its own.
    pub overrides: Vec<String>,
}

/// A scenario that can be run.
#[derive(Debug)]
pub struct Loaded {
    /// The scenario's name: its file name without the ending.
    pub scenario: String,
    /// The kind of model that `model.kind` names.
    pub kind: Kind,
    /// The model with the parameters of the scenario.
    pub model: Box<dyn AnyModel>,
    /// How it is run.
    pub settings: RunSettings,
    /// What memory that needs.
    pub memory: Estimate,
    /// The files that the scenario names, as they were read.
    pub inputs: Vec<Input>,
    /// What its results come from.
    pub provenance: Provenance,
}

impl Source {
    /// Reads the file, and nothing in it yet.
    pub fn read(arguments: &ScenarioArguments) -> Result<Self, ScenarioError> {
        let ScenarioArguments { scenario: file, overrides } = arguments;
        let content = std::fs::read(file).map_err(|reason| ScenarioError::unreadable(file, &reason))?;
        if CheckpointFile::is_begun_by(&content) {
            let allowed = format!(
                "a scenario, or `{} resume {}`, which continues the run",
                executable::name(),
                file.display()
            );
            return Err(ScenarioError::whole_file(file, "a checkpoint of a run, and no scenario", allowed));
        }
        let text = Scenario::decode(file, content)?;
        let folder = file.parent().unwrap_or(Path::new("")).to_owned();
        Ok(Self { file: file.clone(), text, folder, overrides: overrides.clone() })
    }

    /// The scenario's name: its file name without the ending.
    pub fn name(&self) -> String {
        self.stem().to_string_lossy().into_owned()
    }

    /// The same, of any bytes.
    pub fn stem(&self) -> &OsStr {
        self.file.file_stem().unwrap_or_default()
    }

    /// The same, for a process that has another current folder.
    pub fn for_elsewhere(&self) -> std::io::Result<Self> {
        let here = std::env::current_dir()?;
        Ok(Self { folder: here.join(&self.folder), ..self.clone() })
    }

    /// The scenario, section by section.
    pub fn open(&self) -> Result<Scenario, ScenarioError> {
        Scenario::parse(&self.file.display().to_string(), &self.text, &self.folder, &self.overrides)
    }

    /// Reads the scenario, builds the model out of those of `program`, and checks that the two fit.
    pub fn load(&self, program: &Program) -> Result<Loaded, ScenarioError> {
        let scenario = self.open()?;
        let (loaded, inputs) = recorded(&self.folder, || load(scenario, self.name(), program));
        let loaded = loaded?;
        Ok(Loaded { provenance: loaded.provenance.inputs(inputs.clone()), inputs, ..loaded })
    }
}

fn load(mut scenario: Scenario, name: String, program: &Program) -> Result<Loaded, ScenarioError> {
    if scenario.has("machine") {
        let problem = "a scenario of a simulated machine, which `paceline machine` runs";
        return Err(scenario.section("machine")?.refuse("", problem, "the sections [model] and [run]"));
    }
    if scenario.has("guest") {
        let problem = "a scenario with guests, which `paceline emulate` runs";
        return Err(scenario.section("network")?.refuse("", problem, "the sections [model] and [run]"));
    }
    let provenance = program.provenance(&scenario, None);
    let (mut section, mut run) = (scenario.section("model")?, scenario.section("run")?);
    let kind = program.choose(&mut section)?;
    let build = match kind.build {
        Build::Lps(build) => build,
        #[cfg(feature = "processes")]
        Build::Processes(_) => {
            let problem = format!("a model of processes, which only `{} run` runs", program.name);
            return Err(section.refuse("kind", problem, "a model of LPs"));
        }
    };
    scenario.finish(&["model", "run"])?;
    let settings = RunSettings::read(&mut run)?;
    let header = section.clone();
    let mut model = build(section, settings.seed)?;
    if model.lps() == 0 {
        return Err(header.refuse("lps", "a model without LPs", "a model of at least one LP"));
    }
    // What is checked of a model takes memory for each of its LPs.
    let memory = model.memory(&settings);
    memory.check(&header, &settings)?;
    model.check(&settings, &run)?;
    model.schedule(&settings.changes)?;
    run.finish()?;
    let provenance = provenance.until(settings.until);
    Ok(Loaded { scenario: name, kind, model, settings, memory, inputs: Vec::new(), provenance })
}
