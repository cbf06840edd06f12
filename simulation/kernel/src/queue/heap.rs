//! The reference queue: the standard library's binary heap, least event on top.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::{Event, EventQueue, Time};

/// A binary heap of events.
#[derive(Debug)]
pub struct Heap<E>(BinaryHeap<Reverse<Event<E>>>);

impl<E> Default for Heap<E> {
    fn default() -> Self {
        Self(BinaryHeap::new())
    }
}

impl<E: Send> EventQueue<E> for Heap<E> {
    fn with_window(_window: Time) -> Self {
        Self::default()
    }

    fn push(&mut self, event: Event<E>) {
        self.0.push(Reverse(event));
    }

    fn pop(&mut self, bound: Time) -> Option<Event<E>> {
        if self.least_time() < bound { self.0.pop().map(|Reverse(event)| event) } else { None }
    }

    fn least_time(&mut self) -> Time {
        self.0.peek().map_or(Time::MAX, |Reverse(event)| event.time())
    }

    fn len(&self) -> usize {
        self.0.len()
    }
}
