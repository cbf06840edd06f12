//! Clients that do not keep up with what others send to them.
//!
//! As long as a client has not acknowledged [`Limits::unacknowledged_bytes`](crate::Limits), calls of others
//! that send to it are carried out and not answered: a sender that waits for its answer sends no more, and
//! nobody else waits. Answers are in order, so that later ones wait behind.
//!
//! Invariants: each answer is held back at most once, and goes out when all for whom it waits have
//! acknowledged half of the limit, or are gone; nobody waits for somebody who waits for him, over however
//! many.

use std::collections::BTreeSet;

use paceline_hla::{CallResponse, Callback};
use paceline_rti::Client;

use super::{Host, Outside};
use crate::session::SessionId;

/// What a session waits for before its calls are answered.
#[derive(Debug, Default)]
pub(super) struct Held {
    /// Answers with the numbers of their calls.
    answers: Vec<(u32, CallResponse)>,
    /// Sessions that have to acknowledge more first.
    waits_for: BTreeSet<SessionId>,
}

impl<O: Outside> Host<O> {
    /// For whom the answer to a call has to wait that has caused `callbacks`.
    pub(super) fn slow_receivers(
        &self,
        sender: SessionId,
        callbacks: &[(Client, Callback)],
    ) -> BTreeSet<SessionId> {
        let limit = self.limits.unacknowledged_bytes;
        let receivers = callbacks.iter().filter_map(|(client, _)| self.clients.get(client).copied());
        let slow = receivers.filter(|receiver| {
            // Who sends to itself must not wait for itself; and who waits for this sender already would then
            // wait for ever.
            *receiver != sender
                && self.sessions[receiver].session.kept_bytes() >= limit
                && !self.waits(*receiver, sender)
        });
        slow.collect()
    }

    /// Whether one session waits for another, or for one that does.
    fn waits(&self, session: SessionId, other: SessionId) -> bool {
        let waits_for = &self.sessions[&session].held.waits_for;
        waits_for.iter().any(|next| *next == other || self.waits(*next, other))
    }

    /// Answers a call, as soon as these sessions have acknowledged enough.
    pub(super) fn answer_after(
        &mut self,
        session: SessionId,
        answer: (u32, CallResponse),
        waits_for: BTreeSet<SessionId>,
    ) {
        for receiver in &waits_for {
            self.sessions.get_mut(receiver).expect("it receives").is_waited_for = true;
        }
        let held = &mut self.sessions.get_mut(&session).expect("it has called").held;
        held.waits_for.extend(waits_for);
        if held.waits_for.is_empty() {
            let (number, response) = answer;
            self.with_output(session, |session, out| session.respond(number, &response, out));
        } else {
            held.answers.push(answer);
        }
    }

    /// Lets go what waits for a session that has acknowledged something, if that is enough.
    pub(super) fn note_acknowledged(&mut self, receiver: SessionId) {
        let limit = self.limits.unacknowledged_bytes;
        let member = self.sessions.get_mut(&receiver);
        if let Some(member) = member.filter(|member| member.is_waited_for)
            // Not at the limit itself: each byte acknowledged would let one call through, and hold up the
            // next.
            && member.session.kept_bytes() <= limit / 2
        {
            member.is_waited_for = false;
            self.release(receiver);
        }
    }

    /// Nobody waits for this session any more.
    pub(super) fn release(&mut self, receiver: SessionId) {
        let waiting = self.sessions.iter_mut().filter_map(|(session, member)| {
            (member.held.waits_for.remove(&receiver) && member.held.waits_for.is_empty()).then_some(*session)
        });
        for session in waiting.collect::<Vec<_>>() {
            let member = self.sessions.get_mut(&session).expect("it was there");
            for (number, response) in std::mem::take(&mut member.held.answers) {
                self.with_output(session, |session, out| session.respond(number, &response, out));
            }
        }
    }
}
