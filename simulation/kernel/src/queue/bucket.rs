//! Buckets of simulated time: a ring of unsorted lists, one per `width`, in the manner of the calendar and
//! ladder queues (Brown, 1988; Tang, Goh and Thng, 2005).
//!
//! A push appends to the list of its bucket; what lies beyond the ring waits in `far`. A window takes whole
//! buckets without looking at their order ([`EventQueue::drain`]). One event at a time ([`EventQueue::pop`])
//! opens a bucket: sorts it into `opened` and gives that out from its end; events that still fall into what
//! was opened go to a small heap, `near`. The width of a bucket follows the events: narrower where buckets
//! are crowded, wider where most are empty.
//!
//! Invariants: `near` and `opened` hold what is before bucket `base`, `opened` is sorted descending; the ring
//! holds buckets `base` to `base` + its size, and nothing before bucket `front`; `far` holds the rest,
//! `far_bucket` is at most the bucket of its least event. Looking for events before a bound never moves
//! `base` past the bucket of the bound: crowds may yet come in from there on, and belong into the ring.

mod sort;
#[cfg(test)]
mod test;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use self::sort::sort_descending;
use super::chunks::{List, Pool};
use crate::{Event, EventQueue, Time};

/// Buckets in the ring, at the start and at the most.
const RING: usize = 1 << 10;
const RING_MOST: usize = 1 << 16;
/// An opened bucket with more than `CROWD` times the events that are best makes buckets narrower. Best is
/// `AIM` events, or what makes `BUCKETS` of all: pushes go to all buckets in turn, whose ends the processor's
/// cache is to hold.
const CROWD: usize = 1 << 3;
const AIM: usize = 1 << 7;
const BUCKETS: usize = 1 << 9;
/// After this many buckets passed, buckets get wider if there was less than one event for every four of them.
const CENSUS: u64 = 1 << 10;
/// A window with more buckets than this makes buckets wider.
const MANY: u64 = 1 << 5;
/// The width where nothing is known yet, in ticks: 1 ms where a tick is a nanosecond.
const WIDTH: u64 = 1 << 20;
/// The least width: of 1, `inverse` would be 2^64, which has no place in a `u64`.
const WIDTH_LEAST: u64 = 2;
/// The greatest width, in ticks: sixteen buckets then cover the clock.
const WIDTH_MOST: u64 = 1 << 60;

/// A queue of time buckets.
#[derive(Debug)]
pub struct BucketQueue<E> {
    /// Ticks of a bucket.
    width: u64,
    /// floor(2^64 / width): the bucket of a time is the upper half of their product. That may put the first
    /// instants of a bucket into the one before, which is as good: it never decreases, and a window
    /// checks its last bucket anyway.
    inverse: u64,
    /// The first bucket of the ring; what is before it was taken or is in `opened` and `near`.
    base: u64,
    /// No bucket of the ring before this holds anything: the search goes on here.
    front: u64,
    /// By the lower bits of the bucket's number; as many as a power of two.
    ring: Vec<List>,
    pool: Pool<E>,
    far: List,
    /// No event of `far` is in an earlier bucket; `u64::MAX` without any.
    far_bucket: u64,
    far_len: usize,
    opened: Vec<Event<E>>,
    /// Scratch of `open`.
    tickets: Vec<u64>,
    near: BinaryHeap<Reverse<Event<E>>>,
    /// Events in all of these.
    len: usize,
    /// Buckets that `base` has passed, events taken, and drains that passed any buckets, since the last
    /// census.
    passed: u64,
    taken: u64,
    drains: u64,
}

impl<E> BucketQueue<E> {
    #[inline(always)]
    fn bucket(&self, time: Time) -> u64 {
        ((u128::from(time.as_ticks()) * u128::from(self.inverse)) >> 64) as u64
    }

    /// The first instant of a bucket.
    fn start(&self, bucket: u64) -> u128 {
        (u128::from(bucket) << 64).div_ceil(u128::from(self.inverse))
    }

    fn set_width(&mut self, width: u64) {
        self.width = width.max(WIDTH_LEAST);
        self.inverse = ((1 << 64) / u128::from(self.width)) as u64;
    }

    #[inline(always)]
    fn slot(&self, bucket: u64) -> usize {
        bucket as usize & (self.ring.len() - 1)
    }

    /// Puts an event where it belongs; does not count it.
    #[inline(always)]
    fn place(&mut self, event: Event<E>) {
        let bucket = self.bucket(event.time());
        // Of a bucket before `base` the difference wraps, and is beyond any ring.
        let ahead = bucket.wrapping_sub(self.base);
        if ahead < self.ring.len() as u64 {
            let slot = self.slot(bucket);
            self.front = self.front.min(bucket);
            self.pool.push(&mut self.ring[slot], event);
        } else if bucket < self.base {
            self.near.push(Reverse(event));
        } else {
            self.far_bucket = self.far_bucket.min(bucket);
            self.far_len += 1;
            self.pool.push(&mut self.far, event);
        }
    }

