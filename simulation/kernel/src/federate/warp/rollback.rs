//! Rolling back one LP: its state and counters go back, its events return to the queue, what it sent is
//! cancelled.
//!
//! Cancelling may roll back further LPs of the same federate (secondary rollbacks); they are worked off from
//! the list `recalls`, so that a cascade takes no stack. Messages to other federates are cancelled by
//! anti-messages in the outbox.

use super::log::Link;
use super::{Cancellation, Federate, Saving, Warp};
use crate::context::LpCore;
use crate::model::take_back;
use crate::outbox::Receipt;
use crate::panics::Asking;
use crate::{Event, EventQueue, Kept, Key, LpId, Model, Outbox, Partition};

impl<M: Model, Q: EventQueue<M::Event>> Warp<M, Q> {
    /// Takes in a message for an LP of this federate.
    pub(super) fn take_in(
        &mut self,
        model: &M,
        partition: &Partition,
        event: Event<M::Event>,
        outbox: &mut Outbox<M::Event>,
    ) {
        // At or after the reach the log has nothing to roll back. A stuck LP is looked at in any case: the
        // event it is stuck at is in no log.
        if event.time() < self.base.reach || !self.stuck.is_empty() {
            let local = self.base.place.local(event.to(), partition);
            if self.changes_stuck(local, &event) {
                self.unstick(local);
            }
            // A straggler: the LP has already run something that comes after it.
            if self.log.last_key(local).is_some_and(|last| last > event.key()) {
                self.stats.primary += 1;
                self.roll_back(model, partition, local, event.key(), false, outbox);
                self.recall(model, partition, outbox);
            }
        }
        self.base.queue.push(event);
    }

    /// Takes in what a batch sent within the federate to where it may have been already.
    pub(super) fn resolve(&mut self, model: &M, partition: &Partition, outbox: &mut Outbox<M::Event>) {
        let mut near = std::mem::take(&mut self.base.within_reach);
        for event in near.drain(..) {
            self.take_in(model, partition, event, outbox);
        }
        self.base.within_reach = near;
        self.recall(model, partition, outbox);
    }

    /// Cancels the messages in `recalls`, and those that are to be cancelled because of that.
    pub(super) fn recall(&mut self, model: &M, partition: &Partition, outbox: &mut Outbox<M::Event>) {
        while let Some(receipt) = self.recalls.pop() {
            let local = self.base.place.local(receipt.to(), partition);
            // Whatever message it is: it may be parked, and only from the queue can it be dropped.
            self.unstick(local);
            // Where it was run, that is undone; else it waits in the queue, from which it is dropped when its
            // turn comes.
            if self.log.holds(local, receipt.key()) {
                self.stats.secondary += 1;
                self.roll_back(model, partition, local, receipt.key(), true, outbox);
            } else {
                self.base.cancelled.insert(&receipt);
                self.stats.annihilated += 1;
            }
        }
    }

