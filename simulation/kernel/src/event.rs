//! Events and the one total order that every protocol keeps.
//!
//! The order is (time, depth, source LP, source sequence). Depth is 0 for an event sent with a positive delay
//! and one more than its parent's for a zero delay, so causes precede effects within an instant. The first
//! three fields of [`Event`] hold the order packed in 20 bytes: time, then 16 bits of depth above the 80-bit
//! *tie*, which is the source LP (32 bits) and its sequence number (48 bits), or a seeded permutation of them
//! ([`TieBreak::Random`]). Invariant: no two events of a run are equal in this order. Under Time Warp a
//! message that is rolled back and the one that takes its place may share a key for a while: what cancels one
//! compares payloads too ([`Receipt`](crate::Receipt)).
//!
//! To change the order, leave (time, depth) in front: by depth causes precede effects, and `queue/bucket.rs`,
//! `queue/bucket/sort.rs` and `federate/batch/order.rs` sort by time first; the lab's Enhanced Heap
//! (`lab/experiments/src/artis/enhanced_heap/lists.rs`) also sorts by depth.

use std::cmp::Ordering;
use std::hash::Hash;

use serde::{Deserialize, Serialize};

use crate::digest::same_payload;
use crate::panics::{Asked, shown};
use crate::rng::mix;
use crate::{LpId, Time};

/// The deepest chain of zero-delay events within one instant; a longer one is a model that never leaves the
/// instant.
pub const MAX_DEPTH: u16 = u16::MAX;

/// The source of events from outside. No LP has this number: there are at most 2^32 - 1.
pub(crate) const OUTSIDE: LpId = LpId(u32::MAX);

/// Bits of the tie that stand in one word with the depth.
const HIGH_BITS: u32 = 48;
/// A mask of 40 bits, half of a tie: the two halves that a Feistel round exchanges.
const HALF: u64 = (1 << 40) - 1;

/// A tie of 80 bits: the upper 48 and the lower 32.
pub(crate) type Tie = (u64, u32);

/// How simultaneous events of the same depth are ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum TieBreak {
    /// By source LP, then by the source's sequence number.
    #[default]
    Fixed,
    /// By a permutation of (source, sequence) drawn from this seed: unbiased among LPs, and still
    /// reproducible.
    Random(u64),
}

impl TieBreak {
    /// The tie of the `sequence`-th event that `source` sends. The sequence has 48 bits. Nothing checks that
    /// here, on the path of every event: at ten million events a second one LP needs 325 days for more, and a
    /// `World` of a file that has used half of them is refused.
    #[inline(always)]
    pub(crate) const fn tie(self, source: LpId, sequence: u64) -> Tie {
        // Above, the source and 16 bits of the number; below, the other 32 bits of it.
        let plain = ((source.0 as u64) << 16 | sequence >> 32, sequence as u32);
        match self {
            Self::Fixed => plain,
            Self::Random(seed) => feistel(plain, seed, false),
        }
    }

    /// Source and sequence number out of a tie.
    pub(crate) const fn origin(self, tie: Tie) -> (LpId, u64) {
        let (high, low) = match self {
            Self::Fixed => tie,
            Self::Random(seed) => feistel(tie, seed, true),
        };
        (LpId((high >> 16) as u32), (high & 0xffff) << 32 | low as u64)
    }
}

/// A four-round Feistel network over 80 bits (Luby and Rackoff, 1988): a keyed permutation, so ties stay
/// distinct. Four rounds are what the proof asks for a strong permutation.
// Not inlined: ties are fixed as a rule, and the path of an event is to stay short.
#[inline(never)]
const fn feistel((high, low): Tie, seed: u64, backwards: bool) -> Tie {
    let (mut left, mut right) = (high >> 8, (high & 0xff) << 32 | low as u64);
    let mut round = 0;
    while round < 4 {
        // The last round is undone first, with its own key.
        let round_key = seed ^ if backwards { 3 - round } else { round };
        if backwards {
            (left, right) = ((right ^ mix(round_key, left)) & HALF, left);
        } else {
            (left, right) = (right, (left ^ mix(round_key, right)) & HALF);
        }
        round += 1;
    }
    (left << 8 | right >> 32, right as u32)
}

impl<E> PartialEq for Event<E> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<E> Eq for Event<E> {}

impl<E> PartialOrd for Event<E> {
    #[inline(always)]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> Ord for Event<E> {
    /// By the total order; payloads do not count.
    #[inline(always)]
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

/// The place of an event in the total order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Key {
    time: Time,
    order: u64,
    tie_low: u32,
}

impl Key {
    /// The least place at `time`: no event at `time` is before it, all earlier events are. With fixed ties it
    /// is also the place of the first message of LP 0, if that is for `time` and of depth 0.
    pub(crate) const fn least(time: Time) -> Self {
        Self { time, order: 0, tie_low: 0 }
    }

    #[inline(always)]
    pub(crate) const fn new(time: Time, depth: u16, tie: Tie) -> Self {
        Self { time, order: (depth as u64) << HIGH_BITS | tie.0, tie_low: tie.1 }
    }

    /// When the event happens.
    pub const fn time(self) -> Time {
        self.time
    }

