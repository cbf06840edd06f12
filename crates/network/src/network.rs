//! The interface of network models: transfers go in, their ends come out.
//!
//! Invariants: time does not go backwards; every transfer ends at most once, and not before it has started; ends come in
//! the order of their times, and at equal times in the order of the transfers' numbers.

use crate::{HostId, RouteError};

/// A transfer, by the order in which transfers were started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TransferId(pub u32);

/// The end of a transfer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ended {
    /// Which transfer.
    pub transfer: TransferId,
    /// When, in seconds.
    pub at: f64,
    /// Whether all bytes arrived; else a link on the way was off.
    pub arrived: bool,
}

/// A model of how long transfers take.
pub trait Network {
    /// The time up to which the network was advanced, in seconds.
    fn now(&self) -> f64;

    /// Starts a transfer of so many bytes (finite, not negative) now.
    fn start(&mut self, from: HostId, to: HostId, bytes: f64) -> Result<TransferId, RouteError>;

    /// The time of the next change inside the network, if there is one; not every change ends a transfer.
    fn next(&mut self) -> Option<f64>;

    /// Goes on to time `to`, which is not before [`Self::now`], and hands out what has ended on the way.
    fn advance(&mut self, to: f64) -> Vec<Ended>;
}
