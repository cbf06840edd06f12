//! Switches with a shared buffer, and their flow control.

use std::fmt;

use paceline_packets::queue::{Alpha, Classes};
use paceline_packets::{FlowControl, SwitchSettings};
use paceline_scenario::{Raw, ScenarioError, Section, Size, Unfit, Value};

/// A factor as a fraction of two whole numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Factor(Alpha);

impl Value for Factor {
    const EXPECTED: &'static str = "a number above zero, or a fraction of two such as \"1/8\"";

    fn read(raw: &Raw) -> Result<Self, Unfit> {
        let unfit = || Unfit::Content("it is not a fraction of whole numbers from 1 to 4294967295".into());
        let (over, under) = match raw {
            Raw::Integer(number) => (u32::try_from(*number).map_err(|_| unfit())?, 1),
            Raw::Float(number) => {
                // Exact: a multiplication by a power of two changes the exponent alone.
                let whole = |places: &u32| (number * f64::from(1u32 << places)).fract() == 0.0;
                let places = (0..=16).find(whole).ok_or_else(unfit)?;
                let over = number * f64::from(1u32 << places);
                if over > f64::from(u32::MAX) {
                    return Err(unfit());
                }
                (over as u32, 1 << places)
            }
            Raw::String(text) => {
                let (over, under) = text.split_once('/').unwrap_or((text, "1"));
                let number = |text: &str| text.trim().parse::<u32>().map_err(|_| unfit());
                (number(over)?, number(under)?)
            }
            _ => return Err(Unfit::Kind),
        };
        if over == 0 || under == 0 { Err(unfit()) } else { Ok(Self(Alpha { over, under })) }
    }
}

impl fmt::Display for Factor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.under {
            1 => write!(f, "{}", self.0.over),
            under => write!(f, "{}/{under}", self.0.over),
        }
    }
}

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
