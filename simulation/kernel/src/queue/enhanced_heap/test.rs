//! How many nodes the heap has, on which its costs depend; what it gives out is tested with all queues.

use super::EnhancedHeap;
use crate::{Event, EventQueue, LpId, TieBreak, Time};

fn filled(times: impl Iterator<Item = u64>) -> EnhancedHeap<()> {
    let mut queue = EnhancedHeap::default();
    for (number, at) in times.enumerate() {
        queue.push(Event::new(Time::ticks(at), 0, TieBreak::Fixed.tie(LpId(0), number as u64), LpId(0), ()));
    }
    queue
}

fn runs(queue: &EnhancedHeap<()>) -> usize {
    queue.runs.len() + usize::from(!queue.is_empty())
}

#[test]
fn ascending_times_make_one_run_and_a_constant_delay_each_makes_one() {
    assert_eq!(runs(&filled(0..10_000)), 1);
    for delays in [&[5_000, 10][..], &[10, 5_000, 300], &[70, 5_000, 10, 300]] {
        let times = (0..10_000u64).flat_map(|now| delays.iter().map(move |delay| 7 * now + delay));
        let mut queue = filled(times);
        assert!(runs(&queue) <= delays.len(), "{} runs for {delays:?}", runs(&queue));
        // What is taken meanwhile leaves them as they are.
        for number in 0..10_000 {
            let now = queue.pop(Time::MAX).expect("there are more").time();
            for delay in delays {
                let tie = TieBreak::Fixed.tie(LpId(1), number);
                queue.push(Event::new(now + Time::secs(1) + Time::ticks(*delay), 0, tie, LpId(0), ()));
            }
        }
        assert!(runs(&queue) <= 2 * delays.len(), "{} runs for {delays:?}", runs(&queue));
    }
}

#[test]
fn instants_that_take_turns_share_lists() {
    for instants in [1, 7, 50, 200] {
        let queue = filled((0..100_000).map(|number| 1_000_000 * (number % instants)));
        // One each, and what is lost while the table grows.
        let lists = queue.lists.slots();
        assert!(lists <= 2_000, "{lists} lists for {instants} instants");
    }
}
