//! Looking at a federate from outside, for hosts that compare, show or explain what it does; nothing here
//! changes what it will do.
//!
//! Between two calls of [`Federate::step`] all there is to know of an LP is in its state and its counter of
//! random numbers, and all events sent are in the queue.

use super::Federate;
use crate::{Event, EventQueue, LpId, Model, Partition, Time};

impl<M: Model, Q: EventQueue<M::Event>> Federate<M, Q> {
    /// The event queue, for hosts that brought their own kind. Events of a batch in hand are not in it.
    pub fn queue(&self) -> &Q {
        &self.queue
    }

    /// Shows the events waiting, in any order, but those that their LPs have cancelled. Takes time for each
    /// of them.
    pub fn look_at_pending(&mut self, mut look: impl FnMut(&Event<M::Event>)) {
        self.put_back();
        let mut events = Vec::with_capacity(self.queue.len());
        self.queue.drain(Time::MAX, |event| events.push(event));
        let withdrawn = self.all_withdrawn();
        for event in events {
            if !withdrawn.contains(&event.key()) {
                look(&event);
            }
            self.queue.push(event);
        }
    }

    /// The state of `lp`, which must be one of this federate's, and how many random numbers the LP has drawn.
    pub fn look(&self, lp: LpId, partition: &Partition) -> (&M::State, u64) {
        let lp = &self.lps[self.place.local(lp, partition)];
        (&lp.state, lp.core.draws)
    }
}
