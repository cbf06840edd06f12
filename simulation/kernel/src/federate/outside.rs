//! A federate whose LPs are run elsewhere: what is handed out, what is done there, and what comes back.
//!
//! The federate that stays is a *stand-in*: it keeps its number and its place, and has no events. The one
//! handed out has its LPs as they stand and its events. What is never handed back is lost: the stand-in has
//! the LPs as they were.
//!
//! Invariant: what a stand-in and the federate handed out have committed is counted once, by the one or the
//! other.

use std::cell::Cell;
use std::sync::Arc;

use super::{Batch, Cancelled, Federate};
use crate::panics::Asking;
use crate::world::Lp;
use crate::{Digest, Event, EventQueue, LpId, Model, Partition, Time};

impl<M: Model, Q: EventQueue<M::Event>> Federate<M, Q> {
    /// Hands out the LPs and events of this federate, to be run elsewhere until they come back
    /// ([`Federate::take_back`]).
    pub fn hand_out(&mut self) -> Self {
        self.put_back();
        let mut queue = Q::with_window(Time::ZERO);
        self.queue.drain(Time::MAX, |event| queue.push(event));
        Self {
            id: self.id,
            rules: self.rules.clone(),
            place: self.place.clone(),
            lps: self.lps.clone(),
            withdrawn: self.withdrawn.clone(),
            queue,
            batch: Batch::new(self.lps.len() as u32),
            sent: Vec::new(),
            within_reach: Vec::new(),
            reach: Time::ZERO,
            lookahead_within: self.lookahead_within,
            cancelled: Cancelled::default(),
            fault: None,
            panicked: None,
            struck: Cell::new(false),
            at_work: Arc::default(),
            // Counted from nothing there, and joined when it comes back: nothing is counted twice.
            digest: Digest::default(),
            events: 0,
            last: self.last,
            // With the LPs: what an LP has committed stays in order in one output.
            output: std::mem::take(&mut self.output),
            meter: None,
            watch: self.watch.take(),
        }
    }

    /// Takes back what was handed out, with all that has been committed since.
    pub fn take_back(&mut self, mut other: Self) {
        assert!(self.id == other.id, "federate {} is not federate {}", other.id, self.id);
        other.put_back();
        other.queue.drain(Time::MAX, |event| self.queue.push(event));
        self.digest.join(other.digest);
        self.events += other.events;
        self.last = self.last.max(other.last);
        (self.lps, self.withdrawn) = (other.lps, other.withdrawn);
        (self.output, self.watch) = (other.output, other.watch);
        (self.fault, self.panicked) = (other.fault, other.panicked);
    }

    /// Takes out all events, in any order.
    pub fn drain_events(&mut self, take: impl FnMut(Event<M::Event>)) {
        self.put_back();
        self.queue.drain(Time::MAX, take);
    }

    /// Whether `lp` is in this federate.
    pub fn holds(&self, lp: LpId, partition: &Partition) -> bool {
        lp.0 < self.rules.lps && self.place.holds(lp, self.id, partition)
    }

    /// The LPs of this federate, ascending.
    pub fn members(&self) -> impl Iterator<Item = LpId> {
        (0..self.lps.len()).map(|local| self.place.lp(local))
    }

    /// Commits `event`, which was taken out ([`Federate::take_least`]) and which its LP has handled
    /// elsewhere. The LP's state is there too, so that the model's `commit_state` is not called.
    pub fn commit_taken(&mut self, model: &M, event: &Event<M::Event>) {
        let asking = Asking::begin(|| event.asked());
        model.commit(event.to(), event.time(), &event.payload, &mut self.output);
        asking.end();
        self.digest.event(event);
        self.events += 1;
        self.last = self.last.max(event.time());
        if let Some(watch) = &mut self.watch {
            watch.note(self.id, event);
        }
    }

    /// The next message of `from`, which is in this federate, to happen to `to` at `at`: for LPs that run
    /// elsewhere. The caller sees to it that lookahead and channels are kept, and that `at` is after the time
    /// of the event that sends it: the message has depth 0, as one with a positive delay.
    pub fn send_from(
        &mut self,
        partition: &Partition,
        from: LpId,
        to: LpId,
        at: Time,
        payload: M::Event,
    ) -> Event<M::Event> {
        let Lp { core, .. } = &mut self.lps[self.place.local(from, partition)];
        let tie = self.rules.ties.tie(from, core.sent);
        core.sent += 1;
        Event::new(at, 0, tie, to, payload)
    }
}