    /// Moves `front` to the first bucket that is not empty, if that is before `end`, else at least there.
    fn look(&mut self, end: u64) {
        self.front = self.front.max(self.base);
        while self.front < end && self.ring[self.slot(self.front)].is_empty() {
            self.front += 1;
        }
    }

    /// Moves `base` to the first bucket that is not empty, if there is one before `limit`. Says whether there
    /// is.
    fn seek(&mut self, limit: u64) -> bool {
        let unopened = self.len - self.opened.len() - self.near.len();
        if unopened == 0 {
            // `base` stays: what comes next, however soon it is due, is to go into the ring.
            return false;
        }
        let start = self.base;
        // Each time a bucket is found, the limit is reached, or `base` comes to the first event of `far`.
        loop {
            if self.far_bucket <= self.base {
                self.fetch_far();
            }
            let ring_end = self.base.saturating_add(self.ring.len() as u64);
            let end = limit.min(self.far_bucket).min(ring_end);
            self.look(end);
            self.base = self.base.max(self.front.min(end));
            if self.base < end {
                break;
            }
            if self.base >= limit {
                self.passed += self.base - start;
                return false;
            }
            if self.far_len == unopened {
                // Nothing is left in the ring: jump.
                self.base = self.far_bucket.min(limit);
            }
        }
        // A jump over empty time is no more than a census by itself, or it would outweigh all full buckets.
        self.passed += (self.base - start).min(CENSUS);
        true
    }

    /// Whether the bucket of `bound` is next and holds events before it; asked after `seek` up to that
    /// bucket.
    fn reaches_into(&mut self, bucket: u64, bound: Time) -> bool {
        if self.base != bucket {
            return false;
        }
        if self.far_bucket <= bucket {
            self.fetch_far();
        }
        self.ring[self.slot(bucket)].least() < bound
    }

    /// Takes from `far` what the ring can hold by now. If more than half of all events waited there, the ring
    /// is too short.
    #[inline(never)]
    fn fetch_far(&mut self) {
        let mut far = std::mem::replace(&mut self.far, List::EMPTY);
        let mut events = Vec::with_capacity(self.far_len);
        self.pool.drain(&mut far, |event| events.push(event));
        let before = std::mem::take(&mut self.far_len);
        self.far_bucket = u64::MAX;
        events.into_iter().for_each(|event| self.place(event));
        if before * 2 > self.len {
            if self.ring.len() < RING_MOST {
                self.rebuild(self.width, self.ring.len() * 2);
            } else {
                // The ring cannot grow: the next census is made to widen the buckets. Not here, as callers of
                // `seek` count in buckets of this width.
                self.passed = self.passed.max(CENSUS);
                self.taken = 0;
            }
        }
    }

    /// Deals all events that are not opened to a new ring.
    #[inline(never)]
    fn rebuild(&mut self, width: u64, ring: usize) {
        let mut events = Vec::with_capacity(self.len);
        for mut list in std::mem::replace(&mut self.ring, vec![List::EMPTY; ring]) {
            self.pool.drain(&mut list, |event| events.push(event));
        }
        let mut far = std::mem::replace(&mut self.far, List::EMPTY);
        self.pool.drain(&mut far, |event| events.push(event));
        (self.far_bucket, self.far_len) = (u64::MAX, 0);
        // What was not opened yet starts here. If anything is opened, a bucket that begins earlier counts as
        // opened too, and its events go to `near`.
        let start = self.start(self.base);
        self.set_width(width);
        self.base = self.bucket(Time::ticks(u64::try_from(start).unwrap_or(u64::MAX)));
        if self.start(self.base) < start && !(self.opened.is_empty() && self.near.is_empty()) {
            self.base += 1;
        }
        self.front = self.base;
        (self.passed, self.taken, self.drains) = (0, 0, 0);
        events.into_iter().for_each(|event| self.place(event));
    }

    /// Widens the buckets if most of the last ones were empty, or windows held very many.
    fn census(&mut self) {
        if self.passed >= CENSUS {
            let sparse = self.taken < self.passed / 4 || self.drains > 0 && self.passed / self.drains > MANY;
            (self.passed, self.taken, self.drains) = (0, 0, 0);
            if sparse {
                self.rebuild(self.width.saturating_mul(4).min(WIDTH_MOST), self.ring.len());
            }
        }
    }

    /// How many events are best in a bucket.
    fn aim(&self) -> usize {
        AIM.max(self.len / BUCKETS)
    }

    /// Narrows the buckets after one with `crowd` events.
    fn relieve(&mut self, crowd: usize) {
        // Halvings of the width. The ring gets as many times longer, to cover the same span.
        let narrower = (crowd / self.aim()).max(2).ilog2();
        if self.width > WIDTH_LEAST {
            let ring = (self.ring.len() << narrower).min(RING_MOST);
            self.rebuild(self.width >> narrower, ring);
        }
    }

