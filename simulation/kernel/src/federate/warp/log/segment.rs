//! One batch that was run ahead: its events, and what is needed to take each of them back.
//!
//! Entries that the LP had cancelled are there as well, so that a rollback gives them back to the queue and
//! to what the LP has cancelled; they are named in `passed`.
//!
//! Invariant: `passed` is ascending, and names only entries that were never handled.

use std::ops::Range;

use crate::context::{LpCore, Rules};
use crate::outbox::Receipt;
use crate::panics::Asking;
use crate::withdrawn::{Cause, Withdrawn};
use crate::{Context, Event, LpId, Model, Time};

/// Where a run is: the number of its segment, and its place there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Link {
    pub segment: u32,
    pub run: u32,
}

impl Link {
    pub const NONE: Self = Self { segment: u32::MAX, run: u32::MAX };
}

/// The events of one LP in one batch.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Run {
    /// The LP, by local number.
    pub local: u32,
    /// Its first entry.
    pub first: u32,
    /// Its first entry that is not committed.
    pub from: u32,
    /// The entry behind its last one that is not rolled back.
    pub end: u32,
    /// Its first receipt.
    pub receipts: u32,
    /// The run of the LP before this.
    pub before: Link,
}

/// The log of one batch: what is needed to undo or to commit its events.
#[derive(Debug)]
pub(in super::super) struct Segment<M: Model> {
    /// No event of it is at or after this.
    pub bound: Time,
    /// No event of it that is not final is before this; [`Time::MAX`] once nothing is left.
    pub floor: Time,
    /// In the order in which LPs were run.
    pub runs: Vec<Run>,
    /// Run by run, an LP's in the total order. An *entry* is a place in this list.
    pub events: Vec<Event<M::Event>>,
    /// The LP's counters before each event.
    pub cores: Vec<LpCore>,
    /// All messages sent, run by run; how many belong to an event, the counters before and after it say.
    pub receipts: Vec<Receipt<M::Event>>,
    /// Copies of states, each with the entry before which it was made.
    pub saved: Vec<(u32, M::State)>,
    /// Words kept for undo, and where those of each entry end; no ends where nothing is undone.
    pub tape: Vec<u64>,
    pub ends: Vec<u32>,
    /// Entries that the LP had cancelled, each with the event in which it had: they did not happen.
    pub passed: Vec<(u32, Cause)>,
    /// Copies of the state after each entry, for a model that commits states; none for others.
    pub after: Vec<M::State>,
    /// Bytes that all copies take.
    pub saved_bytes: usize,
}

impl<M: Model> Segment<M> {
    pub fn new() -> Self {
        Self {
            bound: Time::ZERO,
            floor: Time::MAX,
            runs: Vec::new(),
            events: Vec::new(),
            cores: Vec::new(),
            receipts: Vec::new(),
            saved: Vec::new(),
            tape: Vec::new(),
            ends: Vec::new(),
            passed: Vec::new(),
            after: Vec::new(),
            saved_bytes: 0,
        }
    }

    pub fn clear(&mut self) {
        self.runs.clear();
        self.events.clear();
        self.cores.clear();
        self.receipts.clear();
        self.saved.clear();
        self.tape.clear();
        self.ends.clear();
        self.passed.clear();
        self.after.clear();
        self.saved_bytes = 0;
    }

    pub fn bytes(&self) -> usize {
        self.events.len() * (size_of::<Event<M::Event>>() + size_of::<LpCore>())
            + self.receipts.len() * size_of::<Receipt<M::Event>>()
            + self.tape.len() * size_of::<u64>()
            + self.ends.len() * size_of::<u32>()
            + self.passed.len() * size_of::<(u32, Cause)>()
            + self.runs.len() * size_of::<Run>()
            + self.saved_bytes
    }

    fn tape_before(&self, entry: usize) -> usize {
        if entry == 0 { 0 } else { self.ends[entry - 1] as usize }
    }

    /// The words that entry `entry` kept.
    pub fn words(&self, entry: usize) -> &[u64] {
        &self.tape[self.tape_before(entry)..self.ends[entry] as usize]
    }

    /// The words kept since entry `entry` began.
    pub fn words_from(&self, entry: usize) -> &[u64] {
        &self.tape[self.tape_before(entry)..]
    }

    /// Drops the words kept since entry `entry` began.
    pub fn forget_words_from(&mut self, entry: usize) {
        if !self.ends.is_empty() || !self.tape.is_empty() {
            self.tape.truncate(self.tape_before(entry));
            self.ends.truncate(entry);
        }
    }

    /// Those of these entries that the LP had cancelled.
    pub fn passed_in(&self, entries: Range<usize>) -> &[(u32, Cause)] {
        passed_in::<M>(&self.passed, entries)
    }

    /// Puts what an LP has cancelled back to what it was before these entries, the latest of the LP that are
    /// alive.
    pub fn give_back(&self, entries: Range<usize>, withdrawn: &mut Withdrawn) {
        // Not where the rollback goes to: one to time zero must not reach what committed events cancelled.
        let key = self.events[entries.start].key();
        withdrawn.take_back(key);
        for (entry, cause) in self.passed_in(entries) {
            if cause.is_none_or(|cause| cause < key) {
                withdrawn.insert(self.events[*entry as usize].key(), *cause);
            }
        }
    }

    /// Puts the state of an LP back to what it was before entry `at` of its run: the latest copy, and what
    /// came after it handled once more, without its messages. What the LP has cancelled is as it was
    /// before that entry, and stays so. Says how many events that took. The counters are the caller's.
    pub fn restore(
        &self,
        model: &M,
        rules: &Rules,
        id: LpId,
        state: &mut M::State,
        mut withdrawn: Option<&mut Withdrawn>,
        at: usize,
    ) -> u64 {
        // A run begins with a copy, so that the latest one up to here is of this LP.
        let copies = self.saved.partition_point(|(entry, _)| *entry as usize <= at);
        let (from, copy) = &self.saved[copies - 1];
        let from = *from as usize;
        state.clone_from(copy);
        let (mut unheard, mut fault) = (Vec::new(), None);
        // The copy is of just this entry: nothing has to be handled again.
        let Some(core) = self.cores.get(from).filter(|_| from < at) else { return 0 };
        if let Some(withdrawn) = &mut withdrawn {
            self.give_back(from..at, withdrawn);
        }
        let mut cx = Context::new(model, rules, id, *core, withdrawn, &mut unheard, &mut fault);
        for event in &self.events[from..at] {
            if cx.pass_over(event).is_some() {
                continue;
            }
            cx.enter(event);
            let asking = Asking::begin(|| event.asked());
            model.handle(state, &event.payload, &mut cx);
            asking.end();
            // It was sent when the event was handled first, and is still on its way or handled.
            cx.outbox().clear();
        }
        (at - from - self.passed_in(from..at).len()) as u64
    }
}

pub(super) fn passed_in<M: Model>(passed: &[(u32, Cause)], entries: Range<usize>) -> &[(u32, Cause)] {
    let before = |at: usize| passed.partition_point(|(entry, _)| (*entry as usize) < at);
    if M::CANCELS { &passed[before(entries.start)..before(entries.end)] } else { &[] }
}
