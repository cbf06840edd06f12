//! Choosing, played with ways whose rates are known: no run and no clock.

use std::time::Duration;

use paceline_kernel::Rng;

use super::{Auto, FIRST, FIRST_GIVEN, Groups, PER_THREAD, Stretch, Way};
use crate::Protocol;

/// The ways of a run whose protocol is left open, and of one with a given protocol.
const OPEN: [(Protocol, Option<u32>); 4] = [
    (Protocol::Window, Some(PER_THREAD)),
    (Protocol::Sequential, None),
    (Protocol::Optimistic, Some(1)),
    (Protocol::Optimistic, Some(PER_THREAD)),
];
const GIVEN: [(Protocol, Option<u32>); 3] =
    [(Protocol::Optimistic, Some(1)), (Protocol::Optimistic, Some(PER_THREAD)), (Protocol::Sequential, None)];

/// A machine on which a way has a rate, and the LPs take a time to be dealt anew.
struct Played<'a> {
    rates: &'a [f64],
    dealing: Duration,
    /// Events in a window.
    window: u64,
}

impl Played<'_> {
    /// Runs for `whole`; gives the events committed and the way at the end.
    fn run(&self, auto: &mut Auto, whole: Duration) -> (f64, Way) {
        let (mut run, mut events) = (Duration::ZERO, 0.0);
        let mut before = auto.way();
        loop {
            let way = auto.present;
            let dealing = if auto.way() == before { Duration::ZERO } else { self.dealing };
            if auto.way() != before {
                auto.dealt(dealing);
            }
            let pause = auto.pause(run + dealing).max(Duration::from_micros(1));
            before = auto.way();
            let leg = pause.min(whole.saturating_sub(run));
            let done = self.rates[way] * leg.as_secs_f64();
            events += done;
            let windows =
                if before.protocol == Protocol::Window { (done as u64).div_ceil(self.window) } else { 0 };
            auto.ran(Stretch { events: done as u64, wall: leg + dealing, windows });
            run += leg + dealing;
            if run >= whole {
                return (events, auto.way());
            }
            auto.decide(run);
        }
    }
}

/// The least share of what the fastest way alone commits, over ways with random rates.
fn least_share(ways: &[(Protocol, Option<u32>)], first: Duration, whole: Duration) -> f64 {
    let mut rng = Rng::new(9, 0);
    let mut least = f64::INFINITY;
    for case in 0..500 {
        let rates: Vec<f64> = ways.iter().map(|_| 1e6 * 40f64.powf(rng.unit())).collect();
        let best = rates.iter().copied().fold(0.0, f64::max);
        let dealing = Duration::from_micros(rng.below(5_000));
        let mut auto = Auto::among(ways, 2, dealing, first, None);
        let played = Played { rates: &rates, dealing, window: 1_000_000 };
        let (events, _) = played.run(&mut auto, whole);
        // A run goes on over its end while LPs are dealt.
        let share = events / (best * whole.as_secs_f64());
        assert!(share > 0.0 && share < 1.1, "case {case}");
        least = least.min(share);
    }
    least
}

#[test]
fn little_is_lost_beside_the_fastest_way() {
    // Forty times slower at first: the time until the first trial is lost.
    let open = least_share(&OPEN, FIRST, Duration::from_secs(4));
    assert!(open > 0.9, "{open} of what the fastest way commits in 4 s");
    let long = least_share(&OPEN, FIRST, Duration::from_secs(40));
    assert!(long > 0.94, "{long} in 40 s");
}

/// Without lookahead there are two ways. One that is somewhat faster is found, though LPs have to be dealt
/// anew for it.
#[test]
fn a_faster_way_is_found_however_long_dealing_takes() {
    let ways = [(Protocol::Sequential, None), (Protocol::Optimistic, Some(1))];
    let whole = Duration::from_secs(3);
    for faster in [1.1, 1.27, 1.5, 2.0] {
        for dealing_ms in [0, 1, 5, 10, 20] {
            for rates in [[1e6, faster * 1e6], [faster * 1e6, 1e6]] {
                let played = Played { rates: &rates, dealing: Duration::from_millis(dealing_ms), window: 1 };
                let mut auto = Auto::among(&ways, 2, Duration::from_millis(1), FIRST, None);
                let (events, _) = played.run(&mut auto, whole);
                let share = events / (faster * 1e6 * whole.as_secs_f64());
                assert!(share > 0.9, "{share} where {rates:?} with {dealing_ms} ms");
            }
        }
    }
}

