//! Ends running ahead: rolls back what is not final - at the end of a run, for a checkpoint, or where memory
//! is short - and gives the plain federate back.

use super::{EventError, Rollbacks, Warp};
use crate::{EventQueue, Federate, Key, Model, Outbox, Partition, Time, catch};

impl<M: Model, Q: EventQueue<M::Event>> Warp<M, Q> {
    /// Commits everything before `gvt`, rolls back everything else that is not committed yet, and cancels
    /// what that has sent. Afterwards, and once the mail that this makes has been received everywhere,
    /// nothing is speculative any more. Fails with what went wrong in an event before `gvt`, which cannot be
    /// rolled back. What went wrong later, also before the safe bound, is taken back, and may come again.
    pub fn retreat(
        &mut self,
        model: &M,
        partition: &Partition,
        gvt: Time,
        outbox: &mut Outbox<M::Event>,
    ) -> Result<(), Box<EventError>> {
        let retreated = catch(|| {
            // What is final first: rolling back would take it along.
            self.log.commit_all(model, &mut self.base, gvt);
            if let Some(trouble) = self.trouble(gvt) {
                return Err(trouble);
            }
            self.fall_back(model, partition, Time::ZERO, outbox);
            self.lost.clone().map_or(Ok(()), Err)
        });
        retreated.unwrap_or_else(|panic| Err(EventError::of_caught(panic)))
    }

    /// Rolls back everything from `time` on that is not final.
    pub(super) fn fall_back(
        &mut self,
        model: &M,
        partition: &Partition,
        time: Time,
        outbox: &mut Outbox<M::Event>,
    ) {
        self.base.put_back();
        for local in self.stuck.keys().copied().collect::<Vec<_>>() {
            self.unstick(local as usize);
        }
        for local in self.log.alive_lps() {
            self.roll_back(model, partition, local, Key::least(time), false, outbox);
        }
        self.give_up_before(partition, Time::MAX, outbox);
        self.recall(model, partition, outbox);
        self.stats.retreats += 1;
        self.log.shed();
        self.base.reach = self.log.reach();
        // What was run beyond is gone, and the front falls back with it.
        self.reached = self.base.reach.max(time);
    }

    /// The federate, once it has retreated and has received the mail of all others that have.
    pub fn settle(mut self) -> (Federate<M, Q>, Rollbacks) {
        assert!(self.log.is_empty(), "a federate retreats before it settles");
        let mut kept = Vec::with_capacity(self.base.queue.len());
        if self.base.cancelled.len() > 0 {
            let (queue, cancelled) = (&mut self.base.queue, &mut self.base.cancelled);
            queue.drain(Time::MAX, |event| {
                if !cancelled.takes(&event) {
                    kept.push(event);
                }
            });
            kept.into_iter().for_each(|event| self.base.queue.push(event));
        }
        // What is left here would drop events of the next leg.
        assert!(self.base.cancelled.len() == 0, "every message that is cancelled has arrived");
        self.base.hold(false);
        (self.stats.commits, self.stats.commit_visits) = (self.log.commits, self.log.commit_visits);
        (self.base, self.stats)
    }
}
