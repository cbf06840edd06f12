//! The deployment that `model.deployment` names: which function runs on which host of `network.platform`.

use paceline_models::master_workers::MasterWorkers;
use paceline_network::decode;
use paceline_scenario::{ScenarioError, Section};

use super::Model;

/// Reads it, for the network of this name.
pub fn read(model: &mut Section, network: &(&str, Model)) -> Result<MasterWorkers, ScenarioError> {
    let Some(path) = model.file("deployment")? else {
        let problem = "a model whose actors are placed by a deployment, and none is named";
        return Err(model.refuse("deployment", problem, "a deployment file in SimGrid's XML format"));
    };
    let Model::Flows { platform, .. } = &network.1 else {
        let problem =
            format!("actors on hosts of a platform, and a network of model {:?} has none", network.0);
        return Err(model.refuse(
            "deployment",
            problem,
            "network.model \"cm02\" or \"lv08\", with network.platform",
        ));
    };
    let refuse = |problem: String| model.refuse("deployment", problem, "a deployment that can be read");
    let name = path.display().to_string();
    let bytes =
        paceline_scenario::inputs::read(&path).map_err(|reason| refuse(format!("{name}: {reason}")))?;
    let text = decode(&name, &bytes).map_err(|error| refuse(error.to_string()))?;
    MasterWorkers::read(&name, &text, platform).map_err(|error| refuse(error.to_string()))
}
