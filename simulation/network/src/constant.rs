//! The constant network: every transfer takes the same time, whatever its size and the number of other
//! transfers.
//!
//! It is the reference implementation of [`Network`], and the model to use if the network does not matter.
//! SimGrid's model of that name takes 1 s.

use std::collections::VecDeque;

use crate::network::{Ended, Network, TransferId};
use crate::{HostId, RouteError};

/// A network on which every transfer takes the same time.
///
/// ```
/// use paceline_network::{Constant, HostId, Network};
///
/// let mut network = Constant::new(0.5);
/// network.start(HostId(0), HostId(1), 1e9)?;
/// assert_eq!(network.next(), Some(0.5));
/// assert_eq!(network.advance(2.0)[0].at, 0.5);
/// # Ok::<(), paceline_network::RouteError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Constant {
    seconds: f64,
    now: f64,
    started: u32,
    /// Pending ends, in the order of time.
    open: VecDeque<Ended>,
}

impl Constant {
    /// A network on which a transfer takes this many seconds (finite, not negative).
    pub fn new(seconds: f64) -> Self {
        assert!(seconds.is_finite() && seconds >= 0.0, "a duration is finite and not negative: {seconds}");
        Self { seconds, now: 0.0, started: 0, open: VecDeque::new() }
    }
}

impl Network for Constant {
    fn now(&self) -> f64 {
        self.now
    }

    fn alone(&self, _: HostId, _: HostId, _: f64) -> Option<f64> {
        Some(self.seconds)
    }

    fn least_latency(&self) -> f64 {
        self.seconds
    }

    fn start_since(&mut self, _: HostId, _: HostId, _: f64, since: f64) -> Result<TransferId, RouteError> {
        let transfer = TransferId(self.started);
        self.started += 1;
        // Nearly always the last place: starts come in the order of time, up to parts of a nanosecond.
        let at = (since + self.seconds).max(self.now);
        let later = self.open.iter().rev().take_while(|end| end.at > at).count();
        self.open.insert(self.open.len() - later, Ended { transfer, at, arrived: true });
        Ok(transfer)
    }

    fn next(&mut self) -> Option<f64> {
        self.open.front().map(|end| end.at)
    }

    fn advance_into(&mut self, to: f64, ended: &mut Vec<Ended>) {
        assert!(to >= self.now, "time does not go backwards");
        self.now = to;
        let due = self.open.partition_point(|end| end.at <= to);
        ended.extend(self.open.drain(..due));
    }

    fn cancel(&mut self, transfer: TransferId) {
        if let Some(place) = self.open.iter().position(|end| end.transfer == transfer) {
            self.open.remove(place);
        }
    }
}
