//! What a federate has run ahead, in the order in which it ran it.
//!
//! A [`Segment`] is one batch; a [`Run`] is the part of one LP in it. Within a segment everything lies in a
//! few long arrays, written once from front to back: events, the LP's counters before each, receipts for what
//! was sent, copies of states, words kept for undo. An LP finds its latest run through `last`, and from there
//! the earlier ones. Segments are committed from the oldest on, and their memory is used again.
//!
//! Invariants: entries `from..end` of a run are alive, those before are committed, those after were rolled
//! back; runs of an LP that are alive are in the total order, along the segments; a link into a segment that
//! is gone means nothing.

mod segment;

use std::collections::VecDeque;

use super::super::Federate;
use crate::panics::Asking;
use crate::{Event, EventQueue, Key, Model, Time};

use segment::passed_in;
pub(super) use segment::{Link, Run, Segment};

/// Segments whose memory is kept for new ones.
const SPARE: usize = 8;

/// The segments of a federate.
#[derive(Debug)]
pub(super) struct Log<M: Model> {
    segments: VecDeque<Segment<M>>,
    /// The number of the first segment. Numbers start anew after 2^32 batches of a federate: a link that has
    /// been stale for exactly that long would name a run of another LP.
    first: u32,
    /// By local number: the LP's latest run.
    last: Vec<Link>,
    /// Emptied segments, for their memory.
    spare: Vec<Segment<M>>,
    /// Bytes in all segments but the one in work. What was rolled back or committed counts until its segment
    /// goes.
    bytes: usize,
    /// Copies of states in the same segments.
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

    pub fn bytes(&self) -> usize {
        self.bytes
    }

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
        // Nothing was run: there is nothing to commit, and a segment would only be walked over.
        if segment.runs.is_empty() {
            return self.put_away(segment);
        }
        self.bytes += segment.bytes();
        self.copies += segment.saved.len();
        self.segments.push_back(segment);
    }

    fn put_away(&mut self, mut segment: Segment<M>) {
        segment.clear();
        // More would keep the memory of a burst for the rest of the run.
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
            // Runs lead back in time: the first that begins no later is the only one that can have it.
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
        // Nothing of it is alive any more: whoever looks for the LP's latest run need not pass over it.
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
                // Only the oldest can leave, as links count from there. Empty ones wait for their turn.
                (segment.floor, segment.bound) = (Time::MAX, Time::ZERO);
            }
        }
        self.drop_done();
    }

    /// Drops batches of which nothing is left, from the oldest on: their floor is [`Time::MAX`].
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
    pub fn alive_lps(&self) -> Vec<usize> {
        let runs = self.segments.iter().flat_map(|segment| &segment.runs).filter(|run| run.from < run.end);
        let mut locals: Vec<usize> = runs.map(|run| run.local as usize).collect();
        locals.sort_unstable();
        locals.dedup();
        locals
    }

    /// Commits the batches up to the first that ends after `safe`: digest, output, counts. Each LP's events
    /// in their order. What of a batch is final before its end waits for it, so that every event is
    /// looked at once.
    pub fn commit<Q: EventQueue<M::Event>>(&mut self, model: &M, base: &mut Federate<M, Q>, safe: Time) {
        // No later batch either, though one that was run again may end earlier: an LP's part of it comes
        // after the LP's parts of those before.
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
        // `reach` below looks at all segments.
        self.commit_visits += self.segments.len() as u64;
        for segment in self.segments.iter_mut().take(count).filter(|segment| segment.floor < safe) {
            // What is left of a batch, if anything, begins where the final part ends.
            segment.floor = if segment.bound <= safe { Time::MAX } else { safe };
            self.commit_visits += segment.runs.len() as u64;
            for run in &mut segment.runs {
                let alive = &segment.events[run.from as usize..run.end as usize];
                // A run is in order: of a batch that ends later, what is final stands at the front of each
                // run.
                let count = if segment.bound <= safe {
                    alive.len()
                } else {
                    alive.partition_point(|event| event.time() < safe)
                };
                let (lp, mut happened) = (base.place.lp(run.local as usize), 0);
                let entries = run.from as usize..run.from as usize + count;
                let mut passed = passed_in::<M>(&segment.passed, entries.clone()).iter().peekable();
                for (entry, event) in entries.zip(alive) {
                    // The LP had cancelled it, so that it did not happen and nobody hears of it.
                    if passed.next_if(|(other, _)| *other as usize == entry).is_some() {
                        continue;
                    }
                    happened += 1;
                    let asking = Asking::begin(|| event.asked());
                    model.commit(lp, event.time(), &event.payload, &mut base.output);
                    if M::COMMITS_STATE {
                        let state = &segment.after[entry];
                        model.commit_state(lp, state, event.time(), &event.payload, &mut base.output);
                    }
                    base.digest.event(event);
                    asking.end();
                    base.last = base.last.max(event.time());
                    if let Some(watch) = &mut base.watch {
                        watch.note(base.id, event);
                    }
                }
                base.events += happened;
                run.from += count as u32;
            }
        }
        self.drop_done();
        // Beyond what is still alive nothing has been run: messages for there need no second look.
        base.reach = self.reach();
    }
}
