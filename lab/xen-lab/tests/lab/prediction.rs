//! What the simulated machine predicts of the lab's experiments has the shape that the papers report, and
//! depends on nothing but the scenario.

use paceline_policy::Setting;
use paceline_xen_lab::prediction::{Policy, lu_beside_ep, message_rounds, phold};
use paceline_xen_lab::sizes::{Parallel, Phold};

const PHOLD: Phold = Phold { windows: 10, cost_us: 1_000 };

#[test]
fn least_time_first_is_faster_with_many_guests_and_not_much_slower_with_two() {
    for halves in [false, true] {
        let time = |kind, guests| phold(&Policy::new(kind), guests, halves, PHOLD).unwrap();
        for kind in ["psx", "psx-plus"] {
            assert!(time("credit", 8) >= 3.0 * time(kind, 8), "{kind}, {halves}");
            assert!(time(kind, 2) <= 1.2 * time("credit", 2), "{kind}, {halves}");
        }
    }
}

#[test]
fn clocks_keep_messages_in_order_where_long_slices_do_not() {
    let tick = Setting::Nanos(30_000_000);
    let credit = message_rounds(&Policy::new("credit").with("slice", tick.clone()), 1, 60).unwrap();
    let nsx = message_rounds(&Policy::new("nsx").with("tick", tick), 1, 60).unwrap();
    assert!(credit.error > 20.0 && nsx.error < credit.error, "{credit:?} {nsx:?}");
}

#[test]
fn pending_messages_first_helps_lu_beside_many() {
    let sizes = Parallel { iterations: 2, point_rounds: 25, batches: 60, batch_rounds: 100_000 };
    let pins = [1, 0, 1, 0, 1, 0, 1];
    let run = |kind| lu_beside_ep(&Policy::new(kind), &pins, sizes).unwrap();
    let sedf = run("sedf");
    for kind in ["csde", "csdd"] {
        assert!(run(kind).lu < sedf.lu, "{kind}: {:?} {sedf:?}", run(kind));
    }
    assert_eq!(run("sedf"), sedf, "two runs are the same");
}
