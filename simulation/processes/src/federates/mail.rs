//! What federates and the carrier send each other through the engine.
//!
//! The engine's events can be copied, for protocols that take events back; here none is. Invariant: what an
//! event holds is taken out once.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex};

use crate::core::{Parcel, RequestError, Start, Whose};
use paceline_kernel::{Context, LpId, Time};

use super::Federates;
use super::agenda::lock;

/// A thing that is sent.
pub(super) enum Item<P> {
    /// A parcel arrives.
    Parcel(Parcel<P>),
    /// A parcel is to be carried.
    Start(Start<P>),
    /// A sender is informed of an arrival; `rest` is by how much that was later or earlier than its tick, in
    /// ticks.
    ArrivalNotice { rest: f64, whose: Whose, place: u32, failure: Option<RequestError> },
}

/// Things for one receiver at one time: a list of [`Item`]s, whatever the messages of the world are.
#[derive(Clone)]
pub(super) struct Mail(Arc<Mutex<Option<Box<dyn Any + Send>>>>);

impl Mail {
    fn new<P: Send + 'static>(items: Vec<Item<P>>) -> Self {
        Self(Arc::new(Mutex::new(Some(Box::new(items)))))
    }

    /// Takes all out.
    pub(super) fn take<P: 'static>(&self) -> Vec<Item<P>> {
        let items = lock(&self.0).take().and_then(|items| items.downcast().ok());
        *items.expect("mail is opened once, in the world in which it was sent")
    }
}

/// What happens to a logical process.
#[derive(Clone)]
pub(super) enum Event {
    /// Something is due.
    Wake,
    /// Messages and receipts come from other federates.
    Mail(Mail),
    /// All that is due at this instant is there.
    Act,
}

impl Hash for Event {
    /// The engine's digest is not the one of the processes.
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::mem::discriminant(self).hash(state);
    }
}

impl PartialEq for Event {
    /// Mail is equal only to its own copies.
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Wake, Self::Wake) | (Self::Act, Self::Act) => true,
            (Self::Mail(one), Self::Mail(other)) => Arc::ptr_eq(&one.0, &other.0),
            _ => false,
        }
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Wake => "wake",
            Self::Mail(_) => "mail",
            Self::Act => "act",
        })
    }
}

/// What is to be sent, by receiver and time.
pub(super) struct Outgoing<P>(BTreeMap<(u32, Time), Vec<Item<P>>>);

impl<P> Default for Outgoing<P> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<P: Send + 'static> Outgoing<P> {
    /// An item that `to` is to have at `at`.
    pub(super) fn push(&mut self, to: u32, at: Time, item: Item<P>) {
        self.0.entry((to, at)).or_default().push(item);
    }

    pub(super) fn send(&mut self, cx: &mut Context<'_, Federates<'_>>) {
        let now = cx.now();
        for ((to, at), items) in std::mem::take(&mut self.0) {
            cx.send(LpId(to), at - now, Event::Mail(Mail::new(items)));
        }
    }
}
