//! What an LP sees of the simulation while it handles an event.
//!
//! A [`Context`] checks every message when it is sent, and remembers the first that breaks a rule as a [`Fault`]; the federate then
//! stops. Sends are gathered in a buffer that the federate owns and reuses: nothing is allocated per event.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::event::{Event, MAX_DEPTH, TieBreak};
use crate::{ChannelTable, Fault, FaultKind, LpId, Model, Rng, Time};

/// What the federate keeps per LP besides the model's state: 16 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct LpCore {
    /// Random numbers drawn.
    pub draws: u64,
    /// Events sent.
    pub sent: u64,
}

/// A moment in the handling of events.
#[derive(Debug)]
pub(crate) struct Mark {
    core: LpCore,
    outbox: usize,
    tape: usize,
}

/// What is the same for every event of a run.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    pub seed: u64,
    pub ties: TieBreak,
    pub lookahead: Time,
    /// What is sent nearer than this may matter to whoever runs the LP: at least [`Rules::least_near`], and the width of a batch.
    near: Time,
    /// The least delay that needs no second look: `near`, or [`Time::MAX`] where every message is held against `channels`.
    plain: Time,
    pub lps: u32,
    /// What the LPs declare, where they do.
    channels: Option<Arc<ChannelTable>>,
}

impl Rules {
    /// The rules of a model with so many LPs and this lookahead, which declares no channels.
    pub fn new(seed: u64, ties: TieBreak, lookahead: Time, lps: u32) -> Self {
        let near = lookahead.max(Time::TICK);
        Self { seed, ties, lookahead, near, plain: near, lps, channels: None }
    }

    /// The lookahead, and more than zero.
    pub fn least_near(&self) -> Time {
        self.lookahead.max(Time::TICK)
    }

    /// What is sent nearer than this raises an alarm.
    pub fn near(&self) -> Time {
        self.near
    }

    /// Says from where on a delay is too far off to matter.
    pub fn set_near(&mut self, near: Time) {
        self.near = near;
        self.plain = if self.channels.is_some() { Time::MAX } else { near };
    }

    /// Holds messages against `channels` from now on.
    pub fn set_channels(&mut self, channels: Option<Arc<ChannelTable>>) {
        self.channels = channels;
        self.set_near(self.near);
    }

    /// Judges a send that is not plainly beyond the lookahead: to oneself, at the start, along a declared channel, or against
    /// the rules. Gives the depth of the event. By value, so that the context of a model that is compiled into the loop stays
    /// in registers.
    #[inline(never)]
    fn judge(
        &self,
        from: LpId,
        now: Time,
        depth: u16,
        initial: bool,
        to: LpId,
        delay: Time,
    ) -> Result<u16, FaultKind> {
        let at = now.saturating_add(delay);
        if to.0 >= self.lps {
            return Err(FaultKind::UnknownLp { lps: self.lps });
        }
        if at == Time::MAX {
            return Err(FaultKind::BeyondClock);
        }
        if to != from && !initial {
            if delay < self.lookahead {
                return Err(FaultKind::Lookahead { lookahead: self.lookahead });
            }
            if self.channels.as_ref().is_some_and(|channels| !channels.allows(from, to, delay)) {
                return Err(FaultKind::Channel);
            }
        }
        if at > now || initial {
            // At the start everything is at depth 0: no event is the cause of another yet.
            Ok(0)
        } else if depth == MAX_DEPTH {
            Err(FaultKind::EndlessInstant)
        } else {
            Ok(depth + 1)
        }
    }
}

/// The LP's handle on the run: its number, the simulated time, its random numbers, and the way to send messages.
#[derive(Debug)]
pub struct Context<'a, M: Model> {
    model: &'a M,
    rules: &'a Rules,
    lp: LpId,
    now: Time,
    depth: u16,
    initial: bool,
    rng: Rng,
    sent: u64,
    watched: Time,
    alarm: bool,
    outbox: &'a mut Vec<Event<M::Event>>,
    fault: &'a mut Option<Box<Fault>>,
    tape: Option<&'a mut Vec<u64>>,
}

