//! Telling somebody of every event that has become final, in the total order of the federate.
//!
//! Where nobody watches, a federate pays one branch for each event of the exact gear, and nothing in the fast one. Where somebody
//! does, it works in the exact gear only; what comes out of the log of Time Warp is held back until nothing can come before it.
//!
//! Invariant: what is told of a federate is in the total order for as long as its LPs stay together.

use std::fmt;
use std::sync::Arc;

use super::Federate;
use crate::{Event, EventQueue, LpId, Model, Time};

/// Is told of events that have become final.
pub trait CommitObserver<M: Model>: Send + Sync {
    /// `event` has happened to `lp`, which is in this federate, at `at`. Called by whatever thread works on the federate.
    fn committed(&self, federate: u32, lp: LpId, at: Time, event: &M::Event);
}

/// Who watches a federate.
pub(super) struct Watch<M: Model> {
    observer: Arc<dyn CommitObserver<M>>,
    /// Events that are final and not told yet, where something may still come before them.
    held: Option<Vec<Event<M::Event>>>,
}

impl<M: Model> fmt::Debug for Watch<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").field("held", &self.held).finish_non_exhaustive()
    }
}

impl<M: Model> Watch<M> {
    fn tell(&self, federate: u32, event: &Event<M::Event>) {
        self.observer.committed(federate, event.to(), event.time(), &event.payload);
    }

    /// `event` has become final.
    pub(super) fn note(&mut self, federate: u32, event: &Event<M::Event>) {
        match &mut self.held {
            Some(held) => held.push(event.clone()),
            None => self.tell(federate, event),
        }
    }
}

impl<M: Model, Q: EventQueue<M::Event>> Federate<M, Q> {
    /// Tells `observer` from now on of every event that has become final, in the total order of this federate.
    pub fn watch(&mut self, observer: Arc<dyn CommitObserver<M>>) {
        self.put_back();
        self.watch = Some(Watch { observer, held: None });
    }

    /// What becomes final is held back from now on.
    pub(super) fn hold(&mut self) {
        if let Some(watch) = &mut self.watch {
            watch.held.get_or_insert_default();
        }
    }

    /// Tells of what is held back and is before `time`: nothing before that can become final any more.
    pub(super) fn tell_before(&mut self, time: Time) {
        let Some(watch) = &mut self.watch else { return };
        let Some(held) = &mut watch.held else { return };
        let mut due: Vec<_> = held.extract_if(.., |event| event.time() < time).collect();
        due.sort_unstable();
        due.iter().for_each(|event| watch.tell(self.id, event));
    }

    /// Tells of all that is held back; nothing is held back any more.
    pub(super) fn tell_all(&mut self) {
        self.tell_before(Time::MAX);
        if let Some(watch) = &mut self.watch {
            watch.held = None;
        }
    }
}
