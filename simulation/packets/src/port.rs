//! A first-in-first-out port: when a packet that arrives now will be at the other end of the link.
//!
//! Since nothing overtakes, the moment at which a packet will be sent is known when it arrives: a hop costs
//! one event. The port keeps when each packet that waits will begin to be sent, to know how many wait.
//!
//! Invariants: moments are exact picoseconds; packets leave in the order in which they came, none begins
//! before the one before it has ended; every packet is either sent or dropped.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::link::Wire;

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
    /// Packets that found no room.
    pub dropped: u64,
    /// The most packets that waited at one time.
    pub most_waiting: u32,
}

impl Port {
    /// When a packet of `bytes` that comes at `now_ps` is at the other end; nothing if it finds no room.
    #[inline(always)]
    pub(crate) fn send(&mut self, wire: &Wire, now_ps: u64, bytes: u32) -> Option<u64> {
        while let Some(first) = self.waiting.front().filter(|first| first.start_ps <= now_ps) {
            self.waiting_bytes -= u64::from(first.bytes);
            self.waiting.pop_front();
        }
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

    /// The heap memory of it, in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.waiting.capacity() * size_of::<Waiting>()
    }
}
