//! The interface of network models: transfers go in, their ends come out.
//!
//! Invariants: time does not go backwards; every transfer ends at most once, and not before it has started;
//! ends are ordered by time (but for transfers that started before the present), at equal times by the
//! transfers' numbers.

use crate::{HostId, RouteError};

/// The number of a transfer, in the order in which transfers were started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TransferId(pub u32);

/// The end of a transfer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ended {
    /// The one that is over.
    pub transfer: TransferId,
    /// When, in seconds.
    pub at: f64,
    /// Whether all bytes arrived; false if a link on the route was off.
    pub arrived: bool,
}

/// A model of the time that transfers take.
///
/// ```
/// use paceline_network::{Constant, Ended, HostId, Network};
///
/// /// All ends, in order, when nothing else starts.
/// fn rest(network: &mut dyn Network) -> Vec<Ended> {
///     std::iter::from_fn(|| network.next().map(|at| network.advance(at))).flatten().collect()
/// }
/// let mut network = Constant::new(1.0);
/// for _ in 0..2 {
///     network.start(HostId(0), HostId(1), 1e6)?;
/// }
/// assert_eq!(rest(&mut network).iter().map(|end| end.at).collect::<Vec<_>>(), [1.0, 1.0]);
/// # Ok::<(), paceline_network::RouteError>(())
/// ```
pub trait Network {
    /// The time up to which the network was advanced, in seconds.
    fn now(&self) -> f64;

    /// How long a transfer of this size takes, in seconds, if that is already known: if it shares nothing
    /// with other transfers, and nothing on its route changes.
    fn alone(&self, from: HostId, to: HostId, bytes: f64) -> Option<f64> {
        let _ = (from, to, bytes);
        None
    }

    /// The least time, in seconds, for which a transfer between different hosts acts on no other. It may be
    /// more than that of some routes, where finding the least takes too long; it is never more than that
    /// of most.
    fn least_latency(&self) -> f64;

    /// Starts a transfer of this many bytes (finite, not negative) now.
    fn start(&mut self, from: HostId, to: HostId, bytes: f64) -> Result<TransferId, RouteError> {
        self.start_since(from, to, bytes, self.now())
    }

    /// Starts a transfer whose latency counts from the time `since`; the transfer waits for the rest of its
    /// latency. The links' current state applies. `since` may be after now. Where it is before now by
    /// less than a nanosecond, the transfer counts as started then, even if its latency is over before
    /// now, and its end may be reported with a time just before now: who starts transfers at whole
    /// nanoseconds knows their times more exactly, and the differences must not add up over a series.
    fn start_since(
        &mut self,
        from: HostId,
        to: HostId,
        bytes: f64,
        since: f64,
    ) -> Result<TransferId, RouteError>;

    /// The time of the next change inside the network, if there is one; a change does not always end a
    /// transfer.
    fn next(&mut self) -> Option<f64>;

    /// Advances to time `to`, which is not before [`Self::now`], and appends the transfers that have ended
    /// until then to `ended`.
    fn advance_into(&mut self, to: f64, ended: &mut Vec<Ended>);

    /// Advances to time `to`, which is not before [`Self::now`], and returns the transfers that have ended
    /// until then.
    fn advance(&mut self, to: f64) -> Vec<Ended> {
        let mut ended = Vec::new();
        self.advance_into(to, &mut ended);
        ended
    }

    /// Ends a transfer now, without reporting its end; the other transfers get its bandwidth from now on. Has
    /// no effect on a transfer that is over, even if its end is due now and was reported.
    fn cancel(&mut self, transfer: TransferId);
}
