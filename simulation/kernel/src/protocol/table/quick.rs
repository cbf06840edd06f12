//! Channels that are found at the first look: in buckets of two, by a product.
//!
//! Invariant: what is found here is a channel of the table that it was made from, or leads from an LP to
//! itself, for which none is needed. Where a bucket is full a channel is left out, and the table is asked.

use std::ops::Range;

use super::ChannelTable;
use crate::{LpId, Time};

/// The golden ratio in 32 bits (Fibonacci hashing): neighbouring numbers go to different buckets.
const GOLDEN: u32 = 0x9e37_79b9;
/// Of an LP with more channels none is entered: buckets are to stay in the processor's cache.
const MOST: usize = 128;

/// Where the buckets of an LP are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    start: u32,
    /// What is left of a 32-bit product is the number of a bucket.
    shift: u32,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Quick {
    /// Where the buckets of each LP are, by LP.
    places: Vec<Place>,
    /// Free places hold the LP itself.
    receivers: Vec<[LpId; 2]>,
    /// By bucket; empty where the table has none.
    lookaheads: Vec<[Time; 2]>,
}

impl Place {
    #[inline(always)]
    fn bucket(self, to: LpId) -> usize {
        self.start as usize + (u64::from(to.0.wrapping_mul(GOLDEN)) >> self.shift) as usize
    }
}

impl Quick {
    /// What is found of the channels of `table`.
    pub fn of(table: &ChannelTable) -> Self {
        let mut quick = Self::default();
        for (from, range) in (0..).map(LpId).zip(table.starts.windows(2)) {
            quick.enter(table, from, range[0]..range[1]);
        }
        quick
    }

    /// Enters the channels of the next LP.
    fn enter(&mut self, table: &ChannelTable, from: LpId, range: Range<usize>) {
        let range = if range.len() > MOST { 0..0 } else { range };
        // At most half full: few buckets would have to have more than two.
        let bits = range.len().next_power_of_two().ilog2();
        let place = Place { start: self.receivers.len() as u32, shift: 32 - bits };
        self.places.push(place);
        self.receivers.resize(self.receivers.len() + (1 << bits), [from; 2]);
        if !table.lookaheads.is_empty() {
            self.lookaheads.resize(self.receivers.len(), [Time::ZERO; 2]);
        }
        for channel in range {
            let to = table.receivers[channel];
            let bucket = place.bucket(to);
            let free = self.receivers[bucket].iter().position(|known| *known == from);
            if let Some(free) = free.filter(|_| to != from) {
                self.receivers[bucket][free] = to;
                if let Some(lookahead) = table.lookaheads.get(channel) {
                    self.lookaheads[bucket][free] = *lookahead;
                }
            }
        }
    }

    /// Whether a channel from `from` to `to` is found for messages with this delay.
    #[inline(always)]
    pub fn finds(&self, from: LpId, to: LpId, delay: Time) -> bool {
        let bucket = self.places[from.index()].bucket(to);
        let [first, second] = self.receivers[bucket];
        if first != to && second != to {
            return false;
        }
        self.lookaheads.get(bucket).is_none_or(|of| of[usize::from(first != to)] <= delay)
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use crate::Rng;

    /// What is found is allowed, for random channels, delays and LPs that have none; and nearly all is found.
    #[test]
    fn what_is_found_is_a_channel() {
        let (mut found, mut allowed) = (0u32, 0u32);
        for case in 0..200 {
            let mut rng = Rng::new(case, 0x7175_6963);
            let (lps, most) = (2 + rng.below(60), 1 + rng.below(40));
            let spread = rng.below(3);
            let mut table = ChannelTable {
                starts: vec![0],
                receivers: Vec::new(),
                lookaheads: Vec::new(),
                to_all: vec![false; lps as usize],
                quick: Quick::default(),
            };
            for _ in 0..lps {
                let mut receivers: Vec<LpId> =
                    (0..rng.below(most)).map(|_| LpId(rng.below(lps) as u32)).collect();
                receivers.sort_unstable();
                receivers.dedup();
                for to in receivers {
                    table.receivers.push(to);
                    if spread > 0 {
                        table.lookaheads.push(Time::ticks(5 + rng.below(3)));
                    }
                }
                table.starts.push(table.receivers.len());
            }
            let quick = Quick::of(&table);
            for _ in 0..2_000 {
                let from = LpId(rng.below(lps) as u32);
                let to = LpId(if rng.chance(0.05) { u32::MAX } else { rng.below(lps + 3) as u32 });
                let delay = Time::ticks(5 + rng.below(3));
                let is_found = quick.finds(from, to, delay);
                let is_allowed = from != to && table.allows(from, to, delay);
                assert!(!is_found || is_allowed || from == to, "case {case}: {from} to {to} after {delay}");
                found += u32::from(is_found && is_allowed);
                allowed += u32::from(is_allowed);
            }
        }
        assert!(allowed > 20_000 && found * 10 > allowed * 9, "{found} of {allowed}");
    }
}
