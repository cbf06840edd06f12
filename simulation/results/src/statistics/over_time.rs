//! Values, and a level, over the time of a run: the mean after a warm-up, its interval of confidence, and the
//! warm-up that would have been enough.
//!
//! Batches are spans of time, not numbers of values: so it does not matter in which order, and in which
//! parts, values are gathered.

use paceline_kernel::Time;
use serde::{Deserialize, Serialize};

use super::level::add_moment;
use super::spans::Spans;
use super::steady::{BATCHES, Estimate, Part, batch_means, mser};
use super::{ExactSum, Join, Level, Tally};

/// Spans of time of which MSER takes the mean: see [`mser`].
const TOGETHER: usize = 5;

/// Values, each with its time.
///
/// All calls of one of these are to name the same warm-up; a model has it in a constant or a parameter.
///
/// ```
/// use paceline_kernel::Time;
/// use paceline_results::statistics::{OverTime, ValuesOverTime};
///
/// let (warm_up, until) = (Time::secs(100), Time::secs(1000));
/// let mut waits = ValuesOverTime::default();
/// for second in 0..1000_u32 {
///     // Long waits in the first minute, then 3 or 5 seconds.
///     let wait_s = if second < 60 { 90.0 } else { 3.0 + f64::from(second % 2) * 2.0 };
///     waits.add(Time::secs(second.into()), warm_up, wait_s);
/// }
/// assert_eq!((waits.tally().count(), waits.tally().mean()), (900, Some(4.0)));
/// let estimate = waits.estimate(warm_up, until).expect("it is long enough");
/// assert!((estimate.mean - 4.0).abs() <= estimate.half_width);
/// let transient = waits.transient(until).expect("it is long enough");
/// assert!(transient.end >= Time::secs(60) && transient.end < Time::secs(80) && transient.is_over);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ValuesOverTime {
    tally: Tally,
    spans: Spans<Values>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Values {
    count: u64,
    sum: ExactSum,
}

/// How long a run took to come near its steady state, by MSER-5.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transient {
    /// What came before this is to be cut: a warm-up that is enough.
    pub end: Time,
    /// Whether it ended within the first half of the run; where not, the run is too short to say.
    pub is_over: bool,
}

/// What follows from equal spans of time, whatever is gathered in them. A mean is over values, or over the
/// time of a level.
pub trait OverTime {
    /// The width of equal spans from the start to `until`, and what is in each.
    fn parts(&self, until: Time) -> (Time, Vec<Part>);

    /// The mean from `from` to `until` with its interval, by batch means. Spans of time that are only partly
    /// between the two do not count. Nothing where the run is too short.
    fn estimate(&self, from: Time, until: Time) -> Option<Estimate> {
        let (width, parts) = self.parts(until);
        let first = from.as_ticks().div_ceil(width.as_ticks()) as usize;
        batch_means(parts.get(first..).unwrap_or(&[]), BATCHES)
    }

    /// The warm-up that would have been enough in a run to `until`. Nothing where it is too short.
    fn transient(&self, until: Time) -> Option<Transient> {
        let (width, parts) = self.parts(until);
        transient(&parts, width)
    }

    /// The width of the spans, and the mean in each; nothing where it has no value.
    fn means(&self, until: Time) -> (Time, Vec<Option<f64>>) {
        let (width, parts) = self.parts(until);
        let mean = |part: &Part| (part.weight > 0.0).then(|| part.sum / part.weight);
        (width, parts.iter().map(mean).collect())
    }
}

impl ValuesOverTime {
    /// Takes in `value`, which counts for the [tally](Self::tally) if `at` is not before `warm_up`.
    ///
    /// Panics where the value is none of which a [`Tally`] has the square.
    pub fn add(&mut self, at: Time, warm_up: Time, value: f64) {
        if at >= warm_up {
            self.tally.add(value);
        }
        let span = self.spans.at(at);
        span.count += 1;
        span.sum.add(value);
    }

    /// The values after the warm-up.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }
}

impl OverTime for ValuesOverTime {
    fn parts(&self, until: Time) -> (Time, Vec<Part>) {
        let spans = self.spans.clone().until(until);
        let part = |span: &Values| Part { sum: span.sum.value(), weight: span.count as f64 };
        (spans.width(), spans.all().iter().map(part).collect())
    }
}

