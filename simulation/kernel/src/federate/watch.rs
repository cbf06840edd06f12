//! Reports every event that has become final to an observer, in the total order of the federate.
//!
//! Without an observer, a federate pays one branch for each event of the exact gear, and nothing in the fast
//! one. With an observer it works in the exact gear only; events out of the log of Time Warp are held back
//! until nothing can precede them.
//!
//! Invariant: the reports of a federate are in the total order for as long as its LPs stay together.

use std::fmt;
use std::sync::Arc;

use super::Federate;
use crate::{Event, EventQueue, LpId, Model, Time};

/// Receives events that have become final.
pub trait CommitObserver<M: Model>: Send + Sync {
    /// `event` has happened to `lp`, which is in this federate, at `at`. Called on the thread that runs the
    /// federate.
    fn committed(&self, federate: u32, lp: LpId, at: Time, event: &M::Event);
}

/// The observer of a federate.
pub(super) struct Watch<M: Model> {
    observer: Arc<dyn CommitObserver<M>>,
    /// Events that are final and not reported yet, as something may still come before them.
    held: Vec<Event<M::Event>>,
    /// Events do not become final in the total order (Time Warp): they are held until nothing can precede
    /// them.
    holds: bool,
}

impl<M: Model> fmt::Debug for Watch<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").field("held", &self.held).finish_non_exhaustive()
    }
}

impl<M: Model> Watch<M> {
    /// `event` has become final.
    pub(super) fn note(&mut self, federate: u32, event: &Event<M::Event>) {
        if self.holds {
            self.held.push(event.clone());
            return;
        }
        // Some are left from a leg of Time Warp.
        if !self.held.is_empty() {
            self.report_held(federate, |held| held < event);
        }
        self.report(federate, event);
    }

    fn report(&self, federate: u32, event: &Event<M::Event>) {
        self.observer.committed(federate, event.to(), event.time(), &event.payload);
    }

    /// Reports those held back that are `due`.
    fn report_held(&mut self, federate: u32, due: impl Fn(&Event<M::Event>) -> bool) {
        let mut due: Vec<_> = self.held.extract_if(.., |event| due(event)).collect();
        due.sort_unstable();
        due.iter().for_each(|event| self.report(federate, event));
    }
}

impl<M: Model, Q: EventQueue<M::Event>> Federate<M, Q> {
    /// Reports to `observer`, from now on, every event that has become final, in the total order of this
    /// federate.
    pub fn watch(&mut self, observer: Arc<dyn CommitObserver<M>>) {
        self.put_back();
        self.watch = Some(Watch { observer, held: Vec::new(), holds: false });
    }

    /// From now on holds back what becomes final, or else reports it at once, after those that were held back
    /// and come before it.
    pub(super) fn hold(&mut self, holds: bool) {
        if let Some(watch) = &mut self.watch {
            watch.holds = holds;
        }
    }

    /// Reports what is held back and is before `time`: nothing before that can become final any more.
    pub fn report_before(&mut self, time: Time) {
        if let Some(watch) = &mut self.watch {
            watch.report_held(self.id, |event| event.time() < time);
        }
    }
}
