//! The processes of a run that a transport joins. To the board of a protocol a federate of another process is
//! a seat that nobody here sits in: what is sent to it goes to its process ([`send`](self::send)), and what
//! comes from there is delivered into the inboxes of the seats here. No process waits in a round: whoever is
//! free takes in what arrives ([`rounds`](self::rounds)).
//!
//! Invariants: from one process to another everything arrives in the order in which it was sent; messages are
//! handled by one thread at a time, in their order; between two legs nothing is under way. Lock order:
//! `handling`, the state of a board, `outgoing`, `arrived`, `partition`; `rounds` alone, below the state of a
//! board.

mod agree;
mod codec;
mod collect;
mod error;
mod joining;
mod migrate;
mod outgoing;
mod owners;
mod pulse;
mod rounds;
mod send;
#[cfg(all(test, not(paceline_shuttle)))]
mod test;

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use paceline_kernel::{Model, Partition};
pub(crate) use paceline_transport::Transport;
use paceline_transport::marshal::{Marshalling, Statistics};
use paceline_transport::{Path, PeerErrorKind};

use codec::{Codec, Message};
use collect::Terms;
pub use error::{PeersError, PeersErrorKind};
pub(crate) use joining::{Processes, check, meet, start_pulse};
use outgoing::Outgoing;
use owners::owners;
pub(crate) use pulse::Pulse;
pub use pulse::Silence;
use pulse::SilenceListener;
use rounds::Rounds;

use super::{Contribution, Counts, Delivery, DeliveryError, Joined, Settled};
use crate::RunError;
use crate::sync::{Apart, AtomicU32, AtomicU64, Mutex, Ordering, lock};

/// How long the owner of a run sleeps at most before it looks again for what has arrived; an arrival wakes it
/// earlier.
const NAP: Duration = Duration::from_millis(100);

/// What has arrived from a process.
#[derive(Debug)]
struct Arrived<M: Model> {
    messages: VecDeque<(u32, Message<M>)>,
    /// By process: the beginning of a message whose rest has not arrived.
    partial: Vec<Vec<u8>>,
    /// By process: frames that have arrived.
    frames: Vec<u64>,
    /// By process: all its messages of the rounds before this one have arrived, by its last sign of life.
    rounds: Vec<u64>,
    error: Option<PeersError>,
    is_reported: bool,
}

/// Messages of a kind, since the run began.
#[derive(Debug, Default)]
struct Tally {
    sent: AtomicU64,
    received: AtomicU64,
}

/// How a process reached another one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Link {
    /// The path, with all frames and bytes both ways.
    pub path: Path,
    /// What this process sent: messages, the frames that they were gathered in, and the messages that their
    /// anti-messages cancelled before they had left.
    pub sent: Statistics,
}

