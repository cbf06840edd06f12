//! Reads the `[model]` section of a traffic scenario and builds the model from it.
//!
//! Keys of the grid and of TNTP files exclude each other: a key that the chosen input does not use is
//! unknown. Every number is checked against a bound before anything is built from it, so that no scenario
//! exhausts memory or the range of times by mistake.

use std::ops::Range;
use std::path::Path;

use paceline_kernel::Time;
use paceline_scenario::{ScenarioError, Section};
use serde_json::Value;

use super::demand::{Draw, MAX_VEHICLES, Trips, Undrawable};
use super::grid::{Grid, MAX_SIDE};
use super::lights::Lights;
use super::network::Network;
use super::tntp::{NetworkFile, Units, read_network, read_trips};
use super::{Layout, Rules, Traffic};
use crate::input as text;

/// Units of length, in metres.
const LENGTHS: [(&str, f64); 4] = [("km", 1000.0), ("m", 1.0), ("mi", 1609.344), ("ft", 0.3048)];
/// Units of time, in seconds.
const TIMES: [(&str, f64); 4] = [("min", 60.0), ("s", 1.0), ("h", 3600.0), ("0.01h", 36.0)];
/// The most bytes of a file, and of the text in it if it is compressed.
const MAX_BYTES: u64 = 512 << 20;
const MAX_LANES: u32 = 10_000;
pub(super) const MAX_CYCLE: Time = Time::secs(86_400);
const MAX_PERIOD: Time = Time::secs(366 * 86_400);
const MAX_CROSSING: Time = Time::secs(86_400);

