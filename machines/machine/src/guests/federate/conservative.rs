//! A conservative federate: windows from LBTS to LBTS plus lookahead, and a reduction by messages after each.
//!
//! It runs what is before the bound, in batches, and sends what leaves it. When nothing safe is left, or
//! after so many events, it takes part in the next reduction, and continues meanwhile. The reduction is
//! repeated until the messages sent before their senders joined have all come; its result is LBTS, and the
//! bound LBTS plus lookahead.
//!
//! A federate without an incoming channel from another federate never receives a message: its bound is the
//! horizon.
//!
//! Invariant: no event arrives before the bound.

use paceline_kernel::{Federate, Model, Progress, Time};

use super::desk::{Desk, Pass};
use crate::Guest;

/// The federate, and how far it may go.
pub(super) struct Conservative<M: Model> {
    pub federate: Federate<M>,
    bound: Time,
    /// Events since the last contribution to a reduction.
    since: u64,
    /// Whether nothing is left before the bound.
    idle: bool,
    /// Whether the current reduction is to be repeated, and this federate has not contributed to that yet.
    again: bool,
}

impl<M: Model + 'static> Conservative<M> {
    /// A federate that may go as far as `bound` before it hears from others.
    pub fn new(federate: Federate<M>, bound: Time) -> Self {
        Self { federate, bound, since: 0, idle: false, again: false }
    }

    /// Makes one step: a part in a reduction, a batch, or waiting.
    pub fn turn(&mut self, desk: &mut Desk<M>, guest: &mut Guest<'_>) {
        desk.sweep(guest);
        // Before the result: what the pass counts as received is in the federate when the bound rises.
        if !desk.arrived.events.is_empty() {
            self.federate.receive(desk.arrived.events.drain(..));
            self.idle = false;
        }
        match desk.result() {
            None => {}
            Some(Pass::Failed) => return desk.end(guest, self.federate.events()),
            Some(Pass::Again) => (self.again, self.since) = (true, 0),
            Some(Pass::Least(lbts)) => {
                if lbts >= desk.settings.until {
                    return desk.end(guest, self.federate.events());
                }
                desk.tally.series.note(guest.now_ns(), self.federate.events());
                let bound = lbts.saturating_add(desk.lookahead).min(desk.settings.until);
                // It never falls: a federate that no other one reaches begins with the horizon as its bound.
                (self.bound, self.since, self.idle) = (self.bound.max(bound), 0, false);
            }
        }
        // What arrives may be for the bound or later; so this is the earliest event that can be committed.
        desk.report(guest, self.federate.lvt().min(self.bound));
        // Seldom while it has work, because each pass costs messages; at once when nothing safe is left.
        let due = self.idle || self.since >= u64::from(desk.settings.gvt_period);
        if due && (self.again || !desk.has_joined()) {
            let (floor, failed) = (self.federate.lvt(), self.federate.trouble().is_some());
            self.since = 0;
            if std::mem::take(&mut self.again) {
                return desk.contribute(floor, failed);
            }
            return desk.join(floor, failed);
        }
        if self.idle {
            return desk.wait(guest);
        }
        let before = self.federate.events();
        let budget = desk.settings.batch as usize;
        let progress =
            self.federate.advance(&desk.model, &desk.partition, self.bound, budget, &mut desk.outbox);
        let ran = self.federate.events() - before;
        self.since += ran;
        self.idle = progress != Progress::More;
        if ran > 0 {
            desk.charge(desk.settings.poll_ns + ran * desk.settings.event_ns);
            desk.post();
        }
    }
}
