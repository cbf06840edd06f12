//! How messages are sent to other processes: each is added to what waits for its process ([`Outgoing`]), and
//! frames go when they are due.
//!
//! Invariant: two processes that send to each other never wait for each other, since whoever waits for room
//! takes in what arrives meanwhile; and nobody waits once the run has gone wrong.

use std::time::Duration;

use paceline_kernel::{Event, Mail, Model, Promise};
use paceline_transport::marshal::{Reason, Ticket};
use paceline_transport::{Handed, PeerError};

use super::codec::Written;
use super::outgoing::Outgoing;
use super::{Peers, PeersError, PeersErrorKind, codec};
use crate::sync::{Ordering, lock, thread};

/// Tries to hand over a frame with a yield between them, and the longest pause after those: pauses grow by 1
/// µs a try.
const TRIES: u32 = 64;
const LONGEST_PAUSE: Duration = Duration::from_micros(200);

/// Where a message goes, when, and whether its receiver is woken for it.
#[derive(Clone, Copy, Debug)]
struct Post {
    rank: u32,
    now_ns: u64,
    wakes: bool,
}

impl<M: Model> Peers<M> {
    /// Sends what is in `events` to a federate of another process, which will look for it once the round is
    /// complete.
    pub(crate) fn send_events(&self, to: u32, events: &mut Vec<Event<M::Event>>) {
        self.events.sent.fetch_add(events.len() as u64, Ordering::SeqCst);
        let rank = self.owners[to as usize];
        let mut outgoing = lock(&self.outgoing[rank as usize]);
        // In windows the receiver can use them only once the round is complete, and what completes it wakes
        // it.
        let post = Post { rank, now_ns: self.now_ns(), wakes: false };
        // Without gathering each event is to travel by itself, as whoever chose that wants to measure.
        let most = if outgoing.singly() { 1 } else { usize::MAX };
        for events in events.chunks(most) {
            let encode = |out: &mut Vec<u8>, round| self.codec.events(out, round, to, events);
            self.post(&mut outgoing, post, encode);
        }
        drop(outgoing);
        events.clear();
    }

    /// Sends messages and anti-messages to a federate of another process. A message and its anti-message
    /// cancel each other where the message has not left yet.
    pub(crate) fn send_mail(&self, to: u32, mail: &mut Mail<M::Event>) {
        let rank = self.owners[to as usize];
        let mut outgoing = lock(&self.outgoing[rank as usize]);
        let post = Post { rank, now_ns: self.now_ns(), wakes: true };
        // In the order in which they were sent: an anti-message must not cancel what was sent again after it.
        let mut antis = mail.antis.iter().peekable();
        for before in 0..=mail.events.len() {
            while let Some((_, receipt)) = antis.next_if(|(after, _)| *after as usize == before) {
                let message = |out: &mut Vec<u8>, round| self.codec.message(out, round, to, receipt);
                // A message that has not left yet is taken out of its frame, and neither it nor its
                // anti-message is sent.
                if outgoing.write(message).is_err() || !outgoing.cancel(receipt.time()) {
                    self.post(&mut outgoing, post, |out, round| self.codec.anti(out, round, to, receipt));
                }
            }
            if let Some(event) = mail.events.get(before) {
                let ticket =
                    self.post(&mut outgoing, post, |out, round| self.codec.message(out, round, to, event));
                outgoing.can_be_cancelled(event.time(), ticket);
            }
        }
        drop(outgoing);
        mail.events.clear();
        mail.antis.clear();
    }

    /// Sends a promise with the events that it stands for.
    pub(crate) fn send_promise(&self, promise: Promise, events: &mut Vec<Event<M::Event>>) {
        let Promise { to, slot, clock, .. } = promise;
        self.others.sent.fetch_add(1, Ordering::SeqCst);
        self.events.sent.fetch_add(events.len() as u64, Ordering::SeqCst);
        let encode = |out: &mut Vec<u8>, round| self.codec.promise(out, round, (to, slot, clock), events);
        self.post_to(self.owners[to as usize], encode);
        events.clear();
    }

    /// Asks federate `to` of another process for a promise to `from`.
    pub(crate) fn send_request(&self, to: u32, from: u32) {
        self.others.sent.fetch_add(1, Ordering::SeqCst);
        self.post_to(self.owners[to as usize], |out, round| codec::request(out, round, to, from));
    }

    /// Sends all processes that this one cannot continue, and why.
    pub(crate) fn send_failure(&self, what: &str) {
        for rank in self.others_of(self.rank()) {
            self.send_record(rank, |out| codec::failed(out, what));
        }
    }

    pub(super) fn post_to(&self, rank: u32, encode: impl FnOnce(&mut Vec<u8>, u8) -> Written) {
        let mut outgoing = lock(&self.outgoing[rank as usize]);
        let post = Post { rank, now_ns: self.now_ns(), wakes: true };
        self.post(&mut outgoing, post, encode);
    }

