//! Running ahead: a batch of whole LPs, every event with what is needed to take it back.
//!
//! The batch is that of the fast gear (`batch.rs`): all events before the bound come out of the queue and are
//! handled LP by LP. Here the bound may be wider than the lookahead, so that an LP may send another one
//! something for the middle of the batch; that is a straggler like any other, and dealt with when the batch
//! is through ([`Warp::resolve`]).
//!
//! Invariant: events of an LP are handled in the total order; when one fails, all before it are in the
//! segment and all after it are still in hand.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::super::{Meter, Place};
use super::check;
use super::log::{Link, Run, Segment};
use super::{EventError, EventErrorKind, Saving, Turn, Warp};
use crate::context::{LpCore, Rules};
use crate::model::take_back;
use crate::outbox::Receipt;
use crate::panics::shown;
use crate::withdrawn::{Cause, Withdrawn};
use crate::world::Lp;
use crate::{
    AtWork, Context, Event, EventQueue, Kept, LpId, Model, Outbox, Partition, RuleError, Time, catch,
};

impl<M: Model, Q: EventQueue<M::Event>> Warp<M, Q> {
    /// Runs what is before `bound`; conservative LPs only where that is not beyond `safe`. Says
    /// [`Turn::Waits`] if nothing came of it.
    pub(super) fn run_ahead(
        &mut self,
        model: &M,
        partition: &Partition,
        bound: Time,
        safe: Time,
        outbox: &mut Outbox<M::Event>,
    ) -> Turn {
        self.base.put_back();
        let front = self.reached;
        self.reached = front.max(bound);
        self.base.reach = self.base.reach.max(bound);
        // To be dropped, or in doubt: if these numbers change, something was settled though nothing ran.
        let waiting = self.base.cancelled.len() + self.unsent.len();
        let any = self.base.fill(partition, bound);
        let floor = self.base.batch.floor().min(bound);
        let (number, mut segment) = self.log.open(floor, bound);
        let (mut whole, mut parked) = (true, false);
        while any && !self.base.batch.is_empty() {
            let local = self.base.batch.take_lp(&self.base.place, partition);
            if bound > safe && self.conservative.get(local) == Some(&true) {
                self.held_back.extend(self.base.batch.hand().0.cloned());
            } else if let Some(stuck) = self.stuck.get_mut(&(local as u32)) {
                stuck.park(self.base.batch.hand().0.cloned());
                parked = true;
            } else {
                let link = Link { segment: number, run: segment.runs.len() as u32 };
                let (before, timed) = (segment.events.len(), self.base.meter.as_mut().and_then(Meter::begin));
                match self.run_lp_ahead(model, local, link, &mut segment) {
                    Ok(all) => whole &= all,
                    Err(trouble) => return Turn::Failed(trouble),
                }
                if let (Some(meter), Some(start)) = (&mut self.base.meter, timed) {
                    meter.end(start, local, (segment.events.len() - before) as u64);
                }
                self.send(partition, &mut segment, outbox);
            }
            self.base.batch.put_down_lp();
            if self.settings.memory_bytes.is_some_and(|most| self.log.bytes() + segment.bytes() >= most) {
                // No room: what is left of the batch waits in the queue.
                whole &= self.base.batch.is_empty();
                self.base.put_back();
            }
        }
        let ran = segment.events.len() as u64;
        // What is run again says nothing about how dense events are, nor whether wider strides pay.
        if bound > front {
            let fresh = segment.events.iter().filter(|event| event.time() >= front).count() as u64;
            self.pace.note_density(fresh, bound - floor.max(front));
            self.effort.turns += 1;
            self.effort.handled += fresh;
        } else {
            self.effort.again += 1;
        }
        self.stats.note_batch(ran - segment.passed.len() as u64, segment.saved.len() as u64);
        self.log.close(segment);
        self.stats.note_log(self.log.copies(), self.log.bytes());
        self.base.reach = self.log.reach();
        for event in self.held_back.drain(..) {
            self.base.queue.push(event);
        }
        if whole {
            self.give_up_before(partition, bound, outbox);
        }
        self.resolve(model, partition, outbox);
        self.pace.ran_ahead(ran, &self.stats);
        let settled = waiting != self.base.cancelled.len() + self.unsent.len();
        // Without any event there, the floor was higher than was known.
        if ran > 0 || settled || parked || !any { Turn::Ran } else { Turn::Waits }
    }

