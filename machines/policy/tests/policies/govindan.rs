//! The communication-aware scheduler: schedules computed by hand, and a comparison with a scan of the
//! statistics page.

use crate::lab::{Act, Lab};
use crate::mix::{mixes, small_slices};
use paceline_policy::{MILLISECOND as MS, Setting, Settings};
use proptest::prelude::*;

/// DOM0 and three guests with 5 ms each of every 50 ms.
fn four() -> Lab {
    let mut lab = Lab::new("govindan", Settings::default(), 1);
    let share = Settings::default().with("period", Setting::Nanos(50 * MS));
    let share = share.with("slice", Setting::Nanos(5 * MS)).with("extra", Setting::Flag(false));
    for privileged in [true, false, false, false] {
        let hog = (vec![Act::Compute(1_000 * MS)], None);
        lab.domain(privileged, &[hog], true, share.clone()).expect("it is admitted");
    }
    lab
}

/// From this millisecond on, this many messages are pending for a domain.
fn report_pending(lab: &mut Lab, at_ms: u64, dom: u32, messages: u32) {
    lab.run(at_ms * MS);
    lab.pending(dom, messages);
}

/// The VCPUs that run between two times, in order.
fn order(lab: &mut Lab, from_ms: u64, to_ms: u64) -> Vec<u32> {
    lab.run(to_ms * MS);
    let stretches = lab.stretches().into_iter();
    let within = stretches.filter(|stretch| stretch.from_ns >= from_ms * MS && stretch.to_ns <= to_ms * MS);
    within.map(|stretch| stretch.vcpu).collect()
}

#[test]
fn dom0_first_then_what_was_received_and_what_will_be_sent() {
    let mut lab = four();
    // The order of the first period is that of arrival: 0 to 5 DOM0, then 1, 2, 3. While 2 runs (10 to 15)
    // four messages for DOM0 come, which DOM0 takes later.
    report_pending(&mut lab, 12, 0, 4);
    report_pending(&mut lab, 30, 0, 0);
    // Three messages wait for 3, one for 1: 2 is expected to send four, which is more.
    report_pending(&mut lab, 31, 3, 3);
    report_pending(&mut lab, 32, 1, 1);
    assert_eq!(order(&mut lab, 50, 99), [2, 3, 1, 0]);
    // It has sent nothing: now only pending messages count.
    assert_eq!(order(&mut lab, 100, 149), [3, 1, 0, 2]);
    report_pending(&mut lab, 149, 0, 1);
    assert_eq!(order(&mut lab, 150, 199), [0, 3, 1, 2]);
}

#[test]
fn among_equals_who_received_most_in_this_window() {
    let mut lab = four();
    // Windows of 100 ms. 3 gets five messages and takes them, 2 gets one and takes it.
    for (at_ms, dom, messages) in [(20, 3, 5), (21, 3, 0), (22, 2, 1), (23, 2, 0)] {
        report_pending(&mut lab, at_ms, dom, messages);
    }
    assert_eq!(order(&mut lab, 50, 99), [3, 2, 0, 1]);
    // In the next window nobody has received anything yet.
    assert_eq!(order(&mut lab, 100, 149), [0, 1, 2, 3]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn the_index_chooses_as_the_scan(mix in mixes(small_slices), window_ms in 1_u64..30) {
        let [index, scan] = ["index", "scan"].map(|choice| {
            let mut settings = Settings::default().with("choice", Setting::Word(choice.into()));
            settings.set("window", Setting::Nanos(window_ms * MS));
            mix.play("govindan", &settings, |lab| assert!(lab.wasted().is_empty())).stretches()
        });
        prop_assert_eq!(index, scan);
    }
}
