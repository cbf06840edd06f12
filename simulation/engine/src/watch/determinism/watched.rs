//! An event queue that remembers what went through it since an event was last taken out: that event, and
//! those put in.
//!
//! A federate that is stepped takes one event out and then puts in what it sends, in order. So between two
//! steps the queue holds both the event that was handled and its messages.

use paceline_kernel::{Event, EventQueue, Heap, Time};

pub(super) struct Watched<E> {
    heap: Heap<E>,
    /// The event taken out last.
    pub(super) taken: Option<Event<E>>,
    /// What was put in since.
    pub(super) put: Vec<Event<E>>,
}

impl<E: Clone + Send> EventQueue<E> for Watched<E> {
    fn with_window(_window: Time) -> Self {
        Self { heap: Heap::default(), taken: None, put: Vec::new() }
    }

    fn push(&mut self, event: Event<E>) {
        self.put.push(event.clone());
        self.heap.push(event);
    }

    fn pop(&mut self, bound: Time) -> Option<Event<E>> {
        let event = self.heap.pop(bound)?;
        self.put.clear();
        self.taken = Some(event.clone());
        Some(event)
    }

    fn least_time(&mut self) -> Time {
        self.heap.least_time()
    }

    fn len(&self) -> usize {
        self.heap.len()
    }
}
