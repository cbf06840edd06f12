//! What the steps of an event keep to be undone, as words on the tape.
//!
//! Invariant: what is read from words is what they were made of.

use paceline_kernel::{Kept, Time};

use super::scene::Scene;
use super::state::{Waiting, WaitsFor};

/// What `serve` did, besides the crossings themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Served {
    /// The number of the node that served.
    pub here: u32,
    /// Vehicles that crossed: fewer than 2^29, as a run has fewer vehicles.
    pub crossed: u32,
    /// Whether a place was reserved for the first of them.
    pub promised: bool,
    /// What the first of them waited for.
    pub waits_for: WaitsFor,
}

impl Served {
    pub fn word(self) -> u64 {
        pack(self.here, self.crossed << 3 | u32::from(self.promised) << 2 | self.waits_for as u32)
    }

    pub fn from_word(word: u64) -> Self {
        let (here, rest) = unpack(word);
        let waits_for = match rest & 3 {
            0 => WaitsFor::Idle,
            1 => WaitsFor::Light,
            _ => WaitsFor::Room,
        };
        Self { here, crossed: rest >> 3, promised: rest & 4 != 0, waits_for }
    }
}

/// The vehicle that got the place that became free on a road.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taker {
    Nobody,
    /// The first vehicle that starts here.
    Starting,
    /// The first vehicle of an approach.
    Approach(u16),
}

impl Taker {
    pub fn word(self) -> u64 {
        match self {
            Self::Nobody => 0,
            Self::Starting => 1,
            Self::Approach(number) => 2 + u64::from(number),
        }
    }

    pub fn from_word(word: u64) -> Self {
        match word {
            0 => Self::Nobody,
            1 => Self::Starting,
            _ => Self::Approach((word - 2) as u16),
        }
    }
}

pub(super) fn pack(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

pub(super) fn unpack(word: u64) -> (u32, u32) {
    ((word >> 32) as u32, word as u32)
}

/// Keeps a vehicle that leaves its queue.
pub(super) fn keep(scene: &mut impl Scene, waiting: Waiting) {
    scene.keep(waiting.since.as_nanos());
    scene.keep(pack(waiting.vehicle, waiting.target));
}

/// Restores a kept vehicle.
pub(super) fn kept(words: &mut Kept<'_>) -> Waiting {
    let (vehicle, target) = unpack(words.word());
    Waiting { vehicle, target, since: Time::nanos(words.word()) }
}
