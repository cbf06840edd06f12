//! What the LPs of a federate cost: how long some of their turns take by the host's clock.
//!
//! A turn is one LP's part of a batch. As many turns are timed as the clock allows at a cost of a hundredth
//! of the time. A host that evens out loads hands a clock in; without one nothing is timed.
//!
//! Invariant: nothing measured here reaches an event, a state or the order of anything. It only says where
//! LPs had better be.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Federate;
use crate::{EventQueue, LpId, Model};

/// Turns take at least so many times what timing them takes.
const TURNS_BY_CLOCK: u64 = 100;
/// Turns from one that is timed to the next, at most, and at first.
const RAREST: u64 = 1_021;
const FIRST: u64 = 61;
/// A turn counts at most as if its events had taken so many times the mean of its LP, or of all where it is
/// the LP's first: the thread may have lost its core meanwhile.
const MOST_LP_MEANS: u64 = 4;
const MOST_MEANS: u64 = 64;
/// The clock is read so often to find out what that takes.
const TRIES: u64 = 8;

/// A monotonic clock of the host, in nanoseconds from any origin.
pub type Clock = Arc<dyn Fn() -> u64 + Send + Sync>;

/// Events that were timed, and the nanoseconds they took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cost {
    /// Nanoseconds of the host's clock.
    pub ns: u64,
    /// How many events took that time together.
    pub events: u64,
}

impl Cost {
    /// Adds what was timed elsewhere or later.
    pub fn add(&mut self, other: Self) {
        self.ns += other.ns;
        self.events += other.events;
    }

    /// Nanoseconds for an event, if any was timed.
    pub fn mean_ns(self) -> Option<u64> {
        self.ns.checked_div(self.events)
    }
}

/// Times the turns of one federate's LPs.
pub(super) struct Meter {
    clock: Clock,
    /// What timing a turn takes.
    clock_ns: u64,
    /// Turns from one that is timed to the next, and until the next.
    every: u64,
    left: u64,
    turns: u64,
    /// By local number.
    costs: Vec<Cost>,
    all: Cost,
}

impl fmt::Debug for Meter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Meter").field("all", &self.all).finish_non_exhaustive()
    }
}

impl Meter {
    /// A turn begins. Gives out the time if it is to be timed.
    #[inline(always)]
    pub fn begin(&mut self) -> Option<u64> {
        self.left -= 1;
        if self.left > 0 {
            return None;
        }
        self.left = self.every;
        Some((self.clock)())
    }

    /// A turn of an LP that began at `start` is over.
    pub fn end(&mut self, start: u64, local: usize, events: u64) {
        if events == 0 {
            return;
        }
        let took = (self.clock)().saturating_sub(start);
        let (of_lp, all) = (self.costs[local].mean_ns(), self.all.mean_ns());
        let most = of_lp.map(|mean| mean * MOST_LP_MEANS).or(all.map(|mean| mean * MOST_MEANS));
        let most = most.map_or(u64::MAX, |most| (most + self.clock_ns) * events);
        let cost = Cost { ns: took.min(most), events };
        self.all.add(cost);
        self.costs[local].add(cost);
        self.turns += 1;
        // A turn takes `all.ns / turns` on average; timing one of `every` then takes a hundredth of the time.
        let every = TURNS_BY_CLOCK * self.clock_ns * self.turns / self.all.ns.max(1);
        // Odd, so that LPs that take turns in a fixed order are all timed where there is a power of two of
        // them.
        self.every = every.min(RAREST) | 1;
    }
}

impl<M: Model, Q: EventQueue<M::Event>> Federate<M, Q> {
    /// Has turns of its LPs timed by `clock` from here on.
    pub fn measure(&mut self, clock: Clock) {
        let start = clock();
        let end = (0..TRIES).fold(start, |_, _| clock());
        // Timing a turn reads the clock twice.
        let clock_ns = 2 * end.saturating_sub(start) / TRIES;
        let costs = vec![Cost::default(); self.lps.len()];
        self.meter =
            Some(Meter { clock, clock_ns, every: FIRST, left: FIRST, turns: 0, costs, all: Cost::default() });
    }

    /// What the turns that were timed took; nothing if none was.
    pub fn cost(&self) -> Cost {
        self.meter.as_ref().map_or(Cost::default(), |meter| meter.all)
    }

    /// What the timed turns of each LP took, for the LPs that had any.
    pub fn costs(&self) -> impl Iterator<Item = (LpId, Cost)> {
        let costs = self.meter.iter().flat_map(|meter| meter.costs.iter().enumerate());
        costs.filter(|(_, cost)| cost.events > 0).map(|(local, cost)| (self.place.lp(local), *cost))
    }
}
