//! Mailboxes and communications: a message flows once it has a sender and a receiver; to a mailbox that
//! stands at a host, at once. A mailbox serves first what came first.
//!
//! Invariants: a mailbox holds senders that wait for receivers, or receivers that wait for senders, never
//! both; a communication is in a mailbox, or flows through the network, or is gone; one in a mailbox at a
//! host has no sender yet, or has arrived.

mod matching;

use std::collections::{BTreeMap, VecDeque};

use paceline_kernel::Time;
use paceline_network::TransferId;

use super::flowing::Flowing;
use super::moment::Moment;
use super::process::Side;
use super::request::Mailbox;

/// A message on its way, or half of one.
#[derive(Clone, Debug)]
pub(super) struct Comm<P> {
    pub(super) mailbox: u32,
    pub(super) sender: Side,
    pub(super) receiver: Side,
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) payload: Option<P>,
    pub(super) bytes: f64,
    pub(super) transfer: Option<TransferId>,
    /// Since when it only waits to be received.
    pub(super) arrived: Option<Time>,
    /// The exact time at which its first side was there, or at which it arrived.
    pub(super) since: Moment,
}

/// Mailboxes of lower numbers than this are found by their number alone, in pages of so many.
const DENSE: u64 = 1 << 22;
const PAGE: usize = 1 << 10;
/// The places of other mailboxes begin here.
const OTHERS: u32 = 1 << 31;
/// From this many mailboxes on one looks for those that are unused.
const LOOK: usize = 1024;
/// The same, for pages of mailboxes by number.
const LOOK_PAGES: usize = 16;
/// No communication has this number.
const NONE: u32 = u32::MAX;
/// No host has this number.
const NOWHERE: u32 = u32::MAX;

/// All mailboxes in use, and all communications that have not ended.
#[derive(Clone, Debug)]
pub(super) struct Messages<P> {
    comms: Vec<Option<Comm<P>>>,
    /// By communication: the how manieth it was to enter a mailbox.
    came: Vec<u64>,
    entries: u64,
    free: Vec<u32>,
    /// By number; a page of which nothing is used may be missing.
    dense: Vec<Option<Box<[Queue; PAGE]>>>,
    /// How many pages there are, and at how many one looks for those that are not needed.
    pages: (usize, usize),
    others: Vec<Queue>,
    names: Vec<Mailbox>,
    known: BTreeMap<Mailbox, u32>,
    /// By receiver: its matched mailboxes that leave the sender or the tag open.
    open: BTreeMap<u32, Vec<u32>>,
    /// By receiver: the host at which its matched mailboxes stand, if at one.
    receivers: BTreeMap<u32, u32>,
    /// Places of other mailboxes that are unused, and at how many in use one looks for more of them.
    unused: Vec<u32>,
    limit: usize,
    flowing: Flowing,
}

/// What is in a mailbox, in the order of coming. Most have one at a time.
#[derive(Clone, Debug)]
struct Queue {
    first: u32,
    /// The host at which the mailbox stands.
    host: u32,
    #[expect(clippy::box_collection, reason = "there is next to never anything, and then it is one word")]
    more: Option<Box<VecDeque<u32>>>,
}

impl Queue {
    const EMPTY: Self = Self { first: NONE, host: NOWHERE, more: None };

    fn push(&mut self, comm: u32) {
        if self.first == NONE {
            self.first = comm;
        } else {
            self.more.get_or_insert_default().push_back(comm);
        }
    }

    fn pop(&mut self) {
        self.first = self.more.as_mut().and_then(|more| more.pop_front()).unwrap_or(NONE);
    }

    fn remove(&mut self, comm: u32) {
        if self.first == comm {
            self.pop();
        } else if let Some(more) = &mut self.more {
            more.retain(|other| *other != comm);
        }
    }

    fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        let first = Some(self.first).filter(|first| *first != NONE);
        first.into_iter().chain(self.more.iter().flat_map(|more| more.iter().copied()))
    }
}

impl<P> Default for Messages<P> {
    fn default() -> Self {
        Self {
            comms: Vec::new(),
            came: Vec::new(),
            entries: 0,
            free: Vec::new(),
            dense: Vec::new(),
            pages: (0, LOOK_PAGES),
            others: Vec::new(),
            names: Vec::new(),
            known: BTreeMap::new(),
            open: BTreeMap::new(),
            receivers: BTreeMap::new(),
            unused: Vec::new(),
            limit: LOOK,
            flowing: Flowing::default(),
        }
    }
}

impl<P> Messages<P> {
    /// Whether anything flows.
    pub(super) fn flow(&self) -> bool {
        !self.flowing.is_empty()
    }

