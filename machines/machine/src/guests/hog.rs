//! Competing CPU load: computes for a while, sleeps for a while, and so on without end.
//!
//! Invariant: it is never done; its domain is to be marked as background, or the run needs a limit.

use crate::{Guest, Op, Program};

/// A process that competes for the CPU.
///
/// ```
/// use paceline_machine::guests::hog::Hog;
/// use paceline_machine::DomainSpec;
///
/// // Wants half of a core, 5 ms at a time.
/// let mut load = DomainSpec::new("load", 0, vec![Box::new(Hog::new(5_000_000, 5_000_000))]);
/// load.background = true;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hog {
    busy_ns: u64,
    idle_ns: u64,
    /// Whether what it did last was to sleep, or nothing yet.
    rested: bool,
}

impl Hog {
    /// Computes for `busy_ns`, at least 1, then sleeps for `idle_ns`; never sleeps where that is 0.
    pub fn new(busy_ns: u64, idle_ns: u64) -> Self {
        Self { busy_ns: busy_ns.max(1), idle_ns, rested: true }
    }
}

impl Program for Hog {
    fn next(&mut self, _guest: &mut Guest<'_>) -> Op {
        self.rested = !self.rested && self.idle_ns > 0;
        if self.rested { Op::Sleep(self.idle_ns) } else { Op::Compute(self.busy_ns) }
    }

    fn waits_for(&self) -> String {
        "nothing".into()
    }
}
