//! Random numbers of an LP that can be drawn while its context is borrowed, as in the arguments of
//! [`Context::send`](super::Context::send).
//!
//! Invariant: a draw is the same draw as through [`Context::rng`](super::Context::rng), and counts as one.

use std::cell::Cell;

use crate::Rng;

/// The LP's own random numbers, see [`Context::draw`](crate::Context::draw). Each method is that of [`Rng`]
/// with the same name.
///
/// ```
/// use paceline_kernel::{Context, LpId, Model, Time};
///
/// struct Walk;
///
/// impl Model for Walk {
///     type State = u64;
///     type Event = ();
///     type Output = ();
///     # fn lps(&self) -> u32 { 9 }
///     # fn lookahead(&self) -> Time { Time::secs(1) }
///     # fn init(&self, _: LpId, _: &mut Context<Self>) -> u64 { 0 }
///     fn handle(&self, visits: &mut u64, _: &(), cx: &mut Context<Self>) {
///         *visits += 1;
///         cx.send(LpId(cx.draw().below(9) as u32), Time::secs(1 + cx.draw().below(5)), ());
///     }
/// }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Draw<'a>(&'a Cell<Rng>);

impl<'a> Draw<'a> {
    #[inline(always)]
    pub(super) fn new(rng: &'a Cell<Rng>) -> Self {
        Self(rng)
    }

    /// What `draw` draws, for distributions that have no method here. It must draw from what it is given
    /// only: numbers that it drew from the context meanwhile would be drawn again.
    #[inline(always)]
    pub fn with<T>(self, draw: impl FnOnce(&mut Rng) -> T) -> T {
        let mut rng = self.0.get();
        let drawn = draw(&mut rng);
        self.0.set(rng);
        drawn
    }
}

/// Methods that are those of [`Rng`].
macro_rules! draws {
    ($($(#[$doc:meta])* $name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        impl Draw<'_> {$(
            $(#[$doc])*
            #[inline(always)]
            pub fn $name(self, $($argument: $type),*) -> $result {
                self.with(|rng| rng.$name($($argument),*))
            }
        )*}
    };
}

draws! {
    /// 64 uniform bits.
    u64() -> u64;
    /// A uniform number in [0, 1).
    unit() -> f64;
    /// A uniform integer below `n`; zero where `n` is zero.
    below(n: u64) -> u64;
    /// True with the given probability.
    chance(probability: f64) -> bool;
    /// An exponential variate with the given mean.
    exponential(mean: f64) -> f64;
    /// A normal variate with the given mean and standard deviation.
    normal(mean: f64, deviation: f64) -> f64;
    /// How many trials fail before the first that succeeds. Panics unless the probability is above 0 and at
    /// most 1.
    geometric(probability: f64) -> u64;
    /// How many events happen in a span in which `mean` are expected. Panics unless the mean is from 0 to
    /// 2^32.
    poisson(mean: f64) -> u64;
    /// A rank from 1 to `ranks`. Panics unless there are from 1 to 2^52 ranks and the exponent is finite and
    /// not negative.
    zipf(ranks: u64, exponent: f64) -> u64;
    /// One of the places of `weights`. Panics unless all weights are finite and not negative, and one is
    /// above 0.
    weighted(weights: &[f64]) -> usize;
}
