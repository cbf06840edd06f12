//! A share of a whole in fixed point: probabilities and weights, the same on every machine.

use serde::{Deserialize, Serialize};

/// A number from 0 to 1 with 63 binary places.
///
/// ```
/// use paceline_packets::queue::Share;
/// let half = Share::new(0.5).unwrap();
/// assert_eq!(half.of(10), 5);
/// assert!(half.covers(u64::MAX / 2) && !half.covers(u64::MAX / 2 + 1));
/// assert_eq!(Share::new(1.5), None);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Share(u64);

impl Share {
    /// A share of nothing, the probability 0.
    pub const ZERO: Self = Self(0);
    /// The whole, the probability 1.
    pub const ONE: Self = Self(1 << 63);

    /// The share nearest to `share`; none where that is not a number from 0 to 1.
    pub fn new(share: f64) -> Option<Self> {
        // A multiplication by a power of two is exact, and the cast only cuts off what is below 2^-63.
        (0.0..=1.0).contains(&share).then_some(Self((share * (1u64 << 63) as f64) as u64))
    }

    /// `part` of `whole` equal parts; none where that is more than the whole, or the whole is zero.
    pub const fn ratio(part: u64, whole: u64) -> Option<Self> {
        if part > whole || whole == 0 {
            return None;
        }
        Some(Self((((part as u128) << 63) / whole as u128) as u64))
    }

    /// As a number, for people to read.
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / (1u64 << 63) as f64
    }

    /// The rest of the whole.
    pub const fn rest(self) -> Self {
        Self(Self::ONE.0 - self.0)
    }

    /// The share of `whole`, rounded down.
    pub const fn of(self, whole: u64) -> u64 {
        ((self.0 as u128 * whole as u128) >> 63) as u64
    }

    /// The product of two shares, rounded down.
    pub const fn times(self, other: Self) -> Self {
        Self(other.of(self.0))
    }

    /// The sum, or the whole where it is more.
    pub const fn plus(self, other: Self) -> Self {
        let sum = self.0.saturating_add(other.0);
        Self(if sum > Self::ONE.0 { Self::ONE.0 } else { sum })
    }

    /// The difference, or nothing where it is less.
    pub const fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// A uniform share above zero, up to the whole, from 64 uniform bits.
    pub const fn of_draw(draw: u64) -> Self {
        Self((draw >> 1) + 1)
    }

    /// So many times this share, or the whole where it is more.
    pub const fn multiple(self, n: u64) -> Self {
        let sum = self.0 as u128 * n as u128;
        Self(if sum > Self::ONE.0 as u128 { Self::ONE.0 } else { sum as u64 })
    }

    /// This share as a part of `whole`; none where it is as much or more.
    pub const fn part_of(self, whole: Self) -> Option<Self> {
        if self.0 < whole.0 { Self::ratio(self.0, whole.0) } else { None }
    }

    /// The `n`th power: what is left of the whole after `n` times this share of the rest, by squaring.
    pub const fn power(self, mut n: u64) -> Self {
        let (mut square, mut power) = (self, Self::ONE);
        while n > 0 {
            if n & 1 == 1 {
                power = power.times(square);
            }
            square = square.times(square);
            n >>= 1;
        }
        power
    }

    /// Whether a draw of 64 uniform bits falls into this share: never for zero, always for the whole.
    pub const fn covers(self, draw: u64) -> bool {
        draw >> 1 < self.0
    }
}
