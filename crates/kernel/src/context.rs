//! What an LP sees of the simulation while it handles an event.
//!
//! A [`Context`] checks every send at once and remembers the first that breaks a rule as a [`Fault`]; the federate then
//! stops. Sends are gathered in a buffer that the federate owns and reuses: nothing is allocated per event.

use crate::event::{Event, MAX_DEPTH, TieBreak};
use crate::{Fault, FaultKind, LpId, Model, Rng, Time};

/// What the federate keeps per LP besides the model's state: 16 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct LpCore {
    /// Random numbers drawn.
    pub draws: u64,
    /// Events sent.
    pub sent: u64,
}

/// What is the same for every event of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub seed: u64,
    pub ties: TieBreak,
    pub lookahead: Time,
    pub lps: u32,
}

/// The window of an LP on the simulation: who it is, what time it is, its random numbers, and the way out for messages.
#[derive(Debug)]
pub struct Context<'a, M: Model> {
    model: &'a M,
    rules: Rules,
    lp: LpId,
    now: Time,
    depth: u16,
    initial: bool,
    rng: Rng,
    sent: u64,
    watched: Time,
    urgent: bool,
    outbox: &'a mut Vec<Event<M::Event>>,
    fault: &'a mut Option<Box<Fault>>,
}

impl<'a, M: Model> Context<'a, M> {
    #[inline(always)]
    pub(crate) fn new(
        model: &'a M,
        rules: Rules,
        lp: LpId,
        core: LpCore,
        outbox: &'a mut Vec<Event<M::Event>>,
        fault: &'a mut Option<Box<Fault>>,
    ) -> Self {
        let rng = Rng::at(rules.seed, lp.0 as u64, core.draws);
        Self {
            model,
            rules,
            lp,
            now: Time::ZERO,
            depth: 0,
            initial: true,
            rng,
            sent: core.sent,
            watched: Time::ZERO,
            urgent: false,
            outbox,
            fault,
        }
    }

    /// Moves on to an event of the same LP.
    #[inline(always)]
    pub(crate) fn enter(&mut self, now: Time, depth: u16) {
        (self.now, self.depth, self.initial) = (now, depth, false);
    }

    /// Remembers whether something is sent to happen before `bound`.
    #[inline(always)]
    pub(crate) fn watch(&mut self, bound: Time) {
        self.watched = bound;
    }

    /// Whether something was, since this was last asked.
    #[inline(always)]
    pub(crate) fn take_urgent(&mut self) -> bool {
        std::mem::take(&mut self.urgent)
    }

    /// The counters to keep for the LP.
    #[inline(always)]
    pub(crate) fn core(&self) -> LpCore {
        LpCore { draws: self.rng.draws(), sent: self.sent }
    }

    /// Events sent and not yet handed on.
    #[inline(always)]
    pub(crate) fn outbox(&mut self) -> &mut Vec<Event<M::Event>> {
        self.outbox
    }

    /// Whether a send broke a rule.
    #[inline(always)]
    pub(crate) fn faulty(&self) -> bool {
        self.fault.is_some()
    }

    /// The LP that handles the event.
    #[inline(always)]
    pub fn lp(&self) -> LpId {
        self.lp
    }

    /// The simulated time of the event.
    #[inline(always)]
    pub fn now(&self) -> Time {
        self.now
    }

    /// The model's parameters.
    pub fn model(&self) -> &'a M {
        self.model
    }

    /// The LP's own random numbers.
    #[inline(always)]
    pub fn rng(&mut self) -> &mut Rng {
        &mut self.rng
    }

    /// Sends `event` to `to`, to happen after `delay`. A delay to another LP below the lookahead, an LP that does not
    /// exist, or a time beyond the clock ends the run with a [`Fault`].
    #[inline(always)]
    pub fn send(&mut self, to: LpId, delay: Time, event: M::Event) {
        let time = self.now.as_nanos().wrapping_add(delay.as_nanos());
        let early = delay < self.rules.lookahead && to != self.lp && !self.initial;
        let beyond = time < delay.as_nanos() || time == u64::MAX;
        let deep = delay == Time::ZERO && self.depth == MAX_DEPTH;
        if early | beyond | deep | (to.0 >= self.rules.lps) {
            return self.refuse(to, self.now.saturating_add(delay), &event);
        }
        self.push(to, Time::nanos(time), event);
    }

    /// Sends `event` to the LP itself, to happen after `delay`, which may be zero.
    #[inline(always)]
    pub fn schedule(&mut self, delay: Time, event: M::Event) {
        self.send(self.lp, delay, event);
    }

    /// Sends `event` to `to`, to happen at `at`. As [`Context::send`]; a time in the past ends the run with a [`Fault`].
    pub fn send_at(&mut self, to: LpId, at: Time, event: M::Event) {
        if at < self.now {
            return self.refuse(to, at, &event);
        }
        self.send(to, at - self.now, event);
    }

    #[inline(always)]
    fn push(&mut self, to: LpId, time: Time, event: M::Event) {
        // At the start everything is at depth 0: no event is the cause of another yet.
        let depth = if time > self.now || self.initial { 0 } else { self.depth + 1 };
        let tie = self.rules.ties.tie(self.lp, self.sent);
        self.sent += 1;
        self.urgent |= time < self.watched;
        self.outbox.push(Event::new(time, depth, tie, to, event));
    }

    #[cold]
    #[inline(never)]
    fn refuse(&mut self, to: LpId, at: Time, event: &M::Event) {
        if self.fault.is_some() {
            return;
        }
        let kind = if to.0 >= self.rules.lps {
            FaultKind::UnknownLp { lps: self.rules.lps }
        } else if at < self.now {
            FaultKind::Past
        } else if at == Time::MAX {
            FaultKind::BeyondClock
        } else if at == self.now && self.depth == MAX_DEPTH {
            FaultKind::EndlessInstant
        } else {
            FaultKind::Lookahead { lookahead: self.rules.lookahead }
        };
        *self.fault =
            Some(Box::new(Fault { kind, from: self.lp, now: self.now, to, at, event: format!("{event:?}") }));
    }
}
