//! How the core carries out what resources decide: answers reach processes, and times enter the calendar.
//!
//! Invariant: when a request has been dealt with, no effect is left.

use paceline_kernel::{Digest, Time};
use paceline_network::Network;

use super::Core;
use super::calendar::Due;
use super::moment::Moment;
use super::process::Blocked;
use super::request::{Answer, ProcessId, Request, RequestError};
use super::resources::Answered;
use super::statistics::ResourceStatistics;
use super::wants::{Failure, Interruption, Outcome, ResourceId, ResourceSpec, Value, Want};

impl<P> Answer<P> {
    /// Adds an answer to those that a process has not seen.
    pub(crate) fn add(unseen: &mut Option<Self>, answer: Self) {
        *unseen = Some(match unseen.take() {
            None => answer,
            Some(Self::Several(mut all)) => {
                all.push(answer);
                Self::Several(all)
            }
            Some(first) => Self::Several(Box::new(vec![first, answer])),
        });
    }

    /// The answer to a claim.
    fn to_claim(number: u32, outcome: Outcome) -> Self {
        match outcome {
            Outcome::Done => Self::ClaimDone(number),
            Outcome::Granted(waited) => Self::ClaimGranted(number, waited),
            Outcome::Served { waited, preemptions: 0 } => Self::ClaimServed(number, waited),
            outcome => Self::Claim(number, Box::new(outcome)),
        }
    }

    /// The claim that it answers, if one.
    pub(crate) fn claim(&self) -> Option<u32> {
        match self {
            Self::ClaimDone(number)
            | Self::ClaimGranted(number, _)
            | Self::ClaimServed(number, _)
            | Self::Claim(number, _) => Some(*number),
            _ => None,
        }
    }

    /// What a claim was answered, by the number of the claim.
    pub(crate) fn into_outcome(self) -> Option<(u32, Outcome)> {
        match self {
            Self::ClaimDone(number) => Some((number, Outcome::Done)),
            Self::ClaimGranted(number, waited) => Some((number, Outcome::Granted(waited))),
            Self::ClaimServed(number, waited) => Some((number, Outcome::Served { waited, preemptions: 0 })),
            Self::Claim(number, outcome) => Some((number, *outcome)),
            _ => None,
        }
    }

    /// Takes the outcome of this claim out of the answers.
    pub(crate) fn take_outcome(unseen: &mut Option<Self>, number: u32) -> Option<Outcome> {
        let is_it = |answer: &Self| answer.claim() == Some(number);
        let answer = match unseen {
            Some(Self::Several(all)) => {
                let place = all.iter().position(is_it)?;
                Some(all.remove(place))
            }
            Some(answer) if is_it(answer) => unseen.take(),
            _ => None,
        };
        answer?.into_outcome().map(|(_, outcome)| outcome)
    }

    /// Takes the answer out that is to no claim.
    pub(crate) fn take_plain(unseen: &mut Option<Self>) -> Option<Self> {
        match unseen {
            Some(Self::Several(all)) => {
                let place = all.iter().position(|answer| answer.claim().is_none())?;
                Some(all.remove(place))
            }
            Some(answer) if answer.claim().is_some() => None,
            _ => unseen.take(),
        }
    }
}

impl<P, N: Network> Core<P, N> {
    /// Makes a resource, which is there when the run begins or when its process has made it.
    pub fn make(&mut self, id: ResourceId, spec: ResourceSpec) {
        self.resources.make(id, spec, self.now);
    }

    /// Statistics of resources are of what happens from this time on.
    pub fn measure_from(&mut self, warm_up: Time) {
        self.resources.set_warm_up(warm_up);
    }

    /// Statistics of the resources that keep them, up to a time, by name, and those of one name in the order
    /// in which they were made.
    pub fn statistics(&mut self, until: Time) -> Vec<(ResourceId, ResourceStatistics)> {
        self.resources.statistics(until)
    }

    /// A process makes a claim.
    pub(super) fn claim(&mut self, claimed: (ProcessId, u32), resource: ResourceId, want: Want, limit: Time) {
        self.resources.claim(self.cause, claimed, resource, want, limit);
        self.carry_out();
    }

    /// A process gives back units that it holds by a claim.
    pub(super) fn release_units(&mut self, claimed: (ProcessId, u32), units: u32) {
        self.resources.release(self.cause, claimed, units);
        self.carry_out();
    }

    /// A process waits for a time alone.
    pub(super) fn wait_for(&mut self, (id, number): (ProcessId, u32), span: Time) {
        match self.resources.hold(self.cause, (id, number), span) {
            Some(due) => self.calendar.enter(due, Due::Claim { process: id.0, number }),
            None => self.carry_out(),
        }
    }

    /// Takes in what a process asks of resources, but for claims, and what it gives back.
    pub(super) fn request_resource(&mut self, id: ProcessId, request: Request<P>) {
        let cause = self.cause;
        match request {
            Request::Make(made) => {
                let (resource, spec) = *made;
                self.make(resource, spec);
            }
            Request::Withdraw { claim, unseen, .. } => self.withdraw_claim(id, claim, unseen),
            Request::Change(resource, change) => self.resources.change(cause, resource, change),
            Request::Interrupt(target, reason) => self.interrupt(id, target, reason),
            Request::Interruption(claim) => {
                let latest = self.resources.interrupts.take_latest(id);
                let outcome = latest.map_or(Outcome::Done, Outcome::Failed);
                self.deliver(Answered { process: id, number: claim, outcome, at: cause });
            }
            Request::Keep(answer) => self.keep(id, answer),
            _ => unreachable!("requests of other kinds are dealt with before"),
        }
        self.carry_out();
    }

