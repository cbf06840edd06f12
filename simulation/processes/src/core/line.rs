//! A queue of things that are due later: by time, and at equal times by the process whose they are.
//!
//! Most come in the order in which they go, as what takes equally long does; they stand in a queue, the
//! others in a heap beside it. Invariant: the queue is in order.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};

use paceline_kernel::Time;

use super::carrier::Whose;

/// A thing, with its place in the order.
#[derive(Clone, Debug)]
struct Entry<T> {
    at: Time,
    whose: Whose,
    thing: T,
}

impl<T> Entry<T> {
    fn key(&self) -> (Time, Whose) {
        (self.at, self.whose)
    }
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<T> Eq for Entry<T> {}

impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Entry<T> {
    /// The first is the greatest, for a heap whose top that is.
    fn cmp(&self, other: &Self) -> Ordering {
        other.key().cmp(&self.key())
    }
}

/// Things with a time each, taken out by time.
#[derive(Clone, Debug)]
pub(super) struct Line<T> {
    queue: VecDeque<Entry<T>>,
    others: BinaryHeap<Entry<T>>,
}

impl<T> Default for Line<T> {
    fn default() -> Self {
        Self { queue: VecDeque::new(), others: BinaryHeap::new() }
    }
}

impl<T> Line<T> {
    pub(super) fn push(&mut self, at: Time, whose: Whose, thing: T) {
        let entry = Entry { at, whose, thing };
        if self.queue.back().is_none_or(|last| last.key() <= entry.key()) {
            self.queue.push_back(entry);
        } else {
            self.others.push(entry);
        }
    }

    /// The time of the first.
    pub(super) fn next(&self) -> Option<Time> {
        match (self.queue.front(), self.others.peek()) {
            (Some(one), Some(other)) => Some(one.at.min(other.at)),
            (one, other) => one.or(other).map(|entry| entry.at),
        }
    }

    /// Takes the first out, if it is due at `now`.
    pub(super) fn take(&mut self, now: Time) -> Option<T> {
        let first = match (self.queue.front(), self.others.peek()) {
            (Some(one), Some(other)) if other.key() < one.key() => self.take_other(now),
            (None, Some(_)) => self.take_other(now),
            (Some(one), _) if one.at <= now => self.queue.pop_front(),
            _ => None,
        };
        first.map(|entry| entry.thing)
    }

    fn take_other(&mut self, now: Time) -> Option<Entry<T>> {
        self.others.peek().filter(|entry| entry.at <= now)?;
        self.others.pop()
    }
}

#[cfg(test)]
mod test {
    use paceline_kernel::Rng;

    use super::*;

    #[test]
    fn all_go_by_time_and_at_equal_times_by_whose_they_are() {
        let (mut rng, mut line, mut left) = (Rng::new(7, 1), Line::default(), Vec::new());
        let mut now_ns = 0;
        for number in 0..3000 {
            // Some as long as ever, some shorter.
            let takes_ns = if rng.chance(0.8) { 50 } else { rng.below(50) };
            let (at, whose) = (Time::nanos(now_ns + takes_ns), (rng.below(5), number));
            line.push(at, whose, (at, whose));
            left.push((at, whose));
            now_ns += rng.below(3);
            left.sort_unstable();
            assert_eq!(line.next(), left.first().map(|(at, _)| *at));
            while let Some(first) = line.take(Time::nanos(now_ns)) {
                assert_eq!(first, left.remove(0));
                assert!(first.0 <= Time::nanos(now_ns));
            }
            assert!(left.first().is_none_or(|(at, _)| *at > Time::nanos(now_ns)));
        }
    }
}
