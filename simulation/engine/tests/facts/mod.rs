//! Everything that a run of a random model computes, to compare two runs by.

use paceline_engine::Report;
use paceline_kernel::{LpId, Model, Time};

use crate::mesh::{Hop, Mesh};

/// A number from the environment.
pub fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// Digest, events, why and when the run ended, and what each LP committed in which order.
#[derive(Debug, Default, PartialEq)]
pub struct Facts {
    ended: String,
    committed: Vec<(LpId, Time, Hop)>,
}

/// The facts of a run.
pub fn facts(report: Report<<Mesh as Model>::Output>) -> Facts {
    let Report { digest, events, ended_by, end_time, outputs, .. } = report;
    let mut committed: Vec<_> = outputs.into_iter().flatten().collect();
    // What an LP has committed is in order from part to part: sorting keeps that within an instant, in which its run may have paused.
    committed.sort_by_key(|(lp, at, _)| (*lp, *at));
    Facts { ended: format!("{events} events, digest {digest}, {ended_by:?} at {end_time}"), committed }
}

/// Compares a run with the reference; `what` says which run it is.
#[track_caller]
pub fn assert_same(run: &Facts, reference: &Facts, what: &str) {
    let first = run.committed.iter().zip(&reference.committed).find(|(run, reference)| run != reference);
    assert_eq!(first, None, "{what}: the first committed event that differs");
    assert_eq!(run.ended, reference.ended, "{what}");
}

impl Facts {
    /// Whether these are the facts of one of the processes of a run: the same end, and some of what was committed.
    #[allow(dead_code, reason = "not all tests that share this module run several processes")]
    pub fn is_part_of(&self, whole: &Self) -> bool {
        self.ended == whole.ended && self.committed.iter().all(|own| whole.committed.contains(own))
    }
}
