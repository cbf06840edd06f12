//! The other processes of a run: each runs some of the federates with an engine of its own, and all of them are one run.
//!
//! To the board of a protocol a federate of another process is a seat that nobody here sits in: what is sent to it goes to its process
//! ([`outgoing`](self::outgoing)), and what comes from there is delivered into the inboxes of the seats here. What all processes have to
//! know to go on - the least time of all, whether one of them wants to pause, whether anything is left - they tell each other in
//! *rounds*: each contributes once ([`Contribution`]), and a round is complete where all have contributed and all that was sent before has
//! arrived ([`rounds`](self::rounds)). No process waits in a round: whoever is free takes in what arrives.
//!
//! Invariants: from one process to another everything arrives in the order in which it was sent; messages are handled by one thread at a
//! time, in their order; between two legs nothing is under way.

mod agree;
mod codec;
mod collect;
mod contribution;
mod error;
mod outgoing;
mod owners;
mod pulse;
mod rounds;
#[cfg(all(test, not(paceline_shuttle)))]
mod test;

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use paceline_kernel::{Event, Mail, Model, Partition, Promise, Time};
use paceline_transport::{PeerErrorKind, Transport};

pub(crate) use codec::Codec;
use codec::Message;
pub(crate) use collect::{Joined, Terms};
pub(crate) use contribution::{Contribution, Counts};
pub use error::{PeersError, PeersErrorKind};
use outgoing::Outgoing;
use owners::owners;
pub(crate) use pulse::Pulse;
use rounds::Rounds;

use crate::RunError;
use crate::sync::{Apart, AtomicU64, Mutex, Ordering, lock};

/// How long the owner of a run sleeps at most before it looks again for what has arrived.
const NAP: Duration = Duration::from_millis(100);

/// What has arrived from a process.
#[derive(Debug)]
struct Arrived<M: Model> {
    messages: VecDeque<(u32, Message<M>)>,
    /// By process: the beginning of a message whose rest has not arrived.
    partial: Vec<Vec<u8>>,
    /// By process: frames that have arrived.
    frames: Vec<u64>,
    error: Option<PeersError>,
    /// Whether workers know of the error.
    is_told: bool,
}

/// Messages of a kind, since the run began.
#[derive(Debug, Default)]
struct Tally {
    sent: AtomicU64,
    received: AtomicU64,
}

/// See the module.
pub(crate) struct Peers<M: Model> {
    transport: Arc<dyn Transport>,
    codec: Codec<M>,
    partition: Partition,
    /// Which process has each federate.
    owners: Vec<u32>,
    /// Threads of the processes of lower ranks.
    threads_before: u32,
    outgoing: Vec<Apart<Mutex<Outgoing>>>,
    arrived: Apart<Mutex<Arrived<M>>>,
    /// Whoever has it handles what has arrived.
    handling: Mutex<()>,
    rounds: Mutex<Rounds>,
    events: Tally,
    others: Tally,
}

impl<M: Model> fmt::Debug for Peers<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Peers").field("transport", &self.transport).finish_non_exhaustive()
    }
}

/// Why a delivery cannot be handled: whoever sent it cannot have been right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Misfit(pub(crate) String);

impl Misfit {
    /// Of a message that another protocol would have.
    pub(crate) fn protocol() -> Self {
        Self("a message that does not fit the protocol".into())
    }

    /// Of a message between two legs, where none may come.
    pub(crate) fn stray<M: Model>(_: Delivery<M>) -> Result<(), Self> {
        Err(Self("a message arrived while the run stood still".into()))
    }
}

/// Something for a seat here.
pub(crate) enum Delivery<M: Model> {
    Events { to: u32, events: Vec<Event<M::Event>> },
    Mail { to: u32, mail: Mail<M::Event> },
    Promise { to: u32, slot: u32, clock: Time, events: Vec<Event<M::Event>> },
    Request { to: u32, from: u32 },
}

impl<M: Model> Peers<M> {
    /// The processes that `transport` joins, before they have federates.
    pub(crate) fn new(transport: Arc<dyn Transport>, codec: Codec<M>) -> Self {
        let ranks = transport.ranks() as usize;
        let (partial, frames) = (vec![Vec::new(); ranks], vec![0; ranks]);
        let arrived = Arrived { messages: VecDeque::new(), partial, frames, error: None, is_told: false };
        Self {
            outgoing: (0..ranks).map(|_| Apart(Mutex::new(Outgoing::default()))).collect(),
            rounds: Mutex::new(Rounds::new(transport.rank(), transport.ranks())),
            arrived: Apart(Mutex::new(arrived)),
            handling: Mutex::new(()),
            events: Tally::default(),
            others: Tally::default(),
            transport,
            codec,
            partition: Partition::runs(0, 1),
            owners: Vec::new(),
            threads_before: 0,
        }
    }

