//! Traffic lights: which group of approaches may cross when, computed arithmetically without events.
//!
//! As seen by the first group, a cycle is `green` and then `red`; the second group has green during that red.
//! Invariant: at any time exactly one of the two groups may cross, and both may within every cycle.

use paceline_kernel::Time;

use super::network::Signal;

/// The timing of all lights of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lights {
    /// Green and red together; above zero.
    pub cycle: Time,
    /// How long the first group has green; above zero and below the cycle.
    pub green: Time,
    /// The time between two vehicles that leave the same lane.
    pub headway: Time,
}

impl Lights {
    /// The earliest time from `at` on when an approach has green; `shift`, which is below the cycle, is when
    /// the node's cycle starts.
    #[inline]
    pub fn next_green(&self, signal: Signal, shift: Time, at: Time) -> Time {
        let (cycle, green) = (self.cycle.as_nanos(), self.green.as_nanos());
        // Both terms are below the cycle, which is below half the largest time: the sum cannot overflow.
        let phase = (at.as_nanos() % cycle + cycle - shift.as_nanos()) % cycle;
        let wait = match signal {
            Signal::None => 0,
            Signal::First if phase < green => 0,
            Signal::First => cycle - phase,
            Signal::Second if phase >= green => 0,
            Signal::Second => green - phase,
        };
        at.saturating_add(Time::nanos(wait))
    }

    /// When the cycle starts at a node that is `steps` offsets away from the first.
    pub fn shift(&self, offset: Time, steps: u32) -> Time {
        let shift = u128::from(offset.as_nanos()) * u128::from(steps) % u128::from(self.cycle.as_nanos());
        Time::nanos(shift as u64)
    }

    /// With another cycle, of which green has the same part; both are above zero.
    pub fn with_cycle(&self, cycle: Time) -> Self {
        let part = u128::from(self.green.as_nanos()) * u128::from(cycle.as_nanos());
        let green = (part / u128::from(self.cycle.as_nanos())) as u64;
        let green = Time::nanos(green.clamp(1, cycle.as_nanos() - 1));
        Self { cycle, green, ..*self }
    }

    /// The time between two vehicles that leave an approach with `lanes` lanes.
    pub fn spacing(&self, lanes: u32) -> Time {
        Time::nanos(self.headway.as_nanos() / u64::from(lanes))
    }
}