    /// In a part of a world in which nobody keeps the run from ending: it may have ended already, and what
    /// happens from now on may not count.
    pub fn keep_past(&mut self) {
        self.resources.keep_past();
    }

    /// What has happened up to `sure` counts.
    pub fn forget_past(&mut self, sure: Time) {
        self.resources.forget_past(sure);
    }

    fn withdraw_claim(&mut self, id: ProcessId, number: u32, unseen: Option<Outcome>) {
        let unseen = unseen.or_else(|| Answer::take_outcome(&mut self.processes[id].answer, number));
        self.resources.withdraw(self.cause, (id, number), unseen);
    }

    /// Answers that a process did not look at in its turn stay for the next.
    fn keep(&mut self, id: ProcessId, answer: Answer<P>) {
        let answers = if let Answer::Several(all) = answer { *all } else { vec![answer] };
        for answer in answers.into_iter().filter(|answer| answer.claim().is_some()) {
            Answer::add(&mut self.processes[id].answer, answer);
        }
    }

    /// Brings the plans of resources to the present.
    pub(super) fn advance_resources(&mut self) {
        self.resources.advance(self.now);
        self.because(Moment::at(self.now));
        self.carry_out();
    }

    /// The time of a claim is over, if it is due now.
    pub(super) fn claim_due(&mut self, process: ProcessId, number: u32) {
        self.because(Moment::at(self.now));
        if let Some(at) = self.resources.due(self.now, process, number) {
            return self.deliver(Answered { process, number, outcome: Outcome::Done, at });
        }
        self.carry_out();
    }

    /// Answers whom the resources have answered, and enters what is due.
    pub(super) fn carry_out(&mut self) {
        if self.resources.effects.are_none() {
            return;
        }
        let cause = self.cause;
        if let Some(answered) = self.resources.effects.take_only_answer() {
            self.deliver(answered);
            self.cause = cause;
            return;
        }
        loop {
            let effects = &mut self.resources.effects;
            for (due, process, number) in effects.timers.drain(..) {
                self.calendar.enter(due, Due::Claim { process: process.0, number });
            }
            let mut answered = std::mem::take(&mut effects.answered);
            answered.drain(..).for_each(|answered| self.deliver(answered));
            let effects = &mut self.resources.effects;
            effects.answered = answered;
            if effects.preempted.is_empty() {
                break;
            }
            for (process, preemption) in std::mem::take(&mut effects.preempted) {
                self.cause = cause;
                self.interrupt_wait(process, Failure::Preempted(Box::new(preemption)));
            }
        }
        self.cause = cause;
    }

    /// A process resumes with the answer to a claim.
    fn deliver(&mut self, Answered { process: id, number, outcome, at }: Answered) {
        self.because(at);
        let (cause, now) = (self.cause, self.now);
        let Some(process) = self.processes.get_mut(id).filter(|process| !process.ended) else { return };
        process.moment = process.moment.later(cause);
        process.stamp = process.stamp.wrapping_add(1);
        let place = (u64::from(process.stamp) << 8) | outcome.code();
        self.digest.join(Digest::of(&(process.identity, now.as_nanos(), place)));
        Answer::add(&mut process.answer, Answer::to_claim(number, outcome));
        if !process.suspended {
            self.ready.push(id);
        }
    }

    /// A process interrupts another.
    fn interrupt(&mut self, by: ProcessId, target: ProcessId, cause: Value) {
        if self.processes.get(target).is_some_and(|process| !process.ended) {
            let left = Time::ZERO;
            let interruption = Interruption { by, cause, left };
            self.interrupt_wait(target, Failure::Interrupted(Box::new(interruption)));
        }
    }

    /// Ends a wait of a process; without one that can be interrupted, its next.
    fn interrupt_wait(&mut self, id: ProcessId, failure: Failure) {
        let Some(failure) = self.resources.interrupt(self.cause, id, failure) else { return };
        if self.processes[id].blocked.is_interruptible() {
            self.fail_wait(id, failure);
        } else {
            self.resources.interrupts.add(id, failure);
        }
    }

    /// A process waits from now on: an interrupt that it has not noticed ends the wait at once.
    pub(super) fn notice_interrupt(&mut self, id: ProcessId) {
        if self.resources.interrupts.are_pending()
            && self.processes[id].blocked.is_interruptible()
            && let Some(failure) = self.resources.interrupts.pending(id)
        {
            self.fail_wait(id, failure);
        }
    }

    fn fail_wait(&mut self, id: ProcessId, failure: Failure) {
        self.resources.interrupts.note(id, failure);
        self.withdraw(id);
        self.resume_with(id, Answer::Failed(RequestError::Interrupted));
    }
}

impl Blocked {
    /// Whether the wait can fail, so that its process learns that it was interrupted.
    fn is_interruptible(&self) -> bool {
        match self {
            Self::On(_) | Self::Activity(_) | Self::Activities(_) | Self::Acquire(_) => true,
            Self::Barrier(_) | Self::Get(_) | Self::Join(_) => true,
            // Its mutex is to be locked again first; the others give no error.
            Self::Condition(_) | Self::LockAgain(_) | Self::No | Self::Given(_) | Self::Sleep => false,
        }
    }
}
