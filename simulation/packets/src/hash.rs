//! Choices by hashes: the same for whoever computes them, in whatever partition.

/// A well-mixed word (the finalizer of MurmurHash3; Appleby, 2011).
#[inline(always)]
pub(crate) const fn mix(mut word: u64) -> u64 {
    word ^= word >> 33;
    word = word.wrapping_mul(0xff51_afd7_ed55_8ccd);
    word ^= word >> 33;
    word = word.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    word ^ (word >> 33)
}

/// One of `count` alternatives, by 32 bits of a hash. The product stays in 64 bits, and a division is saved.
#[inline(always)]
pub(crate) const fn pick(bits: u32, count: u32) -> u32 {
    ((bits as u64 * count as u64) >> 32) as u32
}
