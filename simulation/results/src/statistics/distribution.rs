//! Quantiles of values, from how many there are in each of many narrow ranges.
//!
//! A range holds the numbers with the same sign, power of two and first seven bits after the leading one: it
//! is at most 1/128 of its lower end wide, so its middle is at most 0.4 % from every value in it. This is the
//! histogram of G. Tene's HdrHistogram, whose ranges follow from bits; no logarithm is taken, so that the
//! same value is in the same range on every machine.
//!
//! Invariant: a range is there only if a value is in it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Join;

/// Bits of a number that do not distinguish ranges.
const WITHIN: u32 = 52 - 7;

/// How values are distributed.
///
/// ```
/// use paceline_results::statistics::Distribution;
///
/// let mut waits = Distribution::default();
/// (1..=1000).for_each(|value| waits.add(f64::from(value)));
/// let median = waits.quantile(0.5).expect("there are values");
/// assert!((median / 500.0 - 1.0).abs() < 0.004);
/// assert_eq!(waits.buckets().map(|bucket| bucket.count).sum::<u64>(), 1000);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Distribution {
    count: u64,
    buckets: BTreeMap<i64, u64>,
}

/// A range, and how many values are in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bucket {
    /// The least number that is in it.
    pub least: f64,
    /// The greatest number that is in it.
    pub greatest: f64,
    /// How many values are in it.
    pub count: u64,
}

impl Distribution {
    /// Takes in `value`.
    ///
    /// Panics where it is infinite or not a number.
    pub fn add(&mut self, value: f64) {
        assert!(value.is_finite(), "a distribution of {value}; allowed: finite numbers");
        self.count += 1;
        *self.buckets.entry(place(value)).or_default() += 1;
    }

    /// How many values there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The value below or at which this part of all values lies, within 0.4 %: 0.5 for the median. Nothing
    /// without values.
    ///
    /// Panics where `part` is not from 0 to 1.
    pub fn quantile(&self, part: f64) -> Option<f64> {
        assert!((0.0..=1.0).contains(&part), "a quantile of {part}; allowed: 0 to 1");
        // The rank of that value, counted from 1.
        let rank = ((part * self.count as f64).ceil() as u64).max(1);
        let mut below = 0;
        let mut places = self.buckets.iter();
        let found = places.find(|(_, count)| {
            below += **count;
            below >= rank
        });
        found.map(|(place, _)| middle(*place))
    }

    /// The ranges with values in them, ascending.
    pub fn buckets(&self) -> impl Iterator<Item = Bucket> {
        self.buckets.iter().map(|(place, count)| {
            let [near, far] = ends(*place);
            Bucket { least: near.min(far), greatest: near.max(far), count: *count }
        })
    }
}

impl Join for Distribution {
    fn join(&mut self, other: &Self) {
        self.count += other.count;
        for (place, count) in &other.buckets {
            *self.buckets.entry(*place).or_default() += count;
        }
    }
}

/// The range of a value: 0 for 0, and else with the sign of the value, in its order.
fn place(value: f64) -> i64 {
    if value == 0.0 {
        return 0;
    }
    let size = (value.abs().to_bits() >> WITHIN) as i64 + 1;
    if value < 0.0 { -size } else { size }
}

/// The ends of a range, the one nearer to 0 first.
fn ends(place: i64) -> [f64; 2] {
    let Some(size) = (place.unsigned_abs()).checked_sub(1) else { return [0.0; 2] };
    let sign = if place < 0 { -1.0 } else { 1.0 };
    [size << WITHIN, (size << WITHIN) | ((1 << WITHIN) - 1)].map(|bits| sign * f64::from_bits(bits))
}

fn middle(place: i64) -> f64 {
    let [near, far] = ends(place);
    near + (far - near) / 2.0
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn every_value_is_within_its_range() {
        for value in [1e-310, f64::MIN_POSITIVE, 0.1, 1.0, 1.007, 1.008, 127.5, 1e300, f64::MAX] {
            for value in [value, -value] {
                let mut sample = Distribution::default();
                sample.add(value);
                let bucket = sample.buckets().next().expect("there is one value");
                assert!(bucket.least <= value && value <= bucket.greatest, "{value}: {bucket:?}");
                let middle = sample.quantile(0.5).expect("there is one value");
                let is_normal = value.abs() >= f64::MIN_POSITIVE;
                assert!(!is_normal || (middle / value - 1.0).abs() < 0.004, "{value}: {middle}");
            }
        }
    }

    #[test]
    fn quantiles_are_in_order_over_zero() {
        let mut sample = Distribution::default();
        [-2.0, -1.0, 0.0, 1.0, 2.0].into_iter().for_each(|value| sample.add(value));
        let quantiles: Vec<_> =
            [0.0, 0.2, 0.4, 0.6, 0.8, 1.0].map(|part| sample.quantile(part).unwrap()).into();
        let near = |one: f64, other: f64| (one - other).abs() <= 0.004 * other.abs();
        let expected = [-2.0, -2.0, -1.0, 0.0, 1.0, 2.0];
        assert!(quantiles.iter().zip(expected).all(|(one, other)| near(*one, other)), "{quantiles:?}");
        assert_eq!(Distribution::default().quantile(0.5), None);
    }
}
