//! Events waiting that their own LPs have cancelled, for hosts: nothing of them is to be seen.
//!
//! Invariant: hosts that take out an event ask here before they run it, and only once nothing can precede it.
//! Asking takes the event out of what its LP has cancelled: to an earlier event of the LP, handled after
//! that, it would look pending again.

use std::collections::BTreeSet;

use super::Federate;
use crate::withdrawn::{Entry, Withdrawn};
use crate::{Event, EventId, EventQueue, Key, LpId, Model, Partition, Time};

impl<M: Model, Q: EventQueue<M::Event>> Federate<M, Q> {
    /// Whether its LP has cancelled `event`, which was taken out of the queue and which nothing can precede
    /// any more; then it is not to happen, and the LP is through with it.
    #[inline(always)]
    pub fn pass_over(&mut self, partition: &Partition, event: &Event<M::Event>) -> bool {
        M::CANCELS && {
            let set = self.withdrawn.of::<M>(self.place.local(event.to(), partition));
            set.is_some_and(|set| set.pass_over(event.key()).is_some())
        }
    }

    /// The events waiting that `lp`, which must be one of this federate's, has cancelled, in the total order.
    pub fn cancelled_by(&self, lp: LpId, partition: &Partition) -> impl Iterator<Item = EventId> {
        self.withdrawn
            .at(self.place.local(lp, partition))
            .into_iter()
            .flat_map(Withdrawn::keys)
            .map(EventId::new)
    }

    /// Events waiting that are to happen: those that their LPs have cancelled are not. Takes time for each
    /// LP, if the model cancels.
    pub fn live(&self) -> usize {
        self.pending().saturating_sub(self.withdrawn.iter().map(Withdrawn::len).sum())
    }

    /// The time of the next event that is to happen; [`Time::MAX`] if there is none.
    pub fn next_time(&mut self, partition: &Partition) -> Time {
        if !M::CANCELS {
            return self.lvt();
        }
        self.put_back();
        // Cancelled events stay in the queue until their turn, so that a rollback finds them: all up to the
        // first that happens are taken out, and given back.
        let mut taken = Vec::new();
        let next = loop {
            let Some(event) = self.queue.pop(Time::MAX) else { break Time::MAX };
            let set = self.withdrawn.at(self.place.local(event.to(), partition));
            let cancelled = set.is_some_and(|set| set.contains(event.key()));
            let time = event.time();
            taken.push(event);
            if !cancelled {
                break time;
            }
        };
        taken.into_iter().for_each(|event| self.queue.push(event));
        next
    }

    /// What all its LPs have cancelled.
    pub(super) fn all_withdrawn(&self) -> BTreeSet<Key> {
        self.withdrawn.iter().flat_map(Withdrawn::keys).collect()
    }

    /// Takes in what an LP of this federate has cancelled.
    pub(crate) fn receive_withdrawn(&mut self, partition: &Partition, (lp, key, cause): Entry) {
        if let Some(set) = self.withdrawn.of::<M>(self.place.local(lp, partition)) {
            set.insert(key, cause);
        }
    }

    /// The same of all its LPs, for [`Federate::receive_withdrawn`].
    pub(super) fn withdrawn_entries(&self) -> impl Iterator<Item = Entry> {
        let entries = |(local, set)| {
            let lp = self.place.lp(local);
            Withdrawn::causes(set).map(move |(key, cause)| (lp, key, cause))
        };
        self.withdrawn.iter().enumerate().flat_map(entries)
    }
}
