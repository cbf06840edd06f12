//! Every event of a block is given out once, LP by LP, each LP's in the total order: crowds at one instant,
//! sparse blocks, and windows so wide that different times have equal tickets.

use super::*;
use crate::{LpId, Rng};

/// `count` events for LPs below `lps` at `instants` times that are `apart`, in a random order.
fn events(rng: &mut Rng, count: u64, lps: u64, instants: u64, apart: u64) -> Vec<Event<()>> {
    let event = |sequence: u64| {
        let tie = (rng.below(1 << 16), sequence as u32);
        let time = Time::ticks(rng.below(instants) * apart);
        Event::new(time, rng.below(2) as u16, tie, LpId(rng.below(lps) as u32), ())
    };
    (0..count).map(event).collect()
}

#[test]
fn each_lp_gets_its_events_in_the_total_order() {
    let mut rng = Rng::new(5, 5);
    for case in 0..200 {
        // One LP at one instant; a few of both; so few events that the block is sparse; times that do not fit
        // into a ticket.
        let (lps, instants, apart) = [(1, 1, 1), (4, 3, 7), (2048, 2, 1), (3, 5, 1 << 60)][case % 4];
        let count = 1 + rng.below(400);
        let events = events(&mut rng, count, lps, instants, apart);
        let mut order = Order::new(lps as u32);
        let bound = Time::ticks((instants - 1) * apart + 1);
        order.arrange(&events, Time::ZERO, bound, |event| event.to().index());
        let mut given = Vec::new();
        while order.next_run(&events) {
            assert!(order.rest(&events).all(|event| event.to().index() == order.lp()));
            given.extend(order.rest(&events).map(|event| (event.to(), event.key())));
            order.skip(order.left());
        }
        let mut expected: Vec<_> = events.iter().map(|event| (event.to(), event.key())).collect();
        expected.sort_unstable();
        assert_eq!(given, expected, "case {case}");
    }
}
