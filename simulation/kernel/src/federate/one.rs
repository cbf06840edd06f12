//! The exact gear: one event after the other in the total order of the federate.
//!
//! What an event sends need not be in the queue before the next one is taken, only before one is taken that
//! it might precede. So messages are handed on together (copying each at once would stall on the store): at
//! the latest before anything is taken that is not within the lookahead of the first of them, and at once
//! where something was sent nearer than that.

use super::batch::{self, SENT};
use super::caught::Handling;
use super::{Federate, Progress};
use crate::panics::Asking;
use crate::world::Lp;
use crate::{Context, Event, EventQueue, Model, Outbox, Partition, Time, catch};

/// How many events ahead LPs are prefetched.
const FETCHED: usize = 16;

impl<M: Model, Q: EventQueue<M::Event>> Federate<M, Q> {
    /// Runs the least event, if it is before `bound`. [`Progress::More`] says that it did. A panic of the
    /// model goes on to the caller. Not for federates of Time Warp: events that were taken back there are not
    /// passed over.
    pub fn step(
        &mut self,
        model: &M,
        partition: &Partition,
        bound: Time,
        outbox: &mut Outbox<M::Event>,
    ) -> Progress {
        // The least event may be in a batch that `advance` has left in hand.
        self.put_back();
        if self.fault.is_some() {
            return Progress::Faulty;
        }
        let event = loop {
            match self.queue.pop(bound) {
                None => return Progress::Idle,
                Some(event) if self.pass_over(partition, &event) => {}
                Some(event) => break event,
            }
        };
        let asking = Asking::begin(|| event.asked());
        self.run_one(model, partition, &event);
        asking.end();
        self.at_work.rest();
        self.route(partition, outbox);
        if self.fault.is_some() { Progress::Faulty } else { Progress::More }
    }

    /// Takes out the least event, if it is before `bound`, for [`Federate::run_taken`], or to give it back
    /// with [`Federate::receive`]. Its LP may have cancelled it: then [`Federate::pass_over`] is to be
    /// asked before it is run.
    pub fn take_least(&mut self, bound: Time) -> Option<Event<M::Event>> {
        self.put_back();
        if self.fault.is_some() { None } else { self.queue.pop(bound) }
    }

    /// Runs an event that was taken out as the least; adds a copy of what it sends to `copies`.
    pub fn run_taken(
        &mut self,
        model: &M,
        partition: &Partition,
        event: &Event<M::Event>,
        outbox: &mut Outbox<M::Event>,
        copies: &mut Vec<Event<M::Event>>,
    ) -> Progress {
        if self.panicked.is_some() {
            return Progress::Faulty;
        }
        let run = || self.run_one(model, partition, event);
        if let Err(panic) = catch(run) {
            return self.caught(panic, Some(event));
        }
        // Before they are moved to queue and outbox.
        copies.extend(self.sent.iter().cloned());
        self.route(partition, outbox);
        if self.fault.is_some() { Progress::Faulty } else { Progress::More }
    }

    /// Runs at most `budget` events before `bound`, one after the other in the total order.
    pub fn step_on(
        &mut self,
        model: &M,
        partition: &Partition,
        bound: Time,
        budget: usize,
        outbox: &mut Outbox<M::Event>,
    ) -> Progress {
        if self.panicked.is_some() {
            return Progress::Faulty;
        }
        let mut hand = None;
        let run = || self.run_on(model, partition, bound, budget, outbox, &mut hand);
        let ran = catch(run);
        self.at_work.rest();
        ran.unwrap_or_else(|panic| self.caught(panic, hand.as_ref()))
    }

    /// The same; `hand` is the event that is being run.
    fn run_on(
        &mut self,
        model: &M,
        partition: &Partition,
        bound: Time,
        budget: usize,
        outbox: &mut Outbox<M::Event>,
        hand: &mut Option<Event<M::Event>>,
    ) -> Progress {
        self.put_back();
        let mut left = budget;
        let mut limit = bound;
        let mut fetched = 0;
        while left > 0 && self.fault.is_none() {
            *hand = self.queue.pop(limit);
            let Some(event) = hand else {
                // The limit was there for what had not been handed on. With that in the queue there may be an
                // event before the bound after all.
                if self.sent.is_empty() {
                    return Progress::Idle;
                }
                self.route(partition, outbox);
                limit = bound;
                continue;
            };
            // Time Warp comes here with events that were taken back, where there is an observer.
            if self.cancelled.len() > 0 && self.cancelled.takes(event) {
                continue;
            }
            if self.pass_over(partition, event) {
                continue;
            }
            left -= 1;
            if fetched == 0 {
                self.fetch_upcoming(partition);
                fetched = FETCHED;
            }
            fetched -= 1;
            let first = self.sent.is_empty();
            let near = self.run_one(model, partition, event);
            // Only under Time Warp has anything been run ahead.
            if near && self.reach > Time::ZERO {
                self.join(partition, bound);
            }
            if near || self.sent.len() >= SENT {
                self.route(partition, outbox);
                limit = bound;
            } else if first && !self.sent.is_empty() {
                // What is not handed on yet is due here or later: before that the queue misses nothing.
                limit = bound.min(event.time().saturating_add(self.rules.near()));
            }
        }
        self.route(partition, outbox);
        if self.fault.is_some() {
            Progress::Faulty
        } else if self.lvt() < bound {
            Progress::More
        } else {
            Progress::Idle
        }
    }

    /// Messages to LPs of this federate before `bound`, which is as far as all of them are to be run now, are
    /// for the queue, however far LPs have been run ahead.
    fn join(&mut self, partition: &Partition, bound: Time) {
        let (place, id) = (&self.place, self.id);
        let joins =
            |event: &mut Event<M::Event>| event.time() < bound && place.holds(event.to(), id, partition);
        self.sent.extract_if(.., joins).for_each(|event| self.queue.push(event));
    }

    /// Reads something of the LPs whose events come next, all at once: where there are more LPs than the
    /// cache holds, each would wait for the memory by itself otherwise.
    #[inline(always)]
    fn fetch_upcoming(&self, partition: &Partition) {
        let mut sum = 0;
        self.queue.upcoming(FETCHED, |event| {
            sum ^= self.lps[self.place.local(event.to(), partition)].core.sent;
        });
        std::hint::black_box(sum);
    }

    /// Runs an event that was taken out of the queue. Says whether it sent anything nearer than the
    /// lookahead.
    #[inline(always)]
    fn run_one(&mut self, model: &M, partition: &Partition, event: &Event<M::Event>) -> bool {
        let local = self.place.local(event.to(), partition);
        let (Lp { core, state }, withdrawn) = (&mut self.lps[local], self.withdrawn.of::<M>(local));
        let (sent, fault) = (&mut self.sent, &mut self.fault);
        let mut cx = Context::new(model, &self.rules, event.to(), *core, withdrawn, sent, fault);
        // Whatever is sent nearer than the lookahead may precede the next event.
        cx.watch(Time::MAX);
        let handling = Handling::begin(&self.struck);
        self.at_work.enter(event.to());
        self.at_work.reach(event.time());
        batch::run(model, state, event, &mut cx, &mut self.output, &mut self.digest, &mut self.last);
        handling.end();
        *core = cx.core();
        let near = cx.alarmed();
        // A broken rule raises the alarm too: that event does not count, and ends the run.
        let counts = !(near && cx.calm());
        self.events += u64::from(counts);
        if let Some(watch) = &mut self.watch
            && counts
        {
            watch.note(self.id, event);
        }
        near
    }
}
