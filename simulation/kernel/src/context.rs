//! What an LP sees of the simulation while it handles an event.
//!
//! A [`Context`] checks every message when it is sent, and remembers the first that breaks a rule as a
//! [`RuleError`]; the federate then stops. Sends are gathered in a buffer that the federate owns and reuses:
//! nothing is allocated per event.
//!
//! Here is what handlers can do and ask; in parts below: what they cancel (`cancel`), draw (`draw`) and keep
//! for `undo` (`kept`). What is the same for all events of a run, and who may send what, is in `rules`. Where
//! models are written in Python, `outside/python/src/model/call.rs` hands each method on.

mod cancel;
mod draw;
mod kept;
mod rules;

use std::cell::Cell;

use serde::{Deserialize, Serialize};

use crate::withdrawn::{Cause, Withdrawn};
use crate::{Event, EventId, Key, LpId, Model, Rng, RuleError, RuleErrorKind, Time};

pub use draw::Draw;
pub use kept::Kept;
pub(crate) use rules::Rules;

/// What the federate keeps per LP besides the model's state: 16 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct LpCore {
    /// Random numbers drawn since the run began: where the LP's stream stands.
    pub draws: u64,
    /// Messages sent since the run began: the sequence number of the next one.
    pub sent: u64,
}

/// How far the LP's counters, messages and words had come at a moment, to go back to it
/// ([`Context::go_back`]).
#[derive(Debug)]
pub(crate) struct Mark {
    core: LpCore,
    outbox: usize,
    tape: usize,
}

/// The LP's handle on the run: its number, the simulated time, its random numbers, and the way to send
/// messages.
#[derive(Debug)]
pub struct Context<'a, M: Model> {
    model: &'a M,
    rules: &'a Rules,
    lp: LpId,
    now: Time,
    /// The depth of the event that is handled: a message without delay has one more.
    depth: u16,
    /// `init` is at work: messages need no lookahead and no channel, and have depth 0.
    initial: bool,
    /// In a cell, so that [`Context::draw`] needs no exclusive borrow while the arguments of a send are
    /// computed.
    rng: Cell<Rng>,
    /// Messages sent since the run began: the sequence number of the next one.
    sent: u64,
    /// The event that is handled, in the total order; none at the start. Only models that cancel have it.
    cause: Cause,
    /// What the LP has cancelled; none in a model that does not cancel.
    withdrawn: Option<&'a mut Withdrawn>,
    /// Where the batch in hand ends: what is sent for before that may belong into it.
    watched: Time,
    /// The loop that runs the LP must look at what was sent before it takes the next event.
    alarm: bool,
    outbox: &'a mut Vec<Event<M::Event>>,
    fault: &'a mut Option<Box<RuleError>>,
    tape: Option<&'a mut Vec<u64>>,
}

impl<'a, M: Model> Context<'a, M> {
    #[inline(always)]
    pub(crate) fn new(
        model: &'a M,
        rules: &'a Rules,
        lp: LpId,
        core: LpCore,
        withdrawn: Option<&'a mut Withdrawn>,
        outbox: &'a mut Vec<Event<M::Event>>,
        fault: &'a mut Option<Box<RuleError>>,
    ) -> Self {
        let rng = Rng::at(rules.seed, u64::from(lp.0), core.draws);
        Self {
            model,
            rules,
            lp,
            now: Time::ZERO,
            depth: 0,
            initial: true,
            rng: Cell::new(rng),
            sent: core.sent,
            cause: None,
            withdrawn,
            watched: Time::ZERO,
            alarm: false,
            outbox,
            fault,
            tape: None,
        }
    }

    /// Lets the model keep words for its `undo`, on `tape`.
    pub(crate) fn keep_on(&mut self, tape: &'a mut Vec<u64>) {
        self.tape = Some(tape);
    }

    /// The number of words on the tape; zero in a run that does not undo.
    pub(crate) fn kept(&self) -> usize {
        self.tape.as_ref().map_or(0, |tape| tape.len())
    }

