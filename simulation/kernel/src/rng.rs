//! Random numbers that belong to one LP, count their draws and therefore run backwards as well as forwards.
//!
//! A draw is a pure function of (seed, LP, number of the draw): the mixing function of wyhash (Wang Yi, 2019,
//! in its form since 2020), two 64 x 64 -> 128 bit multiplications. Streams of different LPs do not depend on
//! each other, and nothing depends on which thread or federate runs the LP. To undo `n` draws is to subtract
//! `n` from the counter.
//!
//! `rand_core`'s traits are implemented on it, so that distributions of other crates can be drawn from it.
//! Those here take their logarithms from `libm`, which computes the same bits on every machine; whether
//! others do is theirs to say.

mod variates;

#[cfg(test)]
mod test;

use rand_core::{Infallible, TryRng, utils};

/// Multiplies to 128 bits and folds the halves together.
#[inline(always)]
pub(crate) const fn fold(a: u64, b: u64) -> u64 {
    let wide = (a as u128).wrapping_mul(b as u128);
    (wide as u64) ^ ((wide >> 64) as u64)
}

/// Constants of wyhash.
const K0: u64 = 0xa076_1d64_78bd_642f;
const K1: u64 = 0xe703_7ed1_a0b4_28db;

/// One well-mixed word out of two.
#[inline(always)]
pub(crate) const fn mix(a: u64, b: u64) -> u64 {
    let wide = ((a ^ K0) as u128).wrapping_mul((b ^ K1) as u128);
    fold((wide as u64) ^ K0, ((wide >> 64) as u64) ^ K1)
}

/// A counter-based random stream.
///
/// ```
/// use paceline_kernel::Rng;
/// let mut rng = Rng::new(42, 7);
/// let first = rng.u64();
/// rng.rewind(1);
/// assert_eq!(rng.u64(), first);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rng {
    key: u64,
    draws: u64,
}

impl Rng {
    /// The stream `stream` (an LP, or anything else that has a number) of the run seeded with `seed`.
    #[inline]
    pub const fn new(seed: u64, stream: u64) -> Self {
        Self { key: fold(seed ^ K0, stream ^ K1), draws: 0 }
    }

    /// The stream after `draws` draws.
    #[inline]
    pub(crate) const fn at(seed: u64, stream: u64, draws: u64) -> Self {
        let mut rng = Self::new(seed, stream);
        rng.draws = draws;
        rng
    }

    /// How many numbers were drawn so far.
    #[inline]
    pub const fn draws(&self) -> u64 {
        self.draws
    }

    /// Takes back the last `draws` draws. Panics if there were fewer.
    #[inline]
    pub const fn rewind(&mut self, draws: u64) {
        self.draws = self.draws.checked_sub(draws).expect("no more draws are taken back than were made");
    }

    /// 64 uniform bits. Everything else is made of these: one call is one draw.
    #[inline]
    pub const fn u64(&mut self) -> u64 {
        self.draws += 1;
        // The multiplier is odd, so that no two counters give the same word; neighbours differ in many bits.
        mix(self.key, self.draws.wrapping_mul(0xd1b5_4a32_d192_ed03))
    }

    /// A uniform number in [0, 1), with 53 bits.
    #[inline]
    pub const fn unit(&mut self) -> f64 {
        (self.u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// A uniform integer below `n` (by multiplication; the bias is below n / 2^64). Zero where `n` is zero.
    #[inline]
    pub const fn below(&mut self, n: u64) -> u64 {
        ((self.u64() as u128 * n as u128) >> 64) as u64
    }

    /// True with the given probability.
    #[inline]
    pub const fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }
}

/// Through it, `rand_core::Rng` (once called `RngCore`). Every call takes one draw, `fill_bytes` one for each
/// 8 bytes begun.
impl TryRng for Rng {
    type Error = Infallible;

    /// The upper half of a draw.
    #[inline]
    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok((self.u64() >> 32) as u32)
    }

    #[inline]
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.u64())
    }

    /// Little-endian words, the same on every machine.
    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        utils::fill_bytes_via_next_word(bytes, || self.try_next_u64())
    }
}
