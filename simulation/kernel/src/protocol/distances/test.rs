//! Distances and windows against slow, plain computations of the same, on random channels.

use std::collections::BTreeMap;

use super::*;
use crate::{Channels, Context, LpId, Rng};

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

/// Hosts at a switch, the last LP.
struct Star(u32);

impl Model for Star {
    type State = ();
    type Event = ();
    type Output = ();

    fn lps(&self) -> u32 {
        self.0 + 1
    }
    fn lookahead(&self) -> Time {
        Time::micros(1)
    }
    fn channels(&self, lp: LpId) -> Channels {
        let others = if lp.0 == self.0 { (0..self.0).collect() } else { vec![self.0] };
        Channels::Only(others.into_iter().map(|other| (LpId(other), Time::micros(1))).collect())
    }
    fn init(&self, _lp: LpId, _cx: &mut Context<Self>) {}
    fn handle(&self, _state: &mut (), _event: &(), _cx: &mut Context<Self>) {}
}

#[test]
fn outside_federates_behind_a_switch_get_windows_of_the_way_between_them() {
    let partition = Partition::runs(4, 4);
    let star = Star(3);
    assert_eq!(Distances::worth(&star, &partition), Ok(None), "each channel is as long as the lookahead");
    // Whoever is next to an outside federate reaches it in a window's time.
    assert_eq!(Distances::worth_outside(&star, &partition, &[0, 3]), Ok(None));
    for outside in [&[0, 1, 2][..], &[1]] {
        let found =
            Distances::worth_outside(&star, &partition, outside).unwrap().expect("ways are of two links");
        assert_eq!((found.between(0, 1), found.between(0, 0)), (Time::micros(2), Time::micros(2)));
        let mut windows = DistanceWindows::new(Arc::new(found));
        // All compute, and the switch has nothing to do.
        let now = Time::secs(1);
        assert!(windows.open(&[now, now, now, Time::MAX], Time::MAX));
        assert_eq!(windows.bound(0), now + Time::micros(2));
        // It has a frame in hand.
        assert!(windows.open(&[now, now, now, now + Time::nanos(100)], Time::MAX));
        assert_eq!(windows.bound(0), now + Time::nanos(1_100));
    }
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
        let mut distances = distances(&channels, federates);
        // As where some are outside: farther than any channel.
        distances.lag = Time::ticks(distances.lag.as_ticks() * (1 + case % 3));
        let distances = Arc::new(distances);
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