/// A level, such as the length of a queue, which goes up and down.
///
/// ```
/// use paceline_kernel::Time;
/// use paceline_results::statistics::{LevelOverTime, OverTime};
///
/// let (warm_up, until) = (Time::secs(10), Time::secs(1000));
/// let mut queue = LevelOverTime::default();
/// queue.change(Time::ZERO, warm_up, 20.0);
/// queue.change(Time::secs(5), warm_up, -18.0);
/// assert_eq!(queue.level().mean(warm_up, until), Some(2.0));
/// assert_eq!(queue.estimate(warm_up, until).map(|estimate| estimate.mean), Some(2.0));
/// assert!(queue.transient(until).expect("it is long enough").end >= Time::secs(5));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LevelOverTime {
    level: Level,
    spans: Spans<Changes>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Changes {
    sum: ExactSum,
    /// The sum of change x time.
    moments: ExactSum,
}

impl LevelOverTime {
    /// Notes that the level changes by `by` at `at`; for the [level](Self::level) a change in the warm-up
    /// counts as if it came at its end.
    ///
    /// Panics where `by` is infinite or not a number.
    pub fn change(&mut self, at: Time, warm_up: Time, by: f64) {
        self.level.change(at.max(warm_up), by);
        let span = self.spans.at(at);
        span.sum.add(by);
        add_moment(&mut span.moments, by, at);
    }

    /// The level from the end of the warm-up on.
    pub fn level(&self) -> &Level {
        &self.level
    }
}

impl OverTime for LevelOverTime {
    fn parts(&self, until: Time) -> (Time, Vec<Part>) {
        let spans = self.spans.clone().until(until);
        let (width, mut before) = (spans.width(), ExactSum::default());
        let mut part = |(number, changes): (u64, &Changes)| {
            let end = Time::ticks((number + 1) * width.as_ticks());
            // What was there before it, for all of it; what changes in it, from then to its end.
            let (mut area, level) = (ExactSum::default(), before.parts());
            [level.0, level.1].into_iter().for_each(|level| add_moment(&mut area, level, width));
            let change = changes.sum.parts();
            [change.0, change.1].into_iter().for_each(|change| add_moment(&mut area, change, end));
            let moments = changes.moments.parts();
            [moments.0, moments.1].into_iter().for_each(|moment| area.add(-moment));
            before.join(&changes.sum);
            Part { sum: area.value(), weight: width.as_ticks() as f64 }
        };
        let parts = (0..).zip(spans.all()).map(&mut part).collect();
        (width, parts)
    }
}

fn transient(parts: &[Part], width: Time) -> Option<Transient> {
    let groups: Vec<(u64, f64)> = (0..)
        .zip(parts.chunks_exact(TOGETHER))
        .filter_map(|(number, group)| {
            let (sum, weight) =
                group.iter().fold((0.0, 0.0), |all, part| (all.0 + part.sum, all.1 + part.weight));
            (weight > 0.0).then(|| (number, sum / weight))
        })
        .collect();
    if groups.len() < BATCHES {
        return None;
    }
    let means: Vec<f64> = groups.iter().map(|(_, mean)| *mean).collect();
    let cut = mser(&means);
    // Before the first value there is nothing to cut.
    let first = if cut == 0 { 0 } else { groups[cut].0 };
    let end = Time::ticks(first * TOGETHER as u64 * width.as_ticks());
    Some(Transient { end, is_over: cut < means.len() / 2 })
}

impl Join for Values {
    fn join(&mut self, other: &Self) {
        self.count += other.count;
        self.sum.join(&other.sum);
    }
}

impl Join for Changes {
    fn join(&mut self, other: &Self) {
        self.sum.join(&other.sum);
        self.moments.join(&other.moments);
    }
}

impl Join for ValuesOverTime {
    fn join(&mut self, other: &Self) {
        self.tally.join(&other.tally);
        self.spans.join(&other.spans);
    }
}

impl Join for LevelOverTime {
    fn join(&mut self, other: &Self) {
        self.level.join(&other.level);
        self.spans.join(&other.spans);
    }
}
