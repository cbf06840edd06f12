//! The digest of a run: equal digests mean equal results.
//!
//! A commutative sum over every committed (LP, event) pair and every final LP state, so that it does not
//! depend on the order in which federates commit, only on what they commit. Each pair enters as a 64-bit hash
//! of its place in the total order, its destination and its payload.
//!
//! On which machines digests are equal: integers, `usize` and `isize` (as 64 bits), floats in [`Bits`],
//! strings, tuples, enums and lists of such types that are not integers enter the same everywhere. Slices and
//! arrays of integers enter by their bytes in memory, because `Hash` hands them over so: `u8` the same
//! everywhere, wider ones the same on little-endian machines, `usize` and `isize` in slices the same on
//! 64-bit little-endian machines. To compare digests with a big-endian machine, hash the elements of such
//! slices one by one.
//!
//! To change it is to change every result: the digests in `command/tests/program/golden.rs` are pinned anew,
//! and CHANGELOG.md says so.

use std::fmt;
use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};

use crate::event::Event;
use crate::rng::{fold, mix};

/// Odd numbers without pattern: constants of wyhash.
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

    /// Takes in the final state of an LP, with anything else that is its own. The LP's number enters the
    /// hash, so that the digest is another one if two LPs exchange their states.
    pub(crate) fn state(&mut self, lp: u32, state: &impl Hash) {
        // Any number would do here, but it is part of every digest.
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

    /// The digest as a number, to be stored or sent; two digests are compared as they are.
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

/// A hash of `value`, the same on all machines that the head of this file names.
#[inline(always)]
pub(crate) fn hash_of(value: &impl Hash) -> u64 {
    let mut hasher = Mixer(K0);
    value.hash(&mut hasher);
    hasher.0
}

/// Whether two payloads are one message: equal and of equal hash, so that neither a field that `Hash` leaves
/// out nor one that `PartialEq` takes lightly (-0.0 == 0.0) confuses them. A payload that is not equal to
/// itself (a NaN) goes by its hash.
pub(crate) fn same_payload<E: Hash + PartialEq>(one: &E, other: &E) -> bool {
    let unequal_to_itself = |payload: &E| PartialEq::ne(payload, payload);
    (one == other || unequal_to_itself(one) && unequal_to_itself(other)) && hash_of(one) == hash_of(other)
}

/// A fast hasher that gives the same value on all machines that the head of this file names.
struct Mixer(u64);

impl Hasher for Mixer {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            // The length distinguishes a short chunk from one that ends in zeros.
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
    fn write_isize(&mut self, n: isize) {
        self.write_u64(n as i64 as u64);
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

#[cfg(test)]
mod test {
    use super::*;

    #[derive(Hash)]
    enum Kind {
        Empty,
        Full(u16),
    }

    /// Computed by another implementation, out of the definition. They change only with every digest there
    /// is.
    #[test]
    fn hashes_are_those_of_the_definition() {
        let pairs = [
            (hash_of(&()), 0x2d35_8dcc_aa6c_78a5),
            (hash_of(&1u8), 0x15b5_2767_bc68_be14),
            (hash_of(&1u64), 0x15b5_2767_bc68_be14),
            (hash_of(&true), 0x15b5_2767_bc68_be14),
            (hash_of(&'x'), 0x20f3_4d08_6b46_8c5d),
            (hash_of(&300usize), 0x83fb_b0cc_debd_63bf),
            (hash_of(&-1isize), 0xd426_9c02_577b_6446),
            (hash_of(&-1i64), 0xd426_9c02_577b_6446),
            (hash_of(&-1i32), 0x4701_d1f2_55d6_2234),
            (hash_of(&(2u128 | 1 << 64)), 0xcae0_c5f3_2e24_7565),
            (hash_of(&(1u8, 2u16, 3u32)), 0xc4a8_3dfa_41e3_363b),
            (hash_of(&Some(5u16)), 0x1ecd_6600_1e2e_f65d),
            (hash_of(&Kind::Full(5)), 0x1ecd_6600_1e2e_f65d),
            (hash_of(&Kind::Empty), 0x18b0_04b2_2a3d_3709),
            (hash_of(&"abc"), 0x9aa0_6a72_552d_c4f6),
            (hash_of(&"paceline".to_owned()), 0xa9a6_1fb4_0186_50f3),
            (hash_of(&[1u8, 2, 3].as_slice()), 0x2a1d_cba3_5fbf_24cf),
            (hash_of(&vec![1u32, 2, 3]), 0xe924_4b9f_e91d_9e32),
            (hash_of(&vec![1u64, 2]), 0x886a_ec35_4b9e_de5d),
            (hash_of(&Bits(-0.0)), 0xcac8_af2a_1bbb_8521),
        ];
        for (number, (found, expected)) in pairs.into_iter().enumerate() {
            assert_eq!(found, expected, "value {number}: {found:#x}");
        }
    }

    #[test]
    fn payloads_are_one_message_only_if_hash_and_equality_agree() {
        let nan = Bits(f64::NAN);
        assert!(same_payload(&nan, &nan), "what is cancelled must be found again");
        assert!(!same_payload(&nan, &Bits(-f64::NAN)) && !same_payload(&nan, &Bits(0.0)));
        assert!(!same_payload(&Bits(0.0), &Bits(-0.0)), "equal, but of another hash");
        assert!(same_payload(&Bits(1.5), &Bits(1.5)) && !same_payload(&1, &2));
    }
}