#[test]
fn a_run_with_a_given_protocol_costs_little_to_look_after() {
    let played = Played { rates: &[1e6, 0.5e6, 0.7e6], dealing: Duration::from_millis(2), window: 1 };
    for seconds in [2, 5, 20, 100] {
        let mut auto = Auto::among(&GIVEN, 2, played.dealing, FIRST_GIVEN, None);
        let whole = Duration::from_secs(seconds);
        let (events, way) = played.run(&mut auto, whole);
        let share = events / (1e6 * whole.as_secs_f64());
        assert!(share > 0.95, "{share} in {seconds} s");
        assert_eq!(way.protocol, Protocol::Optimistic);
    }
}

#[test]
fn a_run_whose_rollbacks_cost_more_than_a_core_brings_goes_on_sequentially() {
    let played = Played { rates: &[0.1e6, 0.2e6, 1e6], dealing: Duration::from_millis(2), window: 1 };
    let mut auto = Auto::among(&GIVEN, 2, played.dealing, FIRST_GIVEN, None);
    let (_, way) = played.run(&mut auto, Duration::from_secs(3));
    assert_eq!(way.protocol, Protocol::Sequential);
    let tried = auto.finish();
    assert!(tried[2].events > tried[0].events + tried[1].events, "{tried:?}");
}

#[test]
fn a_glance_is_enough_where_windows_are_nearly_empty() {
    let glanced = |window| {
        let rates = [1e6; 4];
        let played = Played { rates: &rates, dealing: Duration::ZERO, window };
        let mut auto = Auto::among(&OPEN, 2, Duration::ZERO, FIRST, None);
        played.run(&mut auto, FIRST / 2);
        (auto.way().protocol, auto.ways[auto.present].groups_per_thread)
    };
    assert_eq!(glanced(40), (Protocol::Optimistic, Some(1)));
    assert_eq!(glanced(40_000), (Protocol::Window, Some(PER_THREAD)));
}

#[test]
fn where_workers_are_kept_from_their_cores_a_trial_is_due_at_once_but_not_after_another() {
    let mut auto = Auto::among(&GIVEN, 2, Duration::ZERO, FIRST_GIVEN, None);
    let early = FIRST_GIVEN / 10;
    assert!(auto.pause(early) > Duration::ZERO);
    auto.hurry(early);
    assert_eq!(auto.pause(early), Duration::ZERO, "it is due");
    // One core for two threads: no parallel work is best.
    let played = Played { rates: &[1e6, 1.1e6, 2e6], dealing: Duration::ZERO, window: 1 };
    let (_, way) = played.run(&mut auto, FIRST_GIVEN);
    assert_eq!(way.protocol, Protocol::Sequential);
    let (after, due) = (auto.calm - Duration::from_nanos(1), auto.due);
    auto.hurry(after);
    assert_eq!(auto.due, due, "there has just been one");
    auto.hurry(auto.calm);
    assert_eq!(auto.due, auto.calm);
}

#[test]
fn one_group_for_one_thread_is_tried_only_where_workers_are_kept_from_their_cores() {
    let ways = [GIVEN[0], (Protocol::Optimistic, None), GIVEN[2]];
    let played = Played { rates: &[1e6, 3e6, 2e6], dealing: Duration::ZERO, window: 1 };
    let mut auto = Auto::among(&ways, 2, Duration::ZERO, FIRST_GIVEN, None);
    played.run(&mut auto, FIRST_GIVEN * 3);
    assert_eq!(auto.ways[1].rate, None, "nobody was in the way");
    let mut crowded = Auto::among(&ways, 2, Duration::ZERO, FIRST_GIVEN, None);
    crowded.hurry(FIRST_GIVEN / 10);
    let (_, way) = played.run(&mut crowded, FIRST_GIVEN * 3);
    assert_eq!(way, Way { protocol: Protocol::Optimistic, groups: Groups::One });
}
