//! `auto`: whatever protocols follow one another in a run, it gives the digest of the sequential reference,
//! with and without lookahead; and without a protocol a run tries what is fastest and reports what it tried.
//!
//! `PACELINE_CASES` sets the number of random models (default 150 in each test), `PACELINE_SEED` the first.

use std::collections::BTreeSet;

use crate::facts::{assert_same, facts, setting};
use crate::mesh::Mesh;
use crate::script::{Play, Script, run_of};
use paceline_engine::{Protocol, RunError, Simulation, Speculation};
use paceline_kernel::{Balance, Context, LpId, Model, Rng, Saving, Time};

fn cases(zero: bool) {
    let (first, mut seen) = (setting("PACELINE_SEED", 0), BTreeSet::new());
    for case in first..first + setting("PACELINE_CASES", 150) {
        let mesh = Mesh::draw(case, zero);
        let mut rng = Rng::new(case, 0x6175_746f);
        let base = || Simulation::new(mesh.clone()).until(mesh.until()).seed(case);
        let reference = base().protocol(Protocol::Sequential).run().expect("the model keeps the rules");
        let (events, reference) = (reference.events, facts(reference));
        let federates = 1 + rng.below(u64::from(mesh.lps())) as u32;
        let threads = [1, 2, 3, 8][rng.below(4) as usize];
        let groups = if rng.chance(0.5) { u32::MAX } else { 1 + rng.below(4) as u32 };
        let leg_events = 1 + rng.below(events.max(4) / 4);
        let balance = if rng.chance(0.3) { Balance::Load } else { Balance::Off };
        let run = base()
            .protocol(Protocol::Auto)
            .federates(federates)
            .groups(groups)
            .threads(threads)
            .balance(balance);
        let mut report =
            run.leg_events(leg_events).draw_protocols(case).run().expect("the model keeps the rules");
        let what = format!(
            "case {case}: {federates} federates, {groups} groups, {threads} threads, {leg_events} a leg"
        );
        let tried = std::mem::take(&mut report.tried);
        assert_eq!(tried.iter().map(|tried| tried.events).sum::<u64>(), report.events, "{what}");
        seen.extend(tried.iter().filter(|tried| tried.events > 0).map(|tried| tried.protocol.name()));
        assert_same(&facts(report), &reference, &what);
    }
    let all: &[&str] =
        if zero { &["optimistic", "sequential"] } else { &["optimistic", "sequential", "window"] };
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), all, "each had its turn");
}

#[test]
fn runs_whose_protocol_changes_agree_with_the_reference() {
    cases(false);
}

#[test]
fn they_do_without_lookahead() {
    cases(true);
}

/// Two LPs that do nothing.
struct Quiet;

impl Play for Quiet {
    fn lps(&self) -> u32 {
        2
    }
    fn init(&self, _lp: LpId, _cx: &mut Context<Script>) -> u64 {
        0
    }
    fn handle(&self, _state: &mut u64, _event: u64, _cx: &mut Context<Script>) {}
}

#[test]
fn states_that_no_undo_brings_back_are_refused_before_a_leg_needs_them() {
    for protocol in [Protocol::Auto, Protocol::Optimistic, Protocol::Mixed] {
        let speculation = Speculation { saving: Saving::Undo, ..Speculation::default() };
        let run = run_of(Quiet).protocol(protocol).speculation(speculation).federates(2).threads(2);
        let refused = run.until(Time::secs(9)).run().map(|report| report.events);
        assert_eq!(refused, Err(RunError::NoUndo), "{}", protocol.name());
    }
}
