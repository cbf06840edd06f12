//! A node's interface to the simulation while it handles an event: the kernel's context, or a test double.

use paceline_kernel::{Context, LpId, Model, Time};

use super::event::TrafficEvent;

/// A subset of the functions of [`Context`]: the LP, the time, messages, and words kept for undoing.
pub(crate) trait Scene {
    /// The node that handles the event.
    fn lp(&self) -> LpId;

    fn now(&self) -> Time;

    fn send(&mut self, to: LpId, delay: Time, event: TrafficEvent);

    /// Keeps a word for undoing the event.
    fn keep(&mut self, word: u64);

    #[inline(always)]
    fn schedule(&mut self, delay: Time, event: TrafficEvent) {
        self.send(self.lp(), delay, event);
    }
}

impl<M: Model<Event = TrafficEvent>> Scene for Context<'_, M> {
    #[inline(always)]
    fn lp(&self) -> LpId {
        Context::lp(self)
    }

    #[inline(always)]
    fn now(&self) -> Time {
        Context::now(self)
    }

    #[inline(always)]
    fn send(&mut self, to: LpId, delay: Time, event: TrafficEvent) {
        Context::send(self, to, delay, event);
    }

    #[inline(always)]
    fn keep(&mut self, word: u64) {
        Context::keep(self, word);
    }
}
