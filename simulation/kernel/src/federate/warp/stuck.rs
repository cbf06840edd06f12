//! Broken rules and panics in events that were run ahead: they end the run only if the event is not rolled
//! back.
//!
//! An LP whose event broke a rule or panicked is put back to before that event and handles nothing more. What
//! comes for it is parked, out of the queue, so that GVT does not wait for it. If a message or an
//! anti-message shows that its past was wrong, everything goes back to the queue; if the safe bound passes
//! the event, the run ends with it.

use thiserror::Error;

use crate::panics::{Asked, shown};
use crate::{Caught, Event, EventQueue, LpId, Model, PanicNote, RuleError, Time};

/// Why a run ends before its time.
#[derive(Clone, PartialEq, Eq, Error)]
#[error("{kind}{}", self.place())]
pub struct EventError {
    /// What went wrong.
    pub kind: EventErrorKind,
    /// The LP that handled the event.
    pub lp: LpId,
    /// The time of the event.
    pub at: Time,
    /// The event, as its `Debug` shows it.
    pub event: String,
}

crate::debug_tells!(EventError);

/// What can end a run before its time because of an event.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the text of an error says what its fields are")]
pub enum EventErrorKind {
    /// A send broke a rule.
    #[error(transparent)]
    Rule(RuleError),
    /// The model panicked.
    #[error("the model panicked{0}")]
    Panic(PanicNote),
    /// The model panicked in an event that was rolled back afterwards, and with `undo` there is no way back
    /// from half an event.
    #[error(
        "the model panicked in an event that is rolled back, which `undo` cannot do for half an event (save states by copy instead){0}"
    )]
    HalfUndone(PanicNote),
    /// Taking an event back does not bring back the state before it, or handling it again gives something
    /// else.
    #[error("{what}; the first difference:\n  before: {before}\n  after:  {after}")]
    Irreversible { what: &'static str, before: String, after: String },
}

impl EventErrorKind {
    /// The backtrace of a panic, if the hook of the program left one.
    pub fn backtrace(&self) -> Option<&str> {
        match self {
            Self::Panic(note) | Self::HalfUndone(note) => note.backtrace.as_deref(),
            _ => None,
        }
    }
}

impl EventError {
    pub(in crate::federate) fn of_fault(fault: RuleError) -> Self {
        let (lp, at, event) = (fault.from, fault.now, fault.event.clone());
        Self { kind: EventErrorKind::Rule(fault), lp, at, event }
    }

    pub(in crate::federate) fn of_panic<E: std::fmt::Debug>(panic: &Caught, event: &Event<E>) -> Self {
        let (lp, at, kind) = (event.to(), event.time(), EventErrorKind::Panic(panic.note.clone()));
        Self { kind, lp, at, event: shown(&event.payload) }
    }

    /// A panic in something that was asked of the model because of an event; any other goes on.
    pub(super) fn of_caught(panic: Caught) -> Box<Self> {
        match panic.asked.as_deref() {
            Some(Asked::Event { .. }) => Box::new(panic.into_event_error().expect("an event is known")),
            _ => panic.resume(),
        }
    }

    /// A broken rule names its place itself.
    fn place(&self) -> String {
        match self.kind {
            EventErrorKind::Rule(_) => String::new(),
            _ => format!("\nin {} at {}, handling {}", self.lp, self.at, self.event),
        }
    }
}

#[derive(Debug)]
pub(super) struct Stuck<E> {
    trouble: Box<EventError>,
    /// The event that went wrong.
    event: Event<E>,
    /// Later events of the LP.
    parked: Vec<Event<E>>,
    /// Its state is lost: it panicked half way through an event, and there is no copy.
    broken: bool,
}

impl<E> Stuck<E> {
    pub fn new(trouble: Box<EventError>, event: Event<E>, parked: Vec<Event<E>>, broken: bool) -> Self {
        Self { trouble, event, parked, broken }
    }

    /// Events kept out of the queue.
    pub fn len(&self) -> usize {
        self.parked.len() + 1
    }

    pub fn park(&mut self, events: impl Iterator<Item = Event<E>>) {
        self.parked.extend(events);
    }
}

impl<M: Model, Q: EventQueue<M::Event>> super::Warp<M, Q> {
    /// The trouble that can no longer be rolled back, if there is one.
    pub(super) fn trouble(&self, safe: Time) -> Option<Box<EventError>> {
        let final_ones = self.stuck.values().filter(|stuck| stuck.trouble.at < safe);
        // The error that a sequential run would have ended with.
        let first = final_ones.min_by_key(|stuck| stuck.event.key());
        first.map(|stuck| stuck.trouble.clone()).or_else(|| self.lost.clone())
    }

    /// The past of a stuck LP changes: it gets another chance.
    pub(super) fn unstick(&mut self, local: usize) {
        let Some(stuck) = self.stuck.remove(&(local as u32)) else { return };
        // Without a copy the state stays that of half an event: the run cannot go on, though the event itself
        // was taken back.
        if stuck.broken {
            let EventErrorKind::Panic(note) = stuck.trouble.kind.clone() else { return };
            let kind = EventErrorKind::HalfUndone(note);
            self.lost.get_or_insert(Box::new(EventError { kind, ..*stuck.trouble }));
        }
        self.base.queue.push(stuck.event);
        stuck.parked.into_iter().for_each(|event| self.base.queue.push(event));
    }

    /// Whether `event` comes before the one that its LP is stuck at.
    pub(super) fn changes_stuck(&self, local: usize, event: &Event<M::Event>) -> bool {
        self.stuck.get(&(local as u32)).is_some_and(|stuck| event.key() < stuck.event.key())
    }
}
