//! The order in which the events of one block are run: LP by LP, each LP's events in the total order.
//!
//! An event is a 64-bit *ticket*: its time since the start of the window above its index in the block, so
//! that sorting an LP's run compares plain integers. Where a window is too wide for the bits that the index
//! leaves, times are cut to what fits; events with equal tickets are put in place by comparing them
//! themselves.
//!
//! Invariants: `runs` are ascending and disjoint, and together with the run in hand cover the tickets not yet
//! given out.

use std::cell::Cell;

use crate::{Event, Time};

/// A block with fewer than one event for this many LPs is sorted; a fuller one is dealt out by counting.
const SPARSE: usize = 8;

/// The tickets of one LP: where they start. They end where the next run starts.
#[derive(Clone, Copy, Debug)]
struct Run {
    /// The LP's number in the block.
    within: u32,
    start: u32,
}

#[derive(Debug)]
pub(super) struct Order {
    /// By LP of the block: how many events it has, then where its next ticket goes. Scratch of `arrange`.
    counts: Vec<u32>,
    /// (LP within the block, ticket): scratch of `arrange` for sparse blocks.
    pairs: Vec<(u32, u64)>,
    /// LP by LP; those of an LP are sorted when it is taken in hand.
    tickets: Vec<u64>,
    runs: Vec<Run>,
    /// The next run to take in hand.
    next: usize,
    /// The run in hand: its LP and what is left of its tickets.
    within: usize,
    at: usize,
    end: usize,
    /// The bits of a ticket that are the event's index in the block.
    index_mask: u64,
    /// Which of `rest` is being run, for whoever asks after a panic.
    running: Cell<usize>,
}

impl Order {
    pub(super) fn new(lps: u32) -> Self {
        Self {
            counts: vec![0; lps as usize],
            pairs: Vec::new(),
            tickets: Vec::new(),
            runs: Vec::new(),
            next: 0,
            within: 0,
            at: 0,
            end: 0,
            index_mask: 0,
            running: Cell::new(0),
        }
    }

    /// Takes in the events of a block, none before `floor`, all before `bound`. `within` is an event's LP in
    /// the block.
    pub(super) fn arrange<E>(
        &mut self,
        events: &[Event<E>],
        floor: Time,
        bound: Time,
        within: impl Fn(&Event<E>) -> usize,
    ) {
        let index_bits = usize::BITS - events.len().leading_zeros();
        let time_bits = u64::BITS - (bound - floor).as_ticks().leading_zeros();
        let cut = (time_bits + index_bits).saturating_sub(u64::BITS);
        self.index_mask = (1 << index_bits) - 1;
        let ticket = |index: usize, event: &Event<E>| {
            let since = event.time().as_ticks() - floor.as_ticks();
            ((since >> cut) << index_bits) | index as u64
        };
        self.runs.clear();
        (self.next, self.at, self.end) = (0, 0, 0);
        if events.len() * SPARSE < self.counts.len() {
            self.pairs.clear();
            let pairs = events.iter().enumerate();
            self.pairs.extend(pairs.map(|(index, event)| (within(event) as u32, ticket(index, event))));
            self.pairs.sort_unstable();
            self.tickets.clear();
            for (start, &(within, ticket)) in self.pairs.iter().enumerate() {
                if self.runs.last().is_none_or(|run| run.within != within) {
                    self.runs.push(Run { within, start: start as u32 });
                }
                self.tickets.push(ticket);
            }
            return;
        }
        self.counts.fill(0);
        for event in events {
            self.counts[within(event)] += 1;
        }
        // Written for every LP and kept for those with events: whether it has any would be an unpredictable
        // branch.
        self.runs.resize(self.counts.len(), Run { within: 0, start: 0 });
        let (mut start, mut runs) = (0, 0);
        for (within, count) in self.counts.iter_mut().enumerate() {
            let size = std::mem::replace(count, start);
            self.runs[runs] = Run { within: within as u32, start };
            runs += usize::from(size > 0);
            start += size;
        }
        self.runs.truncate(runs);
        self.tickets.resize(events.len(), 0);
        for (index, event) in events.iter().enumerate() {
            let place = &mut self.counts[within(event)];
            self.tickets[*place as usize] = ticket(index, event);
            *place += 1;
        }
    }

    /// Takes the next LP in hand. Says whether there is one.
    #[inline]
    pub(super) fn next_run<E>(&mut self, events: &[Event<E>]) -> bool {
        let Some(run) = self.runs.get(self.next) else { return false };
        self.next += 1;
        self.within = run.within as usize;
        self.at = run.start as usize;
        self.end = self.runs.get(self.next).map_or(self.tickets.len(), |after| after.start as usize);
        let tickets = &mut self.tickets[self.at..self.end];
        if tickets.len() == 1 {
            return true;
        }
        sort(tickets);
        let mask = self.index_mask;
        let event = |ticket: u64| &events[(ticket & mask) as usize];
        // Events with equal tickets: a few as a rule, but all of them where many LPs send to one at once.
        for alike in tickets.chunk_by_mut(|a, b| (a ^ b) & !mask == 0) {
            if alike.len() > 1 {
                alike.sort_unstable_by(|a, b| event(*a).cmp(event(*b)));
            }
        }
        true
    }

    /// Whether the run in hand has tickets left.
    #[inline(always)]
    pub(super) fn in_run(&self) -> bool {
        self.at < self.end
    }

    /// The LP in hand, within the block.
    #[inline(always)]
    pub(super) fn lp(&self) -> usize {
        self.within
    }

    /// How many tickets the run in hand has left.
    pub(super) fn left(&self) -> usize {
        self.end - self.at
    }

    /// What is left of the events of the LP in hand, in their order.
    #[inline(always)]
    pub(super) fn rest<'e, E>(&'e self, events: &'e [Event<E>]) -> impl Iterator<Item = &'e Event<E>> {
        let mask = self.index_mask;
        self.tickets[self.at..self.end].iter().map(move |ticket| &events[(ticket & mask) as usize])
    }

    /// The `nth` of the rest is about to be run.
    #[inline(always)]
    pub(super) fn note(&self, nth: usize) {
        self.running.set(nth);
    }

    /// The event that is being run, if it is one of these.
    pub(super) fn running<'e, E>(&'e self, events: &'e [Event<E>]) -> Option<&'e Event<E>> {
        self.rest(events).nth(self.running.get())
    }

    #[inline(always)]
    pub(super) fn skip(&mut self, count: usize) {
        self.at += count;
    }

    /// Gives up: names the events not yet given out, and forgets them.
    pub(super) fn put_back(&mut self, mut index: impl FnMut(usize)) {
        let unstarted = self.runs.get(self.next).map_or(self.tickets.len(), |run| run.start as usize);
        let left = self.tickets[self.at..self.end].iter().chain(&self.tickets[unstarted..]);
        left.for_each(|ticket| index((ticket & self.index_mask) as usize));
        self.runs.clear();
        self.tickets.clear();
        (self.next, self.at, self.end) = (0, 0, 0);
    }
}

/// Sorts distinct numbers. Few of them by counting how many are less than each: no branch to mispredict.
#[inline(always)]
fn sort(tickets: &mut [u64]) {
    const FEW: usize = 16;
    if tickets.len() > FEW {
        return tickets.sort_unstable();
    }
    let mut sorted = [0; FEW];
    for &ticket in tickets.iter() {
        let rank = tickets.iter().map(|other| usize::from(*other < ticket)).sum::<usize>();
        sorted[rank] = ticket;
    }
    tickets.copy_from_slice(&sorted[..tickets.len()]);
}

#[cfg(test)]
mod test;
