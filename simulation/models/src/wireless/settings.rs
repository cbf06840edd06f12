//! Reads the network from a scenario's `[model]`.
//!
//! The fields are in `wireless.rs`; keys of motion are read here for `wireless_csma` as well.

use std::sync::Arc;

use paceline_kernel::Time;
use paceline_scenario::{ScenarioError, Section};

use super::region::RegionGrid;
use super::trace::{Format, Trace};
use super::{Computation, Deal, Deliveries, MOST_HOSTS, Motion, Space, Wireless};
use super::{RANGE, REDRAW_STEPS, REGIONS, SIDE, SPEED};

/// Lengths are rounded to the torus' ticks, 2^32 a side; none is shorter than this many, so that none is off
/// by a thousandth.
const LEAST_TICKS: f64 = 1000.0;
/// The most rounds of computation for a ping.
const MOST_ROUNDS: u32 = 1_000_000;

impl Wireless {
    /// Reads the keys `hosts`, `steps` (1000), `step` ("1s"), `side` (10000), `range` (250), `speed` (10),
    /// `redraw` (100 steps), `computation` ("standard", "light") or `rounds`, `deliveries` ("together",
    /// "singly"), `regions` along a side (4), `deal` ("position", "number"); instead of `hosts`, `side`,
    /// `speed` and `redraw` also `trace`, a file, and its `format`. Defaults are in brackets. Initial
    /// places are drawn from `seed`. The key `kind` is left to the caller.
    pub fn from_section(section: &mut Section, seed: u64) -> Result<Self, ScenarioError> {
        let steps = at_least_one(section, "steps", 1000, u32::MAX)?;
        let step = section.or("step", Time::secs(1))?;
        if step.as_nanos() < 3 {
            return Err(section.refuse("step", format!("a step of {step}"), "a time of at least 3ns"));
        }
        let range = above_zero(section, "range", RANGE, 1e6)?;
        let computations = [("standard", Computation::Standard), ("light", Computation::Light)];
        let computation = match section.optional::<u32>("rounds")? {
            Some(rounds) if rounds > MOST_ROUNDS => {
                let problem = format!("{rounds} rounds a ping");
                return Err(section.refuse("rounds", problem, format!("a whole number up to {MOST_ROUNDS}")));
            }
            Some(_) if section.has("computation") => {
                let problem = "`computation` and `rounds` say the same in two ways";
                return Err(section.refuse("rounds", problem, "one of them"));
            }
            Some(rounds) => Computation::Rounds(rounds),
            None => section.choice("computation", &computations, Some(Computation::Standard))?,
        };
        let ways = [("together", Deliveries::Together), ("singly", Deliveries::Singly)];
        let deliveries = section.choice("deliveries", &ways, Some(Deliveries::Together))?;
        let deal = section.choice("deal", &Deal::ALL, Some(Deal::Position))?;
        let (hosts, space, motion) = read_motion(section, range)?;
        let grid = read_grid(section, space, range)?;
        let network = Self {
            hosts,
            steps,
            step,
            lookahead: Time::ZERO,
            rounds: computation.rounds(),
            space,
            grid,
            motion,
            deliveries,
            deal,
            starts: Arc::new([]),
        };
        Ok(network.deliver(deliveries).place(seed))
    }
}

/// Reads the number of hosts, the torus, and how hosts move.
pub(crate) fn read_motion(section: &mut Section, range: f64) -> Result<(u32, Space, Motion), ScenarioError> {
    let Some(file) = section.file("trace")? else {
        let hosts = section.required("hosts")?;
        if !(1..=MOST_HOSTS).contains(&hosts) {
            let problem = format!("a network of {hosts} hosts");
            return Err(section.refuse("hosts", problem, format!("a whole number from 1 to {MOST_HOSTS}")));
        }
        let space = Space::new(above_zero(section, "side", SIDE, 1e9)?);
        if range * 4.0 > space.side() {
            let problem = format!("a range of {range} on a torus of {}", space.side());
            return Err(section.refuse("range", problem, "at most a quarter of `side`"));
        }
        let speed = section.or("speed", SPEED)?;
        if !(0.0..=space.side() / 4.0).contains(&speed) {
            let problem = format!("a speed of {speed} a step on a torus of {}", space.side());
            return Err(section.refuse("speed", problem, "from 0 to a quarter of `side`"));
        }
        if speed > 0.0 && speed < space.units(1) * LEAST_TICKS {
            let problem = format!("a speed of {speed} a step on a torus of {}", space.side());
            let least = space.units(1) * LEAST_TICKS;
            let allowed = format!("0, or at least {least:e}: places are rounded to 2^32 steps a side");
            return Err(section.refuse("speed", problem, allowed));
        }
        let redraw_steps = at_least_one(section, "redraw", REDRAW_STEPS, u32::MAX)?;
        return Ok((hosts, space, Motion::Random { speed, redraw_steps }));
    };
    let format = section.choice("format", &Format::ALL, None)?;
    let trace = Trace::load(&file, format)?;
    Ok((trace.hosts(), trace.space(range), Motion::Traced(Arc::new(trace))))
}

/// Reads the number of regions along a side of the torus; the default is limited to the number that fits.
pub(crate) fn read_grid(
    section: &mut Section,
    space: Space,
    range: f64,
) -> Result<RegionGrid, ScenarioError> {
    let least = space.units(1) * LEAST_TICKS;
    if range < least {
        let problem = format!("a range of {range} on a plane of {}", space.side());
        let allowed = format!("at least {least:e}: places are rounded to 2^32 steps a side");
        return Err(section.refuse("range", problem, allowed));
    }
    let range = space.ticks(range);
    let most = ((1u64 << 32) / u64::from(range)).min(1 << 10) as u32;
    let per_side = section.or("regions", REGIONS.min(most))?;
    if !(2..=most).contains(&per_side) {
        let problem = format!("{per_side} by {per_side} regions");
        let allowed = format!("a whole number from 2 to {most}: no region is narrower than `range`");
        return Err(section.refuse("regions", problem, allowed));
    }
    Ok(RegionGrid { per_side, range })
}

pub(crate) fn at_least_one(
    section: &mut Section,
    key: &str,
    default: u32,
    most: u32,
) -> Result<u32, ScenarioError> {
    let allowed = format!("a whole number from 1 to {most}");
    section.or_where(key, default, |value| (1..=most).contains(&value), allowed)
}

pub(crate) fn above_zero(
    section: &mut Section,
    key: &str,
    default: f64,
    most: f64,
) -> Result<f64, ScenarioError> {
    let allowed = format!("a number above 0 and up to {most}");
    section.or_where(key, default, |value| value > 0.0 && value <= most, allowed)
}
