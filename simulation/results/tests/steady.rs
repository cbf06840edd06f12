//! Series whose steady state is known: intervals hold its mean as often as they say, and a start far from it
//! is cut.

use paceline_kernel::{Rng, Time};
use paceline_results::statistics::{
    BATCHES, LevelOverTime, OverTime, Part, ValuesOverTime, batch_means, joined, mser, sample,
};

/// The autoregressive process x' = mean + factor (x - mean) + noise, with normal noise of deviation 1.
struct Autoregressive {
    rng: Rng,
    factor: f64,
    mean: f64,
    value: f64,
}

impl Autoregressive {
    /// In its steady state, whose variance is 1 / (1 - factor^2).
    fn new(seed: u64, factor: f64, mean: f64) -> Self {
        let mut rng = Rng::new(seed, 7);
        let value = rng.normal(mean, (1.0 - factor * factor).sqrt().recip());
        Self { rng, factor, mean, value }
    }

    fn next(&mut self) -> f64 {
        self.value = self.mean + self.factor * (self.value - self.mean) + self.rng.normal(0.0, 1.0);
        self.value
    }
}

/// A statistic that is 1 with this probability is so in so many of so many cases, but with a chance of 1 in
/// 10^4.
fn is_near(share: f64, probability: f64, cases: u32) -> bool {
    (share - probability).abs() < 3.9 * (probability * (1.0 - probability) / f64::from(cases)).sqrt()
}

#[test]
fn intervals_of_batches_hold_the_mean_as_often_as_they_say_and_those_of_values_do_not() {
    const CASES: u32 = 2000;
    let (mut held, mut held_without, mut widths) = (0, 0, 0.0);
    for seed in 0..CASES {
        let mut series = Autoregressive::new(seed.into(), 0.8, 10.0);
        let values: Vec<f64> = (0..4000).map(|_| series.next()).collect();
        let parts: Vec<Part> = values.iter().map(|value| Part { sum: *value, weight: 1.0 }).collect();
        let estimate = batch_means(&parts, BATCHES).expect("there are enough");
        held += u32::from((estimate.mean - 10.0).abs() <= estimate.half_width);
        widths += estimate.half_width / f64::from(CASES);
        let alone = sample::mean(&values);
        held_without += u32::from((alone.mean - 10.0).abs() <= alone.half_width);
    }
    let share = f64::from(held) / f64::from(CASES);
    assert!(is_near(share, 0.95, CASES), "{share} of the intervals hold the mean");
    // The variance of the mean of n values is 1 / (1 - factor)^2 / n, and t(0.975, 19) is 2.093; the mean of
    // the deviation of 20 normal values is 0.987 of theirs.
    let known = 2.093 * 0.987 * 5.0 / 4000f64.sqrt();
    assert!((widths / known - 1.0).abs() < 0.02, "intervals are {widths} wide on average, not {known}");
    let without = f64::from(held_without) / f64::from(CASES);
    assert!(without < 0.6, "values that depend on each other have no such interval: {without}");
}

#[test]
fn values_at_random_times_have_such_intervals_too_and_no_part_of_them_matters() {
    const CASES: u32 = 500;
    let (warm_up, until) = (Time::secs(3_000), Time::secs(30_000));
    let (mut held, mut cuts_s) = (0, Vec::new());
    for seed in 0..CASES {
        let (mut series, mut times) = (Autoregressive::new(seed.into(), 0.8, 10.0), Rng::new(seed.into(), 8));
        let (mut at, mut parts) = (Time::ZERO, [ValuesOverTime::default(), ValuesOverTime::default()]);
        let mut whole = ValuesOverTime::default();
        loop {
            at += Time::from_secs_f64(times.exponential(5.0));
            if at >= until {
                break;
            }
            // Up to the warm-up it is far away.
            let value = series.next() + if at < warm_up { 50.0 } else { 0.0 };
            parts[times.below(2) as usize].add(at, warm_up, value);
            whole.add(at, warm_up, value);
        }
        assert_eq!(joined(&parts), whole);
        let estimate = whole.estimate(warm_up, until).expect("it is long enough");
        held += u32::from((estimate.mean - 10.0).abs() <= estimate.half_width);
        let mean = whole.tally().mean().expect("there are values");
        assert!((estimate.mean - mean).abs() < 0.3 * estimate.half_width, "{estimate:?} of {mean}");
        let transient = whole.transient(until).expect("it is long enough");
        cuts_s.push(transient.end.as_secs_f64());
    }
    let share = f64::from(held) / f64::from(CASES);
    assert!(is_near(share, 0.95, CASES), "{share} of the intervals hold the mean");
    // MSER may cut more than is needed, but never leaves a part that is far away.
    let least = cuts_s.iter().copied().fold(f64::INFINITY, f64::min);
    let middle = sample::median(&cuts_s);
    assert!(least > 2_900.0 && middle < 4_500.0, "cut are {least} s at least, and {middle} s in the middle");
}

#[test]
fn a_level_is_averaged_exactly_over_each_span() {
    // A level of 1 in every even second, and of 3 in every odd one, but of 100 at the start.
    let (warm_up, until) = (Time::secs(100), Time::secs(10_000));
    let mut level = LevelOverTime::default();
    level.change(Time::ZERO, warm_up, 100.0);
    level.change(Time::secs(50), warm_up, -99.0);
    for second in 51..10_000 {
        level.change(Time::secs(second), warm_up, if second % 2 == 1 { 2.0 } else { -2.0 });
    }
    let exact = level.level().mean(warm_up, until).expect("it is a span");
    assert_eq!(exact, 2.0);
    let estimate = level.estimate(warm_up, until).expect("it is long enough");
    assert!((estimate.mean - 2.0).abs() < 0.01 && estimate.half_width < 0.01, "{estimate:?}");
    let transient = level.transient(until).expect("it is long enough");
    assert!(transient.end >= Time::secs(50) && transient.end < Time::secs(250), "{transient:?}");
    // The level is as it was, however long nothing changes.
    let later = level.estimate(Time::secs(10_000), Time::secs(1_000_000)).expect("it is long enough");
    assert_eq!((later.mean, later.half_width), (3.0, 0.0));
}

#[test]
fn the_cut_is_that_of_the_definition() {
    let error = |values: &[f64]| {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count * count)
    };
    let mut cuts = 0;
    for seed in 0..200 {
        let mut series = Autoregressive::new(seed, 0.9, 5.0);
        series.value = 5.0 + seed as f64;
        let values: Vec<f64> = (0..101).map(|_| series.next()).collect();
        let of = |cut: &usize| error(&values[*cut..]);
        let best = (0..=values.len() / 2).min_by(|one, other| of(one).total_cmp(&of(other)));
        let cut = mser(&values);
        assert_eq!(Some(cut), best);
        cuts += cut;
    }
    assert!(cuts > 2000, "a start far from the mean is cut: {cuts}");
}
