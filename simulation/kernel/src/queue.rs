//! Event queues behind one trait.
//!
//! [`BucketQueue`] is the queue of every run: it gives out whole windows at the cost of an append and a read
//! per event. [`Heap`] is the readable reference and the oracle of the tests. Both give the same events in
//! the same total order; they differ in cost only. A host may give a federate another queue, for example one
//! that records what goes through it.

mod bucket;
mod chunks;
mod heap;
#[cfg(test)]
mod test;

pub use bucket::BucketQueue;
pub use heap::Heap;

use crate::{Event, Time};

/// A set of pending events.
///
/// ```
/// use paceline_kernel::{EventQueue, Heap, Time};
/// let mut queue = Heap::<&str>::default();
/// assert_eq!(queue.least_time(), Time::MAX);
/// assert!(queue.pop(Time::MAX).is_none());
/// ```
pub trait EventQueue<E>: Send {
    /// An empty queue for a federate whose windows are about `window` wide ([`Time::ZERO`] where there are
    /// none).
    fn with_window(window: Time) -> Self;

    /// Takes in an event. Any time is allowed, also before events already given out: rollbacks and hosts that
    /// looked at events give them back.
    fn push(&mut self, event: Event<E>);

    /// Gives out the least event in the total order, if it happens before `bound`.
    fn pop(&mut self, bound: Time) -> Option<Event<E>>;

    /// Shows events that will probably be given out next, at most `most`, or none: a hint, of which memory to
    /// read ahead. Changes nothing.
    fn upcoming(&self, most: usize, look: impl FnMut(&Event<E>)) {
        let _ = (most, look);
    }

    /// Gives out all events before `bound`, in any order.
    fn drain(&mut self, bound: Time, take: impl FnMut(Event<E>)) {
        let mut take = take;
        while let Some(event) = self.pop(bound) {
            take(event);
        }
    }

    /// The time of the least event; [`Time::MAX`] when empty. A queue may note where it found that, hence
    /// `&mut`.
    fn least_time(&mut self) -> Time;

    /// The number of pending events.
    fn len(&self) -> usize;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
