//! The digest of a run: equal digests mean equal results.
//!
//! A commutative sum over every committed (LP, event) pair and every final LP state, so that it does not depend on the
//! order in which federates commit, only on what they commit. Each pair enters as a 64-bit hash of its place in the
//! total order, its destination and its payload.

use std::fmt;
use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};

use crate::event::Event;
use crate::rng::{fold, mix};

/// Odd numbers without pattern.
const K0: u64 = 0x2d35_8dcc_aa6c_78a5;
const K1: u64 = 0x8bb8_4b93_962e_acc9;
const K2: u64 = 0x4b33_a62e_d433_d4a3;

/// A digest; add two to join the results of two federates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Digest(u64);

impl Digest {
    /// Takes in an event that an LP has handled for good.
    #[inline(always)]
    pub(crate) fn event<E: Hash>(&mut self, event: &Event<E>) {
        let (time, order, rest) = event.identity();
        let mut hasher = Mixer(fold(fold(time ^ K0, order ^ K1) ^ rest, K2));
        event.payload.hash(&mut hasher);
        self.0 = self.0.wrapping_add(hasher.0);
    }

    /// Takes in the final state of an LP, with anything else that is its own.
    pub(crate) fn state(&mut self, lp: u32, state: &impl Hash) {
        let mut hasher = Mixer(mix(u64::from(lp), 0x5174_7465));
        state.hash(&mut hasher);
        self.0 = self.0.wrapping_add(hasher.0);
    }

    /// The digest of one thing, to be joined with others.
    pub fn of(thing: &impl Hash) -> Self {
        Self(hash_of(thing))
    }

    /// Joins the digest of another part of the run.
    pub fn join(&mut self, other: Self) {
        self.0 = self.0.wrapping_add(other.0);
    }

    /// The bare number.
    pub const fn value(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Digest {
    /// Sixteen hexadecimal digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// A hash of `value`, the same on every machine.
#[inline(always)]
pub(crate) fn hash_of(value: &impl Hash) -> u64 {
    let mut hasher = Mixer(K0);
    value.hash(&mut hasher);
    hasher.0
}

/// Whether two payloads are one message: equal and of equal hash, so that neither a field that `Hash` leaves out nor one
/// that `PartialEq` takes lightly (-0.0 == 0.0) confuses them. A payload that is not equal to itself (a NaN) goes by its hash.
pub(crate) fn same_payload<E: Hash + PartialEq>(one: &E, other: &E) -> bool {
    let unequal_to_itself = |payload: &E| PartialEq::ne(payload, payload);
    (one == other || unequal_to_itself(one) && unequal_to_itself(other)) && hash_of(one) == hash_of(other)
}

/// A fast hasher that gives the same value on every machine.
struct Mixer(u64);

impl Hasher for Mixer {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word) ^ ((chunk.len() as u64) << 56));
        }
    }
    fn write_u8(&mut self, n: u8) {
        self.write_u64(u64::from(n));
    }
    fn write_u16(&mut self, n: u16) {
        self.write_u64(u64::from(n));
    }
    fn write_u32(&mut self, n: u32) {
        self.write_u64(u64::from(n));
    }
    #[inline(always)]
    fn write_u64(&mut self, n: u64) {
        self.0 = mix(self.0, n);
    }
    fn write_u128(&mut self, n: u128) {
        self.write_u64(n as u64);
        self.write_u64((n >> 64) as u64);
    }
    fn write_usize(&mut self, n: usize) {
        self.write_u64(n as u64);
    }
}

/// A float that can be hashed, by its bits: for floats in a model's state or events.
///
/// ```
/// use paceline_kernel::Bits;
/// #[derive(Clone, Hash)]
/// struct Position(Bits, Bits);
/// let p = Position(Bits(1.5), Bits(-2.0));
/// assert_eq!(p.0.0, 1.5);
/// # let _ = p.1;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Default, Serialize, Deserialize)]
pub struct Bits(pub f64);

impl Hash for Bits {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        hasher.write_u64(self.0.to_bits());
    }
}
