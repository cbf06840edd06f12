//! One of the two heaps, chosen when a run begins. All that is built for a queue is built once for both.

use super::{EnhancedHeap, Heap};
use crate::{Event, EventQueue, Settings, Time};

/// Which heap an [`AnyHeap`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum HeapKind {
    /// [`Heap`].
    #[default]
    Binary,
    /// [`EnhancedHeap`].
    Enhanced,
}

/// A [`Heap`] or an [`EnhancedHeap`].
///
/// ```
/// use paceline_kernel::{AnyHeap, EventQueue, HeapKind, Settings};
/// let settings = Settings { heap: HeapKind::Enhanced, ..Settings::default() };
/// assert!(matches!(AnyHeap::<&str>::with_settings(settings), AnyHeap::Enhanced(_)));
/// ```
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "a federate has one, and asks it for every event")]
pub enum AnyHeap<E> {
    /// The binary heap.
    Binary(Heap<E>),
    /// Lists of simultaneous events in a heap.
    Enhanced(EnhancedHeap<E>),
}

/// Does the same to a queue, whichever it is.
macro_rules! each {
    ($queue:expr, $own:ident => $act:expr) => {
        match $queue {
            Self::Binary($own) => $act,
            Self::Enhanced($own) => $act,
        }
    };
}

impl<E: Send> EventQueue<E> for AnyHeap<E> {
    fn with_window(window: Time) -> Self {
        Self::Binary(Heap::with_window(window))
    }

    fn with_settings(settings: Settings) -> Self {
        match settings.heap {
            HeapKind::Binary => Self::Binary(Heap::with_settings(settings)),
            HeapKind::Enhanced => Self::Enhanced(EnhancedHeap::with_settings(settings)),
        }
    }

    #[inline]
    fn push(&mut self, event: Event<E>) {
        each!(self, own => own.push(event))
    }

    #[inline]
    fn pop(&mut self, bound: Time) -> Option<Event<E>> {
        each!(self, own => own.pop(bound))
    }

    fn upcoming(&self, most: usize, look: impl FnMut(&Event<E>)) {
        each!(self, own => own.upcoming(most, look))
    }

    fn drain(&mut self, bound: Time, take: impl FnMut(Event<E>)) {
        each!(self, own => own.drain(bound, take))
    }

    #[inline]
    fn least_time(&mut self) -> Time {
        each!(self, own => own.least_time())
    }

    fn len(&self) -> usize {
        each!(self, own => own.len())
    }
}
