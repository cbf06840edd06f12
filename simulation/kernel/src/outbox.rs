//! Messages on their way out of a federate, by destination federate.
//!
//! It belongs to the host, so that one worker can gather the messages of all federates it runs and hand them
//! over at once. Under Time Warp messages may be taken back: anti-messages travel with the messages, in the
//! order in which both were sent. Otherwise a message and the one that takes its place, with the same key,
//! could both be handled before the anti-message of the first comes.

use crate::{Event, Time};

/// What identifies a message that was sent: its place in the total order, its destination, and a copy of its
/// payload. The payload distinguishes it from another message at the same place that its cause, handled
/// again, may have sent.
pub type Receipt<E> = Event<E>;

/// Messages and anti-messages to one federate.
#[derive(Debug)]
pub struct Mail<E> {
    /// Messages, in the order in which they were sent.
    pub events: Vec<Event<E>>,
    /// Anti-messages, each with the number of messages that were sent before it.
    pub antis: Vec<(u32, Receipt<E>)>,
}

impl<E> Default for Mail<E> {
    fn default() -> Self {
        Self { events: Vec::new(), antis: Vec::new() }
    }
}

impl<E> Mail<E> {
    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty() && self.antis.is_empty()
    }

    /// The least time in it; [`Time::MAX`] if there is nothing.
    pub fn least(&self) -> Time {
        let receipts = self.antis.iter().map(|(_, receipt)| receipt);
        self.events.iter().chain(receipts).map(Event::time).min().unwrap_or(Time::MAX)
    }

    /// Adds an anti-message, which was sent after all that is in it.
    #[inline]
    pub fn push_anti(&mut self, receipt: Receipt<E>) {
        self.antis.push((self.events.len() as u32, receipt));
    }

    /// Adds what is in `later`, which was sent after this, and leaves that empty.
    ///
    /// ```
    /// use paceline_kernel::{Event, LpId, Mail, TieBreak, Time};
    /// let event = |number| Event::from_outside(TieBreak::Fixed, number, Time::secs(number), LpId(0), ());
    /// let mut mail = Mail { events: vec![event(2)], antis: Vec::new() };
    /// let mut later = Mail { events: vec![event(3)], antis: vec![(0, event(2))] };
    /// mail.append(&mut later);
    /// assert!(later.is_empty() && mail.least() == Time::secs(2));
    /// assert_eq!((mail.events.len(), mail.antis[0].0), (2, 1), "the anti-message comes after one message");
    /// ```
    pub fn append(&mut self, later: &mut Self) {
        let before = self.events.len() as u32;
        self.antis.extend(later.antis.drain(..).map(|(position, receipt)| (before + position, receipt)));
        self.events.append(&mut later.events);
    }
}

/// Lists of events by destination federate.
#[derive(Debug)]
pub struct Outbox<E> {
    /// By destination federate: what is not handed over yet.
    lists: Vec<Mail<E>>,
    /// By destination: the least time in its list; [`Time::MAX`] without anything.
    least: Vec<Time>,
    /// The destinations that have had something since the last flush, so that a flush does not look at all
    /// of them.
    filled: Vec<u32>,
}

impl<E> Outbox<E> {
    /// An empty outbox for a run of `federates` federates.
    pub fn new(federates: u32) -> Self {
        let lists = (0..federates).map(|_| Mail::default()).collect();
        Self { lists, least: vec![Time::MAX; federates as usize], filled: Vec::new() }
    }

    /// Adds a message to `federate`.
    #[inline]
    pub fn push(&mut self, federate: u32, event: Event<E>) {
        self.lower(federate, event.time());
        self.lists[federate as usize].events.push(event);
    }

    /// Adds an anti-message to `federate`: `receipt` is of a message that was sent there before.
    pub fn push_anti(&mut self, federate: u32, receipt: Receipt<E>) {
        self.lower(federate, receipt.time());
        self.lists[federate as usize].push_anti(receipt);
    }

    #[inline(always)]
    fn lower(&mut self, federate: u32, time: Time) {
        // Called before the event is in the list, so that each federate is noted once.
        if self.lists[federate as usize].is_empty() {
            self.filled.push(federate);
        }
        let least = &mut self.least[federate as usize];
        *least = (*least).min(time);
    }

    /// Whether there is nothing to send.
    pub fn is_empty(&self) -> bool {
        self.filled.is_empty()
    }

    /// What is to be sent to `federate`, anti-messages apart.
    pub fn to(&self, federate: u32) -> &[Event<E>] {
        &self.lists[federate as usize].events
    }

    /// The least time of what is to be sent to `federate`; [`Time::MAX`] if that is nothing.
    pub fn least(&self, federate: u32) -> Time {
        self.least[federate as usize]
    }

    /// The federates that something is to be sent to.
    pub fn filled(&self) -> impl Iterator<Item = u32> {
        self.filled.iter().copied().filter(|federate| !self.lists[*federate as usize].is_empty())
    }

    /// The number of events to be sent.
    pub fn len(&self) -> usize {
        self.filled.iter().map(|federate| self.to(*federate).len()).sum()
    }

    /// Takes out the messages to `federate`; the empty list `spare` takes its place. The next flush names the
    /// federate all the same, with an empty list. Nothing is to be pushed for it before: the flush would name
    /// it twice. Anti-messages stay: not for Time Warp.
    pub fn take(&mut self, federate: u32, spare: Vec<Event<E>>) -> Vec<Event<E>> {
        self.least[federate as usize] = Time::MAX;
        std::mem::replace(&mut self.lists[federate as usize].events, spare)
    }

    /// Gives out (federate, its events, the least time among them) for each destination; the events left in a
    /// list are dropped, its memory is kept.
    pub fn flush(&mut self, mut send: impl FnMut(u32, &mut Vec<Event<E>>, Time)) {
        self.flush_mail(|federate, mail, least| {
            assert!(mail.antis.is_empty(), "anti-messages are only sent to those who know them");
            send(federate, &mut mail.events, least);
        });
    }

    /// Gives out (federate, its mail, the least time in it) for each destination; what is left of it is
    /// dropped.
    pub fn flush_mail(&mut self, mut send: impl FnMut(u32, &mut Mail<E>, Time)) {
        for federate in self.filled.drain(..) {
            let least = std::mem::replace(&mut self.least[federate as usize], Time::MAX);
            let mail = &mut self.lists[federate as usize];
            send(federate, mail, least);
            mail.events.clear();
            mail.antis.clear();
        }
    }
}
