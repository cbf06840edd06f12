//! Panics of the model while it handles an event: they end the run as a broken rule does, with the LP, the
//! time and the event.
//!
//! They are caught once a batch. On the path of an event there is only a value that is dropped if a panic
//! passes by; that costs nothing as long as none does. Invariants: a panic is caught only if the model was at
//! work, one of ours goes on; after it the federate does nothing any more, for its LP is half way through an
//! event.

use std::cell::Cell;

use super::{EventError, Federate, Progress};
use crate::{Caught, Event, EventQueue, Model};

/// The model is at work, until [`Handling::end`].
pub(super) struct Handling<'f>(&'f Cell<bool>);

impl<'f> Handling<'f> {
    /// From here on a panic is the model's; `struck` says afterwards that there was one.
    #[inline(always)]
    pub fn begin(struck: &'f Cell<bool>) -> Self {
        Self(struck)
    }

    #[inline(always)]
    pub fn end(self) {
        std::mem::forget(self);
    }
}

impl Drop for Handling<'_> {
    fn drop(&mut self) {
        self.0.set(true);
    }
}

impl<M: Model, Q: EventQueue<M::Event>> Federate<M, Q> {
    /// Why the federate does nothing any more: the rule that the model broke, or its panic, with the LP, the
    /// time and the event.
    pub fn trouble(&self) -> Option<EventError> {
        let broken = || self.fault.as_deref().cloned().map(EventError::of_fault);
        self.panicked.as_deref().cloned().or_else(broken)
    }

    /// Notes a panic that was caught in the batch gear.
    pub(super) fn caught_in_batch(&mut self, panic: Caught) -> Progress {
        self.pass_on_ours(panic, |federate, panic| {
            federate.batch.running().map(|event| EventError::of_panic(panic, event))
        })
    }

    /// Notes a panic that was caught while `event` was in hand.
    pub(super) fn caught(&mut self, panic: Caught, event: Option<&Event<M::Event>>) -> Progress {
        self.pass_on_ours(panic, |_, panic| event.map(|event| EventError::of_panic(panic, event)))
    }

    /// Notes a panic of the model, of which `place` makes the error. One of the kernel or the host, where the
    /// model was not at work, goes on.
    fn pass_on_ours(
        &mut self,
        panic: Caught,
        place: impl Fn(&Self, &Caught) -> Option<EventError>,
    ) -> Progress {
        let trouble = if self.struck.take() { place(self, &panic) } else { None };
        let Some(trouble) = trouble else { panic.resume() };
        self.panicked = Some(Box::new(trouble));
        Progress::Faulty
    }
}
