//! What is gathered in equal spans of time, as narrow as keeps them few.
//!
//! How wide the spans are follows from the latest time alone: the least power of two of ticks by which there
//! are at most [`MOST`] of them. So they do not depend on the order in which, nor on the parts in which,
//! things come.
//!
//! Invariant: something has come in the last span.

use paceline_kernel::Time;
use serde::{Deserialize, Serialize};

use super::Join;

/// The most spans there are.
pub const MOST: u64 = 512;

/// Equal spans of time, from time 0 on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spans<T> {
    /// The power of two of a span's ticks.
    exponent: u32,
    spans: Vec<T>,
}

impl<T: Join> Spans<T> {
    /// What is gathered of the span in which `at` lies.
    pub fn at(&mut self, at: Time) -> &mut T {
        while at.as_ticks() >> self.exponent >= MOST {
            self.widen();
        }
        let place = (at.as_ticks() >> self.exponent) as usize;
        if self.spans.len() <= place {
            self.spans.resize_with(place + 1, T::default);
        }
        &mut self.spans[place]
    }

    /// The width of a span.
    pub fn width(&self) -> Time {
        Time::ticks(1 << self.exponent)
    }

    /// The spans that end by `until`, with those at the end in which nothing has come; at most [`MOST`].
    pub fn until(mut self, until: Time) -> Self {
        while until.as_ticks() >> self.exponent > MOST {
            self.widen();
        }
        let whole = (until.as_ticks() >> self.exponent) as usize;
        self.spans.resize_with(whole, T::default);
        self
    }

    /// What is gathered of each.
    pub fn all(&self) -> &[T] {
        &self.spans
    }

    /// Joins each two spans to one.
    fn widen(&mut self) {
        self.exponent += 1;
        let mut both = std::mem::take(&mut self.spans).into_iter();
        while let Some(mut first) = both.next() {
            if let Some(second) = both.next() {
                first.join(&second);
            }
            self.spans.push(first);
        }
    }
}

impl<T: Join + Clone> Join for Spans<T> {
    fn join(&mut self, other: &Self) {
        let mut other = other.clone();
        while other.exponent < self.exponent {
            other.widen();
        }
        while self.exponent < other.exponent {
            self.widen();
        }
        if self.spans.len() < other.spans.len() {
            self.spans.resize_with(other.spans.len(), T::default);
        }
        self.spans.iter_mut().zip(&other.spans).for_each(|(mine, other)| mine.join(other));
    }
}
