//! The stock of a product at a stage, and what is measured of it.
//!
//! Invariant: nothing is owed while there is something on hand.

use std::collections::VecDeque;

use paceline_kernel::Time;
use serde::{Deserialize, Serialize};

use crate::measured::Times;

/// The stock of a product at a stage.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Stock {
    on_hand: u32,
    /// When each unit was asked for that is owed, the first first.
    owed: VecDeque<Time>,
    /// Since when both are as they are.
    since: Time,
    /// Units on hand, and owed, each by the time in ticks, after the warm-up.
    held: u128,
    owing: u128,
    /// Units asked for after the warm-up; of them those given at once; how long others waited who have been
    /// served.
    pub(super) asked: u64,
    pub(super) at_once: u64,
    pub(super) waits: Times,
}

impl Stock {
    pub(super) fn new(base_stock: u32) -> Self {
        Self { on_hand: base_stock, ..Self::default() }
    }

    /// Takes a unit, if there is one; else it is owed.
    pub(super) fn take(&mut self, now: Time, warm_up: Time) -> bool {
        self.measure(now, warm_up);
        let is_there = self.on_hand > 0;
        if is_there {
            self.on_hand -= 1;
        } else {
            self.owed.push_back(now);
        }
        if now >= warm_up {
            self.asked += 1;
            self.at_once += u64::from(is_there);
            if is_there {
                self.waits.add(Time::ZERO);
            }
        }
        is_there
    }

    /// Puts a unit into stock, unless one is owed: that is given then.
    pub(super) fn put(&mut self, now: Time, warm_up: Time) -> bool {
        self.measure(now, warm_up);
        let Some(asked) = self.owed.pop_front() else {
            self.on_hand = self.on_hand.saturating_add(1);
            return false;
        };
        if asked >= warm_up {
            self.waits.add(now.saturating_sub(asked));
        }
        true
    }

    /// Takes in how long there was so much on hand, and owed, until `now`.
    fn measure(&mut self, now: Time, warm_up: Time) {
        let [held, owing] = self.areas(now, warm_up);
        (self.held, self.owing, self.since) = (held, owing, now);
    }

    /// Units on hand, and owed, by the time in ticks from the warm-up to `now`.
    pub(super) fn areas(&self, now: Time, warm_up: Time) -> [u128; 2] {
        let span = u128::from(now.saturating_sub(self.since.max(warm_up)).as_ticks());
        [(self.held, self.on_hand as usize), (self.owing, self.owed.len())]
            .map(|(area, units)| area.wrapping_add(span.wrapping_mul(units as u128)))
    }

    pub(super) fn on_hand(&self) -> u32 {
        self.on_hand
    }

    pub(super) fn owed(&self) -> usize {
        self.owed.len()
    }

    /// Whether it can be a stock, if it has been read from somewhere.
    pub(super) fn can_be(&self) -> bool {
        self.asked < 1 << 62 && self.at_once <= self.asked && (self.on_hand == 0 || self.owed.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_owed_is_given_in_turn_and_measured_after_the_warm_up() {
        let (mut stock, warm_up) = (Stock::new(1), Time::secs(10));
        assert!(stock.take(Time::secs(5), warm_up));
        assert!(!stock.take(Time::secs(9), warm_up));
        assert!(!stock.take(Time::secs(11), warm_up));
        assert!(stock.put(Time::secs(12), warm_up) && stock.put(Time::secs(14), warm_up));
        assert!(!stock.put(Time::secs(15), warm_up) && stock.can_be());
        // One is owed from 10 to 11 and from 12 to 14, two in between; one is on hand from 15 on.
        let second = u128::from(Time::TICKS_PER_SECOND);
        assert_eq!(stock.areas(Time::secs(20), warm_up), [5 * second, 5 * second]);
        assert_eq!((stock.asked, stock.at_once, stock.waits.mean_s()), (1, 0, Some(3.0)));
        assert_eq!((stock.on_hand(), stock.owed()), (1, 0));
    }
}
