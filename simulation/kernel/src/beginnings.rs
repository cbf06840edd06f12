//! How large LPs are and how many events they send when they begin, judged by a few of them: for estimates of
//! the memory that a run needs.
//!
//! Invariant: what is started here is dropped again; a run that begins afterwards is the same as without.

use crate::context::Rules;
use crate::withdrawn::Withdrawn;
use crate::world::Lp;
use crate::{Event, LpId, Model, TieBreak};

/// What a few LPs need at the start, added up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beginnings {
    /// How many LPs that were.
    pub lps: u32,
    /// Bytes of their states, as [`Model::state_bytes`] says.
    pub state_bytes: usize,
    /// Events that they sent in `init`, to whichever LP.
    pub events: usize,
}

impl Beginnings {
    /// Starts at most `most` LPs of `model`, evenly spread.
    pub fn of<M: Model>(model: &M, seed: u64, ties: TieBreak, most: u32) -> Self {
        let lps = model.lps();
        let rules = Rules::new(seed, ties, model.lookahead(), lps);
        let count = most.min(lps);
        let mut sample = Self { lps: count, state_bytes: 0, events: 0 };
        for number in 0..count {
            let lp = LpId((u64::from(number) * u64::from(lps) / u64::from(count)) as u32);
            let (mut withdrawn, mut sent, mut fault) = (Withdrawn::default(), Vec::new(), None);
            let content = Lp::start(model, &rules, lp, Some(&mut withdrawn), &mut sent, &mut fault);
            // What broke a rule counts too: the run itself will end with the fault, and say which.
            sample.events += sent.len();
            sample.state_bytes += model.state_bytes(&content.state);
        }
        sample
    }

    /// The bytes of an event in a queue, without what its payload points to.
    pub const fn event_bytes<M: Model>() -> usize {
        size_of::<Event<M::Event>>()
    }
}
