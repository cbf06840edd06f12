//! Stands for a federate that is run outside, on the board of a protocol: messages for it wait here until no
//! sender can take them back, and its answers are checked here. What is different where it runs ahead is in
//! [`ahead`](super::ahead).
//!
//! Invariants: what has been handed over is before the bound of its time, and nothing earlier comes later;
//! between a question and its answer nothing else is asked; an outside federate that was dropped has no
//! events and no future.

mod exchange;

use std::sync::Arc;

use paceline_kernel::{
    Event, EventQueue, Federate, Heap, Mail, Model, Optimism, Outbox, Partition, Rollbacks, Time,
};

pub(crate) use exchange::call_back;

use super::ahead::{self, Ahead};
use super::standing::Said;
use super::{
    Answer, Answers, Door, FederateError, IfLate, Outside, OutsideError, OutsideErrorKind, OutsideLps,
};
use crate::watch::trace::Track;
use crate::workers::seat::Batch;
use crate::{RunError, Simulation};

/// The occupant of a seat: a federate that workers run, or the proxy of an outside federate.
#[derive(Debug)]
pub(crate) enum Occupant<F, M: Model> {
    Inside(F),
    Outside(Box<Proxy<M>>),
}

impl<F, M: Model> Occupant<F, M> {
    pub(crate) fn proxy(&mut self) -> Option<&mut Proxy<M>> {
        match self {
            Self::Inside(_) => None,
            Self::Outside(proxy) => Some(proxy),
        }
    }
}

/// The result of asking an outside federate to continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// It will answer.
    Yes,
    /// There is nothing for it to do before the bound.
    No,
}

/// The effect of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// It is done up to this bound.
    Done(Time),
    /// It is not, but will do nothing before this.
    Promise(Time),
}

pub(crate) struct Proxy<M: Model> {
    /// It has the LPs as they were when they were handed out, and what they have committed before.
    pub(super) stand_in: Federate<M>,
    pub(super) outside: Outside<M>,
    pub(super) answers: Arc<Answers<M>>,
    pub(super) lookahead: Time,
    pub(super) lps: u32,
    /// What is known of it, if it runs ahead.
    pub(super) ahead: Option<Box<Ahead<M>>>,
    /// What it has rolled back, once it has ended.
    rollbacks: Option<Box<Rollbacks>>,
    waiting: Heap<M::Event>,
    /// Messages among those waiting that were taken back.
    cancelled: Vec<Event<M::Event>>,
    /// It does nothing by itself before this.
    next: Time,
    /// It may do nothing before this, until it answers.
    floor: Time,
    /// How far it was to go, where it is to answer.
    bound: Option<Time>,
    /// Events that were known to be there because of it when it was asked: for boards that count them.
    pub(crate) known: usize,
    pub(super) track: Track,
    pub(super) start_ns: u64,
    handed_over: u64,
}

impl<M: Model> std::fmt::Debug for Proxy<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Proxy").field("next", &self.next).field("bound", &self.bound).finish_non_exhaustive()
    }
}

impl<M: Model> Proxy<M> {
    /// Hands the LPs of `stand_in` over to `outside`. `reached` is how far the run has come; `speculates`
    /// says how federates run ahead, where they do.
    pub(crate) fn begin(
        simulation: &Simulation<M>,
        partition: &Partition,
        mut stand_in: Federate<M>,
        mut outside: Outside<M>,
        answers: &Arc<Answers<M>>,
        reached: Time,
        speculates: Option<&Optimism>,
    ) -> Self {
        let Simulation { model, tracing, publishing, .. } = simulation;
        // Its events are handed over in due time, as all others.
        let mut waiting = Heap::with_window(Time::ZERO);
        let mut next = Time::MAX;
        let optimism = ahead::settings(&outside, speculates);
        let mut ahead = None;
        if outside.dropped {
            stand_in.drain_events(drop);
        } else {
            let mut federate = stand_in.hand_out();
            let mut mail = Mail::default();
            match optimism {
                Some(_) => federate.drain_events(|event| mail.events.push(event)),
                None => federate.drain_events(|event| waiting.push(event)),
            }
            let (said, runs_ahead) = (Arc::new(Said::default()), optimism.is_some());
            let door = Door::new(stand_in.id(), answers, &said);
            let (partition, publishing) = (partition.clone(), publishing.clone());
            let lps = OutsideLps { federate, partition, reached, optimism, rollbacks: None, publishing };
            next = outside.runner.begin(lps, door).max(reached);
            ahead = runs_ahead.then(|| Box::new(Ahead::new(said, mail, next)));
        }
        Self {
            stand_in,
            outside,
            answers: Arc::clone(answers),
            lookahead: model.lookahead(),
            lps: model.lps(),
            ahead,
            rollbacks: None,
            waiting,
            cancelled: Vec::new(),
            next,
            floor: Time::ZERO,
            bound: None,
            known: 0,
            track: tracing.track(),
            start_ns: 0,
            handed_over: 0,
        }
    }

