//! A first-in-first-out port: when a packet that arrives now will be at the other end of the link.
//!
//! Since nothing overtakes, the moment at which a packet will be sent is known when it arrives: a hop costs
//! one event. The port keeps when each packet that waits will begin to be sent, to know how many wait.
//!
//! Invariants: moments are exact picoseconds; packets leave in the order in which they came, none begins
//! before the one before it has ended; every packet is either sent or dropped.

mod controlled;
mod frames;
mod special;

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::LinkSpec;
use crate::capture::{Log, Record, Shown};
use crate::clock::{LATEST_PS, MOST_COUNT};
use crate::link::Wire;
use crate::packet::Carried;

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
    /// The bytes on the wire of these packets.
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
    /// What it has sent, where that is captured.
    log: Log,
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
            // No run lasts until then. Without a bound an endless queue could drive its times over the end of
            // their type.
            self.free_ps.min(LATEST_PS)
        } else {
            // After a pause a packet begins when it comes, which is exact: there is no rounding to make up
            // for.
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

    /// The packets that wait at a moment that is not before the last arrival, and their bytes.
    pub(crate) fn waiting_at(&self, now_ps: u64) -> (u32, u64) {
        if let Some(waiting) = self.special.as_ref().and_then(|special| special.backlog()) {
            return waiting;
        }
        let begun = self.waiting.partition_point(|waiting| waiting.start_ps <= now_ps);
        let begun_bytes: u64 = self.waiting.iter().take(begun).map(|waiting| u64::from(waiting.bytes)).sum();
        ((self.waiting.len() - begun) as u32, self.waiting_bytes - begun_bytes)
    }

    /// When what is sent next begins to be sent, at `now_ps` or when the link is free.
    pub(crate) fn next_start(&self, now_ps: u64) -> u64 {
        self.free_ps.max(now_ps)
    }

    /// Logs a packet that begins to be sent at `start_ps`, and arrives unless it is lost.
    #[inline(always)]
    pub(crate) fn record(&mut self, start_ps: u64, arrival_ps: Option<u64>, packet: Shown<'_>) {
        self.log.push(&Record::new(start_ps, arrival_ps, packet));
    }

    /// Logs what [`send`](Self::send) would send now, and when: nothing where it finds no room.
    #[inline(never)]
    pub(crate) fn record_next(&mut self, wire: &Wire, now_ps: u64, bytes: u32, packet: Shown<'_>) {
        if let Some((start_ps, arrival_ps)) = self.next_moments(wire, now_ps, bytes) {
            self.record(start_ps, Some(arrival_ps), packet);
        }
    }

    /// When a packet of `bytes` that comes at `now_ps` would begin to be sent, and be at the other end;
    /// nothing if it would find no room.
    #[inline(always)]
    fn next_moments(&mut self, wire: &Wire, now_ps: u64, bytes: u32) -> Option<(u64, u64)> {
        self.release(now_ps);
        let waits = self.free_ps > now_ps;
        let is_full =
            self.waiting.len() >= wire.packets as usize || self.waiting_bytes + u64::from(bytes) > wire.bytes;
        if waits && is_full {
            return None;
        }
        let (start_ps, mut rest) = if waits { (self.free_ps.min(LATEST_PS), self.rest) } else { (now_ps, 0) };
        Some((start_ps, start_ps + wire.transmission(bytes, &mut rest) + wire.latency_ps))
    }

    /// What it has logged.
    pub(crate) fn log(&self) -> &Log {
        &self.log
    }

    /// A port at which nothing has happened, of number `stream` in the run with `seed`.
    pub(crate) fn new(wire: &Wire, spec: &LinkSpec, seed: u64, stream: u64) -> Self {
        let special = wire.is_special.then(|| Box::new(Special::new(spec, wire.is_controlled, seed, stream)));
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

    /// Packets that wait at `now_ps`, in a queue or for the link.
    pub(crate) fn backlog(&mut self, now_ps: u64) -> usize {
        self.release(now_ps);
        self.waiting.len() + self.queued()
    }

    /// Whether what the port does besides fits the link: for states that come from a file.
    pub(crate) fn fits(&self, wire: &Wire) -> bool {
        self.special.is_some() == wire.is_special && self.is_controlled() == wire.is_controlled
    }

    /// Whether its numbers fit each other, and the settings are those of `fresh`, a port at which nothing has
    /// happened: for states that come from a file.
    pub(crate) fn is_consistent(&self, wire: &Wire, fresh: &Self) -> bool {
        let is_special = match (&self.special, &fresh.special) {
            (Some(special), Some(fresh)) => special.is_consistent(fresh),
            (special, fresh) => special.is_none() && fresh.is_none(),
        };
        let counts = [self.sent, self.sent_bytes >> 10, self.dropped, self.lost, self.marked];
        let waiting_bytes: u128 = self.waiting.iter().map(|waiting| u128::from(waiting.bytes)).sum();
        counts.into_iter().all(|count| count <= MOST_COUNT)
            && u128::from(self.waiting_bytes) == waiting_bytes
            && wire.admits_rest(self.rest)
            && is_special
    }

    /// Whether all packets in a queue of its own are such.
    pub(crate) fn is_all(&self, is_such: impl FnMut(&Carried) -> bool) -> bool {
        self.special.as_ref().is_none_or(|special| special.is_all(is_such))
    }

    /// The heap memory of it, in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        let special = if self.special.is_some() { size_of::<Special>() } else { 0 };
        self.waiting.capacity() * size_of::<Waiting>()
            + special
            + self.log.copied_bytes()
            + self.queued() * size_of::<Carried>()
    }
}