/// The other processes of a run.
pub(crate) struct Peers<M: Model> {
    transport: Arc<dyn Transport>,
    codec: Codec<M>,
    /// The federate of each LP: it changes only while the run stands still.
    partition: Mutex<Partition>,
    /// Which process has each federate.
    owners: Vec<u32>,
    /// Threads of the processes of lower ranks.
    threads_before: u32,
    outgoing: Vec<Apart<Mutex<Outgoing>>>,
    /// By process: 1 if its last frame said that it waits.
    waits: Vec<AtomicU32>,
    /// Times of what waits to be sent count from here.
    origin: Instant,
    arrived: Apart<Mutex<Arrived<M>>>,
    /// The thread that holds it handles what has arrived.
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

impl<M: Model> Peers<M> {
    /// The processes that `transport` joins, before they have federates.
    pub(crate) fn new(transport: Arc<dyn Transport>, codec: Codec<M>, marshalling: Marshalling) -> Self {
        let ranks = transport.ranks() as usize;
        let outgoing = |rank| {
            let (unit, limit) = match rank == transport.rank() {
                true => (0, 0),
                false => (transport.unit(rank), transport.frame_limit(rank)),
            };
            Apart(Mutex::new(Outgoing::new(marshalling, unit, limit)))
        };
        let (messages, partial) = (VecDeque::new(), vec![Vec::new(); ranks]);
        let (frames, rounds) = (vec![0; ranks], vec![0; ranks]);
        let arrived = Arrived { messages, partial, frames, rounds, error: None, is_reported: false };
        Self {
            outgoing: (0..transport.ranks()).map(outgoing).collect(),
            waits: (0..ranks).map(|_| AtomicU32::new(0)).collect(),
            origin: Instant::now(),
            rounds: Mutex::new(Rounds::new(transport.rank(), transport.ranks())),
            arrived: Apart(Mutex::new(arrived)),
            handling: Mutex::new(()),
            events: Tally::default(),
            others: Tally::default(),
            transport,
            codec,
            // Until `assign`; no message names a federate before it.
            partition: Mutex::new(Partition::runs(0, 1)),
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
        (self.partition, self.owners) = (Mutex::new(partition.clone()), owners(federates, threads));
        self.threads_before = threads.iter().take(self.rank() as usize).sum();
        Ok(())
    }

    /// The error of a request of `what`.
    pub(crate) fn cannot(&self, what: &'static str) -> PeersError {
        PeersError::new(self.rank(), PeersErrorKind::Unsupported(what))
    }

    /// Threads of the processes of lower ranks: where threads are pinned, those of this process come after
    /// them.
    pub(crate) fn threads_before(&self) -> u32 {
        self.threads_before
    }

    pub(crate) fn rank(&self) -> u32 {
        self.transport.rank()
    }

    pub(crate) fn transport(&self) -> &Arc<dyn Transport> {
        &self.transport
    }

    pub(crate) fn owns(&self, federate: u32) -> bool {
        self.owners[federate as usize] == self.transport.rank()
    }

    /// How the other processes were reached, and what was sent to them.
    pub(crate) fn links(&self) -> Vec<Link> {
        let link = |path: Path| Link { sent: lock(&self.outgoing[path.peer as usize]).statistics(), path };
        self.transport.paths().into_iter().map(link).collect()
    }

    /// What has passed between processes, events and other messages.
    pub(crate) fn counts(&self) -> Counts {
        let of = |tally: &Tally| (tally.sent.load(Ordering::SeqCst), tally.received.load(Ordering::SeqCst));
        Counts { events: of(&self.events), others: of(&self.others) }
    }

    fn others_of(&self, here: u32) -> impl Iterator<Item = u32> + use<M> {
        (0..self.transport.ranks()).filter(move |rank| *rank != here)
    }

    /// Notes what has gone wrong, to be returned by the next call of [`Peers::hear`]. The first error counts.
    fn note(&self, error: PeersError) {
        let mut arrived = lock(&self.arrived);
        arrived.error.get_or_insert(error);
    }

    /// Takes in what has arrived, to be handled later.
    fn drain(&self) {
        let mut arrived = lock(&self.arrived);
        let Arrived { messages, partial, frames, rounds, error, .. } = &mut *arrived;
        // What comes after the first error is of no use, and its sender may not be trusted.
        if error.is_some() {
            return;
        }
        let (partition, mut damaged) = (lock(&self.partition), None);
        let received = self.transport.receive(&mut |from, frame| {
            frames[from as usize] += 1;
            let partial = &mut partial[from as usize];
            let read = codec::read_frame(partial, frame, |record| {
                if let Some(round) = codec::sign_of_life(record) {
                    rounds[from as usize] = round;
                    return Ok(());
                }
                let last = messages.back_mut().filter(|(last, _)| *last == from).map(|(_, message)| message);
                let rank = self.transport.rank();
                let next = self.codec.read(record, &partition, rank, &self.owners, last)?;
                messages.extend(next.map(|next| (from, next)));
                Ok(())
            });
            match read {
                Ok(waits) => self.waits[from as usize].store(u32::from(waits), Ordering::Relaxed),
                Err(what) => {
                    damaged.get_or_insert((from, what));
                }
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

    /// Handles what has arrived, unless another thread does so now: contributions by itself, all else by
    /// `handle`. Returns whether there was anything. Errors come once all else is handled, and only once, so
    /// that workers come to an end: a process is lost; or it has said that it could not continue.
    pub(crate) fn hear(
        &self,
        mut handle: impl FnMut(Delivery<M>) -> Result<(), DeliveryError>,
    ) -> Result<bool, RunError> {
        // A worker that comes here in vain may fall asleep: whoever handles messages wakes workers for what
        // they bring, and what it has not taken in yet is pending.
        let Ok(_handling) = self.handling.try_lock() else { return Ok(false) };
        self.drain();
        let mut any = false;
        loop {
            match self.next() {
                Ok(Some((from, message))) => self.handle(from, message, &mut handle)?,
                Ok(None) => return Ok(any),
                Err(_) if std::mem::replace(&mut lock(&self.arrived).is_reported, true) => return Ok(any),
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
        handle: &mut impl FnMut(Delivery<M>) -> Result<(), DeliveryError>,
    ) -> Result<(), RunError> {
        let (delivery, round, count) = match message {
            Message::Round(saying) => return self.heard(from, saying),
            Message::Failed(what) => return Err(PeersError::new(from, PeersErrorKind::Failed(what)).into()),
            Message::Delivery(delivery, of, count) => (delivery, of, count),
            Message::Bundle(bytes, of) => (Delivery::Bundle { from, bytes }, of, 1),
        };
        let (events, others) = match &delivery {
            Delivery::Events { events, .. } => (events.len() as u64, 0),
            Delivery::Promise { events, .. } => (events.len() as u64, 1),
            Delivery::Request { .. } => (0, 1),
            Delivery::Mail { .. } | Delivery::Bundle { .. } => (0, 0),
        };
        handle(delivery).map_err(|DeliveryError(what)| self.damaged(from, what))?;
        // After it was handled: a round may be complete by this, or counts even, and what the message brings
        // is in its inbox by then.
        lock(&self.rounds).received(round, count);
        self.events.received.fetch_add(events, Ordering::SeqCst);
        self.others.received.fetch_add(others, Ordering::SeqCst);
        Ok(())
    }

    /// The error of the process `rank`, which has sent what it cannot have sent.
    pub(crate) fn damaged(&self, rank: u32, what: impl fmt::Display) -> RunError {
        PeersError::new(rank, PeersErrorKind::Lost(PeerErrorKind::Damaged(what.to_string()))).into()
    }
}
