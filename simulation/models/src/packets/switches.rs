//! Switches with a shared buffer, and their flow control.

use paceline_packets::queue::{Alpha, Classes};
use paceline_packets::{FlowControl, SwitchSettings};
use paceline_scenario::{ScenarioError, Section, Size};

use super::factor::Factor;

/// Reads the table `switch`, if there is one: `buffer`, `alpha` (1), and the table `pfc`.
pub fn read(section: &mut Section) -> Result<Option<SwitchSettings>, ScenarioError> {
    let mut switch = section.table("switch")?;
    if !section.has("switch") {
        return Ok(None);
    }
    let buffer: Size = switch.required("buffer")?;
    let Factor(alpha) = switch.or("alpha", Factor(Alpha { over: 1, under: 1 }))?;
    let mut table = switch.table("pfc")?;
    let pfc = if switch.has("pfc") { Some(read_pfc(&mut table)?) } else { None };
    table.finish()?;
    switch.finish()?;
    Ok(Some(SwitchSettings { buffer: buffer.bytes as u64, alpha, pfc }))
}

/// Reads `classes`, `xoff`, `xon` and `headroom`.
fn read_pfc(table: &mut Section) -> Result<FlowControl, ScenarioError> {
    let listed: Vec<u32> = table.required("classes")?;
    let mut classes = Classes::NONE;
    for class in &listed {
        if *class > 7 {
            let allowed = "whole numbers from 0 to 7";
            return Err(table.refuse("classes", format!("there is no class {class}"), allowed));
        }
        classes.set(*class as u8, true);
    }
    if classes.is_empty() {
        let problem = "flow control of no class";
        return Err(table.refuse("classes", problem, "a list of classes, such as [3], or no `pfc`"));
    }
    let xoff: Size = table.required("xoff")?;
    let xon: Option<Size> = table.optional("xon")?;
    if let Some(xon) = xon.filter(|xon| xon.bytes > xoff.bytes) {
        let problem = format!("flow control that resumes at {xon} and pauses above {xoff}");
        return Err(table.refuse("xon", problem, "at most `xoff`"));
    }
    let headroom: Option<Size> = table.optional("headroom")?;
    let bytes = |size: Size| size.bytes as u64;
    Ok(FlowControl { classes, xoff: bytes(xoff), xon: xon.map(bytes), headroom: headroom.map(bytes) })
}
