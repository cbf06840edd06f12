//! Picoseconds, and the ticks of the kernel at which events happen.
//!
//! Invariant: an event's tick minus its slack is the exact moment; the slack is below one tick.

use paceline_kernel::Time;

/// Picoseconds in a second.
pub(crate) const PS_PER_SECOND: u64 = 1_000_000_000_000;
/// Picoseconds in a tick of the kernel: 1,000, or 1 where ticks are picoseconds.
pub(crate) const PS_PER_TICK: u64 = 1_000 / Time::TICKS_PER_NANO;

/// The latest moment of a run, in picoseconds. From there the longest packet at the least rate and the
/// longest latency end before 2^64: nothing that follows from an event has to look for an overflow.
pub(crate) const LATEST_PS: u64 = 1 << 63;

/// The latest horizon of a run: 106 days.
pub(crate) const LATEST: Time = Time::ticks(LATEST_PS / PS_PER_TICK);

/// More packets than any run handles; sums over thousands of flows or links do not run over.
pub(crate) const MOST_COUNT: u64 = 1 << 48;

/// The first tick that is not before `ps`, and by how many picoseconds it is later.
#[inline(always)]
pub(crate) fn tick_of(ps: u64) -> (Time, u16) {
    let tick = ps.div_ceil(PS_PER_TICK);
    // Wraps twice for the last moments before 2^64, of which the rounded one is beyond.
    (Time::ticks(tick), tick.wrapping_mul(PS_PER_TICK).wrapping_sub(ps) as u16)
}

/// The exact moment, in picoseconds, of an event at `now` with this slack.
///
/// Panics where that is beyond [`LATEST`]: such a horizon is refused, but a run may have none.
#[inline(always)]
pub(crate) fn exact(now: Time, slack: u16) -> u64 {
    assert!(now <= LATEST, "a packet network is simulated for at most 2^63 ps, 106 days: set a horizon");
    now.as_ticks() * PS_PER_TICK - u64::from(slack)
}

/// The whole ticks in `ps`: a delay of at least `ps` is at least as many ticks between two events.
pub(crate) fn whole_ticks(ps: u64) -> Time {
    Time::ticks(ps / PS_PER_TICK)
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn a_tick_and_its_slack_are_the_exact_moment() {
        for ps in (0..5_000).chain([1 << 60, (1 << 60) + 1, LATEST.as_ticks() * PS_PER_TICK - 1]) {
            let (tick, slack) = tick_of(ps);
            assert_eq!(exact(tick, slack), ps);
            assert!(u64::from(slack) < PS_PER_TICK);
        }
    }

    /// What never happens any more has a tick and a slack, too.
    #[test]
    fn moments_to_the_end_of_the_numbers_have_a_tick() {
        for ps in [u64::MAX, u64::MAX - 1, u64::MAX - 616, u64::MAX - 2_000] {
            let (tick, slack) = tick_of(ps);
            let sum = u128::from(tick.as_ticks()) * u128::from(PS_PER_TICK);
            assert_eq!(sum - u128::from(slack), u128::from(ps));
        }
    }

    /// The lookahead is in whole ticks: no delay of at least so many picoseconds may come out shorter.
    #[test]
    fn rounding_up_keeps_the_lookahead() {
        for start in 0..2_000 {
            for delay in [0, 1, 999, 1_000, 1_001, 2_500] {
                let (sent, arrives) = (tick_of(start).0, tick_of(start + delay).0);
                assert!(arrives - sent >= whole_ticks(delay), "{start} ps and {delay} ps later");
            }
        }
    }
}
