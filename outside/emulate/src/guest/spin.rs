//! Whether to look for a while before a sleep. Waking a thread on another core of a virtual machine takes 25
//! us and more, and a guest that has nothing to do answers within 5 us; but it cannot answer on a core on
//! which somebody spins for it.
//!
//! Invariants: a spin is as long as the wake-up that it may save, so that the sum is at most twice the least;
//! spins that find nothing, as where both sides share a core, become rare.

use std::time::Duration;

/// The longest spin.
pub(super) const LONGEST: Duration = Duration::from_micros(20);
/// After so many spins in vain, or more, this many sleeps follow without one: two to the power of it.
const MOST_IN_VAIN: u32 = 6;

/// Spins of one side, by what became of the last ones. `plugin/page.c` has the same for the guest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Spins {
    in_vain: u32,
    /// Sleeps that are still to come without a spin.
    to_skip: u32,
}

impl Spins {
    /// Whether to spin before the next sleep.
    pub(super) fn is_next_worth_it(&mut self) -> bool {
        let is_worth_it = self.to_skip == 0;
        self.to_skip = self.to_skip.saturating_sub(1);
        is_worth_it
    }

    /// A spin has ended, and has saved a sleep or not.
    pub(super) fn ended(&mut self, has_saved: bool) {
        self.in_vain = if has_saved { 0 } else { (self.in_vain + 1).min(MOST_IN_VAIN) };
        self.to_skip = if has_saved { 0 } else { 1 << self.in_vain };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spins_of(sleeps: u32, has_saved: impl Fn(u32) -> bool) -> u32 {
        let mut spins = Spins::default();
        let mut count = 0;
        for sleep in 0..sleeps {
            if spins.is_next_worth_it() {
                count += 1;
                spins.ended(has_saved(sleep));
            }
        }
        count
    }

    #[test]
    fn spins_in_vain_become_rare_and_one_that_saves_a_sleep_brings_them_back() {
        assert_eq!(spins_of(1_000, |_| true), 1_000);
        // 6 until they are as rare as they get, then one of 65.
        assert!(spins_of(10_000, |_| false) <= 6 + 10_000 / 65 + 1);
        let back = spins_of(2_000, |sleep| sleep >= 1_000);
        assert!(back >= 1_000 - 65, "{back}");
    }
}
