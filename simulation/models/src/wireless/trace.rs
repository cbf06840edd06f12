//! Movements of hosts, read from files of other tools.
//!
//! Two formats: the movement commands of ns-2 as written by its tool `setdest`, by BonnMotion and by SUMO
//! ([`Format::Setdest`]), and BonnMotion's own format ([`Format::BonnMotion`]), each compressed by gzip or
//! not. Both become a list of *waypoints* per host: its place at certain times. Between two waypoints a host
//! moves in a straight line at constant speed; before the first and after the last it stands still.
//!
//! To add a format, name it in [`Format::ALL`], read it in a module beside `setdest`, and describe it in
//! `docs/files.md` and `docs/scenarios.md`.
//!
//! Hosts keep the numbers that the file gives them, which may have gaps; places are given out in the file's
//! coordinates.
//!
//! Invariants: no text makes a reader panic; anything not understood is refused with file, line and column,
//! and with what is allowed. The memory needed is bounded by the length of the file, which is bounded by
//! [`MOST_BYTES`].

mod bonnmotion;
mod path;
mod setdest;

use std::ops::Range;
use std::path::Path;

use paceline_kernel::Time;
use paceline_scenario::ScenarioError;

use super::MOST_HOSTS;
use super::space::{Point, Space};
use crate::input::{Flaw, Input, shown};

/// The most bytes of a file, and of the text in it if it is compressed.
pub const MOST_BYTES: u64 = 256 << 20;
/// The greatest absolute value of a coordinate.
const FARTHEST: f64 = 1e7;
/// The latest time in a file.
const LATEST_S: f64 = 1e8;

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// ns-2: `$node_(0) set X_ 10.0` and `$ns_ at 1.5 "$node_(0) setdest 20.0 30.0 2.5"`.
    Setdest,
    /// BonnMotion's `.movements`: one line per host, with repeated `time x y`.
    BonnMotion,
}