    /// Gives each process its part of the federates, in proportion to its `threads`.
    pub(crate) fn assign(&mut self, partition: &Partition, threads: &[u32]) -> Result<(), PeersError> {
        let (federates, ranks) = (partition.federates(), self.transport.ranks());
        if federates < ranks {
            // The others find the same.
            self.transport.close();
            return Err(PeersError::new(federates, PeersErrorKind::Idle { federates, ranks }));
        }
        (self.partition, self.owners) = (partition.clone(), owners(federates, threads));
        self.threads_before = threads.iter().take(self.rank() as usize).sum();
        Ok(())
    }

    /// The error of a request of `what`.
    pub(crate) fn cannot(&self, what: &'static str) -> PeersError {
        PeersError::new(self.rank(), PeersErrorKind::Unsupported(what))
    }

    /// Threads of the processes of lower ranks: where threads are pinned, those of this process come after them.
    pub(crate) fn threads_before(&self) -> u32 {
        self.threads_before
    }

    /// The rank of this process.
    pub(crate) fn rank(&self) -> u32 {
        self.transport.rank()
    }

    pub(crate) fn transport(&self) -> &Arc<dyn Transport> {
        &self.transport
    }

    /// Whether `federate` is run by this process.
    pub(crate) fn owns(&self, federate: u32) -> bool {
        self.owners[federate as usize] == self.transport.rank()
    }

    /// Sends what is in `events` to a federate of another process, which will look for it once the round is complete.
    pub(crate) fn send_events(&self, to: u32, events: &mut Vec<Event<M::Event>>) {
        self.events.sent.fetch_add(events.len() as u64, Ordering::SeqCst);
        self.append(self.owners[to as usize], false, |out, round| self.codec.events(out, round, to, events));
        events.clear();
    }

    /// Sends messages and anti-messages to a federate of another process.
    pub(crate) fn send_mail(&self, to: u32, mail: &mut Mail<M::Event>) {
        self.append(self.owners[to as usize], true, |out, round| self.codec.mail(out, round, to, mail));
        mail.events.clear();
        mail.antis.clear();
    }

    /// Sends a promise with the events that it stands for.
    pub(crate) fn send_promise(&self, promise: Promise, events: &mut Vec<Event<M::Event>>) {
        let Promise { to, slot, clock, .. } = promise;
        self.others.sent.fetch_add(1, Ordering::SeqCst);
        self.events.sent.fetch_add(events.len() as u64, Ordering::SeqCst);
        let encode = |out: &mut Vec<u8>, round| self.codec.promise(out, round, (to, slot, clock), events);
        self.append(self.owners[to as usize], true, encode);
        events.clear();
    }

    /// Asks federate `to` of another process for a promise to `from`.
    pub(crate) fn send_request(&self, to: u32, from: u32) {
        self.others.sent.fetch_add(1, Ordering::SeqCst);
        self.append(self.owners[to as usize], true, |out, round| codec::request(out, round, to, from));
    }

    /// Tells all that this process cannot continue, and why.
    pub(crate) fn tell_failure(&self, what: &str) {
        for rank in self.others_of(self.rank()) {
            self.record(rank, |out| codec::failed(out, what));
        }
        self.flush();
    }

    /// What has passed between processes, events and other messages.
    pub(crate) fn counts(&self) -> Counts {
        let of = |tally: &Tally| (tally.sent.load(Ordering::SeqCst), tally.received.load(Ordering::SeqCst));
        Counts { events: of(&self.events), others: of(&self.others) }
    }

    fn others_of(&self, own: u32) -> impl Iterator<Item = u32> + use<M> {
        (0..self.transport.ranks()).filter(move |rank| *rank != own)
    }

    /// Adds a message for the process `rank`; a full frame goes at once, and wakes its receiver only if it `wakes`.
    fn append(
        &self,
        rank: u32,
        wakes: bool,
        encode: impl FnOnce(&mut Vec<u8>, u8) -> Result<(), postcard::Error>,
    ) {
        let mut outgoing = lock(&self.outgoing[rank as usize]);
        self.look_at(outgoing.message(encode));
        if outgoing.is_full(self.transport.unit(rank)) {
            self.send_off(rank, wakes, &mut outgoing);
        }
    }

    /// Adds something of no round for the process `rank`.
    fn record(&self, rank: u32, encode: impl FnOnce(&mut Vec<u8>) -> Result<(), postcard::Error>) {
        self.look_at(lock(&self.outgoing[rank as usize]).record(encode));
    }

    fn look_at(&self, written: Result<(), postcard::Error>) {
        if let Err(error) = written {
            self.note(PeersError::new(self.rank(), PeersErrorKind::Unwritable(error.to_string())));
        }
    }

