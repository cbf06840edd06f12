//! Exact points in time: a whole number of ticks, and what rounding to it left over.
//!
//! The core's clock counts ticks, and what happens in one tick is one instant. Most computations and
//! transfers take no whole number of them. Each process therefore keeps, beside the tick in which it resumed,
//! the part of a tick by which its exact time is later or earlier; its next computation, message or sleep
//! counts from there. So rounding never adds up: a thousand computations of 4/3 ns end after 1333 ns. The
//! part follows what a process waits for: who is given a lock, a message or the end of another process has
//! the later of both exact times.
//!
//! Invariants: the tick of a moment is the one nearest to it, a half belongs to the tick after it; no order
//! of two instants depends on the part, only what they take. The part is computed from the exact times of one
//! host's work and one world's messages in their order, so it is the same on any number of threads and
//! federates.

use std::cmp::Ordering;

use paceline_kernel::Time;

/// Ticks in a second.
const TICKS: f64 = Time::TICKS_PER_SECOND as f64;

/// An exact time: a tick, and the part of a tick by which the time differs from it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Moment {
    pub(super) at: Time,
    /// From -0.5 to below 0.5 of a tick.
    pub(super) rest: f64,
}

impl Moment {
    /// A whole number of ticks.
    pub(super) const fn at(at: Time) -> Self {
        Self { at, rest: 0.0 }
    }

    /// The nearest tick to this many of them, and the rest; [`Time::MAX`] where that is beyond the clock.
    fn of_ticks(ticks: f64) -> Self {
        let whole = (ticks + 0.5).floor();
        if whole.is_nan() || whole >= u64::MAX as f64 {
            return Self::at(Time::MAX);
        }
        let whole = whole.max(0.0);
        Self { at: Time::ticks(whole as u64), rest: (ticks - whole).max(-0.5) }
    }

    pub(super) fn of_secs(seconds: f64) -> Self {
        Self::of_ticks(seconds * TICKS)
    }

    /// Seconds since the start.
    pub(super) fn as_secs(self) -> f64 {
        (self.at.as_ticks() as f64 + self.rest) / TICKS
    }

    /// A span of seconds later. One below zero is cut where the tick begins.
    pub(super) fn after_secs(self, seconds: f64) -> Self {
        let span = Self::of_ticks(seconds * TICKS + self.rest);
        let Some(at) = self.at.checked_add(span.at) else { return Self::at(Time::MAX) };
        Self { at, rest: span.rest }
    }

    /// Seconds from `earlier` to this, below zero where `earlier` is the later.
    pub(super) fn secs_since(self, earlier: Self) -> f64 {
        let (here, there) = (self.at.as_ticks(), earlier.at.as_ticks());
        let ticks = if here >= there { (here - there) as f64 } else { -((there - here) as f64) };
        (ticks + (self.rest - earlier.rest)) / TICKS
    }

    pub(super) fn later(self, there: Self) -> Self {
        match self.at.cmp(&there.at).then(self.rest.total_cmp(&there.rest)) {
            Ordering::Less => there,
            Ordering::Equal | Ordering::Greater => self,
        }
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn spans_add_up_however_short_they_are() {
        let mut moment = Moment::at(Time::secs(1));
        for span in 1..=3000u64 {
            moment = moment.after_secs(1e-9 / 3.0);
            assert!((-0.5..0.5).contains(&moment.rest), "{moment:?}");
            let exact = span as f64 / 3.0;
            let ticks = (moment.at - Time::secs(1)).as_ticks() as f64 + moment.rest;
            assert!((ticks / Time::TICKS_PER_NANO as f64 - exact).abs() < 1e-6, "{moment:?} after {span}");
        }
        assert_eq!((moment.at, moment.rest.abs() < 1e-6), (Time::secs(1) + Time::nanos(1000), true));
    }

    #[test]
    fn a_half_belongs_to_the_tick_after_it_and_the_clock_ends() {
        let half = 0.5 / Time::TICKS_PER_SECOND as f64;
        let first = Moment::default().after_secs(half);
        assert_eq!(first, Moment { at: Time::TICK, rest: -0.5 });
        assert_eq!(first.after_secs(half), Moment::at(Time::TICK), "and back again");
        assert_eq!(first.secs_since(Moment::at(Time::TICK)), -half);
        for never in [1e30, f64::INFINITY, f64::NAN] {
            assert_eq!(Moment::at(Time::secs(9)).after_secs(never).at, Time::MAX, "{never}");
        }
        assert_eq!((first.later(Moment::default()), Moment::default().later(first)), (first, first));
    }
}
