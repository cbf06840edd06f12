//! A first-in-first-out port: when a packet that arrives now will be at the other end of the link.
//!
//! Since nothing overtakes, the moment at which a packet will be sent is known when it arrives: a hop costs
//! one event. The port keeps when each packet that waits will begin to be sent, to know how many wait.
//!
//! Invariants: moments are exact picoseconds; packets leave in the order in which they came, none begins
//! before the one before it has ended; every packet is either sent or dropped.

mod special;

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::LinkSpec;
use crate::link::Wire;

pub(crate) use special::Special;

/// A packet that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Waiting {
    /// When it begins to be sent, in picoseconds.
    start_ps: u64,
    bytes: u32,
}

/// The state of a port, and what it has counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Port {
    /// When the last packet will have been sent, in picoseconds.
    free_ps: u64,
    /// What rounding has left of the packets sent without a pause.
    rest: u64,
    waiting: VecDeque<Waiting>,
    waiting_bytes: u64,
    /// Packets taken, to be sent.
    pub sent: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Packets that found no room, or that the queue dropped for other reasons.
    pub dropped: u64,
    /// Packets lost on the link.
    pub lost: u64,
    /// Packets marked at their arrival.
    pub marked: u64,
    /// The most packets that waited at one time.
    pub most_waiting: u32,
    /// An event is under way that says when the link is free.
    is_busy: bool,
    /// What a port has that does more than to send what comes.
    special: Option<Box<Special>>,
}

impl Port {
    /// When a packet of `bytes` that comes at `now_ps` is at the other end; nothing if it finds no room.
    #[inline(always)]
    pub(crate) fn send(&mut self, wire: &Wire, now_ps: u64, bytes: u32) -> Option<u64> {
        self.release(now_ps);
        let start_ps = if self.free_ps > now_ps {
            let waiting = self.waiting.len();
            if waiting >= wire.packets as usize || self.waiting_bytes + u64::from(bytes) > wire.bytes {
                self.dropped += 1;
                return None;
            }
            self.waiting.push_back(Waiting { start_ps: self.free_ps, bytes });
            self.waiting_bytes += u64::from(bytes);
            self.most_waiting = self.most_waiting.max(waiting as u32 + 1);
            self.free_ps
        } else {
            self.rest = 0;
            now_ps
        };
        self.sent += 1;
        self.sent_bytes += u64::from(bytes);
        self.free_ps = start_ps + wire.transmission(bytes, &mut self.rest);
        Some(self.free_ps + wire.latency_ps)
    }

    /// Lets go of the packets that have begun to be sent.
    #[inline(always)]
    fn release(&mut self, now_ps: u64) {
        while let Some(first) = self.waiting.front().filter(|first| first.start_ps <= now_ps) {
            self.waiting_bytes -= u64::from(first.bytes);
            self.waiting.pop_front();
        }
    }

    /// A port at which nothing has happened, of number `stream` in the run with `seed`.
    pub(crate) fn new(wire: &Wire, spec: &LinkSpec, seed: u64, stream: u64) -> Self {
        let special = (!wire.is_plain).then(|| Box::new(Special::new(spec, seed, stream)));
        Self { special, ..Self::default() }
    }

    /// Whether it needs an event for a departure.
    pub(crate) fn is_queue(&self) -> bool {
        self.special.as_ref().is_some_and(|special| special.is_queue())
    }

    /// Packets in a queue that waits for an event.
    pub(crate) fn queued(&self) -> usize {
        self.special.as_ref().map_or(0, |special| special.waiting())
    }

    /// Whether what the port does besides fits the link: for states that come from a file.
    pub(crate) fn fits(&self, wire: &Wire) -> bool {
        self.special.is_none() == wire.is_plain
    }

    /// The heap memory of it, in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        let special = if self.special.is_some() { size_of::<Special>() } else { 0 };
        self.waiting.capacity() * size_of::<Waiting>()
            + special
            + self.queued() * size_of::<crate::packet::Carried>()
    }
}
