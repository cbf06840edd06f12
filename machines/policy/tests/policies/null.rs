//! The null scheduler: a VCPU has its PCPU from the beginning to the end, and one without a PCPU waits or is
//! refused.

use crate::lab::{Act, Lab};
use paceline_policy::{DomId, MILLISECOND as MS, PolicyError, Setting, Settings, VcpuId};

fn hog() -> Vec<Act> {
    vec![Act::Compute(1_000_000 * MS)]
}

fn waits() -> Settings {
    Settings::default().with("wait", Setting::Flag(true))
}

fn prefers(list: &str) -> Settings {
    Settings::default().with("soft_affinity", Setting::Word(list.into()))
}

#[test]
fn nobody_is_moved_or_preempted_and_who_sleeps_leaves_its_pcpu_idle() {
    let mut lab = Lab::new("null", Settings::default(), 2);
    let script = vec![Act::Compute(MS), Act::Yield, Act::Compute(MS), Act::Sleep(3 * MS)];
    lab.domain(false, &[(hog(), None), (script, None)], true, Settings::default()).expect("it is admitted");
    lab.run(7 * MS);
    lab.assert_ran(MS, "1@1: 0-2, 1@1: 5-7, 0@0: 0-7");
}

#[test]
fn who_has_no_pcpu_is_refused_or_waits_until_one_is_free() {
    let mut lab = Lab::new("null", Settings::default(), 2);
    lab.hog(Settings::default());
    let refused = lab.domain(false, &[(hog(), None), (hog(), None)], true, Settings::default());
    let expected = PolicyError::TooManyVcpus { policy: "null", dom: DomId(1), vcpus: 2, pcpus: 1 };
    assert_eq!(refused, Err(expected));
    assert_eq!(lab.policy.dump(0).len(), 1, "nothing is left of what was refused");

    let mut lab = Lab::new("null", waits(), 2);
    let first = lab.hog(Settings::default());
    lab.hog(Settings::default());
    lab.hogs(2);
    lab.run(5 * MS);
    lab.remove(first);
    lab.run(8 * MS);
    lab.assert_ran(MS, "0@0: 0-5, 1@1: 0-8, 2@0: 5-8");
    assert_eq!(lab.ran_ns(3), 0);
}

#[test]
fn pins_are_kept_and_preferences_met_where_a_pcpu_is_free() {
    // VCPU 0 would be for PCPU 0 by its number, and prefers 2; VCPU 1 is pinned to 0; VCPU 2 prefers 2 as
    // well, which is taken.
    let mut lab = Lab::new("null", Settings::default(), 3);
    lab.domain(false, &[(hog(), None)], true, prefers("2")).expect("it is admitted");
    lab.domain(false, &[(hog(), Some(0))], true, Settings::default()).expect("it is admitted");
    lab.domain(false, &[(hog(), None)], true, prefers("1-2,^1")).expect("it is admitted");
    lab.run(MS);
    assert_eq!([0, 1, 2].map(|pcpu| lab.running(pcpu)), [Some(VcpuId(1)), Some(VcpuId(2)), Some(VcpuId(0))]);
    let refused = lab.domain(false, &[(hog(), Some(0))], true, Settings::default());
    assert!(matches!(refused, Err(PolicyError::TooManyVcpus { pcpus: 0, .. })), "{refused:?}");
}

#[test]
fn who_prefers_a_pcpu_that_becomes_free_gets_it_before_others_that_wait() {
    let mut lab = Lab::new("null", waits(), 2);
    lab.hog(Settings::default());
    let second = lab.hog(Settings::default());
    lab.hog(Settings::default());
    lab.hog(prefers("1"));
    lab.run(MS);
    lab.remove(second);
    lab.run(2 * MS);
    assert_eq!(lab.running(1), Some(VcpuId(3)));
}

#[test]
fn a_migrated_vcpu_takes_a_free_pcpu_and_leaves_its_own_to_who_waits() {
    let mut lab = Lab::new("null", waits(), 2);
    let script = vec![Act::Sleep(2 * MS), Act::Compute(10 * MS)];
    lab.domain(false, &[(script, None)], false, Settings::default()).expect("it is admitted");
    lab.domain(false, &[(hog(), Some(0))], true, Settings::default()).expect("it is admitted");
    lab.run(MS);
    assert_eq!((lab.running(0), lab.running(1)), (None, None));
    lab.migrate(0, 1, false);
    lab.run(3 * MS);
    assert_eq!((lab.running(0), lab.running(1)), (Some(VcpuId(1)), Some(VcpuId(0))));
}

#[test]
fn lists_of_pcpus_that_name_none_or_others_are_refused() {
    for list in ["", "3", "0-3", "2-1", "^0", "0,^0", "x", "0-", "-1", "all,^all", "0;1"] {
        let mut lab = Lab::new("null", Settings::default(), 3);
        let refused = lab.domain(false, &[(hog(), None)], true, prefers(list));
        let is_it = |key: &str| key == "soft_affinity";
        assert!(
            matches!(&refused, Err(PolicyError::BadValue { key, .. }) if is_it(key)),
            "{list:?}: {refused:?}"
        );
    }
    let number = Settings::default().with("soft_affinity", Setting::Count(1));
    let refused = Lab::new("null", Settings::default(), 3).domain(false, &[(hog(), None)], true, number);
    assert!(matches!(refused, Err(PolicyError::BadValue { .. })), "{refused:?}");
}