    /// Adds a message; a full frame goes at once.
    fn post(
        &self,
        outgoing: &mut Outgoing,
        Post { rank, now_ns, wakes }: Post,
        encode: impl FnOnce(&mut Vec<u8>, u8) -> Written,
    ) -> Option<Ticket> {
        if let Err(error) = outgoing.write(encode) {
            self.note(self.unwritable(error));
            return None;
        }
        let added = outgoing.add(now_ns, false, |frame| self.hand_over(rank, wakes, frame));
        added.unwrap_or_else(|error| {
            self.note(error.into());
            None
        })
    }

    /// Sends something of no round to the process `rank`, after all that waits.
    pub(super) fn send_record(
        &self,
        rank: u32,
        encode: impl FnOnce(&mut Vec<u8>) -> Result<(), postcard::Error>,
    ) {
        let mut outgoing = lock(&self.outgoing[rank as usize]);
        if let Err(error) = outgoing.write(|out, _| encode(out)) {
            return self.note(self.unwritable(error));
        }
        let send = |frame: &[u8]| self.hand_over(rank, true, frame);
        let sent =
            outgoing.add(self.now_ns(), true, send).and_then(|_| outgoing.send_off(Reason::Asked, send));
        if let Err(error) = sent {
            self.note(error.into());
        }
    }

    pub(super) fn unwritable(&self, error: postcard::Error) -> PeersError {
        PeersError::new(self.rank(), PeersErrorKind::Unwritable(error.to_string()))
    }

    /// Sends everything that waits for the process `rank`.
    pub(super) fn send_off(&self, rank: u32, wakes: bool) {
        let send = |frame: &[u8]| self.hand_over(rank, wakes, frame);
        let sent = lock(&self.outgoing[rank as usize]).send_off(Reason::Asked, send);
        if let Err(error) = sent {
            self.note(error.into());
        }
    }

    /// Sends what has waited for long enough, or will have before the worker looks again: that is taken to be
    /// after a turn as long as this one, which began at `since_ns`. Returns when it ended.
    pub(crate) fn send_due(&self, since_ns: u64) -> u64 {
        let now_ns = self.now_ns();
        let then_ns = now_ns.saturating_add(now_ns.saturating_sub(since_ns));
        for rank in self.others_of(self.rank()) {
            let waits = self.waits[rank as usize].load(Ordering::Relaxed) != 0;
            let mut outgoing = lock(&self.outgoing[rank as usize]);
            if let Some(reason) = outgoing.due(then_ns, waits) {
                self.waits[rank as usize].store(0, Ordering::Relaxed);
                if let Err(error) = outgoing.send_off(reason, |frame| self.hand_over(rank, true, frame)) {
                    drop(outgoing);
                    self.note(error.into());
                }
            }
        }
        now_ns
    }

    /// Sends everything that waits, and says that this process waits: a worker has nothing to do.
    pub(crate) fn send_before_waiting(&self) {
        for rank in self.others_of(self.rank()) {
            let send = |frame: &[u8]| self.hand_over(rank, true, frame);
            if let Err(error) = lock(&self.outgoing[rank as usize]).send_waiting(send) {
                self.note(error.into());
            }
        }
    }

    /// Nanoseconds since these processes joined.
    pub(super) fn now_ns(&self) -> u64 {
        self.origin.elapsed().as_nanos() as u64
    }

    /// Hands a frame over to the transport; the receiver is woken for it only if it `wakes`. Waits until
    /// there is room, taking in meanwhile what arrives, so that two processes that send to each other
    /// never wait for each other; once the run has gone wrong, what has no room is lost.
    pub(super) fn hand_over(&self, rank: u32, wakes: bool, frame: &[u8]) -> Result<Handed, PeerError> {
        let mut tries = 0;
        loop {
            let handed = match wakes {
                true => self.transport.send(rank, frame)?,
                false => self.transport.send_quietly(rank, frame)?,
            };
            if handed == Handed::Over {
                return Ok(handed);
            }
            // The receiver may wait for room as well, for frames to this process.
            self.drain();
            // The run ends: whoever is lost makes no room any more.
            if lock(&self.arrived).error.is_some() {
                return Ok(Handed::Over);
            }
            tries += 1;
            pause(tries);
        }
    }
}

/// Lets others run before the next try: longer and longer, but never for long.
fn pause(tries: u32) {
    // Most receivers make room within microseconds; one that does not is not to be burnt a core for.
    if tries <= TRIES {
        thread::yield_now();
    } else {
        thread::sleep(LONGEST_PAUSE.min(Duration::from_micros(u64::from(tries - TRIES))));
    }
}
