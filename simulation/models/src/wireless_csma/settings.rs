//! Reads the network with losses from a scenario's `[model]`.

use paceline_kernel::{Rng, Time};
use paceline_scenario::{ScenarioError, Section};

use super::{Access, Csma, Radio};
use crate::wireless::deal::Deal;
use crate::wireless::settings::{above_zero, at_least_one, read_grid, read_motion};
use crate::wireless::starts;

/// The greatest value of each time, so that sums of times stay far below the largest time.
const LONGEST: Time = Time::secs(3600);
/// The greatest power and loss: far beyond any real device.
const MOST_DB: f64 = 1000.0;

impl Csma {
    /// Reads `hosts` (at least two), `side`, `range` (250: frames are not detected beyond), `speed`,
    /// `redraw`, `regions`, `deal`, `trace`, `format` as in the network without losses; `step` ("1s")
    /// between moves; `slot` ("20us"), `sifs` ("10us"), `airtime` ("448us"), `ack_airtime` ("304us"),
    /// `window` (31), `window_most` (1023), `retries` (7), `queue` (64); `power` (15 dBm), `loss` (40
    /// dB), `exponent` (3), `shadowing` (4 dB), `sensitivity` (-85 dBm), `carrier_sense` (-91 dBm), `capture`
    /// (10 dB); `request_every` ("10s"), `hop_limit` (10). Defaults are in brackets. Initial places and
    /// shadowing are drawn from `seed`. The key `kind` is left to the caller.
    pub fn from_section(section: &mut Section, seed: u64) -> Result<Self, ScenarioError> {
        let range = above_zero(section, "range", 250.0, 1e6)?;
        let deal = section.choice("deal", &Deal::ALL, Some(Deal::Position))?;
        let (hosts, space, motion) = read_motion(section, range)?;
        if hosts < 2 {
            return Err(section.refuse("hosts", "a host without others to ask for", "at least 2"));
        }
        let grid = read_grid(section, space, range)?;
        let access = read_access(section)?;
        let starts = starts(&motion, space, hosts, seed);
        Ok(Self {
            hosts,
            space,
            grid,
            step: time(section, "step", Time::secs(1))?,
            access,
            radio: read_radio(section, seed)?,
            request_every: time(section, "request_every", Time::secs(10))?,
            hop_limit: at_least_one(section, "hop_limit", 10, 255)? as u8,
            deal,
            starts,
            motion,
        })
    }
}

fn read_access(section: &mut Section) -> Result<Access, ScenarioError> {
    let slot = time(section, "slot", Time::micros(20))?;
    if slot.as_nanos() < 2 {
        return Err(section.refuse("slot", format!("a slot of {slot}"), "at least 2ns"));
    }
    let window_most = at_least_one(section, "window_most", 1023, 1 << 20)?;
    Ok(Access {
        slot,
        sifs: time(section, "sifs", Time::micros(10))?,
        airtime: time(section, "airtime", Time::micros(448))?,
        ack_airtime: time(section, "ack_airtime", Time::micros(304))?,
        window_least: at_least_one(section, "window", 31.min(window_most), window_most)?,
        window_most,
        retries: section.or("retries", 7)?,
        queue: at_least_one(section, "queue", 64, 1 << 16)? as usize,
    })
}

fn read_radio(section: &mut Section, seed: u64) -> Result<Radio, ScenarioError> {
    let mut db = |key: &str, default: f64, least: f64| {
        let allowed = format!("a number from {least} to {MOST_DB}");
        section.or_where(key, default, |value| (least..=MOST_DB).contains(&value), allowed)
    };
    let hundredths = |db: f64| libm::round(db * 100.0) as i32;
    let radio = Radio {
        power_dbm: db("power", 15.0, -MOST_DB)?,
        loss_db: db("loss", 40.0, 0.0)?,
        exponent: db("exponent", 3.0, 0.0)?,
        shadowing_db: db("shadowing", 4.0, 0.0)?,
        seed: Rng::new(seed, 0).u64(),
        sensitivity: hundredths(db("sensitivity", -85.0, -MOST_DB)?),
        carrier_sense: hundredths(db("carrier_sense", -91.0, -MOST_DB)?),
        capture: hundredths(db("capture", 10.0, 0.0)?),
    };
    if radio.carrier_sense > radio.sensitivity {
        let problem = "frames that can be read would not be noticed";
        return Err(section.refuse("carrier_sense", problem, "at most `sensitivity`"));
    }
    Ok(radio)
}

fn time(section: &mut Section, key: &str, default: Time) -> Result<Time, ScenarioError> {
    let allowed = format!("above 0s, up to {LONGEST}");
    section.or_where(key, default, |value| (Time::nanos(1)..=LONGEST).contains(&value), allowed)
}
