//! Distances and windows against slow, plain computations of the same, on random channels.

use std::collections::BTreeMap;

use super::*;
use crate::Rng;

/// Random channels whose lookaheads differ by up to 1000 times.
fn draw(rng: &mut Rng) -> (FederateChannels, usize) {
    let federates = 2 + rng.below(9);
    let mut between = BTreeMap::new();
    for _ in 0..1 + rng.below(federates * 3) {
        let (from, to) = (rng.below(federates) as u32, rng.below(federates) as u32);
        if from != to {
            between.insert((from, to), Time::ticks([1, 7, 30, 1000][rng.below(4) as usize]));
        }
    }
    (FederateChannels { between, within: vec![Time::MAX; federates as usize] }, federates as usize)
}

fn distances(channels: &FederateChannels, federates: usize) -> Distances {
    let lag = channels.between.values().copied().max().unwrap_or(Time::TICK);
    Distances::of(channels.clone(), federates, lag)
}

#[test]
fn distances_are_those_of_walks_grown_channel_by_channel() {
    let mut rng = Rng::new(21, 0);
    for case in 0..300 {
        let (channels, federates) = draw(&mut rng);
        let found = distances(&channels, federates);
        for from in 0..federates as u32 {
            // Bellman and Ford, from one federate on; the walk has a channel at least.
            let mut known = vec![Time::MAX; federates];
            for ((_, to), lookahead) in channels.between.range((from, 0)..(from + 1, 0)) {
                known[*to as usize] = *lookahead;
            }
            for _ in 0..federates {
                for ((via, to), lookahead) in &channels.between {
                    let along = known[*via as usize].saturating_add(*lookahead);
                    known[*to as usize] = known[*to as usize].min(along);
                }
            }
            let row: Vec<_> = (0..federates as u32).map(|to| found.between(from, to)).collect();
            assert_eq!(row, known, "case {case}, from {from}");
        }
    }
}

/// Plays federates that hold events and send along their channels as early as they may, window after window.
#[test]
fn nothing_arrives_before_a_bound_bounds_never_fall_and_every_window_has_work() {
    let mut rng = Rng::new(22, 0);
    for case in 0..300 {
        let (channels, federates) = draw(&mut rng);
        let distances = Arc::new(distances(&channels, federates));
        let mut windows = DistanceWindows::new(Arc::clone(&distances));
        let until = Time::ticks(1 + rng.below(4000));
        let mut events: Vec<Vec<Time>> = (0..federates)
            .map(|_| (0..rng.below(3)).map(|_| Time::ticks(rng.below(2000))).collect())
            .collect();
        let mut budget = 3000;
        loop {
            let next: Vec<Time> =
                events.iter().map(|pending| pending.iter().copied().min().unwrap_or(Time::MAX)).collect();
            let least = next.iter().copied().min().unwrap_or(Time::MAX);
            let before: Vec<Time> = (0..federates as u32).map(|federate| windows.bound(federate)).collect();
            if !windows.open(&next, until) {
                assert!(least >= until, "case {case}");
                break;
            }
            let mut sent = Vec::new();
            for federate in 0..federates as u32 {
                let bound = windows.bound(federate);
                assert!(bound > least && bound >= before[federate as usize] && bound <= until, "case {case}");
                assert!(bound <= least.saturating_add(windows.lag()), "case {case}");
                let pending = &mut events[federate as usize];
                let due: Vec<Time> = pending.extract_if(.., |time| *time < bound).collect();
                for time in due {
                    for ((_, to), lookahead) in channels.between.range((federate, 0)..(federate + 1, 0)) {
                        budget -= 1;
                        if budget > 0 && rng.chance(0.6) {
                            sent.push((*to, time.saturating_add(*lookahead)));
                        }
                    }
                }
            }
            for (to, time) in sent {
                assert!(time >= windows.bound(to), "case {case}: {time} at federate {to}");
                events[to as usize].push(time);
            }
        }
    }
}

#[test]
fn who_hears_from_nobody_is_held_by_the_lag() {
    let between = BTreeMap::from([((0, 1), Time::secs(3))]);
    let distances = Arc::new(distances(&FederateChannels { between, within: vec![Time::MAX; 2] }, 2));
    let mut windows = DistanceWindows::new(distances);
    assert!(windows.open(&[Time::secs(1), Time::secs(9)], Time::secs(100)));
    assert_eq!([0, 1].map(|federate| windows.bound(federate)), [Time::secs(4), Time::secs(4)]);
    assert!(windows.open(&[Time::MAX, Time::secs(99)], Time::secs(100)));
    assert_eq!(windows.bound(1), Time::secs(100), "the horizon");
    assert!(!windows.open(&[Time::MAX, Time::secs(100)], Time::secs(100)));
    assert_eq!(windows.opened(), 2);
}
