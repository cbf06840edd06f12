//! Where the bucket queue keeps what comes in after a window; what it gives out is compared with the other
//! queues in `queue/test.rs`.

use super::BucketQueue;
use crate::{Event, EventQueue, LpId, Rng, TieBreak, Time};

/// Windows as an engine makes them: all before the bound is taken, then the least time is asked for, then
/// messages come in, none of them before the bound, and some of them before that least time.
fn windows(case: u64) {
    let mut rng = Rng::new(case, 0);
    let step = [1, 7, 1_000, 1_000_000_000][rng.below(4) as usize];
    let given = [0, step, step * 3][rng.below(3) as usize];
    let mut queue = BucketQueue::<u64>::with_window(Time::ticks(given));
    let mut bound = 0;
    let mut sequence = 0;
    for _ in 0..60 {
        // Simultaneous, at steps, or spread; a few or a crowd; sometimes far ahead.
        let manner = rng.below(4);
        let crowd = if rng.chance(0.1) { 20_000 } else { rng.below(40) };
        for _ in 0..crowd {
            let ahead = match manner {
                0 => 0,
                1 => step * rng.below(3),
                2 => rng.below(step * 3),
                _ => step * 5_000,
            };
            let tie = TieBreak::Fixed.tie(LpId(0), sequence);
            queue.push(Event::new(Time::ticks(bound + ahead), 0, tie, LpId(0), sequence));
            sequence += 1;
        }
        assert!(queue.near.is_empty(), "case {case}: {} events wait outside of the ring", queue.near.len());
        // One event at a time may open a bucket; taking none must not.
        if rng.chance(0.3) {
            assert_eq!(queue.pop(Time::ticks(bound)), None, "case {case}");
        }
        bound += rng.below(step * 2);
        queue.drain(Time::ticks(bound), |event| assert!(event.time() < Time::ticks(bound), "case {case}"));
        assert!(queue.least_time() >= Time::ticks(bound), "case {case}");
    }
}

#[test]
fn what_comes_in_at_the_bound_of_a_window_or_later_goes_into_the_ring() {
    (0..400).for_each(windows);
}
