//! CSDE and CSDD: schedules computed by hand, a comparison with the paper's scan, and their properties.

use crate::lab::{Act, Lab};
use crate::mix::{mixes, small_slices};
use paceline_policy::{
    DomId, Host, MILLISECOND as MS, NewDomain, Orders, PcpuId, Setting, Settings, VcpuId, build,
};
use proptest::prelude::*;

fn share(period_ns: u64, slice_ns: u64) -> Settings {
    let settings = Settings::default().with("period", Setting::Nanos(period_ns));
    settings.with("slice", Setting::Nanos(slice_ns)).with("extra", Setting::Flag(false))
}

/// DOM0 and two guests, each with 3 ms of every 12 ms.
fn three(kind: &str) -> Lab {
    let mut lab = Lab::new(kind, Settings::default(), 1);
    for privileged in [true, false, false] {
        let hog = (vec![Act::Compute(1_000 * MS)], None);
        lab.domain(privileged, &[hog], true, share(12 * MS, 3 * MS)).expect("it is admitted");
    }
    lab
}

#[test]
fn most_messages_first_and_then_who_waited_longest() {
    let mut lab = three("csde");
    lab.pending(1, 2);
    lab.pending(2, 5);
    lab.run(11 * MS);
    lab.pending(1, 0);
    lab.pending(2, 0);
    lab.run(24 * MS);
    // At 0 DOM0 came first and began its slice; the next decision is at its end. In the second period no
    // domain has messages: DOM0 was last chosen at 0, the second guest at 3, the first at 6.
    lab.assert_ran(MS, "0: 0-3, 2: 3-6, 1: 6-9, 0: 12-15, 2: 15-18, 1: 18-21");
}

#[test]
fn only_csdd_has_dom0_first() {
    let order = |kind| {
        let mut lab = three(kind);
        lab.run(10 * MS);
        lab.pending(0, 1);
        lab.pending(1, 7);
        lab.pending(2, 3);
        lab.run(24 * MS);
        let later = lab.stretches().into_iter().filter(|stretch| stretch.from_ns >= 12 * MS);
        later.map(|stretch| stretch.vcpu).collect::<Vec<_>>()
    };
    assert_eq!(order("csde"), [1, 2, 0]);
    assert_eq!(order("csdd"), [0, 1, 2]);
}

#[test]
fn extra_time_goes_by_messages_too() {
    let mut lab = Lab::new("csde", Settings::default(), 1);
    lab.hogs(2);
    lab.pending(1, 1);
    lab.run(3 * MS);
    // The first has begun its turn of 0.5 ms; from then on only the other has a message.
    lab.assert_ran(MS, "0: 0-0.5, 1: 0.5-3");
}

#[test]
fn a_slice_that_the_deadline_cuts_short_is_forfeited() {
    let mut lab = Lab::new("csde", Settings::default(), 1);
    lab.hog(share(10 * MS, 6 * MS));
    lab.hog(share(30 * MS, 12 * MS));
    lab.pending(1, 1);
    lab.run(21 * MS);
    // The second has its 12 ms from 6 to 18, for its message. The first has 2 ms left for its period from 10
    // to 20; at the next decision, at 21, it is in that from 20 to 30, with a whole slice.
    lab.call(|_, _, orders| orders.reschedule(PcpuId(0)));
    lab.run(30 * MS);
    lab.assert_ran(MS, "0: 0-6, 1: 6-18, 0: 18-27");
}

#[test]
fn only_the_scan_looks_at_everybody() {
    let examined = |choice: &str| {
        let mut settings = Settings::default().with("choice", Setting::Word(choice.into()));
        settings.set("ports", Setting::Count(100));
        let mut policy = build("csde", &mut settings, Host { pcpus: 1 }).expect("the settings are sound");
        let mut orders = Orders::default();
        for number in 0..7 {
            let domain = NewDomain {
                dom: DomId(number),
                privileged: false,
                vcpus: vec![VcpuId(number)],
                pins: vec![None],
            };
            policy.add(0, &domain, &mut Settings::default(), &mut orders).expect("it is admitted");
            policy.wake(0, VcpuId(number), &mut orders);
        }
        policy.pick(0, PcpuId(0), &mut orders).examined
    };
    assert_eq!((examined("scan"), examined("index")), (7 * 100, 0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn the_index_chooses_as_the_scan(mix in mixes(small_slices)) {
        for kind in ["csde", "csdd"] {
            let [index, scan] = ["index", "scan"].map(|choice| {
                let settings = Settings::default().with("choice", Setting::Word(choice.into()));
                mix.play(kind, &settings, |lab| assert!(lab.wasted().is_empty())).stretches()
            });
            prop_assert_eq!(index, scan, "{}", kind);
        }
    }

    #[test]
    fn slices_of_equal_periods_are_kept(arrivals in prop::collection::vec((0_u64..1_000, 0_u32..5, 0_u32..9), 0..100)) {
        let mut arrivals = arrivals;
        arrivals.sort();
        for kind in ["csde", "csdd", "govindan"] {
            let mut lab = Lab::new(kind, Settings::default(), 1);
            for _ in 0..5 {
                lab.hog(share(20 * MS, 4 * MS));
            }
            for (at_ms, dom, messages) in &arrivals {
                lab.run(at_ms * MS);
                lab.pending(*dom, *messages);
            }
            lab.run(1_000 * MS);
            (0..5).for_each(|vcpu| assert_eq!(lab.ran_ns(vcpu), 200 * MS));
        }
    }
}
