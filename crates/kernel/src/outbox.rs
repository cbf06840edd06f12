//! Messages on their way out of a federate, by destination federate.
//!
//! It belongs to the host, so that one worker can gather the messages of all federates it runs and hand them over at once.

use crate::{Event, Time};

/// Lists of events by destination federate.
#[derive(Debug)]
pub struct Outbox<E> {
    lists: Vec<Vec<Event<E>>>,
    least: Vec<Time>,
    filled: Vec<u32>,
}

impl<E> Outbox<E> {
    /// An empty outbox for a run of `federates` federates.
    pub fn new(federates: u32) -> Self {
        let lists = (0..federates).map(|_| Vec::new()).collect();
        Self { lists, least: vec![Time::MAX; federates as usize], filled: Vec::new() }
    }

    #[inline]
    pub(crate) fn push(&mut self, federate: u32, event: Event<E>) {
        let list = &mut self.lists[federate as usize];
        if list.is_empty() {
            self.filled.push(federate);
        }
        let least = &mut self.least[federate as usize];
        *least = (*least).min(event.time());
        list.push(event);
    }

    /// Whether there is nothing to send.
    pub fn is_empty(&self) -> bool {
        self.filled.is_empty()
    }

    /// What is to be sent to `federate`.
    pub fn to(&self, federate: u32) -> &[Event<E>] {
        &self.lists[federate as usize]
    }

    /// The least time of what is to be sent to `federate`; [`Time::MAX`] if that is nothing.
    pub fn least(&self, federate: u32) -> Time {
        self.least[federate as usize]
    }

    /// The federates that something is to be sent to.
    pub fn filled(&self) -> impl Iterator<Item = u32> {
        self.filled.iter().copied().filter(|federate| !self.to(*federate).is_empty())
    }

    /// The number of events to be sent.
    pub fn len(&self) -> usize {
        self.filled.iter().map(|federate| self.to(*federate).len()).sum()
    }

    /// Takes out what is to be sent to `federate`; the empty list `spare` takes its place.
    pub fn take(&mut self, federate: u32, spare: Vec<Event<E>>) -> Vec<Event<E>> {
        self.least[federate as usize] = Time::MAX;
        std::mem::replace(&mut self.lists[federate as usize], spare)
    }

    /// Gives out (federate, its events, the least time among them) for each destination; the events left in a list are
    /// dropped, its memory is kept.
    pub fn flush(&mut self, mut send: impl FnMut(u32, &mut Vec<Event<E>>, Time)) {
        for federate in self.filled.drain(..) {
            let least = std::mem::replace(&mut self.least[federate as usize], Time::MAX);
            let list = &mut self.lists[federate as usize];
            send(federate, list, least);
            list.clear();
        }
    }
}
