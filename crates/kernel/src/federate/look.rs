//! Looking at a federate from outside, for hosts that compare or explain what it does; nothing here changes it.
//!
//! Between two calls of [`Federate::step`] all there is to know of an LP is in its state and its counter of random numbers,
//! and all events sent are in the queue.

use super::Federate;
use crate::{EventQueue, LpId, Model, Partition};

impl<M: Model, Q: EventQueue<M::Event>> Federate<M, Q> {
    /// The event queue.
    pub fn queue(&self) -> &Q {
        &self.queue
    }

    /// The state of `lp`, which must be one of this federate's, and how many random numbers the LP has drawn.
    pub fn look(&self, lp: LpId, partition: &Partition) -> (&M::State, u64) {
        let lp = &self.lps[self.place.local(lp, partition)];
        (&lp.state, lp.core.draws)
    }
}
