//! What a port under flow control remembers: its queue, what its neighbour has paused, and what the neighbour
//! is to pause.

use serde::{Deserialize, Serialize};

use crate::packet::{Carried, Held};
use crate::queue::{Classes, Queue};

/// What such a port remembers besides.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Controlled {
    pub queue: Queue<Carried>,
    /// What the neighbour has paused.
    pub paused: Classes,
    /// What the neighbour is to pause, and what the last frame to it said.
    pub wanted: Classes,
    pub announced: Classes,
    /// The packet that is being sent, which still counts in the switch.
    pub sending: Option<Held>,
    /// Frames that paused a class.
    pub pauses: u64,
}

impl Controlled {
    pub fn new(queue: Queue<Carried>) -> Self {
        let none = Classes::NONE;
        Self { queue, paused: none, wanted: none, announced: none, sending: None, pauses: 0 }
    }
}
