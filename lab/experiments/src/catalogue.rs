//! All experiments, by name.
//!
//! Invariant: names are unique, in the order of the papers; predictions of our own are last.

use paceline_scenario::ScenarioError;

use crate::batch::Setup;
use crate::parameters::Parameters;
use crate::plan::Plan;

/// Reads the parameters of an experiment, and plans its runs.
pub(crate) type Planner = fn(&Setup, &mut Parameters) -> Result<Plan, ScenarioError>;

/// An experiment. Where it is a published one, its name is that of the paper and the figure.
#[derive(Clone, Copy, Debug)]
pub struct Experiment {
    /// Its name, which no other one has.
    pub name: &'static str,
    /// What it shows, in one line.
    pub title: &'static str,
    /// The file of its parameters, as it is built in.
    pub parameters: &'static str,
    /// Plans it.
    pub(crate) planner: Planner,
}

impl Experiment {
    /// Plans its runs. Every mistake in its parameters is found here.
    pub fn plan(&self, setup: &Setup) -> Result<Plan, ScenarioError> {
        let mut parameters = Parameters::open(self.name, self.parameters, setup)?;
        let plan = (self.planner)(setup, &mut parameters)?;
        parameters.finish()?;
        Ok(plan)
    }
}

/// An experiment with its name, what it shows, its planner, and the file of parameters that has its name.
macro_rules! experiment {
    ($name:literal, $title:literal, $planner:expr) => {
        $crate::Experiment {
            name: $name,
            title: $title,
            parameters: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/parameters/", $name, ".toml")),
            planner: $planner,
        }
    };
}
pub(crate) use experiment;

/// All of them.
pub fn experiments() -> Vec<Experiment> {
    [
        crate::psx::EXPERIMENTS,
        crate::nsx::EXPERIMENTS,
        crate::sg::EXPERIMENTS,
        crate::cs::EXPERIMENTS,
        crate::artis::EXPERIMENTS,
        crate::cluster::EXPERIMENTS,
    ]
    .concat()
}

/// The plan of the experiment `name` with its built-in parameters.
#[cfg(test)]
pub(crate) fn planned(name: &str, setup: &Setup) -> Plan {
    let all = experiments();
    let found = all.iter().find(|experiment| experiment.name == name).expect("the catalogue has it");
    found.plan(setup).expect("built-in parameters are sound")
}
