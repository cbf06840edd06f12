//! The Enhanced Heap of ARTIS (ARTIS paper, section 7).
//!
//! One heap node per distinct instant, each with the list of its simultaneous events; the list used last is cached, so
//! that bursts of simultaneous events cost O(1) whatever the size of the heap. An instant here is (time, depth), since
//! our total order puts events caused within an instant behind their causes; depth is nearly always zero.
//! A list is sorted when it becomes the least one, and given out from its end. Where the paper leaves open how the list
//! of a time that is not cached is found, a hash index does it.
//!
//! Invariants: every node in the heap has a non-empty list and an entry in the index, and no two have the same instant;
//! `current`, if any, is out of the heap, not after any node in it, and sorted descending.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::index::{Index, Instant};
use crate::{Event, EventQueue, Time};

/// A heap of instants with lists of simultaneous events.
#[derive(Debug)]
pub struct EnhancedHeap<E> {
    heap: BinaryHeap<Reverse<(Instant, u32)>>,
    lists: Vec<Vec<Event<E>>>,
    unused: Vec<u32>,
    index: Index,
    cached: Option<(Instant, u32)>,
    current: Option<(Instant, u32)>,
    len: usize,
}

impl<E> Default for EnhancedHeap<E> {
    fn default() -> Self {
        Self {
            heap: BinaryHeap::new(),
            lists: Vec::new(),
            unused: Vec::new(),
            index: Index::new(),
            cached: None,
            current: None,
            len: 0,
        }
    }
}

impl<E> EnhancedHeap<E> {
    /// The list of `at`, made if there is none.
    fn list(&mut self, at: Instant) -> u32 {
        if let Some(node) = self.index.get(at) {
            return node;
        }
        let node = self.unused.pop().unwrap_or_else(|| {
            self.lists.push(Vec::new());
            u32::try_from(self.lists.len() - 1).expect("fewer than 2^32 distinct instants are pending")
        });
        self.index.insert(at, node);
        self.heap.push(Reverse((at, node)));
        node
    }

    /// Makes the least list current. `None` when the queue is empty.
    fn settle(&mut self) -> Option<(Instant, u32)> {
        if let Some(current) = self.current {
            match self.heap.peek() {
                Some(Reverse(least)) if least.0 < current.0 => self.heap.push(Reverse(current)),
                _ => return Some(current),
            }
        }
        self.current = self.heap.pop().map(|Reverse(least)| least);
        if let Some((_, node)) = self.current {
            self.lists[node as usize].sort_unstable_by(|a, b| b.cmp(a));
        }
        self.current
    }
}

impl<E: Send> EventQueue<E> for EnhancedHeap<E> {
    fn with_window(_window: Time) -> Self {
        Self::default()
    }

    fn push(&mut self, event: Event<E>) {
        let at = (event.time().as_nanos(), event.depth());
        self.len += 1;
        if let Some((_, node)) = self.current.filter(|(current, _)| *current == at) {
            let list = &mut self.lists[node as usize];
            let place = list.partition_point(|other| *other > event);
            list.insert(place, event);
            return;
        }
        let node = match self.cached {
            Some((cached, node)) if cached == at => node,
            _ => self.list(at),
        };
        self.cached = Some((at, node));
        self.lists[node as usize].push(event);
    }

    fn pop(&mut self, bound: Time) -> Option<Event<E>> {
        let (at, node) = self.settle()?;
        if at.0 >= bound.as_nanos() {
            return None;
        }
        let list = &mut self.lists[node as usize];
        let event = list.pop().expect("a node's list is never empty");
        if list.is_empty() {
            self.index.remove(at);
            self.unused.push(node);
            self.current = None;
            self.cached = self.cached.filter(|(cached, _)| *cached != at);
        }
        self.len -= 1;
        Some(event)
    }

    fn least_time(&mut self) -> Time {
        self.settle().map_or(Time::MAX, |((time, _), _)| Time::nanos(time))
    }

    fn len(&self) -> usize {
        self.len
    }
}
