//! A program whose threads all say that they yield: what each of them does, and what it publishes.

use proptest::prelude::*;

use super::kernel::Demand;
use crate::plan::IDLE_LVT_NS;

/// The LVT at which threads begin, and some of them stay.
const FIRST_LVT_NS: u64 = 1_000;

/// What a thread does.
#[derive(Clone, Copy, Debug)]
pub enum Habit {
    /// It keeps the core for as long as it may.
    Lies(Lie),
    /// It works for a time, then waits for a time, in which it sleeps, or polls and yields.
    Yields { busy_ns: u64, wait_ns: u64, sleeps: bool, step: u64 },
}

/// What a thread publishes that never gives its core away.
#[derive(Clone, Copy, Debug)]
pub enum Lie {
    /// An LVT that rises by this much for every millisecond of CPU time.
    Works(u64),
    /// The same LVT, for ever.
    Stands(u64),
    /// An LVT that changes and is always the least.
    Crawls,
    /// Anything, by the number of the slice.
    Noise(u64),
    Waits,
    Idle,
}

impl Habit {
    pub const fn lies(&self) -> bool {
        matches!(self, Self::Lies(_))
    }
}

fn lies() -> impl Strategy<Value = Habit> {
    let lie = prop_oneof![
        2 => (1u64..1_000_000).prop_map(Lie::Works),
        2 => prop_oneof![Just(0), Just(FIRST_LVT_NS)].prop_map(Lie::Stands),
        2 => Just(Lie::Crawls),
        1 => any::<u64>().prop_map(Lie::Noise),
        1 => Just(Lie::Waits),
        1 => Just(Lie::Idle),
    ];
    lie.prop_map(Habit::Lies)
}

/// A thread that yields, of a program with LVTs or without.
pub fn truths() -> impl Strategy<Value = Habit> {
    let step = prop_oneof![Just(0), 1u64..1_000_000];
    (100_000u64..30_000_000, 100_000u64..30_000_000, any::<bool>(), step)
        .prop_map(|(busy_ns, wait_ns, sleeps, step)| Habit::Yields { busy_ns, wait_ns, sleeps, step })
}

/// A program in which nobody lies, some do, or all.
pub fn habits() -> impl Strategy<Value = Vec<Habit>> {
    (0u32..=4, 1usize..200).prop_flat_map(|(liars, threads)| {
        let habit = prop_oneof![liars => lies(), 4 - liars => truths()];
        proptest::collection::vec(habit, threads)
    })
}

/// A thread of the program.
#[derive(Clone, Copy, Debug)]
pub struct Thread {
    habit: Habit,
    worked_ns: u64,
    waits: bool,
    /// The end of its current activity: in CPU time while it works, in time while it waits.
    until_ns: u64,
    /// When it last had a core or did not want one.
    pub content_ns: u64,
}

impl Thread {
    pub const fn new(habit: Habit, now_ns: u64) -> Self {
        let until_ns = if let Habit::Yields { busy_ns, .. } = habit { busy_ns } else { 0 };
        Self { habit, worked_ns: 0, waits: false, until_ns, content_ns: now_ns }
    }

    /// What it does with a core now. When its wait is over it has to run to publish that.
    pub const fn demand(&self, now_ns: u64) -> Demand {
        match self.habit {
            Habit::Yields { sleeps: true, .. } if self.waits && now_ns < self.until_ns => Demand::Sleeps,
            Habit::Yields { .. } if self.waits && now_ns < self.until_ns => Demand::Polls,
            _ => Demand::Runs,
        }
    }

    /// Its LVT, and whether it says that it waits, in this slice.
    pub const fn says(&self, slice: u64) -> (u64, bool) {
        match self.habit {
            Habit::Yields { step, .. } => (self.lvt_ns(step), self.waits),
            Habit::Lies(Lie::Works(step)) => (self.lvt_ns(step), false),
            Habit::Lies(Lie::Stands(lvt_ns)) => (lvt_ns, false),
            Habit::Lies(Lie::Crawls) => (slice % 7, false),
            Habit::Lies(Lie::Noise(seed)) => {
                let noise = (seed ^ slice).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                (noise, noise & 4 == 0)
            }
            Habit::Lies(Lie::Waits) => (FIRST_LVT_NS, true),
            Habit::Lies(Lie::Idle) => (IDLE_LVT_NS, false),
        }
    }

    const fn lvt_ns(&self, step: u64) -> u64 {
        FIRST_LVT_NS + self.worked_ns / 1_000 * step / 1_000
    }

    /// Notes that it wanted a core in the slice that ends at `now_ns`, and had it for `got_ns`.
    pub const fn note(&mut self, demand: Demand, got_ns: u64, now_ns: u64) {
        if got_ns > 0 || matches!(demand, Demand::Sleeps) {
            self.content_ns = now_ns;
        }
        if got_ns == 0 || !matches!(demand, Demand::Runs) {
            return;
        }
        if let Habit::Yields { busy_ns, wait_ns, .. } = self.habit {
            if self.waits {
                (self.waits, self.until_ns) = (false, self.worked_ns + busy_ns);
            } else if self.worked_ns + got_ns >= self.until_ns {
                (self.waits, self.until_ns) = (true, now_ns + wait_ns);
            }
        }
        self.worked_ns += got_ns;
    }
}