    /// The LP's present position, for a later rollback to it.
    pub(crate) fn mark(&self) -> Mark {
        let core = self.core();
        Mark { core, outbox: self.outbox.len(), tape: self.kept() }
    }

    /// Takes back random numbers, messages, words and cancelled events since `mark`, which was made before
    /// the event in hand; a rule broken since is forgotten. An alarm stays: it only costs a look.
    pub(crate) fn go_back(&mut self, mark: &Mark) {
        if let (Some(cause), Some(withdrawn)) = (self.cause, &mut self.withdrawn) {
            withdrawn.take_back(cause);
        }
        let rng = self.rng.get_mut();
        rng.rewind(rng.draws() - mark.core.draws);
        self.sent = mark.core.sent;
        self.outbox.truncate(mark.outbox);
        if let Some(tape) = &mut self.tape {
            tape.truncate(mark.tape);
        }
        *self.fault = None;
    }

    /// What was sent since `mark`, one message a line.
    pub(crate) fn sent_since(&self, mark: &Mark) -> String {
        let line =
            |event: &Event<M::Event>| format!("{:?} to {} at {}", event.payload, event.to(), event.time());
        self.outbox[mark.outbox..].iter().map(line).collect::<Vec<_>>().join("\n")
    }

    /// What an `undo` of `event` is given, which was handled since `mark` and kept these words.
    pub(crate) fn kept_since<'w>(&self, mark: &Mark, event: &Event<M::Event>, words: &'w [u64]) -> Kept<'w> {
        Kept::of(event, mark.core, self.rules, words)
    }

    pub(crate) fn words_since(&self, mark: &Mark) -> Vec<u64> {
        self.tape.as_ref().map_or_else(Vec::new, |tape| tape[mark.tape..].to_vec())
    }

    /// Moves on to an event of the same LP.
    #[inline(always)]
    pub(crate) fn enter(&mut self, event: &Event<M::Event>) {
        (self.now, self.depth, self.initial) = (event.time(), event.depth(), false);
        if M::CANCELS {
            self.cause = Some(event.key());
        }
    }

    /// Raises the alarm when a message is sent for a time before `bound`.
    #[inline(always)]
    pub(crate) fn watch(&mut self, bound: Time) {
        self.watched = bound;
    }

    /// Whether something was sent that is due before the bound watched, or that breaks a rule.
    #[inline(always)]
    pub(crate) fn alarmed(&self) -> bool {
        self.alarm
    }

    pub(crate) fn has_fault(&self) -> bool {
        self.fault.is_some()
    }

    /// Ends the alarm. Says whether a rule was broken.
    pub(crate) fn calm(&mut self) -> bool {
        self.alarm = false;
        self.fault.is_some()
    }

    /// The counters to keep for the LP.
    #[inline(always)]
    pub(crate) fn core(&self) -> LpCore {
        LpCore { draws: self.rng.get().draws(), sent: self.sent }
    }

    /// Events sent and not yet handed on.
    #[inline(always)]
    pub(crate) fn outbox(&mut self) -> &mut Vec<Event<M::Event>> {
        self.outbox
    }

    /// The LP that is called, which handles the event.
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
        self.rng.get_mut()
    }

    /// The same numbers, where the context is in use already: `cx.send(next,
    /// Time::from_secs_f64(cx.draw().exponential(2.0)), Job)`. With [`Context::rng`] that does not
    /// compile.
    #[inline(always)]
    pub fn draw(&self) -> Draw<'_> {
        Draw::new(&self.rng)
    }

    /// Sends `event` to `to`, to happen after `delay`. A delay to another LP below the lookahead, another LP
    /// to which the model declares no channel ([`Model::channels`]) or one of a greater lookahead, an LP
    /// that does not exist, or a time beyond the clock ends the run with a [`RuleError`].
    #[inline(always)]
    pub fn send(&mut self, to: LpId, delay: Time, event: M::Event) {
        self.dispatch(to, delay, event);
    }

    /// Sends `event` to the LP itself, to happen after `delay`, which may be zero. The id says which event
    /// that is, for [`Context::cancel`].
    #[inline(always)]
    pub fn schedule(&mut self, delay: Time, event: M::Event) -> EventId {
        self.dispatch(self.lp, delay, event)
    }

    /// Sends `event` to `to`, to happen at `at`. As [`Context::send`]; a time in the past ends the run with a
    /// [`RuleError`].
    pub fn send_at(&mut self, to: LpId, at: Time, event: M::Event) {
        self.dispatch_at(to, at, event);
    }

    /// Sends `event` to the LP itself, to happen at `at`. As [`Context::schedule`]; a time in the past ends
    /// the run with a [`RuleError`].
    pub fn schedule_at(&mut self, at: Time, event: M::Event) -> EventId {
        self.dispatch_at(self.lp, at, event)
    }

    /// Keeps a word for [`Undo::undo`](crate::Undo::undo): what handling this event overwrites and cannot be
    /// computed back. Does nothing in runs that do not undo.
    #[inline(always)]
    pub fn keep(&mut self, word: u64) {
        if let Some(tape) = &mut self.tape {
            tape.push(word);
        }
    }

    /// Keeps the id of an event, as [`Context::keep`] keeps a word: for [`Kept::id`].
    pub fn keep_id(&mut self, id: EventId) {
        id.key().words().into_iter().for_each(|word| self.keep(word));
    }

    #[inline(always)]
    fn dispatch(&mut self, to: LpId, delay: Time, event: M::Event) -> EventId {
        let time = self.now.as_ticks().wrapping_add(delay.as_ticks());
        // A sum that is less than one of its terms has wrapped; the last tick stands for "never".
        let beyond = time < delay.as_ticks() || time == u64::MAX;
        // What is not below `plain` cannot fall into the batch in hand, and is later than now: no alarm, and
        // depth 0. Nor can what goes far enough along a declared channel.
        let is_plain = delay >= self.rules.plain && to.0 < self.rules.lps;
        if !beyond && (is_plain || self.rules.finds(self.lp, to, delay)) {
            self.push(to, Time::ticks(time), 0, event)
        } else {
            match self.rules.judge(self.lp, self.now, self.depth, self.initial, to, delay) {
                Ok(depth) => {
                    // Also a message that is far off is judged, where its channel is not found at once.
                    self.alarm |= delay < self.rules.near() && time < self.watched.as_ticks();
                    self.push(to, Time::ticks(time), depth, event)
                }
                Err(kind) => self.refuse(kind, to, self.now.saturating_add(delay), &event),
            }
        }
    }

    fn dispatch_at(&mut self, to: LpId, at: Time, event: M::Event) -> EventId {
        if at < self.now {
            return self.refuse(RuleErrorKind::Past, to, at, &event);
        }
        self.dispatch(to, at - self.now, event)
    }

    #[inline(always)]
    fn push(&mut self, to: LpId, time: Time, depth: u16, event: M::Event) -> EventId {
        let tie = self.rules.ties.tie(self.lp, self.sent);
        self.sent += 1;
        self.outbox.push(Event::new(time, depth, tie, to, event));
        EventId::new(Key::new(time, depth, tie))
    }

    /// The run is over, or what broke the rule is rolled back: nobody will ask for the event.
    fn refuse(&mut self, kind: RuleErrorKind, to: LpId, at: Time, event: &M::Event) -> EventId {
        self.alarm = true;
        // Only the first: what the model sends after it may follow from it.
        if self.fault.is_none() {
            *self.fault = Some(describe(kind, self.lp, self.now, to, at, event));
        }
        EventId::NONE
    }
}

#[cold]
#[inline(never)]
fn describe(
    kind: RuleErrorKind,
    from: LpId,
    now: Time,
    to: LpId,
    at: Time,
    event: &impl std::fmt::Debug,
) -> Box<RuleError> {
    Box::new(RuleError { kind, from, now, to, at, event: format!("{event:?}") })
}
