//! The state of a node: the ends of its roads, and the vehicles that wait there.

use std::collections::VecDeque;

use paceline_kernel::Time;
use serde::{Deserialize, Serialize};

/// The state of a node.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Node {
    /// Vehicles that started here and were released.
    pub(crate) gone: u32,
    /// One for each road that reaches the node.
    pub(crate) approaches: Box<[Approach]>,
    /// One for each road that leaves the node; empty if roads have unlimited room.
    pub(crate) exits: Box<[Exit]>,
}

impl Node {
    /// An empty node.
    pub(crate) fn new(approaches: usize, exits: usize) -> Self {
        let approaches = vec![Approach::default(); approaches].into();
        Self { gone: 0, approaches, exits: vec![Exit::default(); exits].into() }
    }

    /// The memory that a copy of the state takes, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let queued = self.approaches.iter().map(|approach| approach.queue.len()).sum::<usize>();
        let starting = self.exits.iter().map(|exit| exit.starting.len()).sum::<usize>();
        let ends = size_of_val(&*self.approaches) + size_of_val(&*self.exits);
        size_of::<Self>() + ends + (queued + starting) * size_of::<Waiting>()
    }

    /// Takes a place on the road of an exit. Does nothing if roads have unlimited room.
    pub(super) fn occupy(&mut self, exit: u16) {
        if let Some(exit) = self.exits.get_mut(usize::from(exit)) {
            exit.occupied = exit.occupied.wrapping_add(1);
        }
    }

    /// Frees a place on the road of an exit.
    pub(super) fn vacate(&mut self, exit: u16) {
        if let Some(exit) = self.exits.get_mut(usize::from(exit)) {
            exit.occupied = exit.occupied.wrapping_sub(1);
        }
    }
}

/// The end of a road that reaches the node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Approach {
    /// Vehicles at the stop line, the first in front.
    pub queue: VecDeque<Waiting>,
    /// The earliest time at which the next vehicle may follow the previous one.
    pub ready: Time,
    pub waits_for: WaitsFor,
    /// A place on the next road is reserved for the first vehicle.
    pub promised: bool,
    /// Vehicles that left the road.
    pub passed: u32,
    /// The greatest length of the queue so far.
    pub longest: u32,
    /// The total time that vehicles have waited at the stop line.
    pub waited_ns: u128,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum WaitsFor {
    #[default]
    Idle,
    Light,
    Room,
}

/// The start of a road that leaves the node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Exit {
    /// Vehicles on the road, including those that still cross the node and reserved places.
    pub occupied: u32,
    /// Vehicles that start their trip here and wait for room.
    pub starting: VecDeque<Waiting>,
}

/// A waiting vehicle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Waiting {
    pub vehicle: u32,
    pub target: u32,
    pub since: Time,
}
