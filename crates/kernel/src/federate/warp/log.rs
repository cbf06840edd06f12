//! What a federate has run ahead, in the order in which it ran it.
//!
//! A [`Segment`] is one batch; a [`Run`] is the part of one LP in it. Within a segment everything lies in a few long
//! arrays, written once from front to back: events, the LP's counters before each, receipts for what was sent, copies of
//! states, words kept for undo. An LP finds its latest run through `last`, and from there the earlier ones. Segments are
//! committed from the oldest on, and their memory is used again.
//!
//! Invariants: entries `from..end` of a run are alive, those before are committed, those after were rolled back; runs of an
//! LP that are alive are in the total order, along the segments; a link into a segment that is gone means nothing.

use std::collections::VecDeque;

use super::super::Federate;
use crate::context::{LpCore, Rules};
use crate::outbox::Receipt;
use crate::{Context, Event, EventQueue, Key, LpId, Model, Time};

/// Segments whose memory is kept for new ones.
const SPARE: usize = 8;

/// Where a run is: the number of its segment, and its place there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Link {
    pub segment: u32,
    pub run: u32,
}

impl Link {
    pub const NONE: Self = Self { segment: u32::MAX, run: u32::MAX };
}

/// The events of one LP in one batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub local: u32,
    /// Its first entry.
    pub base: u32,
    pub from: u32,
    pub end: u32,
    /// Its first receipt.
    pub receipts: u32,
    /// The run of the LP before this.
    pub before: Link,
}

/// One batch.
#[derive(Debug)]
pub(super) struct Segment<M: Model> {
    pub bound: Time,
    pub floor: Time,
    pub runs: Vec<Run>,
    pub events: Vec<Event<M::Event>>,
    /// The LP's counters before each event.
    pub cores: Vec<LpCore>,
    pub receipts: Vec<Receipt<M::Event>>,
    /// Copies of states, each with the entry before which it was made.
    pub saved: Vec<(u32, M::State)>,
    /// Words kept for undo, and where those of each entry end; no ends where nothing is undone.
    pub tape: Vec<u64>,
    pub ends: Vec<u32>,
    /// Bytes that the copies take.
    pub saved_bytes: usize,
}

impl<M: Model> Segment<M> {
    fn new() -> Self {
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
            saved_bytes: 0,
        }
    }

    fn clear(&mut self) {
        self.runs.clear();
        self.events.clear();
        self.cores.clear();
        self.receipts.clear();
        self.saved.clear();
        self.tape.clear();
        self.ends.clear();
        self.saved_bytes = 0;
    }

    pub fn bytes(&self) -> usize {
        self.events.len() * (size_of::<Event<M::Event>>() + size_of::<LpCore>())
            + self.receipts.len() * size_of::<Receipt<M::Event>>()
            + self.tape.len() * size_of::<u64>()
            + self.ends.len() * size_of::<u32>()
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

    /// Puts the state of an LP back to what it was before entry `at` of its run: the latest copy, and what came after it
    /// handled once more, without its messages. Says how many events that took. The counters are the caller's.
    pub fn restore(&self, model: &M, rules: &Rules, id: LpId, state: &mut M::State, at: usize) -> u64 {
        let copies = self.saved.partition_point(|(entry, _)| *entry as usize <= at);
        let (from, copy) = &self.saved[copies - 1];
        let from = *from as usize;
        state.clone_from(copy);
        let (mut unheard, mut fault) = (Vec::new(), None);
        let Some(core) = self.cores.get(from) else { return 0 };
        let mut cx = Context::new(model, rules, id, *core, &mut unheard, &mut fault);
        for event in &self.events[from..at] {
            cx.enter(event.time(), event.depth());
            model.handle(state, &event.payload, &mut cx);
            cx.outbox().clear();
        }
        (at - from) as u64
    }
}

