//! Properties of trials, on a simulated program whose rate of progress depends on the way only.

use proptest::prelude::*;

use super::{Change, Facts, Trial, Way};

const TICK_NS: u64 = 500_000;
const SECOND_NS: u64 = 1_000_000_000;

/// Rates of progress in a millisecond, unpaced, together, and ordered.
type Rates = [u64; 3];

fn rate(rates: Rates, way: Way) -> u64 {
    match way {
        Way::Unpaced => rates[0],
        Way::Together => rates[1],
        Way::Ordered => rates[2],
    }
}

/// Simulates a program for `seconds`; returns its progress, its way at the end, and all changes.
fn play(rates: Rates, yields: bool, crowded: bool, seconds: u64) -> (u64, Way, Vec<Change>) {
    let mut trial = Trial::new(0);
    let (mut now_ns, mut progress, mut last, mut changes) = (0, 0, Way::Ordered, Vec::new());
    while now_ns < seconds * SECOND_NS {
        let (way, change) = trial.decide(now_ns, Facts { progress, yields, crowded });
        changes.extend(change);
        progress += rate(rates, way);
        (last, now_ns) = (way, now_ns + TICK_NS);
    }
    (progress, last, changes)
}

#[test]
fn before_anything_is_measured_the_way_follows_from_what_the_threads_do() {
    for (yields, crowded, expected) in [
        (false, false, Way::Ordered),
        (false, true, Way::Ordered),
        (true, false, Way::Unpaced),
        (true, true, Way::Together),
    ] {
        let mut trial = Trial::new(0);
        let mut way = Way::Ordered;
        for tick in 0..400 {
            way = trial.decide(tick * TICK_NS, Facts { progress: tick, yields, crowded }).0;
        }
        assert_eq!(way, expected, "yields {yields}, crowded {crowded}");
    }
}

#[test]
fn a_program_whose_progress_nobody_sees_is_left_as_it_is() {
    let (_, way, changes) = play([0, 0, 0], false, false, 30);
    assert_eq!((way, changes), (Way::Ordered, Vec::new()));
}

#[test]
fn a_way_under_which_the_program_stands_still_is_given_up_early() {
    // Progress is seen every 30 ms only, so that a stretch lasts 160 ms.
    let (mut trial, mut unpaced_ns, mut worked_ns) = (Trial::new(0), 0, 0);
    for tick in 0..3 * SECOND_NS / (2 * TICK_NS) {
        let facts = Facts { progress: worked_ns / 30_000_000, yields: false, crowded: false };
        match trial.decide(tick * TICK_NS, facts).0 {
            Way::Ordered => worked_ns += TICK_NS,
            Way::Together | Way::Unpaced => unpaced_ns += TICK_NS,
        }
    }
    assert!((20_000_000..=80_000_000).contains(&unpaced_ns), "{unpaced_ns} ns in one and a half seconds");
}

#[test]
fn when_pacing_harms_it_steps_back_and_says_by_how_much() {
    let (_, way, changes) = play([400, 0, 100], false, false, 10);
    assert_eq!(way, Way::Unpaced);
    let expected = Change { from: Way::Ordered, to: Way::Unpaced, percent: Some(400) };
    assert_eq!(changes, [expected]);
}

proptest! {
    /// Over ten seconds trials cost at most 3 % of the progress of the best way, plus the time until that is
    /// found.
    #[test]
    fn it_is_never_much_slower_than_the_best_way(
        rates in prop::array::uniform3(1u64..1000), yields: bool, crowded: bool,
    ) {
        let seconds = 20;
        let (progress, ..) = play(rates, yields, crowded, seconds);
        let ways: &[Way] =
            if yields { &[Way::Unpaced, Way::Together, Way::Ordered] } else { &[Way::Unpaced, Way::Ordered] };
        let usual = match (yields, crowded) {
            (false, _) => Way::Ordered,
            (true, false) => Way::Unpaced,
            (true, true) => Way::Together,
        };
        let best = ways.iter().map(|way| rate(rates, *way)).max().expect("there are ways");
        let ticks = seconds * SECOND_NS / TICK_NS;
        // A way that is less than 12 % better is not taken; until a better one is found, a second and some
        // stretches pass.
        let found = if best * 100 >= rate(rates, usual) * 112 { 4 * SECOND_NS / TICK_NS } else { 0 };
        let least = best * (ticks - found) * 97 / 100 * 100 / 112;
        prop_assert!(progress >= least, "{progress} of {}", best * ticks);
        if rate(rates, usual) == best {
            prop_assert!(progress * 100 >= best * ticks * 97, "{progress} of {}, the usual is best", best * ticks);
        }
    }
}
