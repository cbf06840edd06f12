//! The end of an optimistic leg: whatever is not final is rolled back, until every federate is as plain as
//! under any other protocol.

use paceline_kernel::{Federate, Mail, Model, Outbox, Partition, Rollbacks, Warp};

use super::state::State;
use super::{Optimistic, Seat};
use crate::RunError;
use crate::outside::{Answers, Occupant, Outsiders, call_back, recall, settle};
use crate::protocols::outcome::Outcome;

impl<M: Model> Optimistic<'_, M> {
    /// Takes the board apart after the leg: whatever is not final is rolled back.
    pub(crate) fn finish(self, outsiders: &mut Outsiders<M>) -> Outcome<M> {
        let Self { shared, seats, .. } = self;
        let (model, partition, until) = (shared.model, shared.partition, shared.until);
        let (answers, peers) = (shared.answers.clone(), shared.peers);
        let mut state = shared.into_state();
        let width = Some(state.window.width());
        let mut outcome = Outcome { halt: state.ending.halt, width, ..Outcome::default() };
        outcome.rollbacks = Some(Box::default());
        outcome.trouble = state.trouble.take().map(|trouble| *trouble);
        outcome.error = state.ending.error.take();
        let (mut occupants, mut inboxes) = (Vec::new(), Vec::new());
        for Seat { warp, inbox } in seats {
            occupants.push(warp.0.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner));
            inboxes.push(inbox.0.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner));
        }
        let mut outbox = Outbox::new(partition.federates());
        let answers = answers.as_deref();
        if outcome.trouble.is_none() && outcome.error.is_none() {
            outcome.error = last_answers(answers, partition, &mut occupants, &mut inboxes, &mut state).err();
        }
        if outcome.trouble.is_some() || outcome.error.is_some() {
            if let (Some(peers), Some(trouble)) = (peers, &outcome.trouble) {
                peers.send_failure(&trouble.to_string());
            }
            return outcome;
        }
        // No worker holds a federate any more, so that the first call ends a round.
        while !state.gvt.open_round() {}
        let gvt = state.gvt.value().min(until);
        // The first time what is under way, the second time what rolling back has cancelled.
        for retreating in [true, false] {
            if let Some(peers) = peers
                && let Err(error) = Self::settle(peers, &mut inboxes, outcome.halt)
            {
                outcome.error = Some(error);
                return outcome;
            }
            for (occupant, inbox) in occupants.iter_mut().zip(&mut inboxes) {
                for mut mail in inbox.drain(..) {
                    match occupant {
                        Occupant::Inside(warp) => {
                            warp.receive(model, partition, &mut mail, &mut outbox);
                        }
                        Occupant::Outside(proxy) => {
                            proxy.receive_mail(&mut mail);
                        }
                    }
                }
            }
            for occupant in occupants.iter_mut().filter(|_| retreating) {
                if let Occupant::Inside(warp) = occupant
                    && let Err(trouble) = warp.retreat(model, partition, gvt, &mut outbox)
                {
                    outcome.trouble = Some(*trouble);
                    return outcome;
                }
            }
            if let Some(answers) = answers.filter(|_| retreating) {
                let mut proxies: Vec<_> = occupants.iter_mut().filter_map(Occupant::proxy).collect();
                if let Err(error) = call_back(&mut proxies, answers, partition, gvt, &mut outbox) {
                    outcome.error = Some(error);
                    return outcome;
                }
            }
            outbox.flush_mail(|to, mail, _| match peers.filter(|peers| !peers.owns(to)) {
                Some(peers) => peers.send_mail(to, mail),
                None => inboxes[to as usize].push(std::mem::take(mail)),
            });
        }
        if let Some(answers) = answers {
            let mut proxies: Vec<_> = occupants.iter_mut().filter_map(Occupant::proxy).collect();
            outcome.error = recall(&mut proxies, answers).err();
        }
        let mut rollbacks = Rollbacks::default();
        for occupant in occupants {
            let federate: Federate<M> = match occupant {
                Occupant::Inside(warp) => {
                    let (federate, counts) = warp.settle();
                    rollbacks.join(&counts);
                    federate
                }
                Occupant::Outside(proxy) => {
                    proxy.rollbacks().into_iter().for_each(|counts| rollbacks.join(counts));
                    outsiders.vacate(*proxy)
                }
            };
            outcome.federates.push(federate);
        }
        outcome.rollbacks = Some(Box::new(rollbacks));
        outcome.gvt_rounds = state.gvt.rounds();
        outcome.gvt_steps = state.gvt.steps();
        outcome.gvt_lag_ticks = state.lag_ticks;
        outcome
    }
}

/// Hears the outside federates that have still to answer, and reports them.
fn last_answers<M: Model>(
    answers: Option<&Answers<M>>,
    partition: &Partition,
    occupants: &mut [Occupant<Warp<M>, M>],
    inboxes: &mut [Vec<Mail<M::Event>>],
    state: &mut State,
) -> Result<(), RunError> {
    let Some(answers) = answers else { return Ok(()) };
    let mut proxies: Vec<_> = occupants.iter_mut().filter_map(Occupant::proxy).collect();
    let asked: Vec<u32> = proxies.iter().filter(|proxy| proxy.is_asked()).map(|proxy| proxy.id()).collect();
    let mut outbox = Outbox::new(partition.federates());
    settle(&mut proxies, answers, partition, &mut outbox)?;
    let mut receivers = Vec::new();
    outbox.flush_mail(|to, mail, least| {
        inboxes[to as usize].push(std::mem::take(mail));
        receivers.push((to, least));
    });
    for proxy in proxies.iter_mut().filter(|proxy| asked.contains(&proxy.id())) {
        state.gvt.report(proxy.id(), proxy.lvt(), receivers.drain(..));
    }
    Ok(())
}
