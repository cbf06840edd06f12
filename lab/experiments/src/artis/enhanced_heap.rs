//! The Enhanced Heap of ARTIS (ARTIS paper, section 7), with runs of instants in its nodes.
//!
//! As in the paper, simultaneous events are in one list, and lists used lately are cached, so that bursts of
//! simultaneous events cost O(1) whatever the size of the heap. An instant here is (time, depth), since our
//! total order puts events caused within an instant behind their causes; depth is nearly always zero.
//!
//! A node of the heap holds more than the paper's: a *run*, lists of ever later instants. Where a new instant
//! is later than the last one of a run used lately, it is appended to that run, in O(1); the heap orders runs
//! by their first instants, and when that is over, the run stays the least one in most cases. So events of
//! ascending times, such as those that a model sends with a constant delay, cost O(1) both ways too. Only an
//! instant that fits behind no run becomes a node of its own, at the cost of a binary heap of 16-byte keys.
//!
//! Invariants: `least` and `runs` have one key for each run, that of its first list, the least of all in
//! `least`; every list is in one run; `opened` is sorted by instants, the least last, and its events
//! ascending; what is remembered of lists (`Recent`) is checked when it is used, so that a list that
//! was forgotten costs a second list for its instant, and never an order.

mod lists;
mod recent;
mod tails;
#[cfg(test)]
mod test;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::VecDeque;

use paceline_kernel::{Event, EventQueue, Time};

use self::lists::{Instant, Lists, NEVER, NONE, instant};
use self::recent::Recent;
use self::tails::Tails;

/// A heap of runs of instants, each with the list of its simultaneous events.
#[derive(Debug)]
pub struct EnhancedHeap<E> {
    /// Of the run that is first, its first instant and the list of that; [`EMPTY`] where there is no run. It
    /// goes on for long in most cases, so it is not in the heap.
    least: Key,
    /// The same of the other runs.
    runs: BinaryHeap<Reverse<Key>>,
    lists: Lists<E>,
    recent: Recent,
    tails: Tails,
    /// Instants of several events that are being given out, in their order.
    opened: Vec<Opened<E>>,
    /// Emptied lists, for the next ones.
    spare: Vec<VecDeque<Event<E>>>,
    len: usize,
}

#[derive(Debug)]
struct Opened<E> {
    at: Instant,
    events: VecDeque<Event<E>>,
}

/// An instant above the 32 bits of a list: one comparison of two words.
type Key = u128;

/// The key of a place without a run.
const EMPTY: Key = key(NEVER, NONE);

const fn key(at: Instant, list: u32) -> Key {
    at << 32 | list as Key
}

fn time(at: Instant) -> Time {
    Time::ticks((at >> 16) as u64)
}

impl<E> Default for EnhancedHeap<E> {
    fn default() -> Self {
        Self {
            least: EMPTY,
            runs: BinaryHeap::new(),
            lists: Lists::default(),
            recent: Recent::default(),
            tails: Tails::default(),
            opened: Vec::new(),
            spare: Vec::new(),
            len: 0,
        }
    }
}

impl<E> EnhancedHeap<E> {
    /// The first instant of all runs.
    fn first(&self) -> Instant {
        self.least >> 32
    }

    /// The first instant of those that are opened.
    fn first_opened(&self) -> Instant {
        self.opened.last().map_or(NEVER, |opened| opened.at)
    }

    /// Takes the first list, whose run goes on with the next one: its first event, and the queue of the
    /// others.
    #[inline(always)]
    fn take_list(&mut self) -> (Event<E>, Option<u32>) {
        let list = self.least as u32;
        let (event, others, next) = self.lists.take(list);
        if next == NONE {
            self.tails.forget(list);
            self.least = self.runs.pop().map_or(EMPTY, |Reverse(key)| key);
        } else {
            self.least = key(self.lists.at(next).expect("a run has lists only"), next);
            if let Some(mut top) = self.runs.peek_mut()
                && top.0 < self.least
            {
                std::mem::swap(&mut top.0, &mut self.least);
            }
        }
        (event, others)
    }

    #[inline(never)]
    fn begin(&mut self, mut run: Key) {
        if run < self.least {
            std::mem::swap(&mut run, &mut self.least);
        }
        if run != EMPTY {
            self.runs.push(Reverse(run));
        }
    }