/// The segments of a federate.
#[derive(Debug)]
pub(super) struct Log<M: Model> {
    segments: VecDeque<Segment<M>>,
    /// The number of the first segment.
    first: u32,
    /// By local number: the LP's latest run.
    last: Vec<Link>,
    spare: Vec<Segment<M>>,
    /// Bytes in all segments but the one in work.
    bytes: usize,
    copies: usize,
    /// Times that something was committed, and segments and runs looked at for it.
    pub commits: u64,
    pub commit_visits: u64,
}

impl<M: Model> Log<M> {
    pub fn new(lps: usize) -> Self {
        Self {
            segments: VecDeque::new(),
            first: 0,
            last: vec![Link::NONE; lps],
            spare: Vec::new(),
            bytes: 0,
            copies: 0,
            commits: 0,
            commit_visits: 0,
        }
    }

    /// Bytes taken.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Copies of states kept.
    pub fn copies(&self) -> usize {
        self.copies
    }

    pub fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// No event that is alive happens at or after this.
    pub fn reach(&self) -> Time {
        self.segments.iter().map(|segment| segment.bound).max().unwrap_or(Time::ZERO)
    }

    /// No event that is alive happens before this; [`Time::MAX`] if there is none.
    pub fn floor(&self) -> Time {
        self.segments.iter().map(|segment| segment.floor).min().unwrap_or(Time::MAX)
    }

    /// An empty segment to write, for events from `floor` to `bound`. It counts once it is closed.
    pub fn open(&mut self, floor: Time, bound: Time) -> (u32, Segment<M>) {
        let mut segment = self.spare.pop().unwrap_or_else(Segment::new);
        (segment.floor, segment.bound) = (floor, bound);
        let number = self.first.wrapping_add(self.segments.len() as u32);
        (number, segment)
    }

    /// Adds the segment that was opened.
    pub fn close(&mut self, segment: Segment<M>) {
        if segment.runs.is_empty() {
            return self.put_away(segment);
        }
        self.bytes += segment.bytes();
        self.copies += segment.saved.len();
        self.segments.push_back(segment);
    }

    fn put_away(&mut self, mut segment: Segment<M>) {
        segment.clear();
        if self.spare.len() < SPARE {
            self.spare.push(segment);
        }
    }

    /// The latest run of an LP, if it has any that is alive.
    pub fn last(&self, local: usize) -> Option<Link> {
        let link = self.last[local];
        self.find(link).filter(|(_, run)| run.from < run.end).map(|_| link)
    }

    fn find(&self, link: Link) -> Option<(&Segment<M>, &Run)> {
        if link == Link::NONE {
            return None;
        }
        let segment = self.segments.get(link.segment.wrapping_sub(self.first) as usize)?;
        Some((segment, segment.runs.get(link.run as usize)?))
    }

    /// The run that `link` names, which is there.
    pub fn run(&mut self, link: Link) -> (&mut Segment<M>, Run) {
        let segment = &mut self.segments[link.segment.wrapping_sub(self.first) as usize];
        let run = segment.runs[link.run as usize];
        (segment, run)
    }

    /// Whether the LP has an event of this order that is alive.
    pub fn holds(&self, local: usize, key: Key) -> bool {
        let mut link = self.last[local];
        while let Some((segment, run)) = self.find(link).filter(|(_, run)| run.from < run.end) {
            let alive = &segment.events[run.from as usize..run.end as usize];
            if alive[0].key() <= key {
                return alive.binary_search_by_key(&key, Event::key).is_ok();
            }
            link = run.before;
        }
        false
    }

    /// The order of the LP's latest event that is alive.
    pub fn last_key(&self, local: usize) -> Option<Key> {
        let (segment, run) = self.find(self.last[local])?;
        (run.from < run.end).then(|| segment.events[run.end as usize - 1].key())
    }

    /// The order of the LP's earliest event that is alive.
    pub fn first_key(&self, local: usize) -> Option<Key> {
        let (mut link, mut first) = (self.last[local], None);
        while let Some((segment, run)) = self.find(link).filter(|(_, run)| run.from < run.end) {
            first = Some(segment.events[run.from as usize].key());
            link = run.before;
        }
        first
    }

