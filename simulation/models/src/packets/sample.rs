//! Which queues are sampled over time.

use paceline_kernel::Time;
use paceline_packets::Packets;
use paceline_scenario::{ScenarioError, Section};

use super::refusal::refuse;

/// Reads the table `sample`: `every`, and `links` with a table for each direction of a link, `from` and `to`.
pub fn read(section: &mut Section, model: Packets) -> Result<Packets, ScenarioError> {
    let mut table = section.table("sample")?;
    if !section.has("sample") {
        return Ok(model);
    }
    let every: Time = table.required("every")?;
    let mut ports = Vec::new();
    for mut link in table.tables("links")? {
        let (from, to): (String, String) = (link.required("from")?, link.required("to")?);
        let network = model.network();
        let node = |key: &str, name: &str| network.node(name).map_err(|error| refuse(&link, key, &error));
        let (node, peer) = (node("from", &from)?, node("to", &to)?);
        let Some(port) = network.port_to(node, peer) else {
            let problem = format!("no link joins {from:?} and {to:?}");
            return Err(link.refuse("to", problem, "the two ends of a link"));
        };
        ports.push((node, port));
        link.finish()?;
    }
    if ports.is_empty() {
        let allowed = "a list such as [{ from = \"router-left\", to = \"router-right\" }]";
        return Err(table.refuse("links", "no link whose queue is to be sampled", allowed));
    }
    let model = model.sample(ports, every).map_err(|error| refuse(&table, "every", &error))?;
    table.finish()?;
    Ok(model)
}
