//! Places on the ring of keys, and the peer that holds each key.
//!
//! Invariant: no two peers have the same place.

use std::collections::BTreeSet;

use paceline_kernel::Rng;

/// The places of all peers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ring {
    mask: u64,
    places: Vec<u64>,
    /// The peers, sorted by place.
    order: Vec<u32>,
}

impl Ring {
    /// Draws a place for each of `peers` peers among keys of `bits` bits. Uses more bits where needed for two
    /// keys per peer.
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

    /// The place of a peer.
    pub fn place(&self, peer: u32) -> u64 {
        self.places[peer as usize]
    }

    /// The peers, sorted by place.
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

    /// Whether `key` lies strictly between `from` and `to`, going ahead; if `from` and `to` are equal, any
    /// other key does.
    pub(super) fn is_between(&self, key: u64, from: u64, to: u64) -> bool {
        let (way, whole) = (self.distance(from, key), self.distance(from, to));
        way > 0 && (whole == 0 || way < whole)
    }

    /// Like [`Ring::is_between`], but `to` is included.
    pub(super) fn is_up_to(&self, key: u64, from: u64, to: u64) -> bool {
        key == to || self.is_between(key, from, to)
    }

    /// The peer of `there` (sorted by place, not empty) that holds `key`: the first one at the key or ahead
    /// of it.
    pub fn holder(&self, key: u64, there: &[u32]) -> u32 {
        let place = there.partition_point(|peer| self.place(*peer) < key);
        there[if place == there.len() { 0 } else { place }]
    }
}