/// What the model is built from, besides its rules.
struct Input {
    network: Network,
    layout: Layout,
    trips: Vec<Trips>,
    /// The trip file, to report trips that cannot be made.
    source: Option<TripFile>,
    /// What results say of the input.
    notes: Vec<(&'static str, Value)>,
}

/// The text of a trip table, for error messages.
struct TripFile {
    name: String,
    text: String,
    places: Vec<Range<usize>>,
}

impl Traffic {
    /// Builds the model that `section` describes; `seed` is that of the run. The key `kind` and unknown keys
    /// are left to the caller.
    pub fn from_section(section: &mut Section, seed: u64) -> Result<Self, ScenarioError> {
        let crossing = duration(section, "crossing", Time::secs(1), MAX_CROSSING)?;
        let period = duration(section, "period", Time::secs(3600), MAX_PERIOD)?;
        let scale = amount(section, "demand", 1.0)?;
        let lights = read_lights(section)?;
        let offset = duration(section, "offset", Time::ZERO, MAX_CYCLE)?;
        let storage = section.or("storage", false)?;
        let vehicle_mm = positive(section, "spacing", 7.5)? * 1000.0;
        let rules =
            Rules { crossing, lights, offset, storage, vehicle_mm: (vehicle_mm.round() as u64).max(1) };
        let draw = Draw { scale, period, crossing, seed };
        let side = section.optional::<u32>("grid")?;
        let files = (section.file("network")?, section.file("trips")?);
        match (side, files) {
            (Some(side), (None, None)) => {
                let input = read_grid(section, side, period, rules)?;
                build(section, input, rules, draw)
            }
            (None, (Some(network), Some(trips))) => {
                let units = Units {
                    time_s: section.choice("time_unit", &TIMES, Some(TIMES[0].1))?,
                    length_m: section.choice("length_unit", &LENGTHS, Some(LENGTHS[0].1))?,
                    lanes: lanes(section)?,
                };
                let input = read_files(&network, &trips, units)?;
                build(section, input, rules, draw)
            }
            (side, (network, _)) => {
                let key = if side.is_some() {
                    "grid"
                } else if network.is_some() {
                    "network"
                } else {
                    "trips"
                };
                let problem = "a traffic model needs a network and its trips, and only one of each";
                Err(section.refuse(key, problem, "either `grid`, or `network` and `trips`"))
            }
        }
    }
}

fn build(section: &Section, input: Input, rules: Rules, draw: Draw) -> Result<Traffic, ScenarioError> {
    let (trips, numbering) = (input.trips, input.network.numbering().clone());
    let built = Traffic::build(input.network, input.layout, &trips, rules, draw);
    let built = built.map_err(|why| match (why, &input.source) {
        (Undrawable::Unconnected(index), Some(file)) => {
            let (from, to) =
                (numbering.number(trips[index].origin), numbering.number(trips[index].destination));
            let problem = format!("trips from zone {from} to zone {to}, which no road connects");
            let allowed = "trips between zones that are connected without driving through other zones below \
                           <FIRST THRU NODE>";
            ScenarioError::in_file(&file.name, &file.text, file.places[index].clone(), problem, allowed)
        }
        (Undrawable::Unconnected(_), None) => {
            section.refuse("grid", "trips between nodes that no road connects", "connected nodes")
        }
        (Undrawable::TooMany(vehicles), _) => section.refuse(
            "demand",
            format!("about {vehicles:.0} vehicles are too many"),
            format!("at most {MAX_VEHICLES} vehicles; `demand` scales them"),
        ),
        (Undrawable::TooWide(nodes, targets), _) => section.refuse(
            if input.source.is_some() { "network" } else { "grid" },
            format!("{nodes} nodes with {targets} destinations are too many"),
            format!("at most {} nodes times destinations", super::routes::MAX_TABLE),
        ),
    });
    built.map(|traffic| traffic.noting(input.notes))
}

fn read_lights(section: &mut Section) -> Result<Option<Lights>, ScenarioError> {
    let given = ["cycle", "green", "red", "headway"].into_iter().find(|key| section.has(key));
    let on = match (section.optional("lights")?, given) {
        (Some(on), _) => on,
        (None, None) => false,
        // Without lights it has no effect, and whoever gives it does not want that.
        (None, Some(key)) => {
            let problem = format!("`{key}` without `lights`");
            return Err(section.refuse(
                key,
                problem,
                "`lights = true` with it, or `lights = false` to switch them off",
            ));
        }
    };
    let cycle = section.optional::<Time>("cycle")?;
    let green = section.optional::<Time>("green")?;
    let red = section.optional::<Time>("red")?;
    let headway = section.or("headway", Time::secs(1))?;
    let half = |cycle: Time| Time::nanos(cycle.as_nanos() / 2);
    let key = if cycle.is_some() {
        "cycle"
    } else if green.is_some() {
        "green"
    } else {
        "red"
    };
    // Missing values follow from the given ones; green defaults to half the cycle.
    let (cycle, green, red) = match (cycle, green, red) {
        (Some(cycle), Some(green), Some(red)) => (cycle, green, red),
        (Some(cycle), Some(green), None) => (cycle, green, cycle.saturating_sub(green)),
        (Some(cycle), None, Some(red)) => (cycle, cycle.saturating_sub(red), red),
        (None, Some(green), Some(red)) => (green.saturating_add(red), green, red),
        (None, Some(green), None) => (green.saturating_add(green), green, green),
        (None, None, Some(red)) => (red.saturating_add(red), red, red),
        (cycle, None, None) => {
            let cycle = cycle.unwrap_or(Time::secs(8));
            (cycle, half(cycle), cycle - half(cycle))
        }
    };
    if cycle > MAX_CYCLE || green == Time::ZERO || red == Time::ZERO || green.saturating_add(red) != cycle {
        let problem = format!("lights with a cycle of {cycle}, {green} of green and {red} of red");
        return Err(section.refuse(
            key,
            problem,
            "green and red above 0s that add up to a cycle of at most 24h",
        ));
    }
    Ok(on.then_some(Lights { cycle, green, headway }))
}

fn read_grid(section: &mut Section, side: u32, period: Time, rules: Rules) -> Result<Input, ScenarioError> {
    if !(1..=MAX_SIDE).contains(&side) {
        let problem = format!("a grid of {side} by {side} intersections");
        return Err(section.refuse("grid", problem, format!("a whole number from 1 to {MAX_SIDE}")));
    }
    let unit = section.choice("length_unit", &LENGTHS, Some(LENGTHS[0].1))?;
    let block_m = section.optional::<f64>("block")?.unwrap_or(1000.0 / unit) * unit;
    let speed_kmh = positive(section, "speed", 50.0)?;
    let time_s = block_m / (speed_kmh / 3.6);
    if !(block_m > 0.0 && block_m <= 1e6 && time_s <= 86_400.0) {
        let problem = format!("`block` and `speed` give roads of {block_m} m at {speed_kmh} km/h");
        return Err(section.refuse(
            "block",
            problem,
            "a length above 0 and up to 1000 km, driven within a day",
        ));
    }
    let lanes = lanes(section)?.unwrap_or(1);
    let rate = amount(section, "rate", 10.0)?;
    let length_mm = (block_m * 1000.0).round() as u64;
    if rules.storage && length_mm < rules.vehicle_mm {
        let problem = format!(
            "`block` gives roads of {block_m} m, which no vehicle of {} mm fits on",
            rules.vehicle_mm
        );
        return Err(section.refuse("block", problem, "at least `spacing`, or no `storage`"));
    }
    let grid = Grid { side, free_flow: Time::from_secs_f64(time_s), length_mm, lanes };
    let number = rate * (period.as_nanos() as f64 / 3.6e12);
    let (network, trips) = (grid.network(), grid.trips(number));
    Ok(Input { network, layout: Layout::Grid(grid), trips, source: None, notes: Vec::new() })
}

fn read_files(roads: &Path, trips: &Path, units: Units) -> Result<Input, ScenarioError> {
    let file = text::Input::load(roads, MAX_BYTES)?;
    let NetworkFile { network, zones, unused } =
        read_network(&file.text, units).map_err(|flaw| flaw.in_file(&file.name, &file.text))?;
    let file = text::Input::load(trips, MAX_BYTES)?;
    let table = read_trips(&file.text, zones, network.numbering())
        .map_err(|flaw| flaw.in_file(&file.name, &file.text))?;
    let mut notes: Vec<(&str, Value)> = Vec::new();
    if !unused.is_empty() {
        notes.push(("columns_not_used", unused.join(", ").into()));
    }
    // A length of zero makes a connector; a length that takes no time is more likely a time that the file
    // lacks.
    let in_no_time =
        network.roads().iter().filter(|road| road.length_mm > 0 && road.free_flow == Time::ZERO).count();
    if in_no_time > 0 {
        notes.push(("roads_in_no_time", in_no_time.into()));
    }
    if let Some(multiplier) = table.multiplier {
        notes.push(("demand_multiplier", multiplier.into()));
    }
    if table.repeated > 0 {
        notes.push(("trips_added_to_others", table.repeated.into()));
    }
    if let Some(stated) = table.stated {
        notes.push(("trips_in_file", table.sum.into()));
        notes.push(("trips_stated_in_file", stated.into()));
    }
    let source = TripFile { name: file.name, text: file.text, places: table.places };
    Ok(Input { network, layout: Layout::City, trips: table.trips, source: Some(source), notes })
}

fn lanes(section: &mut Section) -> Result<Option<u32>, ScenarioError> {
    match section.optional::<u32>("lanes")? {
        Some(lanes) if !(1..=MAX_LANES).contains(&lanes) => {
            let problem = format!("roads of {lanes} lanes");
            Err(section.refuse("lanes", problem, format!("a whole number from 1 to {MAX_LANES}")))
        }
        lanes => Ok(lanes),
    }
}

fn duration(section: &mut Section, key: &str, default: Time, most: Time) -> Result<Time, ScenarioError> {
    section.or_where(key, default, |value| value <= most, format!("at most {most}"))
}

/// A number that is not negative.
fn amount(section: &mut Section, key: &str, default: f64) -> Result<f64, ScenarioError> {
    section.or_where(key, default, |value| value >= 0.0, "a number, zero or above")
}

/// A number above zero.
fn positive(section: &mut Section, key: &str, default: f64) -> Result<f64, ScenarioError> {
    section.or_where(key, default, |value| value > 0.0, "a number above zero")
}