    /// How many mailboxes are known by name or by a great number.
    #[cfg(test)]
    pub(super) fn named(&self) -> usize {
        self.known.len()
    }

    /// The place of a mailbox, which is made where it is not there.
    pub(super) fn mailbox(&mut self, mailbox: &Mailbox) -> u32 {
        match mailbox {
            Mailbox::Number(number) if *number < DENSE => {
                let page = *number as usize / PAGE;
                if !matches!(self.dense.get(page), Some(Some(_))) {
                    self.add_page(page);
                }
                *number as u32
            }
            other => match self.known.get(other) {
                Some(place) => *place,
                None => self.make(other.clone()),
            },
        }
    }

    /// Mailboxes of these numbers are used; where there are many, others that are not are forgotten.
    fn add_page(&mut self, page: usize) {
        if self.pages.0 >= self.pages.1 {
            let is_used = |queue: &Queue| queue.first != NONE || queue.host != NOWHERE;
            for page in &mut self.dense {
                if page.as_ref().is_some_and(|queues| !queues.iter().any(is_used)) {
                    *page = None;
                }
            }
            let left = self.dense.iter().flatten().count();
            self.pages = (left, LOOK_PAGES.max(2 * left));
        }
        if self.dense.len() <= page {
            self.dense.resize_with(page + 1, || None);
        }
        self.dense[page] = Some(Box::new([const { Queue::EMPTY }; PAGE]));
        self.pages.0 += 1;
    }

    /// The place of a mailbox that is not there yet.
    fn make(&mut self, mailbox: Mailbox) -> u32 {
        if self.known.len() >= self.limit {
            self.forget();
        }
        let place = self.unused.pop().unwrap_or_else(|| {
            self.names.push(Mailbox::Number(0));
            self.others.push(Queue::EMPTY);
            OTHERS + self.others.len() as u32 - 1
        });
        self.note_open(&mailbox, place);
        if let Mailbox::Matched { to, .. } = mailbox {
            self.queue(place).host = self.receivers.get(&to).copied().unwrap_or(NOWHERE);
        }
        self.names[(place - OTHERS) as usize] = mailbox.clone();
        self.known.insert(mailbox, place);
        place
    }

    /// Forgets mailboxes by name, matched ones, and those with great numbers, in which nothing is and to
    /// which nothing flows: they are as good as new. A matched one may stand at a host, as its receiver says
    /// where; the others stand nowhere.
    fn forget(&mut self) {
        let stands =
            |queue: &Queue, name: &Mailbox| queue.host != NOWHERE && !matches!(name, Mailbox::Matched { .. });
        let queues = self.others.iter().zip(&self.names);
        let mut used: Vec<bool> =
            queues.map(|(queue, name)| queue.first != NONE || stands(queue, name)).collect();
        for comm in self.comms.iter().flatten() {
            if let Some(place) = comm.mailbox.checked_sub(OTHERS) {
                used[place as usize] = true;
            }
        }
        self.known.retain(|_, place| used[(*place - OTHERS) as usize]);
        self.open.retain(|_, places| {
            places.retain(|place| used[(*place - OTHERS) as usize]);
            !places.is_empty()
        });
        self.unused.clear();
        for (place, _) in (0..).zip(&used).filter(|(_, used)| !**used) {
            (self.names[place], self.others[place]) = (Mailbox::Number(0), Queue::EMPTY);
            self.unused.push(OTHERS + place as u32);
        }
        self.limit = LOOK.max(2 * self.known.len());
    }

    fn queue(&mut self, mailbox: u32) -> &mut Queue {
        match mailbox.checked_sub(OTHERS) {
            Some(place) => &mut self.others[place as usize],
            None => {
                let page = self.dense[mailbox as usize / PAGE].as_mut();
                &mut page.expect("who uses a mailbox has looked for it")[mailbox as usize % PAGE]
            }
        }
    }

    /// A mailbox stands at a host from now on; of a matched one, all of the same receiver.
    pub(super) fn place(&mut self, mailbox: &Mailbox, host: u32) {
        if let Mailbox::Matched { to, .. } = *mailbox {
            self.receivers.insert(to, host);
            let of = |number| Mailbox::Matched { to, from: number, tag: number };
            for place in self.known.range(of(0)..=of(u32::MAX)).map(|(_, place)| *place) {
                self.others[(place - OTHERS) as usize].host = host;
            }
            return;
        }
        let place = self.mailbox(mailbox);
        self.queue(place).host = host;
    }

    pub(super) fn host(&mut self, mailbox: u32) -> Option<u32> {
        Some(self.queue(mailbox).host).filter(|host| *host != NOWHERE)
    }

