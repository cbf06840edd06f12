//! The end of an optimistic leg: whatever is not final is rolled back, until every federate is as plain as under any other
//! protocol.

use paceline_kernel::{EventQueue, Federate, Model, Outbox, Rollbacks};

use super::{Optimistic, Seat};
use crate::leg::Outcome;

impl<M: Model, Q: EventQueue<M::Event>> Optimistic<'_, M, Q> {
    /// Takes the board apart after the leg: whatever is not final is rolled back.
    pub(crate) fn finish(self) -> Outcome<M, Q> {
        let mut state = self.state.0.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
        let width = Some(state.window.width());
        let mut outcome = Outcome { halt: state.halt, width, ..Outcome::default() };
        outcome.rollbacks = Some(Box::default());
        if let Some(trouble) = state.trouble {
            outcome.trouble = Some(*trouble);
            return outcome;
        }
        while !state.gvt.open_round() {}
        let gvt = state.gvt.value().min(self.until);
        let mut outbox = Outbox::new(self.partition.federates());
        let (mut warps, mut inboxes) = (Vec::new(), Vec::new());
        for Seat { warp, inbox } in self.seats {
            warps.push(warp.0.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()));
            inboxes.push(inbox.0.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()));
        }
        // The first time what is under way, the second time what rolling back has cancelled.
        for retreating in [true, false] {
            for (warp, inbox) in warps.iter_mut().zip(&mut inboxes) {
                for mut mail in inbox.drain(..) {
                    warp.receive(self.model, self.partition, &mut mail, &mut outbox);
                }
            }
            for warp in warps.iter_mut().filter(|_| retreating) {
                if let Err(trouble) = warp.retreat(self.model, self.partition, gvt, &mut outbox) {
                    outcome.trouble = Some(*trouble);
                    return outcome;
                }
            }
            outbox.flush_mail(|to, mail, _| inboxes[to as usize].push(std::mem::take(mail)));
        }
        let mut rollbacks = Rollbacks::default();
        for warp in warps {
            let (federate, own): (Federate<M, Q>, Rollbacks) = warp.settle();
            rollbacks.join(&own);
            outcome.federates.push(federate);
        }
        outcome.rollbacks = Some(Box::new(rollbacks));
        outcome.gvt_rounds = state.gvt.rounds();
        outcome.gvt_steps = state.gvt.steps();
        outcome.gvt_lag_ns = state.lag_ns;
        outcome
    }
}
