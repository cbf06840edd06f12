//! The bucket queue gives what the reference heap gives, whatever is done to it in whatever order.

use super::{BucketQueue, EventQueue, Heap};
use crate::{Event, LpId, Rng, TieBreak, Time};

/// Draws times in one of several manners: spread, bunched, simultaneous, far apart, creeping on, by constant
/// delays.
fn time(rng: &mut Rng, manner: u64, now: u64) -> u64 {
    match manner {
        0 => now + rng.below(1_000),
        1 => now + rng.below(4) * 1_000_000,
        2 => now + rng.exponential(1e9) as u64,
        3 => now + (1 << rng.below(50)),
        4 => now + 1_000_000_000 + rng.below(3),
        5 => now + [1_000, 70_000, 5_000_000][rng.below(3) as usize],
        _ => rng.below(1 << 40),
    }
}

fn same(case: u64) {
    let mut rng = Rng::new(case, 0);
    let window = Time::ticks([0, 1, 1_000, 1_000_000_000][rng.below(4) as usize]);
    let (mut queue, mut heap) = (BucketQueue::with_window(window), Heap::with_window(window));
    let (mut now, mut manner, mut sequence) = (0, 0, 0);
    for _ in 0..400 {
        if rng.chance(0.05) {
            manner = rng.below(7);
        }
        match rng.below(10) {
            0..4 => {
                // Sometimes a crowd, sometimes before events already given out.
                let copies = if rng.chance(0.02) { 3_000 } else { 1 + rng.below(6) };
                let from = if rng.chance(0.02) { 0 } else { now };
                for _ in 0..copies {
                    let at = Time::ticks(time(&mut rng, manner, from));
                    let tie = TieBreak::Fixed.tie(LpId(rng.below(5) as u32), sequence);
                    let event = Event::new(at, rng.below(2) as u16, tie, LpId(0), sequence);
                    queue.push(event.clone());
                    heap.push(event);
                    sequence += 1;
                }
            }
            4..8 => {
                let bound = if rng.chance(0.2) { Time::ticks(now + rng.below(2_000_000)) } else { Time::MAX };
                for _ in 0..rng.below(8) {
                    let (got, expected) = (queue.pop(bound), heap.pop(bound));
                    assert_eq!(got, expected, "case {case}");
                    now = got.map_or(now, |event| event.time().as_ticks());
                }
            }
            8 => {
                let reach = [1, 1_000, 1_000_000, 3_000_000_000, 1 << 45][rng.below(5) as usize];
                let bound = Time::ticks(now + rng.below(reach));
                let (mut got, mut expected) = (Vec::new(), Vec::new());
                queue.drain(bound, |event| got.push(event));
                heap.drain(bound, |event| expected.push(event));
                got.sort_unstable();
                assert_eq!(got, expected, "case {case}: drained before {bound}");
                now = now.max(bound.as_ticks());
            }
            _ => assert_eq!(queue.least_time(), heap.least_time(), "case {case}"),
        }
        assert_eq!(queue.len(), heap.len(), "case {case}");
    }
    while let Some(expected) = heap.pop(Time::MAX) {
        assert_eq!(queue.pop(Time::MAX), Some(expected), "case {case}");
    }
    assert!(queue.is_empty() && queue.least_time() == Time::MAX, "case {case}");
}

#[test]
fn the_bucket_queue_gives_what_the_heap_gives() {
    (0..1500).for_each(same);
}
