//! The events that nodes send to each other and to themselves: at most 16 bytes.

use serde::{Deserialize, Serialize};

/// A message to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum TrafficEvent {
    /// A vehicle is at the stop line.
    Arrive {
        /// The number of the vehicle: by origin, destination and draw.
        vehicle: u32,
        /// The road it came by, or `NO_ROAD` where its origin is its destination.
        road: u32,
        /// Where it goes, as a number among all destinations.
        target: u32,
    },
    /// It is time to release vehicles that start here.
    Depart,
    /// The light of this approach is green, and the headway to the previous vehicle is over.
    Wake {
        /// Place among the node's approaches.
        approach: u16,
    },
    /// A vehicle has left this exit's road at its far end.
    Space {
        /// Place among the node's exits.
        exit: u16,
    },
}

/// Stands for "no road": the vehicle never leaves its origin.
pub const NO_ROAD: u32 = u32::MAX;
