//! Picoseconds, and the ticks of the kernel at which events happen.
//!
//! Invariant: an event's tick minus its slack is the exact moment; the slack is below one tick.

use paceline_kernel::Time;

/// Picoseconds in a second.
pub(crate) const PS_PER_SECOND: u64 = 1_000_000_000_000;
/// Picoseconds in a tick of the kernel: 1,000, or 1 where ticks are picoseconds.
pub(crate) const PS_PER_TICK: u64 = 1_000 / Time::TICKS_PER_NANO;

/// The first tick that is not before `ps`, and by how many picoseconds it is later.
#[inline(always)]
pub(crate) fn tick_of(ps: u64) -> (Time, u16) {
    let tick = ps.div_ceil(PS_PER_TICK);
    (Time::ticks(tick), (tick * PS_PER_TICK - ps) as u16)
}

/// The exact moment, in picoseconds, of an event at `now` with this slack.
///
/// Panics where that is beyond 2^64 ps: a run of a packet network ends within 213 days of simulated time.
#[inline(always)]
pub(crate) fn exact(now: Time, slack: u16) -> u64 {
    let ps = now.as_ticks().checked_mul(PS_PER_TICK);
    ps.expect("a packet network is simulated for less than 2^64 ps, 213 days") - u64::from(slack)
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
        for ps in (0..5_000).chain([1 << 60, (1 << 60) + 1]) {
            let (tick, slack) = tick_of(ps);
            assert_eq!(exact(tick, slack), ps);
            assert!(u64::from(slack) < PS_PER_TICK);
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
