//! Statistics that a model gathers when events are committed.
//!
//! A run has an output for each federate, and events of different LPs are committed in no order. So a
//! statistic must not depend on who gathered what, nor on the order in which it was gathered: a mean of
//! floating-point numbers that are added one after the other does. These do not. Whatever the protocol, the
//! partition and the number of threads, and also where LPs move and where a run is resumed, the same values
//! give the same statistic, to the last bit:
//!
//! - [`Tally`]: number, mean, deviation, least and greatest of values;
//! - [`Level`]: the average over time of something that goes up and down, such as the length of a queue;
//! - [`Distribution`]: quantiles, to 0.4 % of the value;
//! - [`TimeSeries`]: a level, or what comes in an interval, over time;
//! - [`ValuesOverTime`], [`LevelOverTime`]: of a steady state, the mean with its interval by batch means
//!   within the run, and by MSER-5 the warm-up that is enough;
//! - [`ExactSum`]: a sum without rounding, of which they are made.
//!
//! Each is part of a model's output, is filled in [`Model::commit`](paceline_kernel::Model::commit), and is
//! joined at the end of the run: [`joined`].
//!
//! Invariants: joining is associative and commutative, and a statistic of no values changes nothing; equal
//! statistics have equal bytes. No threads, clocks, random numbers or hashes.
//!
//! ```
//! use paceline_results::statistics::{Tally, joined};
//!
//! let (mut one, mut other) = (Tally::default(), Tally::default());
//! [0.1, 0.2, 1e17].into_iter().for_each(|value| one.add(value));
//! [0.3, -1e17].into_iter().for_each(|value| other.add(value));
//! let all: Tally = joined([&one, &other]);
//! assert_eq!(all, joined([&other, &one]));
//! assert_eq!((all.count(), all.mean()), (5, Some(0.12)));
//! ```
//!
//! To add a statistic, implement `Join` for it and add it to `All` in `tests/exact.rs`, which gathers it in
//! any order and parts.

mod distribution;
mod exact;
mod level;
mod over_time;
pub mod sample;
mod series;
mod spans;
mod steady;
mod tally;

pub use distribution::{Bucket, Distribution};
pub use exact::ExactSum;
pub use level::Level;
pub use over_time::{LevelOverTime, OverTime, Transient, ValuesOverTime};
pub use series::{TimeSeries, write_csv};
pub use steady::{BATCHES, Estimate, Part, batch_means, mser};
pub use tally::Tally;

/// What was gathered in parts.
pub trait Join: Default {
    /// Takes in what another part has gathered.
    fn join(&mut self, other: &Self);
}

/// What all parts have gathered together; the statistic of nothing where there are none.
pub fn joined<'p, T: Join + 'p>(parts: impl IntoIterator<Item = &'p T>) -> T {
    parts.into_iter().fold(T::default(), |mut all, part| {
        all.join(part);
        all
    })
}
