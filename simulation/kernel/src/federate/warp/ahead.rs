//! Running ahead: a batch of whole LPs, every event with what is needed to take it back.
//!
//! The batch is that of the fast gear (`batch.rs`): all events before the bound come out of the queue and are
//! handled LP by LP. Here the bound may be wider than the lookahead, so that an LP may send another one
//! something for the middle of the batch; that is a straggler like any other, and dealt with when the batch
//! is through ([`Warp::resolve`]).
//!
//! Invariant: events of an LP are handled in the total order; when one fails, all before it are in the
//! segment and all after it are still in hand.

mod work;

use std::cmp::Reverse;

use super::super::{Meter, Place};
use super::log::{Link, Run, Segment};
use super::{EventError, EventErrorKind, Saving, Turn, Warp};
use crate::model::take_back;
use crate::panics::shown;
use crate::{Event, EventQueue, Kept, Model, Outbox, Partition, Time, catch};
use work::Work;

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
        let waiting = self.base.cancelled.len() + self.in_doubt.len();
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
        let settled = waiting != self.base.cancelled.len() + self.in_doubt.len();
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
        let first = segment.events.len() as u32;
        let mut run = Run {
            local: local as u32,
            first,
            from: first,
            end: first,
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
        if run.end > first {
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
        // A state that cannot be brought back makes rollbacks wrong: no change of the LP's past mends that.
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
        // `sent` has nothing but the messages of this run: what it sent before the event stays.
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
            // A copy that was made for the event stays. The next entry in its place begins the run of another
            // LP, whose own copy comes behind this one, so that no `restore` takes this for it.
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
        if self.in_doubt.contains_key(&run.local) {
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

    /// Hands on a message, as [`Federate::route`](super::Federate::route) does with all that were sent.
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
