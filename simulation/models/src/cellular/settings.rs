//! Reads a cellular network from a scenario's `[model]`.

use paceline_kernel::Time;
use paceline_scenario::{ScenarioError, Section};

use super::Cellular;

/// The greatest value of each time: sums of times stay far below the largest time.
const LONGEST: Time = Time::secs(24 * 3600);
const SIDE_MAX: u32 = 2000;
const CHANNELS_MAX: u32 = 10_000;

impl Cellular {
    /// Reads the keys `columns` (16) and `rows` (16) of cells, `channels` of each cell and those of them that
    /// are `reserved` (0) for calls that are handed over, `between_calls` in a cell, the mean length `call`
    /// ("2min"), the mean time `stay` in a cell, without which phones do not move, and the least,
    /// `least_stay` ("1s"); `warm_up` ("0s"). Defaults are in brackets. The key `kind` is left to the caller.
    pub fn from_section(section: &mut Section) -> Result<Self, ScenarioError> {
        let side = |value: u32| (1..=SIDE_MAX).contains(&value);
        let allowed = format!("a whole number from 1 to {SIDE_MAX}");
        let columns = section.or_where("columns", 16, side, &*allowed)?;
        let rows = section.or_where("rows", 16, side, allowed)?;
        let channels = section.required("channels")?;
        if !(1..=CHANNELS_MAX).contains(&channels) {
            let allowed = format!("a whole number from 1 to {CHANNELS_MAX}");
            return Err(section.refuse("channels", format!("`channels` is {channels}"), allowed));
        }
        let allowed = format!("a whole number below {channels}, the number of channels");
        let reserved = section.or_where("reserved", 0, |reserved| reserved < channels, allowed)?;
        let between_calls = section.required("between_calls")?;
        let between_calls = checked(section, "between_calls", between_calls, Time::nanos(1))?;
        let call = section.or("call", Time::secs(120))?;
        let call = checked(section, "call", call, Time::nanos(1))?;
        let least_stay = section.or("least_stay", Time::secs(1))?;
        let least_stay = checked(section, "least_stay", least_stay, Time::ZERO)?;
        let stay = section.optional("stay")?;
        let stay = stay.map(|stay| checked(section, "stay", stay, least_stay)).transpose()?;
        if stay.is_some() && (columns < 3 || rows < 4 || rows % 2 == 1) {
            let key = if columns < 3 { "columns" } else { "rows" };
            let problem = format!("{columns} x {rows} cells, among which phones move");
            let allowed =
                "at least 3 columns, and an even number of rows from 4: then each has six neighbours";
            return Err(section.refuse(key, problem, allowed));
        }
        if stay == Some(Time::ZERO) {
            return Err(section.refuse("stay", "phones that stay nowhere", "a time above 0s"));
        }
        let warm_up = section.or("warm_up", Time::ZERO)?;
        let more_stay = stay.map(|stay| stay - least_stay);
        Ok(Self { columns, rows, channels, reserved, between_calls, call, least_stay, more_stay, warm_up })
    }
}

fn checked(section: &Section, key: &str, value: Time, least: Time) -> Result<Time, ScenarioError> {
    if (least..=LONGEST).contains(&value) {
        return Ok(value);
    }
    Err(section.refuse(key, format!("`{key}` is {value}"), format!("a time from {least} to {LONGEST}")))
}