    /// Takes back all that the LP did from `key` on. Its events return to the queue, but not one at `key`
    /// itself where that is `annulled`.
    pub(super) fn roll_back(
        &mut self,
        model: &M,
        partition: &Partition,
        local: usize,
        key: Key,
        annulled: bool,
        outbox: &mut Outbox<M::Event>,
    ) {
        let id = self.base.place.lp(local);
        let undo = self.settings.saving == Saving::Undo;
        let (mut undone, mut reached) = (0, None);
        // The latest message first, each with the event that sent it.
        let mut cancels: Vec<(Key, Receipt<M::Event>)> = Vec::new();
        while let Some(link) = self.log.last(local) {
            self.stats.rollback_visits += 1;
            let (segment, run) = self.log.run(link);
            let (from, end) = (run.from as usize, run.end as usize);
            let at = from + segment.events[from..end].partition_point(|event| event.key() < key);
            // All of this run is before the key, and so are the LP's earlier ones.
            if at == end {
                break;
            }
            let (undone_events, sent_by) = (&segment.events[at..end], segment.cores[at].sent);
            let self_sent = self.base.requeue(undone_events, id, sent_by, annulled.then_some(key));
            let lp = &mut self.base.lps[local];
            let first_sent = segment.cores[run.first as usize].sent;
            let receipt = |core: LpCore| run.receipts as usize + (core.sent - first_sent) as usize;
            let passed: Vec<usize> =
                segment.passed_in(at..end).iter().map(|(entry, _)| *entry as usize).collect();
            // The LP's counters at the end of this run: where a later one has been cut, those at its start.
            let mut after = lp.core;
            // From the latest back: `undo` takes back a change of the state that the later ones have left.
            for entry in (at..end).rev() {
                let before = segment.cores[entry];
                let cause = segment.events[entry].key();
                for receipt in segment.receipts[receipt(before)..receipt(after)].iter().rev() {
                    if receipt.to() != id {
                        cancels.push((cause, receipt.clone()));
                    } else if self_sent.binary_search(&receipt.key()).is_err() {
                        // It was not handled in this run: it is in the queue, or about to be put there,
                        // since it was sent or since a later run was cut.
                        self.base.cancelled.insert(receipt);
                    }
                }
                if undo && passed.binary_search(&entry).is_err() {
                    let event = &segment.events[entry];
                    let mut kept = Kept::of(event, before, &self.base.rules, segment.words(entry));
                    let asking = Asking::begin(|| event.asked());
                    take_back(model, &mut lp.state, &event.payload, &mut kept);
                    asking.end();
                }
                after = before;
            }
            lp.core = after;
            if let Some(withdrawn) = self.base.withdrawn.of::<M>(local) {
                segment.give_back(at..end, withdrawn);
            }
            undone += end - at - segment.passed_in(at..end).len();
            reached = Some((link, at));
            self.log.cut(link, at as u32);
        }
        // Once for all runs that were cut: the state comes from the copy before the earliest of them, and the
        // others are not needed.
        if let (Some((link, at)), false) = (reached, undo) {
            self.restore(model, local, link, at);
        }
        self.stats.note_rollback(id, undone as u64);
        self.cancel_or_doubt(partition, local, cancels, outbox);
    }

    /// Brings the state of an LP back, by a copy, to what it was before entry `at` of its run at `link`.
    fn restore(&mut self, model: &M, local: usize, link: Link, at: usize) {
        let (segment, _) = self.log.run(link);
        let Federate { place, rules, lps, withdrawn, .. } = &mut self.base;
        let (id, state) = (place.lp(local), &mut lps[local].state);
        self.stats.coasted += segment.restore(model, rules, id, state, withdrawn.of::<M>(local), at);
    }

    /// Cancels what an LP had sent in events that were rolled back, the latest message first; or puts it in
    /// doubt, if cancellation is lazy.
    fn cancel_or_doubt(
        &mut self,
        partition: &Partition,
        local: usize,
        cancels: Vec<(Key, Receipt<M::Event>)>,
        outbox: &mut Outbox<M::Event>,
    ) {
        // What the LP sends again unchanged need not be cancelled, which spares its receivers a rollback.
        if self.settings.cancellation == Cancellation::Lazy {
            self.in_doubt.entry(local as u32).or_default().add(cancels);
            self.in_doubt.retain(|_, in_doubt| !in_doubt.is_empty());
        } else {
            cancels.into_iter().for_each(|(_, receipt)| self.cancel(partition, receipt, outbox));
        }
    }

    /// Cancels a message; within the federate it is only noted.
    pub(super) fn cancel(
        &mut self,
        partition: &Partition,
        receipt: Receipt<M::Event>,
        outbox: &mut Outbox<M::Event>,
    ) {
        match partition.place(receipt.to()).0 {
            to if to == self.base.id => self.recalls.push(receipt),
            other => {
                self.stats.antis += 1;
                outbox.push_anti(other, receipt);
            }
        }
    }
}

impl<M: Model, Q: EventQueue<M::Event>> Federate<M, Q> {
    /// Gives events of LP `id` that are rolled back to the queue, but for the one at `annulled`. What the LP
    /// sent itself with a number from `sent_by` on, it sent in one of these events: that just does not come
    /// again. Gives out the keys of those, ascending.
    fn requeue(
        &mut self,
        events: &[Event<M::Event>],
        id: LpId,
        sent_by: u64,
        annulled: Option<Key>,
    ) -> Vec<Key> {
        let mut self_sent = Vec::new();
        for event in events {
            let (source, sequence) = event.origin(self.rules.ties);
            if source == id && sequence >= sent_by {
                self_sent.push(event.key());
            } else if annulled != Some(event.key()) {
                self.queue.push(event.clone());
            }
        }
        self_sent
    }
}
