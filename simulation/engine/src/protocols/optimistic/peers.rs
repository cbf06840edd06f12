//! Time Warp of several processes: messages and anti-messages go to the process of the receiver, and GVT is
//! agreed on in rounds.
//!
//! In each round a process contributes the least of its floors and of what it has sent since its last
//! contribution. The least of all is GVT, which no process exceeds. A message that is under way when its
//! sender contributes was sent since the contribution before - else the receiver has taken it in, since the
//! round before was complete - so it is counted by its sender, and by its receiver from then on. A
//! message that is sent after the sender's contribution and taken in before the receiver's comes from an
//! event that was counted itself (Mattern, 1993). No process waits in a round; one that is kept from its core
//! holds up nothing but GVT.
//!
//! Invariants: what has been sent is appended to its process's frames before it is reported, and reported
//! before the contribution that counts it; what arrives is in an inbox before its time lowers a floor.

use paceline_kernel::{Mail, Model, Time};

use super::state::{Rounds, State};
use super::{Desk, Optimistic};
use crate::RunError;
use crate::peers::{Contribution, Delivery, DeliveryError, Peers};
use crate::sync::lock;
use crate::watch::monitor::Halt;

impl<M: Model> Optimistic<'_, M> {
    /// Takes in what other processes have sent. Says whether there was anything.
    pub(super) fn hear_peers(&self, desk: &mut Desk<M::Event>) -> bool {
        let Some(peers) = self.shared.peers else { return false };
        let heard = peers.hear(|delivery| {
            let (to, mail) = mail_of(delivery)?;
            let least = least(&mail);
            // All have agreed on the limit; GVT here may be less.
            let limit = lock(&self.shared.state).gvt.limit();
            if least < limit {
                return Err(DeliveryError(format!("a message for {least}, before GVT, {limit}")));
            }
            lock(&self.seats[to as usize].inbox).push(mail);
            lock(&self.shared.state).delivered(to, least);
            Ok(())
        });
        match heard {
            Err(error) => {
                self.shared.fail(error);
                true
            }
            Ok(false) => false,
            Ok(true) => {
                let mut state = lock(&self.shared.state);
                self.take_part(&mut state, desk);
                let work = u32::try_from(state.work()).unwrap_or(u32::MAX);
                let awake = state.taken - state.outside + 1;
                drop(state);
                self.shared.idle.wake(work.min(self.shared.useful.saturating_sub(awake)));
                true
            }
        }
    }

    /// Contributes to the round that is open, if this process has news or is asked, and moves GVT on if the
    /// round is complete. Says whether it did anything.
    pub(super) fn take_part(&self, state: &mut State, desk: &mut Desk<M::Event>) -> bool {
        let Some(peers) = self.shared.peers else { return false };
        let mut any = false;
        loop {
            if state.ending.over {
                return any;
            }
            if !peers.has_contributed() && self.is_due(state, peers) {
                let halt = self.shared.monitor.halt();
                let least = state.gvt.own_least().min(state.across.sent);
                state.across =
                    Rounds { sent: Time::MAX, contributed: least, contributed_halt: halt.is_some() };
                peers.contribute_and_ask(Contribution { least, halt, ..Contribution::default() });
                any = true;
            }
            let Some(all) = peers.complete() else { return any };
            any = true;
            let limit = state.gvt.limit();
            if all.least < limit {
                let what = format!("it is at {}, before GVT, {limit}", all.least);
                let error = peers.damaged(all.slowest, what);
                state.ending.error.get_or_insert(error);
                self.shared.end(state, Some(Halt::Stop));
                return true;
            }
            if state.agreed(all.least) {
                let gvt = state.gvt.value().min(self.shared.until);
                self.shared.monitor.advance(gvt, 0);
                desk.recorder.gvt(gvt);
            }
            match all.halt {
                _ if state.ending.over => self.shared.idle.wake_all(),
                Some(halt) => self.shared.end(state, Some(halt)),
                None => {}
            }
        }
    }

    /// Whether GVT waited for this process, which has moved on since; else it waits for another one, which
    /// will ask. A message sent for the instant of GVT counts in one contribution and keeps GVT where it is;
    /// the next contribution is due at once then, as that one was no later than GVT.
    fn is_due(&self, state: &State, peers: &Peers<M>) -> bool {
        let (least, limit) = (state.gvt.own_least(), state.gvt.limit());
        peers.is_asked()
            || state.across.contributed <= limit && least > limit
            || !state.across.contributed_halt && self.shared.monitor.halt().is_some()
    }

    /// Waits until all processes have sent what they have to send, and delivers it: at the end of a leg.
    pub(super) fn settle(
        peers: &Peers<M>,
        inboxes: &mut [Vec<Mail<M::Event>>],
        halt: Option<Halt>,
    ) -> Result<(), RunError> {
        let settled = peers.settle(Time::MAX, halt, |delivery| {
            let (to, mail) = mail_of(delivery)?;
            inboxes[to as usize].push(mail);
            Ok(())
        });
        settled.map(drop)
    }
}

fn least<E>(mail: &Mail<E>) -> Time {
    let events = mail.events.iter().map(paceline_kernel::Event::time);
    events.chain(mail.antis.iter().map(|(_, receipt)| receipt.time())).min().unwrap_or(Time::MAX)
}

/// The mail that a process has sent, and for which federate.
fn mail_of<M: Model>(delivery: Delivery<M>) -> Result<(u32, Mail<M::Event>), DeliveryError> {
    match delivery {
        Delivery::Mail { to, mail } => Ok((to, mail)),
        _ => Err(DeliveryError::protocol()),
    }
}