    /// The id in three words, as [`Context::keep_id`](crate::Context::keep_id) keeps them.
    pub(crate) const fn words(self) -> [u64; 3] {
        [self.time.as_ticks(), self.order, self.tie_low as u64]
    }

    /// Out of [`Key::words`].
    pub(crate) const fn of_words([time, order, tie_low]: [u64; 3]) -> Self {
        Self { time: Time::ticks(time), order, tie_low: tie_low as u32 }
    }

    /// The LP that sent the event, and the number of the event among those of that LP.
    pub(crate) const fn origin(self, ties: TieBreak) -> (LpId, u64) {
        ties.origin((self.order & ((1 << HIGH_BITS) - 1), self.tie_low))
    }
}

/// An event on its way to, or waiting at, an LP: 24 bytes and the model's payload.
// The fields of `Key` stand here by themselves: a `Key` is padded to 24 bytes, and `to` would make it 32.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Event<E> {
    time: Time,
    order: u64,
    tie_low: u32,
    to: LpId,
    /// What the model sent.
    pub payload: E,
}

impl<E: std::fmt::Debug> Event<E> {
    /// What the model is asked for because of it, should it panic.
    pub(crate) fn asked(&self) -> Asked {
        Asked::Event { lp: self.to(), at: self.time(), event: shown(&self.payload) }
    }
}

impl<E> Event<E> {
    #[inline(always)]
    pub(crate) const fn new(time: Time, depth: u16, tie: Tie, to: LpId, payload: E) -> Self {
        let Key { time, order, tie_low } = Key::new(time, depth, tie);
        Self { time, order, tie_low, to, payload }
    }

    /// The `number`-th event that comes from outside the model, as if an LP after all others had sent it.
    /// With fixed ties it happens after all others of its instant and of depth 0; with random ties it is one
    /// among them.
    pub const fn from_outside(ties: TieBreak, number: u64, time: Time, to: LpId, payload: E) -> Self {
        Self::new(time, 0, ties.tie(OUTSIDE, number), to, payload)
    }

    /// The simulated time at which it happens.
    #[inline(always)]
    pub const fn time(&self) -> Time {
        self.time
    }

    /// The LP that handles it.
    #[inline(always)]
    pub const fn to(&self) -> LpId {
        self.to
    }

    /// Its place in the total order.
    #[inline(always)]
    pub const fn key(&self) -> Key {
        Key { time: self.time, order: self.order, tie_low: self.tie_low }
    }

    /// How many zero-delay events led to it within its instant.
    #[inline(always)]
    pub const fn depth(&self) -> u16 {
        (self.order >> HIGH_BITS) as u16
    }

    /// The LP that sent it, and the number of the event among those of that LP.
    pub const fn origin(&self, ties: TieBreak) -> (LpId, u64) {
        self.key().origin(ties)
    }

    /// Whether both are the same message: of the same place in the total order, for the same LP, and of equal
    /// payload. A payload that does not equal itself, such as a NaN, is the same as another of that kind
    /// with the same hash.
    pub fn is_same(&self, other: &Self) -> bool
    where
        E: Hash + PartialEq,
    {
        (self.key(), self.to) == (other.key(), other.to) && same_payload(&self.payload, &other.payload)
    }

    /// The words that identify it in the digest.
    #[inline(always)]
    pub(crate) const fn identity(&self) -> (u64, u64, u64) {
        (self.time.as_ticks(), self.order, ((self.tie_low as u64) << 32) | self.to.0 as u64)
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use crate::Rng;

    #[test]
    fn origins_come_back_out_of_ties() {
        let mut rng = Rng::new(1, 2);
        for case in 0..10_000 {
            let (source, sequence) = (LpId(rng.u64() as u32), rng.u64() >> 16);
            for ties in [TieBreak::Fixed, TieBreak::Random(case)] {
                let event = Event::new(Time::ZERO, 65_535, ties.tie(source, sequence), LpId(3), ());
                assert_eq!(event.origin(ties), (source, sequence), "{ties:?}");
                assert_eq!(event.depth(), 65_535, "the tie leaves the depth alone");
            }
        }
    }

    #[test]
    fn fixed_ties_go_by_depth_then_source_then_sequence() {
        let event = |depth, source, sequence| {
            Event::new(Time::secs(1), depth, TieBreak::Fixed.tie(LpId(source), sequence), LpId(0), ())
        };
        let order = [
            event(0, 0, 1 << 40),
            event(0, 1, 0),
            event(0, 1, 1 << 33),
            event(0, u32::MAX, 0),
            event(1, 0, 0),
        ];
        assert!(order.is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn random_ties_favour_nobody() {
        let mut first = 0u32;
        const ROUNDS: u64 = 20_000;
        for sequence in 0..ROUNDS {
            let tie = |source| TieBreak::Random(7).tie(LpId(source), sequence);
            first += u32::from(tie(1) < tie(2));
        }
        // Five standard deviations of a fair coin.
        let off = f64::from(first) - ROUNDS as f64 / 2.0;
        assert!(off.abs() < 5.0 * (ROUNDS as f64 / 4.0).sqrt(), "LP 1 came first {first} times of {ROUNDS}");
    }
}
