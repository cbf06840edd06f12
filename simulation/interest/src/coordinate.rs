//! The types of coordinates: `i64`, or `f64` without NaN.
//!
//! Internally, matchers compare *keys*: `i64` numbers in the order of the coordinates. Equal coordinates have equal keys (-0.0 and
//! 0.0 too), so the same code serves both types, and comparisons are total.

/// A type of coordinates: `i64` or `f64`.
pub trait Coordinate: sealed::Number {}

impl Coordinate for i64 {}
impl Coordinate for f64 {}

pub(crate) mod sealed {
    use std::fmt::Debug;

    /// The operations that matchers need. Sums and differences of integers saturate.
    pub trait Number: Copy + PartialOrd + Debug + 'static {
        /// The key; `None` for NaN.
        fn key(self) -> Option<i64>;
        fn from_key(key: i64) -> Self;
        fn to_f64(self) -> f64;
        /// The least coordinate above this one; the greatest coordinate is its own successor.
        fn successor(self) -> Self;
        fn plus(self, other: Self) -> Self;
        fn minus(self, other: Self) -> Self;
        /// Whether an axis from `start` to `end` can be a ring.
        fn is_ring(start: Self, end: Self) -> bool;
        /// Maps `[low, high)` with `low < high` onto a ring: the low end into `[start, end)`, the high end into `(start, end]`. The
        /// low end is above the high end if the extent goes past the end of the ring. `None` if the extent has no meaning on a
        /// ring.
        fn on_ring(low: Self, high: Self, start: Self, end: Self) -> Option<(Self, Self)>;
    }

    impl Number for i64 {
        fn key(self) -> Option<i64> {
            Some(self)
        }

        fn from_key(key: i64) -> Self {
            key
        }

        fn to_f64(self) -> f64 {
            self as f64
        }

        fn successor(self) -> Self {
            self.saturating_add(1)
        }

        fn plus(self, other: Self) -> Self {
            self.saturating_add(other)
        }

        fn minus(self, other: Self) -> Self {
            self.saturating_sub(other)
        }

        fn is_ring(start: Self, end: Self) -> bool {
            start < end
        }

        fn on_ring(low: Self, high: Self, start: Self, end: Self) -> Option<(Self, Self)> {
            let period = i128::from(end) - i128::from(start);
            let length = i128::from(high) - i128::from(low);
            if length >= period {
                return Some((start, end));
            }
            let from_start = (i128::from(low) - i128::from(start)).rem_euclid(period);
            let high = from_start + length;
            let high = if high > period { high - period } else { high };
            // Both are between the start and the end, so they fit into the type.
            Some((i128::from(start) + from_start, i128::from(start) + high))
                .map(|(low, high)| (low as i64, high as i64))
        }
    }

    impl Number for f64 {
        fn key(self) -> Option<i64> {
            // Adding 0.0 turns -0.0 into 0.0. For negative numbers all bits except the sign are flipped, so that the order of the
            // bits is that of the numbers (IEEE 754-2019, 5.10).
            (!self.is_nan()).then(|| turn((self + 0.0).to_bits() as i64))
        }

        fn from_key(key: i64) -> Self {
            f64::from_bits(turn(key) as u64)
        }

        fn to_f64(self) -> f64 {
            self
        }

        fn successor(self) -> Self {
            self.next_up()
        }

        fn plus(self, other: Self) -> Self {
            self + other
        }

        fn minus(self, other: Self) -> Self {
            self - other
        }

        fn is_ring(start: Self, end: Self) -> bool {
            start < end && start.is_finite() && end.is_finite() && (end - start).is_finite()
        }

        fn on_ring(low: Self, high: Self, start: Self, end: Self) -> Option<(Self, Self)> {
            let period = end - start;
            if high - low >= period {
                return Some((start, end));
            }
            if !low.is_finite() || !high.is_finite() {
                return None;
            }
            let turned = |at: f64| {
                let at = start + (at - start).rem_euclid(period);
                // Rounding may give `end`, which is the same place as `start`.
                if at < end { at } else { start }
            };
            let low_in = if (start..end).contains(&low) { low } else { turned(low) };
            let high_in = if (start..=end).contains(&high) { high } else { turned(high) };
            let high_in = if high_in == start { end } else { high_in };
            if low_in == high_in {
                // Both ends were rounded to the same place: a short extent becomes that place, a long one the whole ring.
                let long = high - low > period / 2.0;
                return Some(if long { (start, end) } else { (low_in, low_in.next_up()) });
            }
            Some((low_in, high_in))
        }
    }

    fn turn(bits: i64) -> i64 {
        bits ^ (((bits >> 63) as u64) >> 1) as i64
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::sealed::Number;

    proptest! {
        #[test]
        fn keys_are_in_the_order_of_the_numbers(a in proptest::num::f64::ANY, b in proptest::num::f64::ANY) {
            prop_assert_eq!(a.key().is_none(), a.is_nan());
            if let (Some(first), Some(second)) = (a.key(), b.key()) {
                prop_assert_eq!(Some(first.cmp(&second)), a.partial_cmp(&b));
                prop_assert_eq!(f64::from_key(first), a);
            }
        }

        #[test]
        fn a_place_on_a_ring_of_integers_is_inside_by_its_turn(
            start in -20_i64..20, period in 1_i64..15, low in -100_i64..100, length in 1_i64..40, place in 0_i64..15
        ) {
            let (end, place) = (start + period, start + place % period);
            let (from, to) = i64::on_ring(low, low + length, start, end).unwrap();
            prop_assert!((start..end).contains(&from) && start < to && to <= end);
            let inside = if from < to { (from..to).contains(&place) } else { place >= from || place < to };
            let turns = (-200..=200).any(|turn| (low..low + length).contains(&(place + turn * period)));
            prop_assert_eq!(inside, turns);
        }
    }

    #[test]
    fn zeros_are_equal_and_extremes_are_kept() {
        assert_eq!((-0.0_f64).key(), 0.0_f64.key());
        assert_eq!(i64::on_ring(i64::MIN, i64::MAX, 0, 10), Some((0, 10)));
        assert_eq!(f64::on_ring(f64::NEG_INFINITY, f64::INFINITY, 0.0, 1.0), Some((0.0, 1.0)));
        assert_eq!(f64::on_ring(f64::INFINITY, f64::INFINITY.next_up(), 0.0, 1.0), None);
        assert_eq!(f64::on_ring(-1e-300, 0.25, 0.0, 1.0), Some((0.0, 0.25)));
        assert_eq!(f64::on_ring(0.75, 1.25, 0.0, 1.0), Some((0.75, 0.25)));
    }
}
