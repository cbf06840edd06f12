//! Outside federates under null messages: asked to continue, and heard whenever they answer.
//!
//! Invariant: a federate that was asked stays `Running` until its answer is heard, and is counted in
//! `outside`, so that a leg with nobody else ready waits for it and no worker does.

use paceline_kernel::{Links, Model, Time};

use super::{Channelled, Desk, Owner, Ran};
use crate::RunError;
use crate::outside::{Answer, Asked, Heard, Proxy};
use crate::sync::lock;

impl<M: Model> Channelled<'_, M> {
    /// Asks an outside federate to go on up to `bound`.
    pub(super) fn ask(
        &self,
        proxy: &mut Proxy<M>,
        links: &mut Links,
        bound: Time,
        desk: &mut Desk<M::Event>,
    ) -> Result<Ran, RunError> {
        let known = proxy.pending() + desk.arrived.iter().map(Vec::len).sum::<usize>();
        proxy.receive_batches(&mut desk.arrived);
        let (asked, lvt) = (proxy.advance(bound), proxy.lvt());
        let floor = lvt.min(bound);
        if asked == Asked::Yes {
            // `alive` counts all of these until the answer shows what has become of them.
            proxy.known = known;
            self.post(proxy.id(), links, floor, desk);
            // Before anybody can hear the answer, which takes the owner.
            let mut state = lock(&self.shared.state);
            state.outside += 1;
            state.lvts[proxy.id() as usize] = floor;
            self.touch_and_publish(&mut state, desk);
            return Ok(Ran::Asked(floor));
        }
        if !self.lives_on(proxy.pending() as i64 - known as i64, desk) {
            return Ok(Ran::Turn { more: false, floor: Time::MAX });
        }
        self.post(proxy.id(), links, floor, desk);
        self.want(proxy.id(), links, lvt, desk);
        Ok(Ran::Turn { more: false, floor })
    }

    /// Takes in an answer of an outside federate. Says whether there was one.
    pub(super) fn hear(&self, desk: &mut Desk<M::Event>) -> bool {
        let Some((id, answer)) = self.shared.answer() else { return false };
        match self.heard(id, answer, desk) {
            Ok(Some(Ran::Asked(floor))) => self.has_come(id, floor, desk),
            Ok(Some(turn)) => self.close(id, Ok(turn), desk, true),
            Ok(None) => {}
            Err(error) => self.shared.fail(error),
        }
        true
    }

    /// What the answer of an outside federate comes to; posts what it has sent and promised.
    fn heard(&self, id: u32, answer: Answer<M>, desk: &mut Desk<M::Event>) -> Result<Option<Ran>, RunError> {
        let mut owner = lock(&self.seats[id as usize].federate);
        let Owner { occupant, links } = &mut *owner;
        let proxy = occupant.proxy().expect("whoever answers is outside");
        match proxy.hear(answer, self.shared.partition, &mut desk.outbox)? {
            None => Ok(None),
            Some(Heard::Promise(floor)) => {
                self.post(id, links, floor, desk);
                Ok(Some(Ran::Asked(floor)))
            }
            Some(Heard::Done(bound)) => {
                let lvt = proxy.lvt();
                if !self.lives_on(proxy.pending() as i64 - proxy.known as i64, desk) {
                    return Ok(Some(Ran::Turn { more: false, floor: Time::MAX }));
                }
                if let Some(to) = self.undeclared(links, desk) {
                    return Err(proxy.undeclared(desk.outbox.to(to)));
                }
                let floor = lvt.min(bound);
                self.post(id, links, floor, desk);
                self.want(id, links, lvt, desk);
                Ok(Some(Ran::Turn { more: false, floor }))
            }
        }
    }

    /// Federate `id`, which is still at it, will do nothing before `floor`.
    fn has_come(&self, id: u32, floor: Time, desk: &mut Desk<M::Event>) {
        let mut state = lock(&self.shared.state);
        if state.ending.over {
            return;
        }
        state.lvts[id as usize] = floor;
        self.touch_and_publish(&mut state, desk);
        let wanted = self.wanted(&state);
        drop(state);
        self.shared.idle.wake(wanted);
    }
}
