//! The ARINC 653 scheduler: schedules computed by hand, and its property that every domain has exactly its
//! window in every frame.

use crate::lab::{Act, Lab, ran};
use paceline_policy::{MILLISECOND as MS, PolicyError, Setting, Settings};
use proptest::prelude::*;

fn window(offset_ns: u64, runtime_ns: u64) -> Settings {
    Settings::default().with("offset", Setting::Nanos(offset_ns)).with("runtime", Setting::Nanos(runtime_ns))
}

fn hogs(count: usize) -> Vec<(Vec<Act>, Option<u32>)> {
    vec![(vec![Act::Compute(1_000_000 * MS)], None); count]
}

#[test]
fn everybody_in_its_window() {
    // Frames of 10 ms: VCPU 0 from 0 to 4, VCPU 1 from 6 to 9, computing 2 ms and then sleeping 5: it begins
    // at 6, sleeps from 8 to 13, begins at 16, and so on. The PCPU idles from 4 to 6, from 9 to 10, and
    // while VCPU 1 sleeps.
    let mut lab = Lab::new("arinc653", Settings::default(), 1);
    lab.hog(window(0, 4 * MS));
    let script = vec![Act::Compute(2 * MS), Act::Sleep(5 * MS)];
    lab.domain(false, &[(script, None)], true, window(6 * MS, 3 * MS)).expect("it is admitted");
    lab.run(29 * MS);
    lab.assert_ran(MS, "0: 0-4, 1: 6-8, 0: 10-14, 1: 16-18, 0: 20-24, 1: 26-28");
}

#[test]
fn the_vcpus_of_a_domain_run_together_and_who_wakes_uses_the_rest_of_its_window() {
    // VCPU 0 may run anywhere and VCPU 1 is pinned to PCPU 0, so VCPU 0 has PCPU 1; it sleeps from 1 to 3 ms.
    let settings = Settings::default().with("major_frame", Setting::Nanos(20 * MS));
    let mut lab = Lab::new("arinc653", settings, 2);
    let script = vec![Act::Compute(MS), Act::Sleep(2 * MS), Act::Compute(100 * MS)];
    let domain = [(script, None), (vec![Act::Compute(100 * MS)], Some(0))];
    lab.domain(false, &domain, false, window(0, 5 * MS)).expect("it is admitted");
    lab.domain(false, &hogs(1), false, window(5 * MS, 15 * MS)).expect("it is admitted");
    lab.run(22 * MS);
    let expected = [
        ran(1, 0, 0, MS),
        ran(1, 0, 3 * MS, 5 * MS),
        ran(0, 1, 0, 5 * MS),
        ran(0, 2, 5 * MS, 20 * MS),
        ran(0, 1, 20 * MS, 22 * MS),
        ran(1, 0, 20 * MS, 22 * MS),
    ];
    let by_start = |mut stretches: Vec<crate::lab::Stretch>| {
        stretches.sort_by_key(|stretch| (stretch.from_ns, stretch.pcpu));
        stretches
    };
    assert_eq!(by_start(lab.stretches()), by_start(expected.to_vec()));
}

#[test]
fn windows_apart_and_no_more_vcpus_than_pcpus() {
    let mut lab = Lab::new("arinc653", Settings::default(), 2);
    lab.domain(false, &hogs(2), false, window(2 * MS, 3 * MS)).expect("it is admitted");
    for (offset, runtime) in [(0, 3), (2, 1), (4, 1), (0, 10), (3, 1)] {
        let refused = lab.domain(false, &hogs(1), false, window(offset * MS, runtime * MS));
        let is_offset = matches!(&refused, Err(PolicyError::BadValue { key, .. }) if key == "offset");
        assert!(is_offset, "{offset} + {runtime}: {refused:?}");
    }
    let late = lab.domain(false, &hogs(1), false, window(9 * MS, 2 * MS));
    assert!(matches!(&late, Err(PolicyError::BadValue { key, .. }) if key == "runtime"), "{late:?}");
    let many = lab.domain(false, &hogs(3), false, window(6 * MS, MS));
    assert!(matches!(many, Err(PolicyError::TooManyVcpus { vcpus: 3, pcpus: 2, .. })), "{many:?}");
    let pinned = [(vec![Act::Compute(MS)], Some(1)), (vec![Act::Compute(MS)], Some(1))];
    assert!(lab.domain(false, &pinned, false, window(6 * MS, MS)).is_err());
    assert_eq!(lab.policy.dump(0).len(), 2);
    lab.domain(false, &hogs(1), false, window(0, 2 * MS)).expect("what touches does not overlap");
    lab.domain(false, &hogs(1), false, window(5 * MS, 5 * MS)).expect("what touches does not overlap");
}