    /// Makes `link` the LP's latest run.
    pub fn set_last(&mut self, local: usize, link: Link) {
        self.last[local] = link;
    }

    /// The LP's latest run, alive or not.
    pub fn link(&self, local: usize) -> Link {
        self.last[local]
    }

    /// The run at `link` ends before entry `end` from now on.
    pub fn cut(&mut self, link: Link, end: u32) {
        let segment = &mut self.segments[link.segment.wrapping_sub(self.first) as usize];
        let run = &mut segment.runs[link.run as usize];
        run.end = end;
        if run.from == end {
            self.last[run.local as usize] = run.before;
        }
    }

    /// Gives up the memory of segments of which nothing is alive.
    pub fn shed(&mut self) {
        for segment in &mut self.segments {
            if segment.runs.iter().all(|run| run.from == run.end) {
                self.bytes -= segment.bytes();
                self.copies -= segment.saved.len();
                segment.clear();
                (segment.floor, segment.bound) = (Time::MAX, Time::ZERO);
            }
        }
        self.drop_done();
    }

    /// Drops batches that are committed, from the oldest on.
    fn drop_done(&mut self) {
        while self.segments.front().is_some_and(|segment| segment.floor == Time::MAX) {
            let segment = self.segments.pop_front().expect("there is a front");
            self.first = self.first.wrapping_add(1);
            self.bytes -= segment.bytes();
            self.copies -= segment.saved.len();
            self.put_away(segment);
        }
    }

    /// The local numbers of all LPs with something alive.
    pub fn owners(&self) -> Vec<usize> {
        let runs = self.segments.iter().flat_map(|segment| &segment.runs).filter(|run| run.from < run.end);
        let mut locals: Vec<usize> = runs.map(|run| run.local as usize).collect();
        locals.sort_unstable();
        locals.dedup();
        locals
    }

    /// Commits the batches up to the first that ends after `safe`: digest, output, counts. Each LP's events in their order. What
    /// of a batch is final before its end waits for it, so that every event is looked at once.
    pub fn commit<Q: EventQueue<M::Event>>(&mut self, model: &M, base: &mut Federate<M, Q>, safe: Time) {
        let whole = self.segments.iter().take_while(|segment| segment.bound <= safe).count();
        self.commit_first(whole, model, base, safe);
    }

    /// Commits everything before `safe`.
    pub fn commit_all<Q: EventQueue<M::Event>>(&mut self, model: &M, base: &mut Federate<M, Q>, safe: Time) {
        self.commit_first(self.segments.len(), model, base, safe);
    }

    /// Commits what is before `safe` in the first `count` batches.
    fn commit_first<Q: EventQueue<M::Event>>(
        &mut self,
        count: usize,
        model: &M,
        base: &mut Federate<M, Q>,
        safe: Time,
    ) {
        if count == 0 {
            return;
        }
        self.commits += 1;
        // The reach is that of all segments.
        self.commit_visits += self.segments.len() as u64;
        for segment in self.segments.iter_mut().take(count).filter(|segment| segment.floor < safe) {
            segment.floor = if segment.bound <= safe { Time::MAX } else { safe };
            self.commit_visits += segment.runs.len() as u64;
            for run in &mut segment.runs {
                let alive = &segment.events[run.from as usize..run.end as usize];
                let count = if segment.bound <= safe {
                    alive.len()
                } else {
                    alive.partition_point(|event| event.time() < safe)
                };
                let lp = base.place.lp(run.local as usize);
                for event in &alive[..count] {
                    model.commit(lp, event.time(), &event.payload, &mut base.output);
                    base.digest.event(event);
                    base.last = base.last.max(event.time());
                    if let Some(watch) = &mut base.watch {
                        watch.note(base.id, event);
                    }
                }
                base.events += count as u64;
                run.from += count as u32;
            }
        }
        self.drop_done();
        base.reach = self.reach();
    }
}
