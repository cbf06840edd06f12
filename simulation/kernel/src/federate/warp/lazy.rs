//! Lazy cancellation (Gafni, 1988): a message whose cause was rolled back is *in doubt*. It stays where it is
//! until the LP has come past the cause again. Sent once more it is confirmed; else it is cancelled then.
//!
//! Invariants: the messages of an LP are in the order of their causes, and every cause comes after what the
//! LP has in the log; the floor of the federate counts them, so that none is overtaken by GVT.

use std::collections::VecDeque;
use std::hash::Hash;

use super::Warp;
use super::log::Segment;
use crate::digest::same_payload;
use crate::outbox::Receipt;
use crate::{Event, EventQueue, Key, Model, Outbox, Partition, Time};

/// The messages of one LP that are neither confirmed nor cancelled, each with the order of its cause.
#[derive(Debug)]
pub(super) struct InDoubt<E>(VecDeque<(Key, Receipt<E>)>);

impl<E> Default for InDoubt<E> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<E: Hash + PartialEq> InDoubt<E> {
    /// No message may still be cancelled for an earlier time: a message is not before its cause.
    pub fn floor(&self) -> Time {
        self.0.front().map_or(Time::MAX, |(cause, _)| cause.time())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds messages, latest first, all caused before those in here.
    pub fn add(&mut self, latest_first: Vec<(Key, Receipt<E>)>) {
        latest_first.into_iter().for_each(|message| self.0.push_front(message));
    }

    /// Whether this message is in here; then it is confirmed.
    fn confirm(&mut self, message: &Event<E>) -> bool {
        let same = |other: &Receipt<E>| {
            other.key() == message.key()
                && other.to() == message.to()
                && same_payload(&other.payload, &message.payload)
        };
        let found = self.0.iter().position(|(_, other)| same(other));
        found.is_some_and(|found| self.0.remove(found).is_some())
    }

    /// Gives up the message of this order, if there is one.
    fn give_up_at(&mut self, key: Key) -> Option<Receipt<E>> {
        let found = self.0.iter().position(|(_, other)| other.key() == key)?;
        self.0.remove(found).map(|(_, receipt)| receipt)
    }

    /// Gives up the first message if its cause is one of `these`.
    fn give_up(&mut self, these: impl Fn(Key) -> bool) -> Option<Receipt<E>> {
        let due = self.0.front().is_some_and(|(cause, _)| these(*cause));
        if due { self.0.pop_front().map(|(_, receipt)| receipt) } else { None }
    }
}

impl<M: Model, Q: EventQueue<M::Event>> Warp<M, Q> {
    /// As [`Warp::send`], for an LP that has messages in doubt.
    pub(super) fn send_anew(
        &mut self,
        partition: &Partition,
        segment: &mut Segment<M>,
        sent: &mut Vec<Event<M::Event>>,
        outbox: &mut Outbox<M::Event>,
    ) {
        let run = *segment.runs.last().expect("a run has just been added");
        let id = self.base.place.lp(run.local as usize);
        let mut in_doubt = self.in_doubt.remove(&run.local).unwrap_or_default();
        let last = self.base.lps[run.local as usize].core.sent;
        let mut messages = sent.drain(..);
        for entry in run.first as usize..run.end as usize {
            let after = if entry + 1 < run.end as usize { segment.cores[entry + 1].sent } else { last };
            for event in messages.by_ref().take((after - segment.cores[entry].sent) as usize) {
                let receipt = event.clone();
                let in_run = event.to() == id && event.time() < segment.bound;
                if event.to() != id && in_doubt.confirm(&receipt) {
                    self.stats.confirmed += 1;
                } else if !in_run {
                    // What takes the place of another is not to be mistaken for it.
                    if let Some(other) = in_doubt.give_up_at(event.key()) {
                        self.cancel(partition, other, outbox);
                    }
                    self.hand_on(partition, event, outbox);
                }
                segment.receipts.push(receipt);
            }
            let here = segment.events[entry].key();
            while let Some(receipt) = in_doubt.give_up(|cause| cause <= here) {
                self.cancel(partition, receipt, outbox);
            }
        }
        drop(messages);
        // A stuck LP sends nothing more for as long as its past stays.
        let stuck = self.stuck.contains_key(&run.local);
        while let Some(receipt) = in_doubt.give_up(|_| stuck) {
            self.cancel(partition, receipt, outbox);
        }
        if !in_doubt.is_empty() {
            self.in_doubt.insert(run.local, in_doubt);
        }
    }

    /// All LPs have come to `bound`: messages caused before it have not been sent again.
    pub(super) fn give_up_before(
        &mut self,
        partition: &Partition,
        bound: Time,
        outbox: &mut Outbox<M::Event>,
    ) {
        if self.in_doubt.is_empty() {
            return;
        }
        let mut all = std::mem::take(&mut self.in_doubt);
        for in_doubt in all.values_mut() {
            while let Some(receipt) = in_doubt.give_up(|cause| cause.time() < bound) {
                self.cancel(partition, receipt, outbox);
            }
        }
        all.retain(|_, in_doubt| !in_doubt.is_empty());
        self.in_doubt = all;
    }
}
