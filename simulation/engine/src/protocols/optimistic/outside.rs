//! Outside federates in an optimistic leg: they are handed what nobody can take back any more, and their
//! answers move GVT on. Those that run ahead are handed everything at once.
//!
//! Invariants: a federate that is asked counts as held, with the floor that it had; so GVT waits for it, and
//! no worker does. One that runs ahead is never held for longer than a worker needs to take in what it has
//! said and hand over what is new; only the worker that holds it does that, so that its standings are taken
//! in, and reported, in the order in which it said them.

use paceline_kernel::{Bounds, Effort, Model, Time, Wants, WarpTurn};

use super::state::Stand;
use super::{Desk, Optimistic, SPARE};
use crate::outside::{Answer, Asked, Heard, Proxy};
use crate::sync::lock;

impl<M: Model> Optimistic<'_, M> {
    /// Asks an outside federate to run as far as is safe. If there is something for it to do, it stands
    /// nowhere until it answers.
    pub(super) fn ask(
        &self,
        proxy: &mut Proxy<M>,
        bounds: Bounds,
        desk: &mut Desk<M::Event>,
    ) -> Option<Stand> {
        for mut mail in desk.arrived.drain(..) {
            proxy.receive_mail(&mut mail);
            if desk.spare.len() < SPARE {
                desk.spare.push(mail);
            }
        }
        if proxy.is_ahead() {
            return Some(self.exchange(proxy, bounds, desk));
        }
        // Nothing before this can be taken back, nor is anything still to be sent there.
        let safe = bounds.gvt.saturating_add(self.shared.model.lookahead()).min(self.shared.until);
        match proxy.advance(safe) {
            Asked::Yes => {
                // Before anybody can hear the answer, which takes the seat.
                lock(&self.shared.state).outside += 1;
                None
            }
            Asked::No => Some(self.stand(proxy.lvt())),
        }
    }

    /// Takes in what a federate that runs ahead has said, and hands over what is new for it.
    fn exchange(&self, proxy: &mut Proxy<M>, bounds: Bounds, desk: &mut Desk<M::Event>) -> Stand {
        let said = proxy.take_in_said(self.shared.partition, &mut desk.outbox);
        let effort = said.unwrap_or_else(|error| {
            self.shared.fail(error);
            Effort::default()
        });
        let patient = proxy.hand_over(bounds);
        let wants = Wants { patient, ahead: patient, again: false };
        Stand { turn: WarpTurn::Waits, floor: proxy.lvt(), wants, front: Time::ZERO, effort }
    }

    /// Where an outside federate stands that does nothing before `floor`.
    fn stand(&self, floor: Time) -> Stand {
        // It may go on once the least of all is less than the lookahead behind it.
        let patient = match floor.saturating_sub(self.shared.model.lookahead()) {
            _ if floor >= self.shared.until => Time::MAX,
            safe => safe.saturating_add(Time::TICK),
        };
        let wants = Wants { patient, ahead: patient, again: false };
        Stand { turn: WarpTurn::Waits, floor, wants, front: Time::ZERO, effort: Effort::default() }
    }

    /// Takes in an answer of an outside federate. Says whether there was one.
    pub(super) fn hear(&self, desk: &mut Desk<M::Event>) -> bool {
        let Some((id, answer)) = self.shared.answer() else { return false };
        let mut seated = lock(&self.seats[id as usize].warp);
        let proxy = seated.proxy().expect("whoever answers is outside");
        let ahead = proxy.is_ahead();
        // What it has said is taken in by whoever runs it next, most likely this worker.
        if ahead && matches!(answer, Answer::Stands) {
            drop(seated);
            lock(&self.shared.state).call(id);
            return true;
        }
        let heard = proxy.hear(answer, self.shared.partition, &mut desk.outbox);
        let lvt = proxy.lvt();
        drop(seated);
        match heard {
            Ok(None) if ahead => lock(&self.shared.state).call(id),
            Ok(None) => {}
            Ok(Some(Heard::Promise(floor))) => {
                let mut state = lock(&self.shared.state);
                if state.promised(id, floor) {
                    let gvt = state.gvt.value().min(self.shared.until);
                    self.shared.monitor.advance(gvt, 0);
                    desk.recorder.gvt(gvt);
                }
                let over = state.ending.over;
                drop(state);
                if over { self.shared.idle.wake_all() } else { self.shared.idle.wake(self.shared.useful) }
            }
            Ok(Some(Heard::Done(_))) => {
                lock(&self.shared.state).outside -= 1;
                desk.stands.push((id, self.stand(lvt)));
                self.hand_over(desk);
            }
            Err(error) => self.shared.fail(error),
        }
        true
    }
}
