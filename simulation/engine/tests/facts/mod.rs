//! Everything that a run of a random model computes, to compare two runs by.

use paceline_engine::{EndedBy, Protocol, Report, Simulation};
use paceline_kernel::{
    Digest, Federate, Finished, Heap, LpId, Model, Outbox, Partition, Settings, TieBreak, Time,
};

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
    Facts::new(events, digest, ended_by, end_time, outputs)
}

/// The facts of a run under the sequential protocol.
#[allow(dead_code, reason = "not all tests that share this module need it")]
pub fn sequential_facts(run: Simulation<Mesh>) -> Facts {
    facts(run.protocol(Protocol::Sequential).run().expect("the model keeps the rules"))
}

/// The sequential reference, which is independent of the engine and of its event queue: one federate whose
/// events a heap gives out one after the other. Says also whether no events are left.
pub fn one_by_one(
    mesh: &Mesh,
    until: Time,
    seed: u64,
    ties: TieBreak,
) -> (Finished<<Mesh as Model>::Output>, bool) {
    let (one, settings) = (Partition::runs(mesh.lps(), 1), Settings { seed, ties, window: Time::ZERO });
    let built = Federate::<Mesh, Heap<Hop>>::build(mesh, &one, settings);
    let mut federate = built.expect("the model keeps the rules").remove(0);
    federate.step_on(mesh, &one, until, usize::MAX, &mut Outbox::new(1));
    let is_over = federate.next_time(&one) == Time::MAX;
    (federate.finish(mesh), is_over)
}

/// The facts of that reference.
pub fn reference(mesh: &Mesh, until: Time, seed: u64, ties: TieBreak) -> Facts {
    let (end, is_over) = one_by_one(mesh, until, seed, ties);
    let (ended_by, end_time) =
        if is_over { (EndedBy::NoEvents, end.last) } else { (EndedBy::Horizon, until) };
    Facts::new(end.events, end.digest, ended_by, end_time, vec![end.output])
}

/// Compares a run with the reference; `what` says which run it is.
#[track_caller]
pub fn assert_same(run: &Facts, reference: &Facts, what: &str) {
    let first = run.committed.iter().zip(&reference.committed).find(|(run, reference)| run != reference);
    assert_eq!(first, None, "{what}: the first committed event that differs");
    assert_eq!(run.ended, reference.ended, "{what}");
}

impl Facts {
    fn new(
        events: u64,
        digest: Digest,
        ended_by: EndedBy,
        end_time: Time,
        outputs: Vec<<Mesh as Model>::Output>,
    ) -> Self {
        let mut committed: Vec<_> = outputs.into_iter().flatten().collect();
        // What an LP has committed is in order from part to part: sorting keeps that within an instant, in
        // which its run may have paused.
        committed.sort_by_key(|(lp, at, _)| (*lp, *at));
        Self { ended: format!("{events} events, digest {digest}, {ended_by:?} at {end_time}"), committed }
    }

    /// Whether these are the facts of one of the processes of a run: the same end, and some of what was
    /// committed.
    #[allow(dead_code, reason = "not all tests that share this module run several processes")]
    pub fn is_part_of(&self, whole: &Self) -> bool {
        self.ended == whole.ended && self.committed.iter().all(|fact| whole.committed.contains(fact))
    }
}