    pub(crate) fn id(&self) -> u32 {
        self.stand_in.id()
    }

    /// It does nothing before this, unless something earlier is sent to it.
    pub(crate) fn lvt(&mut self) -> Time {
        match (&self.ahead, self.bound) {
            (Some(_), _) if self.outside.dropped => Time::MAX,
            (Some(ahead), _) => ahead.floor(),
            (None, Some(_)) => self.floor,
            (None, None) => self.next.min(self.waiting.least_time()),
        }
    }

    /// Events that are there because of it, as far as anybody can know: those that wait, and one for what it
    /// does by itself.
    pub(crate) fn pending(&self) -> usize {
        self.waiting.len() + usize::from(self.next < Time::MAX || self.bound.is_some())
    }

    /// Whether it is to answer.
    pub(crate) fn is_asked(&self) -> bool {
        self.bound.is_some()
    }

    pub(crate) fn receive(&mut self, events: impl IntoIterator<Item = Event<M::Event>>) {
        if !self.outside.dropped {
            events.into_iter().for_each(|event| self.waiting.push(event));
        }
    }

    pub(crate) fn receive_batches(&mut self, arrived: &mut Vec<Batch<M::Event>>) {
        arrived.drain(..).for_each(|batch| self.receive(batch));
    }

    /// Takes in messages, and takes others back.
    pub(crate) fn receive_mail(&mut self, mail: &mut Mail<M::Event>) {
        // To one that was dropped nothing happens: `receive` drops its messages, and there is nothing to
        // cancel.
        if self.outside.dropped {
            mail.antis.clear();
        } else if let Some(ahead) = &mut self.ahead {
            return ahead.receive(mail);
        }
        self.receive(mail.events.drain(..));
        self.cancelled.extend(mail.antis.drain(..).map(|(_, receipt)| receipt));
    }

    /// The least message before `bound` that was not taken back.
    fn pop(&mut self, bound: Time) -> Option<Event<M::Event>> {
        loop {
            let event = self.waiting.pop(bound)?;
            // Never handed over: what an outside federate has got, it need not be able to give back.
            match self.cancelled.iter().position(|other| other.is_same(&event)) {
                Some(place) => drop(self.cancelled.swap_remove(place)),
                None => return Some(event),
            }
        }
    }

    /// Lets it run up to `bound`, if there is anything for it to do.
    pub(crate) fn advance(&mut self, bound: Time) -> Asked {
        assert!(self.bound.is_none(), "an outside federate is asked one thing at a time");
        if self.lvt() >= bound {
            return Asked::No;
        }
        let events: Vec<_> = std::iter::from_fn(|| self.pop(bound)).collect();
        // It may do nothing before what it is handed, and nothing before what it does by itself.
        let floor = events.first().map_or(Time::MAX, Event::time).min(self.next);
        // All that waited before the bound had been taken back.
        if floor >= bound {
            return Asked::No;
        }
        (self.floor, self.bound, self.handed_over) = (floor, Some(bound), events.len() as u64);
        self.start_ns = self.track.now();
        self.answers.expect(self.id(), self.outside.limit);
        self.outside.runner.advance(bound, events);
        Asked::Yes
    }

    /// Takes in an answer; messages to others go to `outbox`.
    pub(crate) fn hear(
        &mut self,
        answer: Answer<M>,
        partition: &Partition,
        outbox: &mut Outbox<M::Event>,
    ) -> Result<Option<Heard>, RunError> {
        let wrong = |kind| Err(RunError::Outside(OutsideError { federate: self.stand_in.id(), kind }));
        if self.outside.dropped {
            return Ok(None);
        }
        if self.is_ahead() {
            return self.hear_ahead(answer, partition, outbox).map(|()| None);
        }
        match (answer, self.bound) {
            (Answer::Done { next, .. }, Some(bound)) if next < bound => {
                wrong(OutsideErrorKind::NotDone { bound, next })
            }
            (Answer::Done { next, events }, Some(bound)) => {
                // All of them first: nothing of an answer that is refused goes to anybody.
                for event in &events {
                    if let Some(kind) = self.refusal(event, bound, partition) {
                        return wrong(kind);
                    }
                }
                self.answers.met(self.id());
                (self.bound, self.next) = (None, next);
                self.track.ran(self.stand_in.id(), self.start_ns, bound, self.handed_over);
                for event in events {
                    match partition.place(event.to()).0 {
                        here if here == self.id() => self.waiting.push(event),
                        other => outbox.push(other, event),
                    }
                }
                Ok(Some(Heard::Done(bound)))
            }
            (Answer::Promise(time), Some(bound)) => {
                self.floor = self.floor.max(time.min(bound));
                Ok(Some(Heard::Promise(self.floor)))
            }
            // It may cross the answer itself on the way: a deadline passes while an answer is being taken in.
            (Answer::Promise(_) | Answer::Late, None) => Ok(None),
            (Answer::Done { .. } | Answer::Ended(_) | Answer::Stands, _) => wrong(OutsideErrorKind::NotAsked),
            (Answer::Failed(failure), _) => Err(self.failed(failure)),
            (Answer::Gone, _) => wrong(OutsideErrorKind::Gone),
            (Answer::Late, Some(bound)) => self.late().map(|()| Some(Heard::Done(bound))),
        }
    }

