//! How the processes of a run agree: what [`Rounds`](super::rounds::Rounds) says is sent, and what arrives
//! for it is handed to it.
//!
//! Invariant: a message is of the round that its sender contributes to next, from the moment at which it
//! waits to be sent.

use paceline_kernel::Model;

use super::rounds::{Saying, ToSend};
use super::{Contribution, Delivery, DeliveryError, NAP, Peers, PeersError, PeersErrorKind, codec};
use crate::RunError;
use crate::sync::lock;

impl<M: Model> Peers<M> {
    /// Sends what processes say of a round.
    fn send(&self, sends: ToSend) {
        for (to, saying) in sends {
            self.send_record(to, |out| codec::saying(out, &saying));
        }
    }

    /// The process `from` says something of a round.
    pub(super) fn heard(&self, from: u32, saying: Saying) -> Result<(), RunError> {
        let sends = lock(&self.rounds).hear(from, saying);
        let fit = sends.ok_or_else(|| self.damaged(from, "what it says is not of the round that is open"));
        fit.map(|sends| self.send(sends))
    }

    /// Contributes to the round that is open, where others contribute by themselves.
    pub(crate) fn contribute(&self, contribution: Contribution) {
        self.say(contribution, false);
    }

    /// Contributes to the round that is open, and asks the others to contribute too.
    pub(crate) fn contribute_and_ask(&self, contribution: Contribution) {
        self.say(contribution, true);
    }

    fn say(&self, mut contribution: Contribution, asks: bool) {
        (contribution.asks, contribution.slowest) = (asks, self.rank());
        for rank in self.others_of(self.rank()) {
            let sent = lock(&self.outgoing[rank as usize]).next_round();
            if sent > 0 {
                contribution.sent.push((rank, sent));
            }
        }
        // Whoever contributes by itself looks for messages once it knows what all have come to; by then they
        // must be there. To neighbours they go together with what follows.
        let near: Vec<u32> = lock(&self.rounds).neighbours().collect();
        let send_off = |rank: u32| self.send_off(rank, asks);
        self.others_of(self.rank()).filter(|rank| !near.contains(rank)).for_each(send_off);
        let sends = lock(&self.rounds).contribute(contribution);
        self.send(sends);
        near.into_iter().for_each(send_off);
    }

    /// Notes an error if messages of the round that is open can never come. The caller handles what has
    /// arrived, and nobody else. Signs of life show that: without a limit for silence there are none, and a
    /// process that lies is waited for.
    pub(super) fn look_for_missing(&self) {
        let arrived = lock(&self.arrived);
        let round = self.others_of(self.rank()).map(|rank| arrived.rounds[rank as usize]).min();
        // What waits to be handled has not been counted as received.
        let is_handled = arrived.messages.is_empty();
        drop(arrived);
        let missing = round.filter(|_| is_handled).map_or(0, |round| lock(&self.rounds).missing(round));
        if missing > 0 {
            self.note(PeersError::new(self.rank(), PeersErrorKind::Missing(missing)));
        }
    }

    pub(crate) fn has_contributed(&self) -> bool {
        lock(&self.rounds).has_contributed()
    }

    /// Whether another process wants this one to contribute to the round that is open.
    pub(crate) fn is_asked(&self) -> bool {
        lock(&self.rounds).is_asked()
    }

    /// What all processes have come to, if the round is complete; then the next one is open.
    pub(crate) fn complete(&self) -> Option<Contribution> {
        lock(&self.rounds).complete()
    }

    /// Contributes, and waits until all have: for the owner of the run, between legs and at their ends. What
    /// a process sends after its contribution stays for later.
    pub(crate) fn agree(
        &self,
        contribution: Contribution,
        mut handle: impl FnMut(Delivery<M>) -> Result<(), DeliveryError>,
    ) -> Result<Contribution, RunError> {
        self.contribute(contribution);
        let _handling = lock(&self.handling);
        let mut later = Vec::new();
        loop {
            if let Some(all) = self.complete() {
                let messages = &mut lock(&self.arrived).messages;
                // They were taken out first, so they go back in front, in their order.
                later.into_iter().rev().for_each(|message| messages.push_front(message));
                return Ok(all);
            }
            self.drain();
            match self.next()? {
                Some((from, message))
                    if message.round().is_some_and(|of| !lock(&self.rounds).is_open(of)) =>
                {
                    later.push((from, message));
                }
                Some((from, message)) => self.handle(from, message, &mut handle)?,
                None if self.is_pending() => {}
                None => {
                    self.look_for_missing();
                    self.transport.wait(NAP);
                }
            }
        }
    }
}
