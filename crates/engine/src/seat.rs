//! A federate and its inbox, as workers share them.
//!
//! Lock order: a board's state is never held while a seat's federate is taken; the inbox lock is a leaf, held only to
//! append or to swap. Nobody waits for a federate: the board hands it to one worker at a time.

use paceline_kernel::{Event, Federate, Model};

use crate::sync::{Mutex, lock};

/// Messages on their way to a federate, with whatever the protocol adds.
#[derive(Debug)]
pub(crate) struct Inbox<E, X> {
    pub(crate) events: Vec<Event<E>>,
    pub(crate) extra: X,
}

/// The place of one federate: `F` is the federate with what belongs to it.
#[derive(Debug)]
pub(crate) struct Seat<F, E, X> {
    pub(crate) federate: Mutex<F>,
    pub(crate) inbox: Mutex<Inbox<E, X>>,
}

impl<F, E, X> Seat<F, E, X> {
    pub(crate) fn new(federate: F, extra: X) -> Self {
        Self { federate: Mutex::new(federate), inbox: Mutex::new(Inbox { events: Vec::new(), extra }) }
    }

    /// The messages that have come in; `spare` takes their place.
    pub(crate) fn swap_events(&self, spare: &mut Vec<Event<E>>) {
        std::mem::swap(&mut lock(&self.inbox).events, spare);
    }

    pub(crate) fn into_federate(self) -> (F, Vec<Event<E>>) {
        let federate = self.federate.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
        let inbox = self.inbox.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
        (federate, inbox.events)
    }
}

/// The federates of a run, with the messages that had not reached them yet.
pub(crate) type Federates<M, Q> = Vec<Federate<M, Q>>;

/// Takes the federates out of their seats; messages still in inboxes are delivered.
pub(crate) fn vacate<M, Q, X, F>(
    seats: Vec<Seat<F, M::Event, X>>,
    federate: impl Fn(F) -> Federate<M, Q>,
) -> Federates<M, Q>
where
    M: Model,
    Q: paceline_kernel::EventQueue<M::Event>,
{
    let vacate = |seat: Seat<F, M::Event, X>| {
        let (owner, events) = seat.into_federate();
        let mut federate = federate(owner);
        federate.receive(events);
        federate
    };
    seats.into_iter().map(vacate).collect()
}