#[test]
fn windows_move_and_vcpus_too() {
    let mut lab = Lab::new("arinc653", Settings::default(), 2);
    let first = lab.domain(false, &hogs(1), false, window(0, 4 * MS)).expect("it is admitted");
    lab.run(MS);
    lab.call(|policy, now_ns, orders| {
        policy.adjust(now_ns, first, &mut window(3 * MS, 2 * MS), orders).expect("it is sound");
    });
    lab.run(6 * MS);
    lab.migrate(0, 1, true);
    lab.run(14 * MS);
    lab.assert_ran(MS, "0@0: 0-1, 0@0: 3-5, 0@1: 13-14");
    lab.remove(first);
    lab.run(40 * MS);
    assert_eq!(lab.ran_ns(0), 4 * MS);
}

#[test]
fn who_is_moved_changes_places_with_a_sibling() {
    // VCPU 0 sleeps from 1 to 3 ms. Moved to PCPU 1 at 2 ms, it sends VCPU 1 to PCPU 0 at once.
    let mut lab = Lab::new("arinc653", Settings::default(), 2);
    let script = vec![Act::Compute(MS), Act::Sleep(2 * MS), Act::Compute(MS)];
    let both = [(script, None), (vec![Act::Compute(100 * MS)], None)];
    lab.domain(false, &both, false, window(0, 10 * MS)).expect("it is admitted");
    lab.run(2 * MS);
    lab.migrate(0, 1, true);
    lab.run(4 * MS);
    let mut stretches = lab.stretches();
    stretches.sort_by_key(|stretch| (stretch.from_ns, stretch.pcpu));
    let expected =
        [ran(0, 0, 0, MS), ran(1, 1, 0, 2 * MS), ran(0, 1, 2 * MS, 4 * MS), ran(1, 0, 3 * MS, 4 * MS)];
    assert_eq!(stretches, expected);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn hogs_get_their_windows_and_nothing_else(
        parts in prop::collection::vec((0u64..500, 0u64..500), 1..20),
        pcpus in 1u32..4,
        frames in 1u64..6,
    ) {
        // Gaps and windows one after the other, in microseconds.
        let frame_ns = parts.iter().map(|(gap, part)| (gap + part) * 1_000).sum::<u64>().max(10_000);
        let settings = Settings::default().with("major_frame", Setting::Nanos(frame_ns));
        let mut lab = Lab::new("arinc653", settings, pcpus);
        let mut at_ns = 0;
        let mut windows = Vec::new();
        for (gap, part) in &parts {
            at_ns += gap * 1_000;
            windows.push((at_ns, at_ns + part * 1_000));
            let mut all = hogs(pcpus as usize);
            all[0].1 = Some(pcpus - 1);
            lab.domain(false, &all, false, window(at_ns, part * 1_000)).expect("they are apart");
            at_ns += part * 1_000;
        }
        lab.run(frames * frame_ns);
        for stretch in lab.stretches() {
            let (from_ns, to_ns) = windows[(stretch.vcpu / pcpus) as usize];
            // Two adjacent windows, one on each side of the end of a frame, are one stretch.
            let (begins, ends) = (stretch.from_ns % frame_ns, stretch.to_ns % frame_ns);
            prop_assert!(begins == from_ns && ends == to_ns % frame_ns, "{stretch:?}");
        }
        for (number, (_, part)) in parts.iter().enumerate() {
            for vcpu in 0..pcpus {
                prop_assert_eq!(lab.ran_ns(number as u32 * pcpus + vcpu), part * 1_000 * frames);
            }
        }
    }
}
