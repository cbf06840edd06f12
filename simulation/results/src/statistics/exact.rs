//! A sum of floating-point numbers without rounding.
//!
//! A number of 64 bits is a whole number of 53 bits times a power of two. The sum is a whole number as well,
//! in units of the least power there is, in digits of 32 bits: only those between the least and the greatest
//! that were ever added. This is the small superaccumulator of R. M. Neal, "Fast exact summation using small
//! and large superaccumulators", arXiv 1505.05571, 2015, section 2, kept to the digits in use.
//!
//! Invariants: between two calls every digit but the highest is from 0 to 2^32 - 1; the highest carries the
//! sign, is less than 2^32 away from 0, and is not 0, nor -1 unless the digit below is 0; the lowest is not
//! 0. So equal sums are equal digits.

use serde::{Deserialize, Serialize};

use super::Join;

/// Bits of a digit.
const DIGIT: u32 = 32;
const BASE: i64 = 1 << DIGIT;
/// The power of two of the least bit: that of the least number above zero.
const LEAST_EXPONENT: i32 = -1_074;
/// Bits of the whole number in a floating-point number.
const MANTISSA: u32 = 53;

/// A sum without rounding.
///
/// ```
/// use paceline_results::statistics::ExactSum;
///
/// let mut sum = ExactSum::default();
/// [1e100, 1.0, -1e100].into_iter().for_each(|value| sum.add(value));
/// assert_eq!(sum.value(), 1.0);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExactSum {
    /// The place of the first digit.
    low: u32,
    digits: Vec<i64>,
}

impl ExactSum {
    /// Adds `value`.
    ///
    /// Panics where it is infinite or not a number: what is summed has no sum then.
    pub fn add(&mut self, value: f64) {
        assert!(value.is_finite(), "a sum of {value}; allowed: finite numbers");
        let bits = value.to_bits();
        let exponent = (bits >> (MANTISSA - 1) & 0x7ff) as u32;
        let fraction = bits & ((1 << (MANTISSA - 1)) - 1);
        // Numbers below 2^-1022 have no leading bit of their own, and the exponent of those above.
        let (whole, place) = match exponent {
            0 => (fraction, 0),
            _ => (fraction | 1 << (MANTISSA - 1), exponent - 1),
        };
        if whole == 0 {
            return;
        }
        let wide = u128::from(whole) << (place % DIGIT);
        let sign = if value.is_sign_negative() { -1 } else { 1 };
        let first = place / DIGIT;
        let from = self.reach(first, first + 3);
        for digit in 0..3 {
            let part = (wide >> (DIGIT * digit)) as u32;
            self.digits[(first + digit - self.low) as usize] += sign * i64::from(part);
        }
        self.carry(from);
    }

    /// Adds the product of two numbers, without rounding unless it is beyond the numbers there are or below
    /// the least of them.
    pub fn add_product(&mut self, one: f64, other: f64) {
        let product = one * other;
        self.add(product);
        self.add(one.mul_add(other, -product));
    }

    /// The sum, rounded once: to the nearest number, of two to the even one.
    pub fn value(&self) -> f64 {
        let is_negative = self.digits.last().is_some_and(|digit| *digit < 0);
        let mut size = self.clone();
        if is_negative {
            size.digits.iter_mut().for_each(|digit| *digit = -*digit);
            size.carry(0);
        }
        let size = size.rounded();
        if is_negative { -size } else { size }
    }

    /// The sum as a number and what that leaves, also rounded.
    pub(crate) fn parts(&self) -> (f64, f64) {
        let (value, mut rest) = (self.value(), self.clone());
        if value.is_infinite() {
            return (value, 0.0);
        }
        rest.add(-value);
        (value, rest.value())
    }

    /// Has digits from `low` to below `end`, to which something will be added. Says from which digit on to
    /// carry then: the one that has been the highest may be below zero.
    fn reach(&mut self, low: u32, end: u32) -> usize {
        if self.digits.is_empty() {
            self.low = low;
        }
        let highest = self.low + (self.digits.len() as u32).saturating_sub(1);
        if low < self.low {
            let more = (self.low - low) as usize;
            self.digits.splice(0..0, std::iter::repeat_n(0, more));
            self.low = low;
        }
        let wanted = (end - self.low) as usize;
        if self.digits.len() < wanted {
            self.digits.resize(wanted, 0);
        }
        (low.min(highest) - self.low) as usize
    }

