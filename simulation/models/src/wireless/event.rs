//! The messages between hosts and regions.

use serde::{Deserialize, Serialize};

use super::space::Point;

/// A message of the model.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the variants say what their fields are")]
pub enum WirelessEvent {
    /// To a host: time to move, and to send the next ping.
    Step,
    /// To a region: a host in it, or within range of it, pings.
    Ping { host: u32, at: Point },
    /// To a region, from itself: all pings of the step have arrived.
    Match,
    /// To a host: the hosts whose pings it hears in this step. Also time to move and to ping, see
    /// [`Deliveries::Together`].
    ///
    /// [`Deliveries::Together`]: super::Deliveries::Together
    HeardAll(Box<[u32]>),
    /// To a host: it hears one ping.
    Heard {
        from: u32,
        /// For the first ping of a step, the number of pings in that step; 0 for the others.
        of: u32,
    },
}
