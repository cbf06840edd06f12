//! Reads Chord from a scenario's `[model]`.
//!
//! The fields, with their defaults, are in `chord.rs`.

use paceline_kernel::Time;
use paceline_scenario::{ScenarioError, Section};

use super::{Chord, Starts};

const MOST_PEERS: u32 = 50_000_000;

impl Chord {
    /// Reads the keys `peers`, `bits` (32), `stabilize` ("20s"), `fix_fingers` ("120s"), `check_predecessor`
    /// ("120s"), `lookup` ("10s"), `patience` ("50s"), `starts` ("spread" or "lockstep"), `bytes` (10),
    /// `join` (0), `leave` (0), `churn` ("0s"), `work_ns` (0). Defaults are in brackets. The key `kind`
    /// is left to the caller.
    pub fn from_section(section: &mut Section) -> Result<Self, ScenarioError> {
        let default = Self::default();
        let peers = section.required("peers")?;
        if !(1..=MOST_PEERS).contains(&peers) {
            let allowed = format!("a whole number from 1 to {MOST_PEERS}");
            return Err(section.refuse("peers", format!("a ring of {peers} peers"), allowed));
        }
        let bits = section.or("bits", default.bits)?;
        let least = u64::from(peers).next_power_of_two().ilog2() + 1;
        if !(least..=62).contains(&bits) {
            let problem = format!("keys of {bits} bits for {peers} peers");
            return Err(section.refuse("bits", problem, format!("a whole number from {least} to 62")));
        }
        let chord = Self {
            peers,
            bits,
            stabilize: period(section, "stabilize", default.stabilize)?,
            fix_fingers: period(section, "fix_fingers", default.fix_fingers)?,
            check_predecessor: period(section, "check_predecessor", default.check_predecessor)?,
            lookup: period(section, "lookup", default.lookup)?,
            patience: period(section, "patience", default.patience)?,
            starts: section.choice(
                "starts",
                &[("spread", Starts::Spread), ("lockstep", Starts::Lockstep)],
                Some(default.starts),
            )?,
            bytes: section.or("bytes", default.bytes)?,
            join: share(section, "join")?,
            leave: share(section, "leave")?,
            churn: section.or("churn", default.churn)?,
            work_ns: section.or("work_ns", default.work_ns)?,
            observe: false,
        };
        if !(chord.bytes.is_finite() && chord.bytes >= 0.0) {
            let problem = format!("messages of {} bytes", chord.bytes);
            return Err(section.refuse("bytes", problem, "a finite number from 0"));
        }
        if chord.churn == Time::ZERO && (chord.join > 0.0 || chord.leave > 0.0) {
            let problem = "peers are to join or leave, and have no time to do it";
            return Err(section.refuse("churn", problem, "a duration above zero, such as \"600s\""));
        }
        Ok(chord)
    }
}

fn period(section: &mut Section, key: &str, default: Time) -> Result<Time, ScenarioError> {
    match section.or(key, default)? {
        Time::ZERO => Err(section.refuse(
            key,
            "something to be done without end at one instant",
            "a duration above zero",
        )),
        period => Ok(period),
    }
}

fn share(section: &mut Section, key: &str) -> Result<f64, ScenarioError> {
    let share = section.or(key, 0.0)?;
    if (0.0..=1.0).contains(&share) {
        return Ok(share);
    }
    Err(section.refuse(key, format!("a share of {share} of the peers"), "a number from 0 to 1"))
}
