//! The sporadic server (Sprunt et al., 1989): what it used comes back one period after it began to use it.

use super::Rule;

/// Has no periods of its own. Every stretch that it runs without a break is given back, as much as it used, one period after
/// the stretch began. So it never has more than its budget within any span of one period. (With one replenishment for several
/// stretches, as POSIX has it, it could: Stanovich et al., 2010.)
#[derive(Debug)]
pub enum Sporadic {}

impl Rule for Sporadic {
    const NAME: &'static str = "rt-sporadic";
    const HAS_PERIODS: bool = false;

    fn refilled_ns(left_ns: u64, amount_ns: u64, full_ns: u64, _awake: bool) -> u64 {
        (left_ns + amount_ns).min(full_ns)
    }
}
