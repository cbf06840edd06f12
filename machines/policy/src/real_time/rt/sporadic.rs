//! The sporadic server (Sprunt et al., 1989): budget is replenished one period after the server began to use
//! it.

use super::Rule;

/// Has no periods of its own. The budget that a stretch of running without a break used is replenished one
/// period after the stretch began. So it never has more than its budget within any span of one period. (If
/// several stretches shared one replenishment, as in POSIX, it could have more: Stanovich et al., 2010.)
#[derive(Debug)]
pub enum Sporadic {}

impl Rule for Sporadic {
    const HAS_PERIODS: bool = false;

    fn refilled_ns(left_ns: u64, amount_ns: u64, full_ns: u64, _awake: bool) -> u64 {
        (left_ns + amount_ns).min(full_ns)
    }
}
