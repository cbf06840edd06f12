//! The polling server (Sprunt et al., 1989): it looks for work when its period begins, and runs as long as
//! there is some.

use super::Rule;

/// Loses its budget as soon as it has nothing to do; if it wakes later, it waits for the next period.
#[derive(Debug)]
pub enum Polling {}

impl Rule for Polling {
    fn asleep_ns(_left_ns: u64) -> u64 {
        0
    }

    fn refilled_ns(_left_ns: u64, _amount_ns: u64, full_ns: u64, awake: bool) -> u64 {
        if awake { full_ns } else { 0 }
    }
}
