//! Places on the ring of keys, and the peer that holds each key.
//!
//! Invariant: no two peers have the same place.

use std::collections::BTreeSet;

use paceline_kernel::Rng;

/// The peers' places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ring {
    mask: u64,
    /// By peer.
    places: Vec<u64>,
    /// Peers by place.
    order: Vec<u32>,
}

impl Ring {
    /// Draws a place for each of `peers` peers among keys of `bits` bits, or of as many as give each peer two keys.
    pub(super) fn draw(peers: u32, bits: u32, seed: u64) -> Self {
        let least = u64::from(peers).next_power_of_two().ilog2() + 1;
        let keys = 1u64 << bits.clamp(least, 62);
        let (mut rng, mut taken, mut places) = (Rng::new(seed, 0x7269_6e67), BTreeSet::new(), Vec::new());
        while places.len() < peers as usize {
            let place = rng.below(keys);
            if taken.insert(place) {
                places.push(place);
            }
        }
        let mut order: Vec<u32> = (0..peers).collect();
        order.sort_unstable_by_key(|peer| places[*peer as usize]);
        Self { mask: keys - 1, places, order }
    }

    /// The number of keys.
    pub fn keys(&self) -> u64 {
        self.mask + 1
    }

    /// Bits of a key.
    pub fn bits(&self) -> u32 {
        self.mask.count_ones()
    }

    /// Where a peer stands.
    pub fn place(&self, peer: u32) -> u64 {
        self.places[peer as usize]
    }

    /// Peers by place.
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// The key `steps` ahead of `key`.
    pub(super) fn ahead(&self, key: u64, steps: u64) -> u64 {
        key.wrapping_add(steps) & self.mask
    }

    /// How many keys `to` is ahead of `from`.
    pub(super) fn distance(&self, from: u64, to: u64) -> u64 {
        to.wrapping_sub(from) & self.mask
    }

    /// Whether going ahead from `from` one comes by `key` before `to`; the whole ring where both are the same.
    pub(super) fn is_between(&self, key: u64, from: u64, to: u64) -> bool {
        let (way, whole) = (self.distance(from, key), self.distance(from, to));
        way > 0 && (whole == 0 || way < whole)
    }

    /// The same, or `key` is `to`.
    pub(super) fn is_up_to(&self, key: u64, from: u64, to: u64) -> bool {
        key == to || self.is_between(key, from, to)
    }

    /// Who of `there`, which is in the order of places and not empty, holds `key`: the first at it or ahead of it.
    pub fn holder(&self, key: u64, there: &[u32]) -> u32 {
        let place = there.partition_point(|peer| self.place(*peer) < key);
        there[if place == there.len() { 0 } else { place }]
    }
}
