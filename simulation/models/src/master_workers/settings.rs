//! Reads a deployment that a scenario's `[model]` names: which function runs on which host of the platform.

use paceline_network::{Platform, decode};
use paceline_scenario::{ScenarioError, Section, inputs};

use super::MasterWorkers;

impl MasterWorkers {
    /// Reads the keys `deployment`, a file in SimGrid's XML format, for this platform, if the network named
    /// `network` has one, and `permanent_receivers` (false). The key `kind` is left to the caller.
    pub fn from_section(
        section: &mut Section,
        network: &str,
        platform: Option<&Platform>,
    ) -> Result<Self, ScenarioError> {
        let Some(path) = section.needed_file("deployment")? else {
            let problem = "a model whose actors are placed by a deployment, and none is named";
            return Err(section.refuse("deployment", problem, "a deployment file in SimGrid's XML format"));
        };
        let Some(platform) = platform else {
            let problem =
                format!("actors on hosts of a platform, and a network of model {network:?} has none");
            return Err(section.refuse(
                "deployment",
                problem,
                "network.model \"cm02\" or \"lv08\", with network.platform",
            ));
        };
        let refuse = |problem: String| section.refuse("deployment", problem, "a deployment that can be read");
        let name = path.display().to_string();
        let bytes = inputs::read(&path).map_err(|reason| refuse(format!("{name}: {reason}")))?;
        let text = decode(&name, &bytes).map_err(|error| refuse(error.to_string()))?;
        let program = Self::read(&name, &text, platform).map_err(|error| refuse(error.to_string()))?;
        if !section.or("permanent_receivers", false)? {
            return Ok(program);
        }
        program.with_permanent_receivers().map_err(|error| {
            section.refuse(
                "permanent_receivers",
                error.to_string(),
                "false, or a mailbox for the workers of each host",
            )
        })
    }
}