impl Format {
    /// All of them, with the name used in scenario files.
    pub const ALL: [(&'static str, Self); 2] = [("setdest", Self::Setdest), ("bonnmotion", Self::BonnMotion)];
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Waypoint {
    at_ns: u64,
    x: f64,
    y: f64,
}

/// What a reader finds in a file.
#[derive(Debug)]
struct Movements {
    /// The number of each host in the file, ascending.
    numbers: Vec<u32>,
    /// Of each of these hosts, at least one.
    waypoints: Vec<Vec<Waypoint>>,
    /// Hosts without an initial place, which begin at (0, 0).
    unplaced: u32,
}

/// How all hosts move.
///
/// ```
/// use paceline_models::wireless::trace::{Format, Trace};
/// let trace = Trace::read("two.movements", "0 0 0 10 100 0\n0 5 5\n", Format::BonnMotion)?;
/// assert_eq!(trace.hosts(), 2);
/// assert_eq!(trace.position(0, paceline_kernel::Time::secs(4)), (40.0, 0.0));
/// # Ok::<(), paceline_scenario::ScenarioError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    hosts: Vec<Vec<Waypoint>>,
    /// The number of each host in the file, ascending.
    numbers: Vec<u32>,
    /// Hosts without an initial place, which begin at (0, 0).
    unplaced: u32,
    /// The least coordinates of all waypoints, and the extent of all waypoints from there.
    least: (f64, f64),
    extent: f64,
}

impl Trace {
    /// Reads a file.
    pub fn load(path: &Path, format: Format) -> Result<Self, ScenarioError> {
        let Input { name, text } = Input::load(path, MOST_BYTES)?;
        Self::read(&name, &text, format)
    }

    /// Reads the text of the file `name`.
    pub fn read(name: &str, text: &str, format: Format) -> Result<Self, ScenarioError> {
        let read = match format {
            Format::Setdest => setdest::read(text),
            Format::BonnMotion => bonnmotion::read(text),
        };
        let Movements { numbers, waypoints: hosts, unplaced } =
            read.map_err(|flaw| flaw.in_file(name, text))?;
        if hosts.is_empty() {
            let problem = "no host moves in this file";
            return Err(ScenarioError::in_file(name, text, 0..0, problem, "at least one host"));
        }
        let (mut least, mut most) = ((f64::MAX, f64::MAX), (f64::MIN, f64::MIN));
        for waypoint in hosts.iter().flatten() {
            least = (least.0.min(waypoint.x), least.1.min(waypoint.y));
            most = (most.0.max(waypoint.x), most.1.max(waypoint.y));
        }
        let extent = (most.0 - least.0).max(most.1 - least.1);
        Ok(Self { hosts, numbers, unplaced, least, extent })
    }

    /// The number of hosts.
    pub fn hosts(&self) -> u32 {
        self.hosts.len() as u32
    }

    /// The number that the file gives to a host.
    pub fn number(&self, host: u32) -> u32 {
        self.numbers[host as usize]
    }

    /// How many numbers between the least and the greatest are of no host.
    pub fn gaps(&self) -> u32 {
        let span = self.numbers.last().zip(self.numbers.first()).map_or(0, |(last, first)| last - first);
        span - (self.hosts() - 1)
    }

    /// How many hosts have no initial place in the file: they begin at (0, 0), as in ns-2 and ns-3.
    pub fn unplaced(&self) -> u32 {
        self.unplaced
    }

    /// Where a host is at `time`, in the units of the file.
    pub fn position(&self, host: u32, time: Time) -> (f64, f64) {
        let (waypoints, now) = (&self.hosts[host as usize], time.as_nanos());
        let after = waypoints.partition_point(|waypoint| waypoint.at_ns <= now);
        match (after.checked_sub(1).map(|before| waypoints[before]), waypoints.get(after)) {
            (Some(before), Some(after)) => between(before, *after, now),
            (Some(only), None) => (only.x, only.y),
            (None, Some(first)) => (first.x, first.y),
            (None, None) => unreachable!("every host has a waypoint"),
        }
    }

    /// A torus so large that no host is within `range` of another one across the border.
    pub(crate) fn space(&self, range: f64) -> Space {
        // A little more than needed, because places are rounded.
        Space::with_least(self.least, (self.extent + range).max(4.0 * range) * 1.001)
    }

    /// Where a host is at `time`, on the torus of [`Trace::space`].
    pub(crate) fn place(&self, space: Space, host: u32, time: Time) -> Point {
        let (x, y) = self.position(host, time);
        Point { x: space.ticks(x - self.least.0), y: space.ticks(y - self.least.1) }
    }
}

/// The place at `now` on the straight line between two waypoints, of which the second is later than `now`.
fn between(before: Waypoint, after: Waypoint, now: u64) -> (f64, f64) {
    let share = (now - before.at_ns) as f64 / (after.at_ns - before.at_ns) as f64;
    (before.x + (after.x - before.x) * share, before.y + (after.y - before.y) * share)
}

/// A word of the text, and its position in bytes.
#[derive(Clone, Debug)]
struct Word<'t> {
    text: &'t str,
    at: Range<usize>,
}

impl Word<'_> {
    fn refuse(&self, problem: impl Into<String>, allowed: impl Into<String>) -> Flaw {
        Flaw::new(self.at.clone(), problem, allowed)
    }

    /// The word as messages show it.
    fn shown(&self) -> String {
        shown(self.text)
    }

    fn number(&self, what: &str, least: f64, most: f64) -> Result<f64, Flaw> {
        let found = self.text.parse::<f64>().ok().filter(|number| (least..=most).contains(number));
        let refuse = || {
            self.refuse(format!("`{}` as {what}", self.shown()), format!("a number from {least} to {most}"))
        };
        // Turns -0 into +0.
        found.map(|number| number + 0.0).ok_or_else(refuse)
    }

    fn finite(&self) -> Result<f64, Flaw> {
        self.number("a number", f64::MIN, f64::MAX)
    }

    fn coordinate(&self) -> Result<f64, Flaw> {
        self.number("a coordinate", -FARTHEST, FARTHEST)
    }

    /// A time from 0 on.
    fn seconds(&self) -> Result<f64, Flaw> {
        self.number("a time in seconds", 0.0, LATEST_S)
    }
}

/// Seconds in the range of [`Word::seconds`], to the nearest nanosecond.
fn nanoseconds(seconds: f64) -> u64 {
    libm::round(seconds * 1e9) as u64
}

#[cfg(test)]
mod test;