    /// Takes all lists of the first instant, `at`: gives out their event where there is one only, and opens
    /// the instant where there are several.
    #[inline]
    fn open(&mut self, at: Instant) -> Option<Event<E>> {
        let (event, others) = self.take_list();
        if others.is_none() && self.first_opened() != at && self.first() != at {
            return Some(event);
        }
        self.open_all(at, event, others);
        None
    }

    /// Puts an event among those of the instant that is being given out.
    #[inline(never)]
    fn insert_opened(&mut self, event: Event<E>) {
        let opened = self.opened.last_mut().expect("an instant is opened");
        let place = match opened.events.back() {
            Some(last) if *last < event => opened.events.len(),
            _ => opened.events.partition_point(|other| *other < event),
        };
        opened.events.insert(place, event);
    }

    #[inline(never)]
    fn open_all(&mut self, at: Instant, event: Event<E>, others: Option<u32>) {
        if self.first_opened() != at {
            let events = self.spare.pop().unwrap_or_default();
            self.opened.push(Opened { at, events });
        }
        let mut next = Some((event, others));
        while let Some((event, others)) = next {
            let events = &mut self.opened.last_mut().expect("it is opened").events;
            match others {
                Some(queue) if events.is_empty() => {
                    *events = self.lists.others(queue, std::mem::take(events));
                    events.push_front(event);
                }
                Some(queue) => {
                    events.push_back(event);
                    let mut others = self.lists.others(queue, self.spare.pop().unwrap_or_default());
                    events.append(&mut others);
                    self.spare.push(others);
                }
                None => events.push_back(event),
            }
            next = (self.first() == at).then(|| self.take_list());
        }
        self.opened.last_mut().expect("it is opened").events.make_contiguous().sort_unstable();
    }
}

impl<E: Send> EventQueue<E> for EnhancedHeap<E> {
    fn with_window(_window: Time) -> Self {
        Self::default()
    }

    // Inlined, so that the event is in registers. Taken from the caller's stack, it would be loaded 16 bytes
    // at a time right after it was stored 8 bytes at a time; a processor cannot forward that, and an
    // insertion waits until the stores are done.
    #[inline(always)]
    fn push(&mut self, event: Event<E>) {
        let at = instant(&event);
        self.len += 1;
        let recent = self.recent.entry(at);
        if let Some(list) = recent.get(at).filter(|list| self.lists.at(*list) == Some(at)) {
            return self.lists.append(list, event);
        }
        if self.opened.last().is_some_and(|opened| opened.at == at) {
            return self.insert_opened(event);
        }
        let list = self.lists.put(event);
        recent.set(at, list);
        self.recent.fit(self.lists.slots());
        match self.tails.place(at, list) {
            NONE => self.begin(key(at, list)),
            tail => self.lists.go_on(tail, list),
        }
    }

    #[inline]
    fn pop(&mut self, bound: Time) -> Option<Event<E>> {
        let (first, opened) = (self.first(), self.first_opened());
        if time(first.min(opened)) >= bound {
            return None;
        }
        self.len -= 1;
        if first <= opened
            && let Some(event) = self.open(first)
        {
            return Some(event);
        }
        let opened = self.opened.last_mut().expect("an instant was opened");
        let event = opened.events.pop_front();
        if opened.events.is_empty() {
            self.spare.extend(self.opened.pop().map(|opened| opened.events));
        }
        event
    }

    fn drain(&mut self, bound: Time, mut take: impl FnMut(Event<E>)) {
        while time(self.first_opened()) < bound {
            let Opened { mut events, .. } = self.opened.pop().expect("it was seen");
            self.len -= events.len();
            events.drain(..).for_each(&mut take);
            self.spare.push(events);
        }
        while time(self.first()) < bound {
            let (event, others) = self.take_list();
            self.len -= 1;
            take(event);
            if let Some(queue) = others {
                let mut events = self.lists.others(queue, self.spare.pop().unwrap_or_default());
                self.len -= events.len();
                events.drain(..).for_each(&mut take);
                self.spare.push(events);
            }
        }
    }

    fn least_time(&mut self) -> Time {
        time(self.first().min(self.first_opened()))
    }

    fn len(&self) -> usize {
        self.len
    }
}
