//! The periodic boosts: schedules computed by hand, and a comparison with a scan of the statistics page.

use crate::lab::{Act, Lab};
use crate::mix::{mixes, small_slices};
use paceline_policy::{MILLISECOND as MS, Setting, Settings};
use proptest::prelude::*;

const BOOSTS: [&str; 6] = ["boost-1a", "boost-1b", "boost-1c", "boost-2a", "boost-2bi", "boost-2bii"];

/// The order in which DOM0 (0) and three guests run, with 5 ms each of the 50 ms from 100 ms on. `changes`
/// has the millisecond, the domain and its number of pending messages from then on.
fn order(kind: &str, changes: &[(u64, u32, u32)]) -> Vec<u32> {
    let mut lab = Lab::new(kind, Settings::default(), 1);
    let share = Settings::default().with("period", Setting::Nanos(50 * MS));
    let share = share.with("slice", Setting::Nanos(5 * MS)).with("extra", Setting::Flag(false));
    for privileged in [true, false, false, false] {
        let hog = (vec![Act::Compute(1_000 * MS)], None);
        lab.domain(privileged, &[hog], true, share.clone()).expect("it is admitted");
    }
    for (at_ms, dom, messages) in changes {
        lab.run(at_ms * MS);
        lab.pending(*dom, *messages);
    }
    lab.run(150 * MS);
    let stretches = lab.stretches().into_iter().filter(|stretch| stretch.from_ns >= 100 * MS);
    stretches.map(|stretch| stretch.vcpu).collect()
}

#[test]
fn each_boost_puts_its_own_first() {
    // The window of 20 ms: at 100 ms the messages of 85 and 95 are within it, at 105 that of 85 still, at 110
    // only that of 95.
    let changes = [(75, 0, 1), (77, 3, 4), (85, 2, 2), (95, 1, 1)];
    let orders = BOOSTS.map(|kind| order(kind, &changes));
    let expected = [
        // 3 has four messages, 2 has two, 1 has one; DOM0 last, without a boost.
        vec![3, 2, 1, 0],
        // DOM0, then as SEDF: by the order of arrival, as all deadlines are equal.
        vec![0, 1, 2, 3],
        // DOM0 and 1 have one message each: DOM0 came first.
        vec![3, 2, 0, 1],
        // By the time of the last message.
        vec![1, 2, 3, 0],
        // 1 (of 95), 2 (of 85); the messages of 75 and 77 are too old: as SEDF.
        vec![1, 2, 0, 3],
        // The same, but then by the number of messages.
        vec![1, 2, 3, 0],
    ];
    assert_eq!(orders, expected);
}

#[test]
fn without_messages_there_is_only_sedf() {
    // Messages that came and were taken do not count; nor does a pending count that is lower than before
    // count as new messages.
    let changes = [(60, 2, 3), (61, 3, 1), (80, 2, 0), (90, 3, 0)];
    for kind in BOOSTS {
        assert_eq!(order(kind, &changes), [0, 1, 2, 3], "{kind}");
    }
    assert_eq!(order("boost-2a", &[(60, 2, 3), (61, 3, 1), (80, 2, 2)]), [3, 2, 0, 1]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn the_index_chooses_as_the_scan(mix in mixes(small_slices), window_ms in 1_u64..30) {
        for kind in BOOSTS {
            let [index, scan] = ["index", "scan"].map(|choice| {
                let mut settings = Settings::default().with("choice", Setting::Word(choice.into()));
                if kind.starts_with("boost-2b") {
                    settings.set("window", Setting::Nanos(window_ms * MS));
                }
                mix.play(kind, &settings, |lab| assert!(lab.wasted().is_empty())).stretches()
            });
            prop_assert_eq!(index, scan, "{}", kind);
        }
    }
}