    /// Sends everything that waits.
    pub(crate) fn flush(&self) {
        for rank in self.others_of(self.rank()) {
            self.send_off(rank, true, &mut lock(&self.outgoing[rank as usize]));
        }
    }

    fn send_off(&self, rank: u32, wakes: bool, outgoing: &mut Outgoing) {
        if outgoing.is_empty() {
            return;
        }
        let goes_on = || {
            self.drain();
            lock(&self.arrived).error.is_none()
        };
        if let Err(error) = outgoing.send_off(rank, &*self.transport, wakes, goes_on) {
            self.note(error.into());
        }
    }

    /// Notes what has gone wrong, to be told by the next call of [`Peers::hear`]. The first error counts.
    fn note(&self, error: PeersError) {
        let mut arrived = lock(&self.arrived);
        arrived.error.get_or_insert(error);
    }

    /// Takes in what has arrived, to be handled later.
    fn drain(&self) {
        let mut arrived = lock(&self.arrived);
        let Arrived { messages, partial, frames, error, .. } = &mut *arrived;
        if error.is_some() {
            return;
        }
        let mut damaged = None;
        let received = self.transport.receive(&mut |from, frame| {
            frames[from as usize] += 1;
            let partial = &mut partial[from as usize];
            let read = codec::read_frame(partial, frame, |record| {
                if codec::is_alive(record) {
                    return Ok(());
                }
                messages.push_back((
                    from,
                    self.codec.read(record, &self.partition, self.transport.rank(), &self.owners)?,
                ));
                Ok(())
            });
            if let Err(what) = read {
                damaged.get_or_insert((from, what));
            }
        });
        if let Some((rank, what)) = damaged {
            error.get_or_insert(PeersError::new(rank, PeersErrorKind::Lost(PeerErrorKind::Damaged(what))));
        }
        if let Err(lost) = received {
            error.get_or_insert(lost.into());
        }
    }

    /// How many frames have come from the process `rank`.
    fn frames_from(&self, rank: u32) -> u64 {
        lock(&self.arrived).frames[rank as usize]
    }

    /// Whether something may have arrived, or gone wrong.
    pub(crate) fn is_pending(&self) -> bool {
        let arrived = lock(&self.arrived);
        self.transport.is_pending() || !arrived.messages.is_empty() || arrived.error.is_some()
    }

    /// Handles what has arrived, unless another thread does so now: contributions by itself, all else by `handle`. Says whether there
    /// was anything. Errors, once all else is handled, and told once, so that workers come to an end: a process is lost; or it has said
    /// that it could not continue.
    pub(crate) fn hear(
        &self,
        mut handle: impl FnMut(Delivery<M>) -> Result<(), Misfit>,
    ) -> Result<bool, RunError> {
        let Ok(_handling) = self.handling.try_lock() else { return Ok(false) };
        self.drain();
        let mut any = false;
        loop {
            match self.next() {
                Ok(Some((from, message))) => self.handle(from, message, &mut handle)?,
                Ok(None) => return Ok(any),
                Err(_) if std::mem::replace(&mut lock(&self.arrived).is_told, true) => return Ok(any),
                Err(error) => return Err(error),
            }
            any = true;
        }
    }

    /// The next message, and who has sent it.
    fn next(&self) -> Result<Option<(u32, Message<M>)>, RunError> {
        let mut arrived = lock(&self.arrived);
        let next = arrived.messages.pop_front();
        let error = arrived.error.clone().filter(|_| next.is_none());
        drop(arrived);
        error.map_or(Ok(next), |error| Err(error.into()))
    }

    fn handle(
        &self,
        from: u32,
        message: Message<M>,
        handle: &mut impl FnMut(Delivery<M>) -> Result<(), Misfit>,
    ) -> Result<(), RunError> {
        let (delivery, round) = match message {
            Message::Round(saying) => return self.heard(from, saying),
            Message::Failed(what) => return Err(PeersError::new(from, PeersErrorKind::Failed(what)).into()),
            Message::Delivery(delivery, of) => (delivery, of),
        };
        let (events, others) = match &delivery {
            Delivery::Events { events, .. } => (events.len() as u64, 0),
            Delivery::Promise { events, .. } => (events.len() as u64, 1),
            Delivery::Request { .. } => (0, 1),
            Delivery::Mail { .. } => (0, 0),
        };
        handle(delivery).map_err(|Misfit(what)| self.damaged(from, what))?;
        lock(&self.rounds).received(round);
        self.events.received.fetch_add(events, Ordering::SeqCst);
        self.others.received.fetch_add(others, Ordering::SeqCst);
        Ok(())
    }

    /// The error of the process `rank`, which has sent what it cannot have sent.
    pub(crate) fn damaged(&self, rank: u32, what: impl fmt::Display) -> RunError {
        PeersError::new(rank, PeersErrorKind::Lost(PeerErrorKind::Damaged(what.to_string()))).into()
    }
}