impl<'a, M: Model> Context<'a, M> {
    #[inline(always)]
    pub(crate) fn new(
        model: &'a M,
        rules: &'a Rules,
        lp: LpId,
        core: LpCore,
        outbox: &'a mut Vec<Event<M::Event>>,
        fault: &'a mut Option<Box<Fault>>,
    ) -> Self {
        let rng = Rng::at(rules.seed, u64::from(lp.0), core.draws);
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

    /// How much has been kept.
    pub(crate) fn kept(&self) -> usize {
        self.tape.as_ref().map_or(0, |tape| tape.len())
    }

    /// The LP's present position, for a later rollback to it.
    pub(crate) fn mark(&self) -> Mark {
        let core = LpCore { draws: self.rng.draws(), sent: self.sent };
        Mark { core, outbox: self.outbox.len(), tape: self.kept() }
    }

    /// Takes back random numbers, messages and words since `mark`; a rule broken since is forgotten.
    pub(crate) fn go_back(&mut self, mark: &Mark) {
        self.rng.rewind(self.rng.draws() - mark.core.draws);
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

    /// The words kept since `mark`.
    pub(crate) fn words_since(&self, mark: &Mark) -> Vec<u64> {
        self.tape.as_ref().map_or_else(Vec::new, |tape| tape[mark.tape..].to_vec())
    }

    /// Moves on to an event of the same LP.
    #[inline(always)]
    pub(crate) fn enter(&mut self, now: Time, depth: u16) {
        (self.now, self.depth, self.initial) = (now, depth, false);
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

    /// Whether a send broke a rule.
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
        LpCore { draws: self.rng.draws(), sent: self.sent }
    }

    /// Events sent and not yet handed on.
    #[inline(always)]
    pub(crate) fn outbox(&mut self) -> &mut Vec<Event<M::Event>> {
        self.outbox
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

    /// Sends `event` to `to`, to happen after `delay`. A delay to another LP below the lookahead, another LP to which the model
    /// declares no channel ([`Model::channels`]) or one of a greater lookahead, an LP that does not exist, or a time beyond the
    /// clock ends the run with a [`Fault`].
    #[inline(always)]
    pub fn send(&mut self, to: LpId, delay: Time, event: M::Event) {
        let time = self.now.as_ticks().wrapping_add(delay.as_ticks());
        let beyond = time < delay.as_ticks() || time == u64::MAX;
        if delay < self.rules.plain || beyond || to.0 >= self.rules.lps {
            match self.rules.judge(self.lp, self.now, self.depth, self.initial, to, delay) {
                Ok(depth) => {
                    self.alarm |= delay < self.rules.near && time < self.watched.as_ticks();
                    self.push(to, Time::ticks(time), depth, event);
                }
                Err(kind) => self.refuse(kind, to, self.now.saturating_add(delay), &event),
            }
        } else {
            self.push(to, Time::ticks(time), 0, event);
        }
    }

    /// Sends `event` to the LP itself, to happen after `delay`, which may be zero.
    #[inline(always)]
    pub fn schedule(&mut self, delay: Time, event: M::Event) {
        self.send(self.lp, delay, event);
    }

    /// Sends `event` to `to`, to happen at `at`. As [`Context::send`]; a time in the past ends the run with a [`Fault`].
    pub fn send_at(&mut self, to: LpId, at: Time, event: M::Event) {
        if at < self.now {
            return self.refuse(FaultKind::Past, to, at, &event);
        }
        self.send(to, at - self.now, event);
    }

    /// Keeps a word for [`Undo::undo`](crate::Undo::undo): what handling this event overwrites and cannot be computed back. Does nothing in
    /// runs that do not undo.
    #[inline(always)]
    pub fn keep(&mut self, word: u64) {
        if let Some(tape) = &mut self.tape {
            tape.push(word);
        }
    }

    #[inline(always)]
    fn push(&mut self, to: LpId, time: Time, depth: u16, event: M::Event) {
        let tie = self.rules.ties.tie(self.lp, self.sent);
        self.sent += 1;
        self.outbox.push(Event::new(time, depth, tie, to, event));
    }

    fn refuse(&mut self, kind: FaultKind, to: LpId, at: Time, event: &M::Event) {
        self.alarm = true;
        if self.fault.is_none() {
            *self.fault = Some(describe(kind, self.lp, self.now, to, at, event));
        }
    }
}

/// The words that [`Context::keep`] kept while an event was handled, for its `undo`.
///
/// ```
/// use paceline_kernel::{Context, Kept, LpId, Model, Time, Undo, UndoFn};
///
/// /// LPs that remember the largest number they were told.
/// struct Largest;
///
/// impl Model for Largest {
///     type State = u64;
///     type Event = u64;
///     type Output = ();
///     const UNDO: Option<UndoFn<Self>> = Some(Self::undo);
///
///     # fn lps(&self) -> u32 { 1 }
///     # fn lookahead(&self) -> Time { Time::secs(1) }
///     # fn init(&self, _: LpId, _: &mut Context<Self>) -> u64 { 0 }
///     fn handle(&self, largest: &mut u64, told: &u64, cx: &mut Context<Self>) {
///         cx.keep(*largest);
///         *largest = (*largest).max(*told);
///     }
/// }
///
/// impl Undo for Largest {
///     fn undo(&self, largest: &mut u64, _told: &u64, kept: &mut Kept<'_>) {
///         *largest = kept.word();
///     }
/// }
/// ```
#[derive(Debug)]
pub struct Kept<'a> {
    words: &'a [u64],
}

impl<'a> Kept<'a> {
    /// Gives `words` back, the last first. The kernel does this; models' authors do, to test an `undo`.
    pub fn new(words: &'a [u64]) -> Self {
        Self { words }
    }

    /// The word kept last, of those not yet given back. Panics if there is none: `undo` asks for more than was kept.
    #[inline(always)]
    pub fn word(&mut self) -> u64 {
        let (last, rest) = self.words.split_last().expect("`undo` takes back no more words than were kept");
        self.words = rest;
        *last
    }

    /// Whether all words have been given back.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }
}

#[cold]
#[inline(never)]
fn describe(
    kind: FaultKind,
    from: LpId,
    now: Time,
    to: LpId,
    at: Time,
    event: &impl std::fmt::Debug,
) -> Box<Fault> {
    Box::new(Fault { kind, from, now, to, at, event: format!("{event:?}") })
}
