//! Whatever is gathered, in whatever order and parts: the same statistic, to the last byte, and the sum is
//! the true one.

use paceline_kernel::Time;
use paceline_results::statistics::{
    Distribution, ExactSum, Join, Level, LevelOverTime, Tally, TimeSeries, ValuesOverTime, joined,
};
use proptest::collection::vec;
use proptest::prelude::*;
use serde::{Deserialize, Serialize};

const EVERY: Time = Time::millis(7);
const WARM_UP: Time = Time::nanos(1 << 60);

/// All kinds at once.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct All {
    sum: ExactSum,
    tally: Tally,
    level: Level,
    distribution: Distribution,
    series: TimeSeries,
    values: ValuesOverTime,
    over_time: LevelOverTime,
}

impl All {
    fn add(&mut self, at: Time, value: f64) {
        self.sum.add(value);
        self.tally.add(value);
        self.level.change(at, value);
        self.distribution.add(value);
        self.series.add(at, EVERY, value);
        self.values.add(at, WARM_UP, value);
        self.over_time.change(at, WARM_UP, value);
    }
}

impl Join for All {
    fn join(&mut self, other: &Self) {
        self.sum.join(&other.sum);
        self.tally.join(&other.tally);
        self.level.join(&other.level);
        self.distribution.join(&other.distribution);
        self.series.join(&other.series);
        self.values.join(&other.values);
        self.over_time.join(&other.over_time);
    }
}

/// Numbers of very different sizes, many of which cancel each other.
fn value() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<i32>().prop_map(f64::from),
        (any::<i32>(), -400i32..400).prop_map(|(whole, power)| f64::from(whole) * 2f64.powi(power)),
        prop::num::f64::NORMAL.prop_map(|value| value % 1e100),
        prop::num::f64::SUBNORMAL,
        Just(0.0),
        Just(-0.0),
        Just(1e16),
        Just(-1e16),
    ]
}

/// A value, its time, and whose it is.
fn gathered() -> impl Strategy<Value = Vec<(f64, u64, usize)>> {
    vec((value(), 0u64..1 << 62, 0usize..4), 0..40)
}

proptest! {
    #[test]
    fn order_and_parts_decide_nothing(values in gathered(), order in any::<prop::sample::Index>(), turn in any::<bool>()) {
        let mut whole = All::default();
        values.iter().for_each(|(value, at, _)| whole.add(Time::nanos(*at), *value));
        let mut other = values.clone();
        let first = if other.is_empty() { 0 } else { order.index(other.len()) };
        other.rotate_left(first);
        let mut parts: [All; 4] = Default::default();
        other.iter().for_each(|(value, at, whose)| parts[*whose].add(Time::nanos(*at), *value));
        if turn {
            parts.reverse();
        }
        let together: All = joined(&parts);
        prop_assert_eq!(&together, &whole);
        let bytes = |all: &All| postcard::to_stdvec(all).expect("it can be written");
        prop_assert_eq!(bytes(&together), bytes(&whole));
        prop_assert_eq!(together.tally.variance().map(f64::to_bits), whole.tally.variance().map(f64::to_bits));
        let read: All = postcard::from_bytes(&bytes(&whole)).expect("it was written");
        prop_assert_eq!(read, whole);
    }

    #[test]
    fn a_sum_is_the_true_one_rounded_once(values in vec((any::<i64>(), 0u32..40), 0..60)) {
        let mut sum = ExactSum::default();
        let mut truth = 0i128;
        for (whole, power) in values {
            // A number has 53 bits.
            let whole = whole >> 11;
            sum.add(whole as f64 * 2f64.powi(power as i32 - 60));
            truth += i128::from(whole) << power;
        }
        // Whole numbers become floating-point ones rounded to the nearest, of two to the even one.
        prop_assert_eq!(sum.value(), truth as f64 * 2f64.powi(-60));
    }

    #[test]
    fn what_is_taken_away_again_leaves_nothing(values in vec(value(), 0..40)) {
        let mut sum = ExactSum::default();
        values.iter().for_each(|value| sum.add(*value));
        values.iter().rev().for_each(|value| sum.add(-*value));
        prop_assert_eq!(sum, ExactSum::default());
    }
}
