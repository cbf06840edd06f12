//! What is due when: wake-ups of processes, ends of computations.
//!
//! An entry is one number - the time, then what is due - so that it takes 16 bytes and one comparison.
//! Invariant: at equal times processes come first, each with its claims, then hosts, all in the order of
//! their numbers, whoever was entered first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use paceline_kernel::Time;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// A process has perhaps slept, or waited, long enough.
    Wake(u32),
    /// The time of a claim is over, unless it is due at another time by now.
    Claim {
        process: u32,
        /// Its number among the claims of the process.
        number: u32,
    },
    /// A computation on a host is over, unless the host's stamp is another by now.
    Computed {
        /// The host, below 2^31.
        host: u32,
        /// What its stamp was.
        stamp: u32,
    },
}

/// Bits of the number of a claim, and the greatest number that they hold.
const NUMBERS: u32 = 31;
const LAST: u32 = (1 << NUMBERS) - 1;

impl Due {
    fn code(self) -> u64 {
        match self {
            Self::Wake(process) => u64::from(process) << NUMBERS,
            // Not 0, which is that of the process itself.
            Self::Claim { process, number } => u64::from(process) << NUMBERS | u64::from(number % LAST + 1),
            Self::Computed { host, stamp } => 1 << 63 | u64::from(host) << 32 | u64::from(stamp),
        }
    }

    fn of(code: u64) -> Self {
        match code >> 63 {
            0 => match (code >> NUMBERS) as u32 {
                process if code as u32 & LAST == 0 => Self::Wake(process),
                process => Self::Claim { process, number: (code as u32 & LAST) - 1 },
            },
            _ => Self::Computed { host: (code >> 32) as u32 & !(1 << 31), stamp: code as u32 },
        }
    }
}

/// A heap of what is due, the earliest first, and its size after it was last tidied.
#[derive(Clone, Debug)]
pub(super) struct Calendar(BinaryHeap<Reverse<u128>>, usize);

/// From this many entries on one looks for those that are out of date.
const LOOK: usize = 4096;

impl Default for Calendar {
    fn default() -> Self {
        Self(BinaryHeap::new(), LOOK)
    }
}

fn time(key: u128) -> Time {
    Time::ticks((key >> 64) as u64)
}

impl Calendar {
    pub(super) fn enter(&mut self, at: Time, due: Due) {
        if self.0.len() == self.0.capacity() && self.0.len() >= LOOK {
            // By less than twice, as there may be an entry for every process.
            self.0.reserve_exact(self.0.len() / 8);
        }
        self.0.push(Reverse(u128::from(at.as_ticks()) << 64 | u128::from(due.code())));
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The time of the first entry.
    pub(super) fn next(&self) -> Option<Time> {
        self.0.peek().map(|Reverse(key)| time(*key))
    }

    /// Drops entries that are out of date from the front, and all of them where there are many.
    pub(super) fn tidy(&mut self, holds: impl Fn(Time, Due) -> bool) {
        while self.0.peek().is_some_and(|Reverse(key)| !holds(time(*key), Due::of(*key as u64))) {
            self.0.pop();
        }
        if self.0.len() >= self.1 {
            self.0.retain(|Reverse(key)| holds(time(*key), Due::of(*key as u64)));
            self.1 = LOOK.max(2 * self.0.len());
        }
    }

    /// Takes the first entry out, if it is due at `now`.
    pub(super) fn take(&mut self, now: Time) -> Option<Due> {
        self.next().filter(|at| *at <= now)?;
        self.0.pop().map(|Reverse(key)| Due::of(key as u64))
    }
}

#[cfg(test)]
mod test {
    use paceline_kernel::Rng;

    use super::*;

    #[test]
    fn things_are_due_by_time_and_at_equal_times_in_the_order_of_numbers() {
        let (mut rng, mut calendar, mut expected) = (Rng::new(3, 0), Calendar::default(), Vec::new());
        for _ in 0..1000 {
            let (at, number) = (Time::nanos(rng.below(50)), rng.below(1 << 31) as u32);
            let host = rng.chance(0.5);
            let due = if host {
                Due::Computed { host: number, stamp: u32::MAX }
            } else {
                Due::Wake(number | 1 << 31)
            };
            calendar.enter(at, due);
            expected.push((at, host, number, due));
        }
        expected.sort_by_key(|(at, host, number, _)| (*at, *host, *number));
        for (at, _, _, due) in expected {
            assert_eq!(calendar.next(), Some(at));
            assert!(at == Time::ZERO || calendar.take(Time::nanos(at.as_nanos() - 1)).is_none());
            assert_eq!(calendar.take(at), Some(due));
        }
        assert_eq!((calendar.next(), calendar.take(Time::MAX)), (None, None));
    }
}
