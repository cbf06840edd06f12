//! Memory: what the process has used at most, what a run needs at its start, and what there is.
//!
//! The estimate is of the start: the model as it is, LPs with their states, and the first events. Its factors
//! were measured with PHOLD of 200,000 and 1,000,000 LPs and 1 to 16 events each: within 8 % of the peak
//! where the protocol is given, within 21 % under `auto`. Events that pile up later, and what a model gathers
//! in its output, cannot be estimated before.

mod limit;

use std::fmt;

use paceline_engine::Protocol;
use paceline_kernel::{Beginnings, Model};
use paceline_scenario::{ScenarioError, Section};

pub use limit::{Limit, of_machine};

use crate::settings::RunSettings;
use crate::text;

/// Of threads and their buffers, besides what the program has once its model is built.
const PROGRAM: f64 = 4.0e6;
/// Of an LP, besides its state: its counters, and its place in batches and logs of federates.
const LP: f64 = 26.0;
/// LPs that are started to see how large their states are, and what they send first.
const SAMPLED: u32 = 64;

/// The peak of resident memory in bytes, where the system reports it (Linux).
pub fn peak_bytes() -> Option<u64> {
    of_process("VmHWM:")
}

/// Resident memory in bytes, where the system reports it (Linux).
pub fn resident_bytes() -> Option<u64> {
    of_process("VmRSS:")
}

/// A line of /proc/self/status in bytes.
fn of_process(line: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|other| other.strip_prefix(line))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

/// How often an event that waits is in memory: in its queue, which has room for more, and on its way into a
/// batch. A queue that is worked off one event at a time takes more; `auto` may come to either.
fn copies(protocol: Protocol) -> f64 {
    match protocol {
        Protocol::Sequential => 2.9,
        Protocol::Auto => 2.4,
        _ => 1.9,
    }
}

/// What a run needs at its start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Bytes of the whole process, the program included.
    pub bytes: u64,
    /// The number of LPs of the model, in all processes.
    pub lps: u32,
    /// Bytes of a state, on average.
    pub state_bytes: f64,
    /// First events of an LP, on average.
    pub events: f64,
}

impl Estimate {
    /// Of a run of `model`. Starts a few LPs, evenly spread, to see what they are like.
    pub fn of<M: Model>(model: &M, settings: &RunSettings) -> Self {
        let Beginnings { lps, state_bytes, events } =
            Beginnings::of(model, settings.seed, settings.ties(), SAMPLED);
        let each = |sum: usize| sum as f64 / f64::from(lps.max(1));
        let (state, first) = (each(state_bytes), each(events));
        let event = first * Beginnings::event_bytes::<M>() as f64;
        let lp = LP + state + copies(settings.protocol) * event;
        let now = of_process("VmRSS:").unwrap_or(0) as f64;
        let bytes = now + PROGRAM + f64::from(model.lps()) * lp;
        Self { bytes: bytes as u64, lps: model.lps(), state_bytes: state, events: first }
    }

    /// Refuses a run that needs more than there is; `model` is the section that says how large it is.
    pub fn check(&self, model: &Section, settings: &RunSettings) -> Result<(), ScenarioError> {
        let Some(limit) = of_machine().filter(|limit| self.bytes > limit.bytes && !settings.exceed_memory)
        else {
            return Ok(());
        };
        let problem = format!(
            "{} LPs, each with a state of {} bytes and {} first events, need about {}, and {limit}",
            text::count(self.lps.into()),
            text::decimal(self.state_bytes.round()),
            text::decimal(self.events),
            text::bytes(self.bytes),
        );
        Err(model.refuse(
            "lps",
            problem,
            "a smaller model, or `exceed_memory = true` in [run] to try nevertheless",
        ))
    }
}

impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "about {} at the start", text::bytes(self.bytes))?;
        match of_machine() {
            Some(limit) => write!(f, "; {limit}"),
            None => Ok(()),
        }
    }
}