#[cfg(test)]
mod test {
    use paceline_kernel::Rng;

    use super::*;
    use crate::clock::PS_PER_SECOND;
    use crate::queue::{Limit, QueueSettings};

    /// The definition: the moments at which packets begin and end to be sent, as fractions with the rate
    /// below.
    #[derive(Default)]
    struct Reference {
        free: u128,
        /// Start, in picoseconds, and length of all packets.
        taken: Vec<(u64, u32)>,
    }

    impl Reference {
        fn send(&mut self, spec: &LinkSpec, limit: Limit, now_ps: u64, bytes: u32) -> Option<u64> {
            let waits = || self.taken.iter().filter(|(start_ps, _)| *start_ps > now_ps);
            let now = u128::from(now_ps) * u128::from(spec.rate);
            let free_ps = (self.free / u128::from(spec.rate)) as u64;
            let has_room = match limit {
                Limit::Packets(most) => waits().count() < most as usize,
                Limit::Bytes(most) => {
                    waits().map(|(_, bytes)| u64::from(*bytes)).sum::<u64>() + u64::from(bytes) <= most
                }
                Limit::Endless => true,
            };
            let is_idle = free_ps <= now_ps;
            if !is_idle && !has_room {
                return None;
            }
            let start = if is_idle { now } else { self.free };
            self.taken.push((if is_idle { now_ps } else { free_ps }, bytes));
            self.free = start + u128::from(bytes) * 8 * u128::from(PS_PER_SECOND);
            Some((self.free / u128::from(spec.rate)) as u64 + spec.latency_ps)
        }
    }

    #[test]
    fn a_port_is_what_its_definition_says() {
        let (mut dropped, mut waited) = (0, 0);
        for case in 0..400 {
            let mut rng = Rng::new(case, 0x706f_7274);
            let limit = match rng.below(3) {
                0 => Limit::Packets(1 + rng.below(6) as u32),
                1 => Limit::Bytes(1 + rng.below(5_000)),
                _ => Limit::Endless,
            };
            let spec = LinkSpec::new(1_000_000_000 + rng.below(9_000_000_000), rng.below(1_000_000));
            let spec = spec.queue(QueueSettings::DropTail(limit));
            let wire = Wire::new(&spec);
            let (mut port, mut reference) = (Port::new(&wire, &spec, 0, 0), Reference::default());
            let (mut now_ps, mut last) = (0, 0);
            for _ in 0..100 {
                now_ps += rng.below(3_000_000);
                let bytes = 1 + rng.below(1_500) as u32;
                let expected = port.next_moments(&wire, now_ps, bytes);
                let free_ps = port.next_start(now_ps);
                let arrival = port.send(&wire, now_ps, bytes);
                assert_eq!(expected, arrival.map(|arrival_ps| (free_ps, arrival_ps)), "case {case}");
                assert_eq!(
                    arrival,
                    reference.send(&spec, limit, now_ps, bytes),
                    "case {case} at {now_ps} ps"
                );
                if let Some(arrival) = arrival {
                    assert!(arrival > last, "case {case}: packets of a link keep their order");
                    last = arrival;
                }
            }
            assert_eq!(port.sent + port.dropped, 100, "case {case}");
            dropped += port.dropped;
            waited += u64::from(port.most_waiting);
        }
        assert!(dropped > 1_000 && waited > 1_000, "{dropped} dropped, {waited} waited");
    }
}
