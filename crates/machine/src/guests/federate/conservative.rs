//! A conservative federate: windows from LBTS to LBTS plus lookahead, and a reduction by messages after each.
//!
//! It runs what is before the bound, in batches, and sends what leaves it. When nothing safe is left it takes part in the
//! reduction, with its least pending event and what it has sent and received. Nobody sends events between that and the
//! result; so if as much was received as was sent, everything has come, and the least of all is LBTS.
//!
//! Invariant: no event arrives before the bound.

use paceline_kernel::{BucketQueue, Federate, Model, Progress, Time};

use super::desk::{Desk, Pass};
use crate::Guest;

/// The federate, and how far it may go.
pub(super) struct Conservative<M: Model> {
    pub federate: Federate<M, BucketQueue<M::Event>>,
    bound: Time,
}

impl<M: Model + 'static> Conservative<M> {
    pub fn new(federate: Federate<M, BucketQueue<M::Event>>) -> Self {
        Self { federate, bound: Time::ZERO }
    }

    /// Goes on by one step: a batch, a part in a reduction, or waiting.
    pub fn turn(&mut self, desk: &mut Desk<M>, guest: &mut Guest<'_>) {
        desk.sweep(guest);
        self.federate.receive(desk.arrived.events.drain(..));
        match desk.result() {
            None => {}
            Some(Pass::Failed) => return desk.end(guest, self.federate.events()),
            Some(Pass::Again) => {
                return desk.contribute(self.federate.lvt(), self.federate.fault().is_some());
            }
            Some(Pass::Least(lbts)) => {
                if lbts >= desk.settings.until {
                    return desk.end(guest, self.federate.events());
                }
                desk.tally.series.note(guest.now_ns(), self.federate.events());
                self.bound = lbts.saturating_add(desk.lookahead).min(desk.settings.until);
            }
        }
        // What arrives may be for the bound or later; so this is the earliest event that can be committed.
        desk.report(guest, self.federate.lvt().min(self.bound));
        if desk.has_joined() {
            return desk.wait(guest);
        }
        let before = self.federate.events();
        let budget = desk.settings.batch as usize;
        let progress =
            self.federate.advance(&desk.model, &desk.partition, self.bound, budget, &mut desk.outbox);
        let ran = self.federate.events() - before;
        if ran > 0 {
            desk.charge(desk.settings.poll_ns + ran * desk.settings.event_ns);
            desk.post();
        } else if progress != Progress::More {
            desk.join(self.federate.lvt(), progress == Progress::Faulty);
        }
    }
}
