//! The length of queues over time: samples of chosen ports, one each so many picoseconds.
//!
//! Invariant: what is sampled is a function of the port's state at that moment, hence the same whatever the
//! protocol. A sample is an event that carries what the one before it has seen: it becomes a result when that
//! is final, and no state remembers it.

use paceline_kernel::Time;
use serde::{Deserialize, Serialize};

/// Which queues are sampled, and how often.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sampling {
    /// Node and port, ascending.
    pub ports: Vec<(u32, u32)>,
    pub every: Time,
}

/// A queue at a moment.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct QueueSample {
    /// The simulated time at which the queue was looked at.
    pub at: Time,
    /// The node that sends.
    pub node: u32,
    /// The port of that node whose queue it is.
    pub port: u32,
    /// The packets that wait; the one that is being sent is not among them.
    pub packets: u32,
    /// Their bytes on the wire.
    pub bytes: u64,
}

impl Sampling {
    /// The ports of `node` that are sampled.
    pub fn ports(&self, node: u32) -> impl Iterator<Item = u32> {
        let from = self.ports.partition_point(|(other, _)| *other < node);
        self.ports[from..].iter().take_while(move |(other, _)| *other == node).map(|(_, port)| *port)
    }

    pub fn has(&self, node: u32, port: u32) -> bool {
        self.ports.binary_search(&(node, port)).is_ok()
    }

    pub fn is_empty(&self) -> bool {
        self.ports.is_empty()
    }
}