    /// Runs the events of the LP in hand, as far as the memory budget goes; says whether that was all. An
    /// error says that the run must end at once.
    fn run_lp_ahead(
        &mut self,
        model: &M,
        local: usize,
        link: Link,
        segment: &mut Segment<M>,
    ) -> Result<bool, Box<EventError>> {
        let base = segment.events.len() as u32;
        let mut run = Run {
            local: local as u32,
            base,
            from: base,
            end: base,
            receipts: segment.receipts.len() as u32,
            before: self.log.link(local),
        };
        let (id, saving) = (self.base.place.lp(local), self.settings.saving);
        // Whatever may fall into the batch gets a second look: `fill` has said so.
        debug_assert!(self.base.rules.near() >= segment.bound - segment.floor);
        let work = Work {
            model,
            rules: &self.base.rules,
            at_work: &self.base.at_work,
            id,
            bound: segment.bound,
            interval: match saving {
                Saving::Copy => 1,
                Saving::Periodic => self.pace.interval(),
                Saving::Undo => usize::MAX,
            },
            undo: saving == Saving::Undo,
            check: self.settings.check,
            // A federate that has no room at all runs an LP for the others' sake.
            most_bytes: match self.settings.memory_bytes {
                Some(most) => most.checked_sub(self.log.bytes() + 1).unwrap_or(usize::MAX),
                None => usize::MAX,
            },
        };
        let lp = &mut self.base.lps[local];
        let first_sent = lp.core.sent;
        let withdrawn = self.base.withdrawn.of::<M>(local);
        let (sent, fault) = (&mut self.base.sent, &mut self.base.fault);
        let (events, late) = self.base.batch.hand();
        let result = catch(|| match work.most_bytes {
            usize::MAX => work.run::<false>((lp, withdrawn), segment, events, late, sent, fault),
            _ => work.run::<true>((lp, withdrawn), segment, events, late, sent, fault),
        });
        let mut whole = true;
        let failure = match result {
            Ok(Ok(all)) => {
                whole = all;
                None
            }
            Ok(Err(kind)) => Some((kind, true)),
            Err(panic) => Some((EventErrorKind::Panic(panic.note), false)),
        };
        if let Some((kind, handled)) = failure {
            self.stick(model, local, segment, kind, handled, first_sent)?;
        }
        if !whole {
            self.put_back_rest(segment);
        }
        run.end = segment.events.len() as u32;
        segment.runs.push(run);
        if run.end > base {
            self.log.set_last(local, link);
        }
        Ok(whole)
    }

    /// Puts an LP back to before its latest event, which failed: it is stuck there, with all its later
    /// events. `handled` says that the model came to the end of that event; `first_sent` is the number of
    /// messages that the LP had sent before this run. An error says that the run must end at once.
    #[cold]
    #[inline(never)]
    fn stick(
        &mut self,
        model: &M,
        local: usize,
        segment: &mut Segment<M>,
        kind: EventErrorKind,
        handled: bool,
        first_sent: u64,
    ) -> Result<(), Box<EventError>> {
        let (id, undo) = (self.base.place.lp(local), self.settings.saving == Saving::Undo);
        let fatal = matches!(kind, EventErrorKind::Irreversible { .. });
        let event = segment.events.pop().expect("the event that failed was noted before it was handled");
        let trouble = Box::new(EventError { kind, lp: id, at: event.time(), event: shown(&event.payload) });
        if fatal {
            return Err(trouble);
        }
        // It is as if the event had not been handled.
        self.base.fault = None;
        let at = segment.events.len();
        segment.cores.truncate(at + 1);
        let core = segment.cores.pop().expect("counters are noted before an event is handled");
        self.base.sent.truncate((core.sent - first_sent) as usize);
        let mut withdrawn = self.base.withdrawn.of::<M>(local);
        if let Some(withdrawn) = &mut withdrawn {
            withdrawn.take_back(event.key());
        }
        let (rules, lp) = (&self.base.rules, &mut self.base.lps[local]);
        if undo && handled {
            let mut kept = Kept::of(&event, core, rules, segment.words_from(at));
            take_back(model, &mut lp.state, &event.payload, &mut kept);
        } else if !undo {
            self.stats.coasted += segment.restore(model, rules, id, &mut lp.state, withdrawn, at);
        }
        segment.forget_words_from(at);
        lp.core = core;
        let (events, late) = self.base.batch.hand();
        let mut parked: Vec<_> = events.filter(|other| other.key() > event.key()).cloned().collect();
        parked.extend(late.drain().map(|Reverse(event)| event));
        // Half an event cannot be undone, and there is no copy.
        let broken = undo && !handled;
        self.stuck.insert(local as u32, super::Stuck::new(trouble, event, parked, broken));
        Ok(())
    }

