//! Packets that are captured: on which links, and how many bytes of each.

use paceline_packets::{PacketError, Packets};
use paceline_scenario::{ScenarioError, Section};

use super::refusal::refuse;

/// Reads the key `capture`, without which nothing is: a list of links, "A -> B", "A <-> B", or "A" for all
/// links of a node; and with it `snap`, the bytes of each packet that files hold, without which they hold its
/// headers.
pub fn read(section: &mut Section, model: Packets) -> Result<Packets, ScenarioError> {
    let Some(links) = section.optional::<Vec<String>>("capture")? else { return Ok(model) };
    let snap: Option<u32> = section.optional("snap")?;
    model.capture(&links, snap).map_err(|error| {
        let key = if matches!(error, PacketError::Snap { .. }) { "snap" } else { "capture" };
        refuse(section, key, &error)
    })
}
