//! A federate and its inbox, as workers share them.
//!
//! Lock order: a worker that holds a federate may take an inbox or the state of the board; nobody who holds
//! the state takes a federate. The inbox lock is a leaf, held only to append or to swap.
//!
//! The board hands a federate to one worker at a time, so that its lock is free; it is there because the
//! compiler cannot know that. Only a worker that takes in what an outside federate has said may come to wait
//! for it, while another one still hands something over.

use paceline_kernel::{Event, Federate, Model};

use crate::sync::{Apart, Mutex, lock};

/// Events as one worker hands them over to another: the list itself changes hands, its events stay where they
/// are.
pub(crate) type Batch<E> = Vec<Event<E>>;

/// Messages on their way to a federate, with whatever the protocol adds.
#[derive(Debug)]
pub(crate) struct Inbox<E, X> {
    pub(crate) batches: Vec<Batch<E>>,
    pub(crate) extra: X,
}

/// The place of one federate: `F` is the federate with what belongs to it.
#[derive(Debug)]
pub(crate) struct Seat<F, E, X> {
    pub(crate) federate: Apart<Mutex<F>>,
    pub(crate) inbox: Apart<Mutex<Inbox<E, X>>>,
}

impl<F, E, X> Seat<F, E, X> {
    pub(crate) fn new(federate: F, extra: X) -> Self {
        let inbox = Inbox { batches: Vec::new(), extra };
        Self { federate: Apart(Mutex::new(federate)), inbox: Apart(Mutex::new(inbox)) }
    }

    /// Puts what is in `events` into the inbox, and an empty list out of `spare` in its place: no event is
    /// copied, and the lock is held for one push.
    pub(crate) fn post(&self, events: &mut Batch<E>, spare: &mut Vec<Batch<E>>) {
        let batch = std::mem::replace(events, spare.pop().unwrap_or_default());
        lock(&self.inbox).batches.push(batch);
    }

    pub(crate) fn into_federate(self) -> (F, Vec<Batch<E>>) {
        let federate = self.federate.0.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        let inbox = self.inbox.0.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        (federate, inbox.batches)
    }
}

/// The federates of a run, by number; between two legs all messages are in their queues.
pub(crate) type Federates<M> = Vec<Federate<M>>;

/// Delivers the batches in `arrived`; their memory goes to `spare`, up to `most` lists, so that a worker that
/// receives more than it sends does not keep the lists of all others.
pub(crate) fn deliver<M: Model>(
    federate: &mut Federate<M>,
    arrived: &mut Vec<Batch<M::Event>>,
    spare: &mut Vec<Batch<M::Event>>,
    most: usize,
) {
    for mut batch in arrived.drain(..) {
        federate.receive(batch.drain(..));
        if spare.len() < most {
            spare.push(batch);
        }
    }
}
