//! Rounds: what all processes tell each other to go on, one contribution each.
//!
//! Contributions of a process arrive in their order, so no round needs a number. A process may be one round ahead of another, since it
//! cannot complete a round that the other has not contributed to.
//!
//! Invariant: a list holds the contributions of its process to the round that is open and later ones, in their order.

use std::collections::VecDeque;

use paceline_kernel::Time;
use serde::{Deserialize, Serialize};

use crate::monitor::Halt;

/// Messages sent to other processes and received from them, since the run began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Counts {
    /// Events.
    pub(crate) events: (u64, u64),
    /// Promises and requests.
    pub(crate) others: (u64, u64),
}

/// What a process says in a round.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Contribution {
    /// Nothing that it has still to run, and nothing that it has sent since its last contribution, is before this.
    pub(crate) least: Time,
    /// It asks all to halt.
    pub(crate) halt: Option<Halt>,
    /// Of its federates that have anything to do, and of those in other processes that it has sent anything to, the least time: where
    /// windows differ by federate.
    pub(crate) next: Vec<(u32, Time)>,
    /// Under null messages: it has nothing to run and nothing to promise.
    pub(crate) passive: bool,
    /// Under null messages: it has no events.
    pub(crate) empty: bool,
    pub(crate) counts: Counts,
    /// Events that it has committed.
    pub(crate) events: u64,
    /// Whatever else the owners of the run have to agree on, in the postcard format.
    pub(crate) extra: Vec<u8>,
}

/// The least time of all, and whether all are to halt.
pub(crate) fn outcome(all: &[Contribution]) -> (Time, Option<Halt>) {
    let least = all.iter().map(|own| own.least).min().unwrap_or(Time::MAX);
    let halts = || all.iter().filter_map(|own| own.halt);
    let halt = halts().find(|halt| *halt == Halt::Stop).or_else(|| halts().next());
    (least, halt)
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Rounds {
    rank: u32,
    lists: Vec<VecDeque<Contribution>>,
}

impl Rounds {
    pub(super) fn new(rank: u32, ranks: u32) -> Self {
        Self { rank, lists: vec![VecDeque::new(); ranks as usize] }
    }

    pub(super) fn put(&mut self, rank: u32, contribution: Contribution) {
        self.lists[rank as usize].push_back(contribution);
    }

    /// Whether the process `rank` has contributed to the round that is open.
    pub(super) fn has(&self, rank: u32) -> bool {
        !self.lists[rank as usize].is_empty()
    }

    /// Whether any process but this one has.
    pub(super) fn has_any(&self) -> bool {
        (0..).zip(&self.lists).any(|(rank, list)| rank != self.rank && !list.is_empty())
    }

    /// The round that is open, if it is complete.
    pub(super) fn complete(&mut self) -> Option<Vec<Contribution>> {
        if self.lists.iter().any(VecDeque::is_empty) {
            return None;
        }
        self.lists.iter_mut().map(VecDeque::pop_front).collect()
    }
}
