//! The end of an optimistic leg: whatever is not final is rolled back, until every federate is as plain as
//! under any other protocol.

use paceline_kernel::{EventError, Mail, Model, Outbox, Partition, Rollbacks, Time, Warp};

use super::state::State;
use super::{Member, Optimistic, Seat};
use crate::RunError;
use crate::outside::{Answers, Occupant, Outsiders, call_back, recall, settle};
use crate::peers::Peers;
use crate::protocols::outcome::Outcome;
use crate::watch::monitor::Halt;
use crate::workers::seat::Federates;

/// The federates of a leg that has ended, while they are made plain.
struct Ending<'a, M: Model> {
    model: &'a M,
    partition: &'a Partition,
    peers: Option<&'a Peers<M>>,
    answers: Option<&'a Answers<M>>,
    halt: Option<Halt>,
    occupants: Vec<Member<M>>,
    /// What was sent to each of them and is not taken in.
    inboxes: Vec<Vec<Mail<M::Event>>>,
    outbox: Outbox<M::Event>,
}

/// Why a leg cannot be brought to its end.
enum EndingError {
    /// The model did something wrong in an event that is final.
    Event(Box<EventError>),
    Run(RunError),
}

impl From<RunError> for EndingError {
    fn from(error: RunError) -> Self {
        Self::Run(error)
    }
}

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
        let answers = answers.as_deref();
        if outcome.trouble.is_none() && outcome.error.is_none() {
            outcome.error = last_answers(answers, partition, &mut occupants, &mut inboxes, &mut state).err();
        }
        if outcome.trouble.is_some() || outcome.error.is_some() {
            // The others would wait for this process in the next round.
            if let (Some(peers), Some(trouble)) = (peers, &outcome.trouble) {
                peers.send_failure(&trouble.to_string());
            }
            return outcome;
        }
        // No worker holds a federate any more, so that a round of either kind is over at once.
        let is_over = state.gvt.open_round();
        assert!(is_over, "all federates are back when a leg ends");
        let gvt = state.gvt.value().min(until);
        let (halt, outbox) = (outcome.halt, Outbox::new(partition.federates()));
        let mut ending = Ending { model, partition, peers, answers, halt, occupants, inboxes, outbox };
        if let Err(error) = ending.retreat(gvt) {
            match error {
                EndingError::Event(trouble) => outcome.trouble = Some(*trouble),
                EndingError::Run(error) => outcome.error = Some(error),
            }
            return outcome;
        }
        outcome.error = ending.recall().err();
        let mut rollbacks = Rollbacks::default();
        outcome.federates = ending.vacate(outsiders, &mut rollbacks);
        outcome.rollbacks = Some(Box::new(rollbacks));
        outcome.gvt_rounds = state.gvt.rounds();
        outcome.gvt_steps = state.gvt.steps();
        outcome.gvt_lag_ticks = state.lag_ticks;
        outcome
    }
}

impl<M: Model> Ending<'_, M> {
    /// Rolls back whatever is not before `gvt`, in two passes: what was under way when the leg ended is taken
    /// in before, since it may itself be final; then what rolling back has cancelled.
    fn retreat(&mut self, gvt: Time) -> Result<(), EndingError> {
        self.take_in()?;
        for occupant in &mut self.occupants {
            if let Occupant::Inside(warp) = occupant {
                warp.retreat(self.model, self.partition, gvt, &mut self.outbox)
                    .map_err(EndingError::Event)?;
            }
        }
        if let Some(answers) = self.answers {
            let mut proxies: Vec<_> = self.occupants.iter_mut().filter_map(Occupant::proxy).collect();
            call_back(&mut proxies, answers, self.partition, gvt, &mut self.outbox)?;
        }
        self.hand_over();
        // Nothing is left that these could roll back: they cancel what waits in queues, and nothing is sent.
        self.take_in()?;
        assert!(self.outbox.is_empty(), "a federate that has retreated sends nothing");
        Ok(())
    }

    /// Takes in all that was sent to federates of this process, by other processes too.
    fn take_in(&mut self) -> Result<(), RunError> {
        if let Some(peers) = self.peers {
            Optimistic::settle(peers, &mut self.inboxes, self.halt)?;
        }
        for (occupant, inbox) in self.occupants.iter_mut().zip(&mut self.inboxes) {
            for mut mail in inbox.drain(..) {
                match occupant {
                    Occupant::Inside(warp) => {
                        warp.receive(self.model, self.partition, &mut mail, &mut self.outbox);
                    }
                    Occupant::Outside(proxy) => {
                        proxy.receive_mail(&mut mail);
                    }
                }
            }
        }
        Ok(())
    }

    /// Delivers what the federates have sent.
    fn hand_over(&mut self) {
        let Self { peers, inboxes, outbox, .. } = self;
        outbox.flush_mail(|to, mail, _| match peers.filter(|peers| !peers.owns(to)) {
            Some(peers) => peers.send_mail(to, mail),
            None => inboxes[to as usize].push(std::mem::take(mail)),
        });
    }

    /// Ends the leg of what is outside.
    fn recall(&mut self) -> Result<(), RunError> {
        let Some(answers) = self.answers else { return Ok(()) };
        let mut proxies: Vec<_> = self.occupants.iter_mut().filter_map(Occupant::proxy).collect();
        recall(&mut proxies, answers)
    }

    /// The federates, as plain as before the leg; `rollbacks` gets their counts.
    fn vacate(self, outsiders: &mut Outsiders<M>, rollbacks: &mut Rollbacks) -> Federates<M> {
        let plain = |occupant: Member<M>| match occupant {
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
        self.occupants.into_iter().map(plain).collect()
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
    // The first report takes along what all have sent, as those of workers do.
    for proxy in proxies.iter_mut().filter(|proxy| asked.contains(&proxy.id())) {
        state.gvt.report(proxy.id(), proxy.lvt(), receivers.drain(..));
    }
    Ok(())
}