    /// Gives the events in hand that there was no room for back to the queue: those after the latest one of
    /// the segment.
    #[cold]
    fn put_back_rest(&mut self, segment: &Segment<M>) {
        let Some(last) = segment.events.last() else { return };
        let (events, late) = self.base.batch.hand();
        let left = events.filter(|other| other.key() > last.key()).cloned();
        left.chain(late.drain().map(|Reverse(event)| event)).for_each(|event| self.base.queue.push(event));
    }

    /// Notes what the latest run of the segment has sent, and hands on what is not in hand already.
    fn send(&mut self, partition: &Partition, segment: &mut Segment<M>, outbox: &mut Outbox<M::Event>) {
        let run = *segment.runs.last().expect("a run has just been added");
        let id = self.base.place.lp(run.local as usize);
        let bound = segment.bound;
        let mut sent = std::mem::take(&mut self.base.sent);
        if self.unsent.contains_key(&run.local) {
            self.send_anew(partition, segment, &mut sent, outbox);
        } else {
            for event in sent.drain(..) {
                segment.receipts.push(event.clone());
                // What the LP sent itself for before the bound is in hand already.
                if event.to() != id || event.time() >= bound {
                    self.hand_on(partition, event, outbox);
                }
            }
        }
        self.base.sent = sent;
    }

    /// Hands on a message.
    #[inline(always)]
    pub(super) fn hand_on(
        &mut self,
        partition: &Partition,
        event: Event<M::Event>,
        outbox: &mut Outbox<M::Event>,
    ) {
        let base = &mut self.base;
        let here = match base.place {
            Place::Run { first, count } => event.to().0.wrapping_sub(first) < count,
            Place::Set(_) => partition.place(event.to()).0 == base.id,
        };
        if !here {
            outbox.push(partition.place(event.to()).0, event);
        } else if event.time() < base.reach {
            base.within_reach.push(event);
        } else {
            base.queue.push(event);
        }
    }
}

/// What the events of one LP are run with.
struct Work<'w, M: Model> {
    model: &'w M,
    rules: &'w Rules,
    at_work: &'w AtWork,
    id: LpId,
    bound: Time,
    /// Entries from one copy of the state to the next.
    interval: usize,
    undo: bool,
    check: bool,
    /// Of the segment: no further event is run once it takes more.
    most_bytes: usize,
}

impl<M: Model> Work<'_, M> {
    /// Runs `events` and what the LP sends itself for before the bound, as long as there is room (which is
    /// only looked at if `LIMITED`); says whether that was all. On an error or a panic, the event in
    /// question is the last in the segment.
    fn run<'e, const LIMITED: bool>(
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
        let before = if LIMITED { segment.bytes() } else { 0 };
        let Segment { events: log, cores, saved, saved_bytes, tape, ends, passed, after, .. } = segment;
        let (first, first_saved, first_kept) = (log.len(), *saved_bytes, tape.len());
        let first_passed = passed.len();
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
            let from_run = match (next, late.peek()) {
                (None, None) => break,
                (Some(event), Some(Reverse(late))) => event < late,
                (Some(_), None) => true,
                (None, Some(_)) => false,
            };
            if from_run {
                log.extend(next.cloned());
                next = events.next();
            } else {
                log.extend(late.pop().map(|Reverse(event)| event));
            }
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
                cx.enter(event);
                if self.check {
                    check::handle(self.model, state, event, &mut cx, self.undo)?;
                } else {
                    self.model.handle(state, &event.payload, &mut cx);
                }
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
                // Everything else is dealt with after the batch.
                let joins = |event: &&Event<M::Event>| event.time() < self.bound && event.to() == self.id;
                late.extend(cx.outbox()[looked..].iter().filter(joins).cloned().map(Reverse));
                looked = cx.outbox().len();
            }
            if LIMITED {
                let kept = if self.undo { cx.kept() - first_kept } else { 0 };
                let entry = size_of::<Event<M::Event>>() + size_of::<LpCore>() + size_of::<u32>();
                let new = (log.len() - first) * entry
                    + cx.outbox().len() * size_of::<Receipt<M::Event>>()
                    + kept * size_of::<u64>()
                    + (passed.len() - first_passed) * size_of::<(u32, Cause)>()
                    + (*saved_bytes - first_saved)
                    + size_of::<Run>();
                if before + new > self.most_bytes {
                    whole = next.is_none() && late.is_empty();
                    break;
                }
            }
        }
        *core = cx.core();
        Ok(whole)
    }
}