    /// Sorts the next bucket that starts before `bound` into `opened`. Says whether there is an event in
    /// front then.
    #[inline(never)]
    fn open(&mut self, bound: Time) -> bool {
        self.census();
        // Wider buckets may have put events in front.
        if !self.near.is_empty() {
            return true;
        }
        let last = self.bucket(bound);
        if !self.seek(last) && !self.reaches_into(last, bound) {
            return false;
        }
        let slot = self.slot(self.base);
        let opened = &mut self.opened;
        self.pool.drain(&mut self.ring[slot], |event| opened.push(event));
        sort_descending(&mut self.opened, &mut self.tickets);
        self.base += 1;
        self.taken += self.opened.len() as u64;
        let crowd = self.opened.len();
        // Narrower buckets part what differs in time, not simultaneous events.
        if crowd > CROWD * self.aim() && self.opened[crowd / 4].time() > self.opened[crowd / 4 * 3].time() {
            self.relieve(crowd);
        }
        true
    }
}

impl<E: Send> EventQueue<E> for BucketQueue<E> {
    fn with_window(window: Time) -> Self {
        let mut queue = Self {
            width: 0,
            inverse: 0,
            base: 0,
            front: 0,
            ring: vec![List::EMPTY; RING],
            pool: Pool::new(),
            far: List::EMPTY,
            far_bucket: u64::MAX,
            far_len: 0,
            opened: Vec::new(),
            tickets: Vec::new(),
            near: BinaryHeap::new(),
            len: 0,
            passed: 0,
            taken: 0,
            drains: 0,
        };
        // As wide as a window: narrower buckets mean more list ends to push to than the cache holds.
        queue.set_width(if window == Time::ZERO { WIDTH } else { window.as_ticks() });
        queue
    }

    #[inline(always)]
    fn push(&mut self, event: Event<E>) {
        self.len += 1;
        self.place(event);
    }

    #[inline]
    fn pop(&mut self, bound: Time) -> Option<Event<E>> {
        if self.opened.is_empty() && self.near.is_empty() && !self.open(bound) {
            return None;
        }
        // Both hold what is before the ring, so that the less of their least is the least of all.
        let near = self.near.peek().map(|Reverse(event)| event);
        let from_near = match (near, self.opened.last()) {
            (Some(near), Some(opened)) => near < opened,
            (near, _) => near.is_some(),
        };
        let least = if from_near { near } else { self.opened.last() };
        if least.expect("one of the two holds an event").time() >= bound {
            return None;
        }
        self.len -= 1;
        if from_near { self.near.pop().map(|Reverse(event)| event) } else { self.opened.pop() }
    }

    fn upcoming(&self, most: usize, look: impl FnMut(&Event<E>)) {
        self.opened.iter().rev().take(most).for_each(look);
    }

    fn drain(&mut self, bound: Time, mut take: impl FnMut(Event<E>)) {
        // First: wider buckets may put events in front.
        self.census();
        let before = self.len;
        let kept = self.opened.partition_point(|event| event.time() >= bound);
        self.len -= self.opened.len() - kept;
        self.opened.drain(kept..).for_each(&mut take);
        while self.near.peek().is_some_and(|Reverse(event)| event.time() < bound) {
            self.len -= 1;
            take(self.near.pop().expect("it was there a moment ago").0);
        }
        let full = self.bucket(bound);
        self.drains += u64::from(full > self.base);
        while self.seek(full) {
            let slot = self.slot(self.base);
            let mut count = 0;
            self.pool.drain(&mut self.ring[slot], |event| {
                count += 1;
                take(event);
            });
            self.len -= count;
            self.base += 1;
        }
        // The last bucket is taken in part.
        let mut stay = 0;
        let mut spread = false;
        if self.reaches_into(full, bound) {
            let slot = self.slot(full);
            let mut list = std::mem::replace(&mut self.ring[slot], List::EMPTY);
            let mut kept = Vec::new();
            self.pool.drain(&mut list, |event| {
                if event.time() < bound {
                    self.len -= 1;
                    take(event);
                } else {
                    kept.push(event);
                }
            });
            stay = kept.len();
            // Two of them, as they lie.
            spread = stay > 0 && kept[stay / 4].time() != kept[stay / 4 * 3].time();
            kept.into_iter().for_each(|event| self.place(event));
        }
        let drained = before - self.len;
        self.taken += drained as u64;
        // What stays is moved again by each window that ends in this bucket: fine only while it is little.
        if spread && stay > CROWD * self.aim() && stay > drained * 2 {
            self.relieve(stay);
        }
    }

    fn least_time(&mut self) -> Time {
        let near = self.near.peek().map_or(Time::MAX, |Reverse(event)| event.time());
        let opened = self.opened.last().map_or(Time::MAX, Event::time);
        if near.min(opened) < Time::MAX {
            return near.min(opened);
        }
        // `base` stays: what comes in before the least event is to go into the ring.
        if self.far_len == self.len {
            return self.far.least();
        }
        self.look(self.base.saturating_add(self.ring.len() as u64));
        self.far.least().min(self.ring[self.slot(self.front)].least())
    }

    fn len(&self) -> usize {
        self.len
    }
}