    /// Takes out all that waits at `host` for its other side, and belongs to no process: what has arrived,
    /// and what was begun and left alone.
    pub(super) fn clear(&mut self, host: u32) {
        let gone = |comm: &Comm<P>| match (comm.sender, comm.receiver) {
            (Side::Detached, Side::Absent) => comm.from == host,
            (Side::Absent, Side::Detached) => comm.to == host,
            _ => false,
        };
        let places = (0..).zip(&self.comms);
        let gone = places.filter(|(_, comm)| comm.as_ref().is_some_and(gone)).map(|(place, _)| place);
        for place in gone.collect::<Vec<u32>>() {
            self.remove(place);
        }
    }

    /// In which mailbox a communication is, or was.
    pub(super) fn mailbox_of(&self, place: u32) -> u32 {
        self.comms[place as usize].as_ref().expect("who waits for a communication knows it").mailbox
    }

    pub(super) fn is_on_its_way(&self, place: u32) -> bool {
        self.comms[place as usize].as_ref().is_some_and(|comm| comm.transfer.is_some())
    }

    pub(super) fn name(&self, mailbox: u32) -> Mailbox {
        match mailbox.checked_sub(OTHERS) {
            Some(place) => self.names[place as usize].clone(),
            None => Mailbox::Number(u64::from(mailbox)),
        }
    }

    /// The first in a mailbox that waits for a sender, or for a receiver.
    pub(super) fn partner(&mut self, mailbox: u32, sends: bool) -> Option<u32> {
        let mailbox = self.matching(mailbox, sends);
        let first = self.queue(mailbox).first;
        let comm = self.comms.get(first as usize)?.as_ref().expect("a mailbox holds what is there");
        let waits_for_sender = comm.sender == Side::Absent;
        if waits_for_sender != sends {
            return None;
        }
        self.queue(mailbox).pop();
        Some(first)
    }

    /// Puts half a communication into its mailbox.
    pub(super) fn enter(&mut self, comm: Comm<P>) -> u32 {
        let mailbox = comm.mailbox;
        let place = match self.free.pop() {
            Some(place) => {
                self.comms[place as usize] = Some(comm);
                place
            }
            None => {
                self.comms.push(Some(comm));
                self.came.push(0);
                self.comms.len() as u32 - 1
            }
        };
        self.came[place as usize] = self.entries;
        self.entries += 1;
        self.queue(mailbox).push(place);
        place
    }

    pub(super) fn comm(&mut self, place: u32) -> &mut Comm<P> {
        self.comms[place as usize].as_mut().expect("who knows a communication has not let it go")
    }

    /// `place` flows from now on.
    pub(super) fn flows(&mut self, place: u32, transfer: TransferId) {
        self.comm(place).transfer = Some(transfer);
        self.flowing.insert(transfer, place);
    }

    /// The communication that flowed as `transfer`, unless a side has cancelled it.
    pub(super) fn landed(&mut self, transfer: TransferId) -> Option<Comm<P>> {
        let place = self.flowing.get(transfer)?;
        self.remove(place)
    }

    pub(super) fn remove(&mut self, place: u32) -> Option<Comm<P>> {
        let comm = self.comms[place as usize].take()?;
        self.free.push(place);
        match comm.transfer {
            Some(transfer) => {
                self.flowing.remove(transfer);
            }
            None => self.queue(comm.mailbox).remove(place),
        }
        Some(comm)
    }

    /// What flows from or to `host`.
    pub(super) fn touching(&self, host: u32) -> Vec<u32> {
        let touches = |comm: &Comm<P>| comm.transfer.is_some() && (comm.from == host || comm.to == host);
        let places = (0..).zip(&self.comms);
        places.filter(|(_, comm)| comm.as_ref().is_some_and(touches)).map(|(place, _)| place).collect()
    }

    /// Mailboxes with messages that were not received, and their number; of those that have arrived, up to
    /// `last`.
    pub(super) fn unreceived(&self, last: Time) -> Vec<(Mailbox, usize)> {
        let waits = |place: &u32| {
            let comm = self.comms[*place as usize].as_ref();
            comm.is_some_and(|comm| {
                comm.receiver == Side::Absent && comm.arrived.is_none_or(|arrived| arrived <= last)
            })
        };
        let dense = (0..).step_by(PAGE).zip(&self.dense);
        let dense = dense.flat_map(|(first, page)| (first..).zip(page.iter().flat_map(|page| &page[..])));
        let others = (OTHERS..).zip(&self.others);
        let messages = |(place, queue): (u32, &Queue)| (self.name(place), queue.iter().filter(waits).count());
        let mut left: Vec<_> = dense.chain(others).map(messages).filter(|(_, count)| *count > 0).collect();
        left.sort_unstable();
        left
    }
}
