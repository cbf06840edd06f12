//! The heap gives what the reference heap gives, in every gear; and how many nodes it has, on which its costs
//! depend.

use paceline_kernel::{Context, Event, EventQueue, Heap, LpId, Model, Rng, TieBreak, Time};

use super::EnhancedHeap;
use crate::artis::drive::{Gear, drive};

fn event(at: u64, number: u64) -> Event<u64> {
    Event::from_outside(TieBreak::Fixed, number, Time::ticks(at), LpId(0), number)
}

/// Draws times in one of several manners: spread, bunched, simultaneous, far apart, by constant delays,
/// before what was given out.
fn time(rng: &mut Rng, manner: u64, now: u64) -> u64 {
    match manner {
        0 => now + rng.below(1_000),
        1 => now + rng.below(4) * 1_000_000,
        2 => now + rng.exponential(1e9) as u64,
        3 => now + (1 << rng.below(50)),
        4 => now + [1_000, 70_000, 5_000_000][rng.below(3) as usize],
        _ => rng.below(1 << 40),
    }
}

#[test]
fn it_gives_what_the_heap_gives_whatever_is_done_to_it() {
    for case in 0..1_000 {
        let mut rng = Rng::new(case, 0);
        let (mut queue, mut heap) = (EnhancedHeap::default(), Heap::default());
        let (mut now, mut manner, mut number) = (0, 0, 0);
        for _ in 0..300 {
            if rng.chance(0.05) {
                manner = rng.below(6);
            }
            match rng.below(10) {
                0..4 => {
                    let copies = if rng.chance(0.02) { 1_000 } else { 1 + rng.below(6) };
                    for _ in 0..copies {
                        let event = event(time(&mut rng, manner, now), number);
                        queue.push(event.clone());
                        heap.push(event);
                        number += 1;
                    }
                }
                4..8 => {
                    let bound =
                        if rng.chance(0.2) { Time::ticks(now + rng.below(2_000_000)) } else { Time::MAX };
                    for _ in 0..rng.below(8) {
                        let (got, expected) = (queue.pop(bound), heap.pop(bound));
                        assert_eq!(got, expected, "case {case}");
                        now = got.map_or(now, |event| event.time().as_ticks());
                    }
                }
                8 => {
                    let reach = [1, 1_000, 1 << 45][rng.below(3) as usize];
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
    }
}

/// LPs that send each other what is left of a message, at once to themselves or on a coarse grid of times:
/// many events are simultaneous, and many have a depth.
struct Ripples(u64);

impl Model for Ripples {
    type State = u64;
    type Event = u32;
    type Output = ();

    fn lps(&self) -> u32 {
        12
    }
    fn lookahead(&self) -> Time {
        Time::millis(1)
    }
    fn init(&self, _: LpId, cx: &mut Context<Self>) -> u64 {
        cx.schedule(Time::ZERO, 14);
        self.0
    }
    fn handle(&self, trace: &mut u64, left: &u32, cx: &mut Context<Self>) {
        *trace =
            trace.rotate_left(5).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ u64::from(*left) ^ cx.now().as_ticks();
        for _ in 0..(*left).min(cx.rng().below(3) as u32) {
            if cx.rng().chance(0.4) {
                cx.schedule(Time::ZERO, left - 1);
            } else {
                let (to, delay) = (cx.rng().below(12), 1 + cx.rng().below(3));
                cx.send(LpId(to as u32), Time::millis(delay), left - 1);
            }
        }
    }
}

#[test]
fn a_model_with_depths_gives_the_digest_that_it_gives_with_the_heap() {
    for case in 0..50 {
        for gear in [Gear::OneByOne, Gear::Windows] {
            let model = Ripples(case);
            let heap = drive::<_, Heap<u32>>(&model, gear).expect("it keeps the rules");
            let enhanced = drive::<_, EnhancedHeap<u32>>(&model, gear).expect("it keeps the rules");
            assert_eq!(enhanced.digest, heap.digest, "case {case}, {gear:?}");
        }
    }
}

fn filled(times: impl Iterator<Item = u64>) -> EnhancedHeap<u64> {
    let mut queue = EnhancedHeap::default();
    (0..).zip(times).for_each(|(number, at)| queue.push(event(at, number)));
    queue
}

fn runs(queue: &EnhancedHeap<u64>) -> usize {
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
            let now = queue.pop(Time::MAX).expect("there are more").time().as_ticks();
            for delay in delays {
                queue.push(event(now + Time::secs(1).as_ticks() + delay, 1_000_000 + number));
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
