//! What a program runs: the models that its scenarios may name.

use paceline_kernel::Time;
use paceline_scenario::{Scenario, ScenarioError, Section};

use crate::lp_model::AnyModel;
#[cfg(feature = "processes")]
use crate::process_model::{AnyProcessModel, network::NetworkSection};
use crate::provenance::Provenance;

/// A program: what it says of itself, and its models.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// Its name in results.
    pub name: &'static str,
    /// Its version in results and checkpoints.
    pub version: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    /// The kinds of models. Where there is one, scenarios need not name it.
    pub kinds: &'static [Kind],
}

/// A kind of model.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// The name used in scenario files.
    pub name: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    /// How it is built.
    pub build: Build,
}

/// Builds a model of processes from the section `[model]`, read to its last key.
#[cfg(feature = "processes")]
type BuildProcesses = fn(Section, &mut NetworkSection) -> Result<Box<dyn AnyProcessModel>, ScenarioError>;

/// Builds a model from the section `[model]`, read to its last key.
#[derive(Clone, Copy, Debug)]
pub enum Build {
    /// A model of LPs, from the seed of the run as well.
    Lps(fn(Section, u64) -> Result<Box<dyn AnyModel>, ScenarioError>),
    /// A model of processes. One whose parameters name hosts reads the network as well.
    #[cfg(feature = "processes")]
    Processes(BuildProcesses),
}

impl Kind {
    /// Whether its parts are processes, which are run otherwise than LPs.
    pub fn is_of_processes(&self) -> bool {
        match self.build {
            Build::Lps(_) => false,
            #[cfg(feature = "processes")]
            Build::Processes(_) => true,
        }
    }
}

impl Program {
    /// The kind that `[model]` names.
    pub fn choose(&self, section: &mut Section) -> Result<Kind, ScenarioError> {
        // By their places: kinds have functions, which cannot be compared.
        let all: Vec<_> = self.kinds.iter().map(|kind| kind.name).zip(0..).collect();
        let only = if let [(_, only)] = all[..] { Some(only) } else { None };
        let place: usize = section.choice("kind", &all, only)?;
        Ok(self.kinds[place])
    }

    /// Whether the model of a scenario is one of processes. A mistake in the scenario is reported by what
    /// reads the whole of it.
    pub fn is_of_processes(&self, mut scenario: Scenario) -> Result<bool, ScenarioError> {
        let named: Option<String> = scenario.section("model")?.optional("kind").unwrap_or(None);
        let kind = match (&named, self.kinds) {
            (Some(name), kinds) => kinds.iter().find(|kind| kind.name == name),
            (None, [only]) => Some(only),
            (None, _) => None,
        };
        Ok(kind.is_some_and(Kind::is_of_processes))
    }

    /// What results of a scenario come from that has not been read yet, with this horizon.
    pub fn provenance(&self, scenario: &Scenario, horizon: Option<Time>) -> Provenance {
        Provenance::new(self.name, self.version, scenario, horizon)
    }
}
