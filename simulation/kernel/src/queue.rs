//! Event queues behind one trait.
//!
//! [`Heap`] is the readable reference and the oracle of the others; [`EnhancedHeap`] keeps lists of simultaneous events
//! in runs of ascending times (ARTIS paper, section 7); [`BucketQueue`] hands out whole windows at the cost of an append and a read per event.
//! All give the same events in the same total order; they differ in cost only.

mod any_heap;
mod bucket;
mod chunks;
mod enhanced_heap;
mod heap;
#[cfg(test)]
mod test;

pub use any_heap::{AnyHeap, HeapKind};
pub use bucket::BucketQueue;
pub use enhanced_heap::EnhancedHeap;
pub use heap::Heap;

use crate::{Event, Settings, Time};

/// A set of pending events.
///
/// ```
/// use paceline_kernel::{EventQueue, Heap, Time};
/// let mut queue = Heap::<&str>::default();
/// assert_eq!(queue.least_time(), Time::MAX);
/// assert!(queue.pop(Time::MAX).is_none());
/// ```
pub trait EventQueue<E>: Send {
    /// An empty queue for a federate whose windows are about `window` wide ([`Time::ZERO`] where there are none).
    fn with_window(window: Time) -> Self;

    /// An empty queue for a federate of a run with these settings.
    fn with_settings(settings: Settings) -> Self
    where
        Self: Sized,
    {
        Self::with_window(settings.window)
    }

    /// Takes in an event. Any time is allowed, also before events already given out.
    fn push(&mut self, event: Event<E>);

    /// Gives out the least event in the total order, if it happens before `bound`.
    fn pop(&mut self, bound: Time) -> Option<Event<E>>;

    /// Shows events that will probably be given out next, at most `most`, or none. Changes nothing.
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

    /// The time of the least event; [`Time::MAX`] when empty.
    fn least_time(&mut self) -> Time;

    /// The number of pending events.
    fn len(&self) -> usize;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