    /// Brings the digits back into their form, from place `first` on.
    fn carry(&mut self, first: usize) {
        let mut carried = 0;
        for digit in &mut self.digits[first..] {
            let sum = *digit + carried;
            carried = sum.div_euclid(BASE);
            *digit = sum.rem_euclid(BASE);
        }
        if carried != 0 {
            self.digits.push(carried);
        }
        // A highest digit of -1 stands for the borrow of the one below, which can hold it itself.
        while let [.., below, highest] = self.digits[..] {
            match highest {
                0 => drop(self.digits.pop()),
                -1 if below != 0 => {
                    self.digits.pop();
                    let last = self.digits.len() - 1;
                    self.digits[last] = below - BASE;
                }
                _ => break,
            }
        }
        if self.digits == [0] {
            self.digits.clear();
        }
        let zeros = self.digits.iter().take_while(|digit| **digit == 0).count();
        self.digits.drain(..zeros);
        self.low = if self.digits.is_empty() { 0 } else { self.low + zeros as u32 };
    }

    /// The value of a sum that is not negative.
    fn rounded(&self) -> f64 {
        const TAKEN: usize = 4;
        let count = self.digits.len();
        let Some(above) = count.checked_sub(1) else { return 0.0 };
        let digit = |below: usize| above.checked_sub(below).map_or(0, |place| self.digits[place] as u128);
        let taken = (0..TAKEN).fold(0, |taken, below| taken << DIGIT | digit(below));
        let rest = self.digits[..count.saturating_sub(TAKEN)].iter().any(|digit| *digit != 0);
        // The highest digit is not 0: more bits were taken than a number holds.
        let surplus = 128 - taken.leading_zeros() - MANTISSA;
        let (mut whole, left) = (taken >> surplus, taken & ((1 << surplus) - 1));
        let half = 1 << (surplus - 1);
        if left > half || (left == half && (rest || whole & 1 == 1)) {
            whole += 1;
        }
        let lowest = self.low as i32 + count as i32 - TAKEN as i32;
        let exponent = lowest * DIGIT as i32 + LEAST_EXPONENT + surplus as i32;
        // In two steps: the power itself may be below the least number, or beyond the greatest.
        let half = exponent / 2;
        whole as f64 * 2f64.powi(half) * 2f64.powi(exponent - half)
    }
}

impl Join for ExactSum {
    fn join(&mut self, other: &Self) {
        if other.digits.is_empty() {
            return;
        }
        let from = self.reach(other.low, other.low + other.digits.len() as u32);
        let first = (other.low - self.low) as usize;
        for (slot, digit) in self.digits[first..].iter_mut().zip(&other.digits) {
            *slot += digit;
        }
        self.carry(from);
    }
}

#[cfg(test)]
mod test {
    use super::*;

    fn sum(values: &[f64]) -> ExactSum {
        let mut sum = ExactSum::default();
        values.iter().for_each(|value| sum.add(*value));
        sum
    }

    #[test]
    fn every_number_is_its_own_sum() {
        let whole =
            [1.0, 3.0, 4_294_967_296.0, 1e22, f64::MAX, f64::MIN_POSITIVE, f64::from_bits(1), 0.1, 1e-300];
        for value in whole.into_iter().flat_map(|value| [value, -value]) {
            assert_eq!(sum(&[value]).value(), value);
            assert_eq!(sum(&[value, 1e-40, -value]).value(), 1e-40, "{value}");
            assert_eq!(sum(&[value, -value]), ExactSum::default(), "{value}");
        }
        assert_eq!(sum(&[0.0, -0.0]), ExactSum::default());
    }

    #[test]
    fn halves_are_rounded_to_even_and_what_is_far_below_decides() {
        let ulp = 2f64.powi(-52);
        assert_eq!(sum(&[1.0, ulp / 2.0]).value(), 1.0);
        assert_eq!(sum(&[1.0 + ulp, ulp / 2.0]).value(), 1.0 + 2.0 * ulp);
        assert_eq!(sum(&[1.0, ulp / 2.0, 1e-300]).value(), 1.0 + ulp);
        assert_eq!(sum(&[-1.0, -ulp / 2.0, -1e-300]).value(), -1.0 - ulp);
        assert_eq!(sum(&[1.0, ulp / 2.0, -1e-300]).value(), 1.0);
        assert_eq!(sum(&[f64::MAX, f64::MAX]).value(), f64::INFINITY);
        assert_eq!(sum(&[f64::MAX, f64::MAX, -f64::MAX]).value(), f64::MAX);
    }

    #[test]
    fn products_lose_nothing() {
        let mut sum = ExactSum::default();
        sum.add_product(0.1, 0.1);
        let (value, rest) = sum.parts();
        assert_eq!(value, 0.1 * 0.1);
        assert_eq!(rest, 0.1f64.mul_add(0.1, -value));
        assert!(rest != 0.0);
    }
}
