//! The run of one LP ahead: event after event, each noted with what is needed to take it back before it is
//! handled.
//!
//! Invariants: the lists of the segment grow together, one entry an event; an event is in the segment before
//! the model sees it, so that whoever looks after an error or a panic finds it last.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::super::log::{Run, Segment};
use super::super::{EventErrorKind, check};
use crate::context::{LpCore, Rules};
use crate::outbox::Receipt;
use crate::withdrawn::{Cause, Withdrawn};
use crate::world::Lp;
use crate::{AtWork, Context, Event, LpId, Model, RuleError, Time};

/// What the events of one LP are run with.
pub(super) struct Work<'w, M: Model> {
    pub(super) model: &'w M,
    pub(super) rules: &'w Rules,
    pub(super) at_work: &'w AtWork,
    pub(super) id: LpId,
    pub(super) bound: Time,
    /// Entries from one copy of the state to the next.
    pub(super) interval: usize,
    pub(super) undo: bool,
    pub(super) check: bool,
    /// Of the segment: no further event is run once it takes more.
    pub(super) most_bytes: usize,
}

impl<M: Model> Work<'_, M> {
    /// Runs `events` and what the LP sends itself for before the bound, as long as there is room (which is
    /// only looked at if `LIMITED`); says whether that was all. On an error or a panic, the event in
    /// question is the last in the segment.
    pub(super) fn run<'e, const LIMITED: bool>(
        &self,
        (lp, withdrawn): (&mut Lp<M::State>, Option<&mut Withdrawn>),
        segment: &mut Segment<M>,
        mut events: impl Iterator<Item = &'e Event<M::Event>>,
        late: &mut BinaryHeap<Reverse<Event<M::Event>>>,
        sent: &mut Vec<Event<M::Event>>,
        fault: &mut Option<Box<RuleError>>,
    ) -> Result<bool, EventErrorKind>
    where
        M::Event: 'e,
    {
        let begun = LIMITED.then(|| Begun::of(segment));
        let Segment { events: log, cores, saved, saved_bytes, tape, ends, passed, after, .. } = segment;
        let Lp { core, state } = lp;
        let mut cx = Context::new(self.model, self.rules, self.id, *core, withdrawn, sent, fault);
        cx.watch(self.bound);
        if self.undo {
            cx.keep_on(tape);
        }
        let mut whole = true;
        // The first event gets a copy: a segment must not need one of an earlier segment, which may be gone.
        let mut since = if self.undo { 0 } else { self.interval - 1 };
        let (mut next, mut looked) = (events.next(), 0);
        self.at_work.enter(self.id);
        loop {
            let Some(event) = take_least(&mut next, &mut events, late) else { break };
            log.push(event);
            let event = log.last().expect("an event was added");
            since += 1;
            if since == self.interval {
                *saved_bytes += self.model.state_bytes(state) + size_of::<u32>();
                saved.push((log.len() as u32 - 1, state.clone()));
                since = 0;
            }
            cores.push(cx.core());
            if let Some(cause) = cx.pass_over(event) {
                passed.push((log.len() as u32 - 1, cause));
            } else {
                self.handle(state, event, &mut cx)?;
            }
            if self.undo {
                ends.push(cx.kept() as u32);
            }
            // Also after an event that was passed over: the place in `after` is that of the entry.
            if M::COMMITS_STATE && !(cx.alarmed() && cx.has_fault()) {
                *saved_bytes += self.model.state_bytes(state);
                after.push(state.clone());
            }
            if cx.alarmed() {
                if cx.calm() {
                    let fault = fault.take().expect("a rule was broken");
                    return Err(EventErrorKind::Rule(*fault));
                }
                let joined = cx.outbox()[looked..].iter().filter(|event| self.joins(event));
                late.extend(joined.cloned().map(Reverse));
                looked = cx.outbox().len();
            }
            if let Some(begun) = &begun {
                let words = self.undo.then(|| cx.kept());
                let bytes = begun.bytes::<M>(log.len(), cx.outbox().len(), words, passed.len(), *saved_bytes);
                if bytes > self.most_bytes {
                    whole = next.is_none() && late.is_empty();
                    break;
                }
            }
        }
        *core = cx.core();
        Ok(whole)
    }

    /// Handles one event, and where that is asked for, checks that it can be undone.
    #[inline(always)]
    fn handle(
        &self,
        state: &mut M::State,
        event: &Event<M::Event>,
        cx: &mut Context<'_, M>,
    ) -> Result<(), EventErrorKind> {
        cx.enter(event);
        if self.check {
            return check::handle(self.model, state, event, cx, self.undo);
        }
        self.model.handle(state, &event.payload, cx);
        Ok(())
    }

    /// Whether an event that the LP has sent joins its run: as a copy, since it stays among the messages, for
    /// its receipt. Everything else is dealt with after the batch.
    fn joins(&self, event: &Event<M::Event>) -> bool {
        event.time() < self.bound && event.to() == self.id
    }
}

/// What a segment holds when the run of an LP begins.
struct Begun {
    bytes: usize,
    entries: usize,
    words: usize,
    passed: usize,
    saved_bytes: usize,
}

impl Begun {
    fn of<M: Model>(segment: &Segment<M>) -> Self {
        Self {
            bytes: segment.bytes(),
            entries: segment.events.len(),
            words: segment.tape.len(),
            passed: segment.passed.len(),
            saved_bytes: segment.saved_bytes,
        }
    }

    /// The bytes of the segment with what the run has added, from the lengths that its lists have now;
    /// `words` are those kept for undo, if any are.
    fn bytes<M: Model>(
        &self,
        entries: usize,
        receipts: usize,
        words: Option<usize>,
        passed: usize,
        saved_bytes: usize,
    ) -> usize {
        let entry = size_of::<Event<M::Event>>() + size_of::<LpCore>() + size_of::<u32>();
        self.bytes
            + (entries - self.entries) * entry
            + receipts * size_of::<Receipt<M::Event>>()
            + words.map_or(0, |words| words - self.words) * size_of::<u64>()
            + (passed - self.passed) * size_of::<(u32, Cause)>()
            + (saved_bytes - self.saved_bytes)
            + size_of::<Run>()
    }
}

/// Takes the least of the next event of the run and of those that joined it.
#[inline(always)]
fn take_least<'e, E: Clone>(
    next: &mut Option<&'e Event<E>>,
    events: &mut impl Iterator<Item = &'e Event<E>>,
    late: &mut BinaryHeap<Reverse<Event<E>>>,
) -> Option<Event<E>> {
    let is_late = match (*next, late.peek()) {
        (Some(event), Some(Reverse(late))) => event >= late,
        (next, _) => next.is_none(),
    };
    if is_late {
        return late.pop().map(|Reverse(event)| event);
    }
    let event = next.cloned();
    *next = events.next();
    event
}