    pub(super) fn error(&self, kind: OutsideErrorKind) -> RunError {
        RunError::Outside(OutsideError { federate: self.stand_in.id(), kind })
    }

    pub(super) fn failed(&self, failure: FederateError) -> RunError {
        match failure {
            FederateError::Rule(fault) => (*fault).into(),
            FederateError::Event(trouble) => (*trouble).into(),
            FederateError::Other(why) => self.error(OutsideErrorKind::Failed(why)),
        }
    }

    /// It has had its time.
    pub(super) fn late(&mut self) -> Result<(), RunError> {
        let Outside { limit, if_late, .. } = &self.outside;
        match if_late {
            IfLate::EndRun => {
                let kind = OutsideErrorKind::Late(limit.unwrap_or_default());
                Err(RunError::Outside(OutsideError { federate: self.id(), kind }))
            }
            IfLate::Drop => {
                (self.outside.dropped, self.bound, self.next) = (true, None, Time::MAX);
                self.waiting = Heap::with_window(Time::ZERO);
                self.cancelled.clear();
                Ok(())
            }
        }
    }

    /// Why a message from it is refused.
    fn refusal(
        &self,
        event: &Event<M::Event>,
        bound: Time,
        partition: &Partition,
    ) -> Option<OutsideErrorKind> {
        let (from, to, at) = (self.stand_in.origin(event), event.to(), event.time());
        if to.0 >= self.lps {
            return Some(OutsideErrorKind::UnknownLp { to, lps: self.lps });
        }
        if !self.stand_in.holds(from, partition) {
            return Some(OutsideErrorKind::ForeignSender { from });
        }
        let stays = self.stand_in.holds(to, partition);
        // To its own LPs it may send within the lookahead, but not into what it has said to be done with.
        let earliest = if stays { bound } else { self.floor.saturating_add(self.lookahead) };
        (at < earliest).then_some(OutsideErrorKind::TooEarly { from, to, at, earliest })
    }

    /// The error of a message to `event.to()` that the declared channels exclude.
    pub(crate) fn undeclared(&self, events: &[Event<M::Event>]) -> RunError {
        let event = events.iter().min().expect("the caller found an event");
        let (from, to, at) = (self.stand_in.origin(event), event.to(), event.time());
        let kind = OutsideErrorKind::Channel { from, to, at };
        RunError::Outside(OutsideError { federate: self.id(), kind })
    }

    /// Ends the stretch: asks for the LPs, unless it was dropped. Says whether there is an answer to wait
    /// for.
    pub(crate) fn end(&mut self) -> bool {
        if !self.outside.dropped {
            self.hand_over_last();
            self.answers.expect(self.id(), self.outside.limit);
            self.outside.runner.end();
        }
        !self.outside.dropped
    }

    /// Takes in what it says after its end. Says whether the LPs are back.
    pub(crate) fn hear_end(&mut self, answer: Answer<M>) -> Result<bool, RunError> {
        let wrong = |kind| Err(RunError::Outside(OutsideError { federate: self.stand_in.id(), kind }));
        match answer {
            Answer::Ended(lps) if lps.federate.id() == self.id() => {
                self.answers.met(self.id());
                self.rollbacks = lps.rollbacks;
                self.stand_in.take_back(lps.federate);
                Ok(true)
            }
            Answer::Ended(lps) => wrong(OutsideErrorKind::OtherLps(lps.federate.id())),
            Answer::Promise(_) => Ok(false),
            Answer::Stands if self.is_ahead() => Ok(false),
            Answer::Done { .. } | Answer::Stands => wrong(OutsideErrorKind::NotAsked),
            Answer::Failed(failure) => Err(self.failed(failure)),
            Answer::Gone => wrong(OutsideErrorKind::Gone),
            Answer::Late => self.late().map(|()| true),
        }
    }

    /// What it has rolled back, if it ran ahead and has ended.
    pub(crate) fn rollbacks(&self) -> Option<&Rollbacks> {
        self.rollbacks.as_deref()
    }

    /// Takes the proxy apart: the federate with all that waits for it, and who ran it.
    pub(crate) fn vacate(mut self) -> (Federate<M>, Outside<M>) {
        let events: Vec<_> = std::iter::from_fn(|| self.pop(Time::MAX)).collect();
        if !self.outside.dropped {
            self.stand_in.receive(events);
        }
        // What a model does is in its events.
        let next = self.ahead.as_ref().map_or(self.next, |ahead| ahead.own_floor());
        self.outside.next = if self.outside.runner.runs_model() { Time::MAX } else { next };
        (self.stand_in, self.outside)
    }
}
