//! What a resource works with while it deals with a request: the claims, the time, its statistics, and what
//! is to be done because of it.

use paceline_kernel::Time;

use super::super::ids::ProcessId;
use super::super::moment::Moment;
use super::super::statistics::Sampled;
use super::super::wants::{Failure, Outcome, Preemption};
use super::claims::{Claims, NONE, Stage};

/// A claim that is answered.
#[derive(Clone, Debug)]
pub(in super::super) struct Answered {
    pub(in super::super) process: ProcessId,
    pub(in super::super) number: u32,
    pub(in super::super) outcome: Outcome,
    /// When exactly.
    pub(in super::super) at: Moment,
}

/// What is to be done, in the order in which it came about.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Effects {
    pub(in super::super) answered: Vec<Answered>,
    /// Claims that are due at a time.
    pub(in super::super) timers: Vec<(Time, ProcessId, u32)>,
    /// Processes that lost units which they held.
    pub(in super::super) preempted: Vec<(ProcessId, Preemption)>,
}

impl Effects {
    #[inline]
    pub(in super::super) fn are_none(&self) -> bool {
        self.answered.is_empty() && self.timers.is_empty() && self.preempted.is_empty()
    }

    /// The answer to a claim, where that is all.
    #[inline]
    pub(in super::super) fn take_only_answer(&mut self) -> Option<Answered> {
        let is_all = self.answered.len() == 1 && self.timers.is_empty() && self.preempted.is_empty();
        if is_all { self.answered.pop() } else { None }
    }
}

pub(super) struct Scope<'r> {
    pub(super) claims: &'r mut Claims,
    pub(super) effects: &'r mut Effects,
    pub(super) sampled: Option<&'r mut Sampled>,
    pub(super) warm_up: Time,
    /// The exact time of what is being dealt with.
    pub(super) at: Moment,
}

impl Scope<'_> {
    /// Notes something in the statistics, if there are any.
    #[inline]
    pub(super) fn sample(&mut self, note: impl FnOnce(&mut Sampled)) {
        if let Some(sampled) = &mut self.sampled {
            sampled.advance(self.at.at, self.warm_up);
            note(sampled);
        }
    }

    /// Answers a claim, which stays.
    pub(super) fn answer(&mut self, place: u32, outcome: Outcome) {
        let claim = self.claims.get(place);
        let (process, number, at) = (claim.process, claim.number, self.at);
        self.effects.answered.push(Answered { process, number, outcome, at });
    }

    /// Answers a claim that stands in no line, and takes it out.
    pub(super) fn settle(&mut self, place: u32, outcome: Outcome) {
        let ((process, number), at) = (self.claims.remove(place), self.at);
        self.effects.answered.push(Answered { process, number, outcome, at });
    }

    pub(super) fn fail(&mut self, place: u32, failure: Failure) {
        self.settle(place, Outcome::Failed(failure));
    }

    /// A claim is due after this span, if that is not for ever.
    pub(super) fn limit(&mut self, place: u32, span: Time) {
        let Some(due) = self.at.at.checked_add(span).filter(|_| span != Time::MAX) else { return };
        let claim = self.claims.at(place);
        (claim.due, claim.rest) = (due, self.at.rest);
        self.effects.timers.push((due, claim.process, claim.number));
    }

    /// A claim waits in a line of its resource, which the caller puts it into: at most for this span.
    pub(super) fn waits(&mut self, place: u32, limit: Time) {
        debug_assert!(self.claims.get(place).stage == Stage::Waits && place != NONE);
        self.sample(|sampled| sampled.waits(1));
        self.limit(place, limit);
    }

    /// How long a claim has waited.
    pub(super) fn waited(&self, place: u32) -> Time {
        self.at.at.saturating_sub(self.claims.get(place).since)
    }
}
