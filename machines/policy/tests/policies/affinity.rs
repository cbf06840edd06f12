//! Soft affinity under credit and credit2: where VCPUs go that prefer some PCPUs, and that nothing idles for
//! it.

use crate::lab::{Act, Lab, ran};
use paceline_policy::{MILLISECOND as MS, PcpuId, PolicyError, Setting, Settings, VcpuId};
use proptest::prelude::*;

const KINDS: [&str; 2] = ["credit", "credit2"];

fn prefers(list: &str) -> Settings {
    Settings::default().with("soft_affinity", Setting::Word(list.into()))
}

fn hog() -> Vec<Act> {
    vec![Act::Compute(1_000_000 * MS)]
}

#[test]
fn an_idle_pcpu_that_is_preferred_comes_before_the_own_one() {
    for kind in KINDS {
        let mut lab = Lab::new(kind, Settings::default(), 4);
        lab.domain(false, &[(hog(), None)], true, prefers("2-3,^2")).expect("it is admitted");
        lab.run(MS);
        assert_eq!(lab.stretches(), [ran(3, 0, 0, MS)], "{kind}");
    }
}

#[test]
fn without_a_preferred_pcpu_another_one_serves() {
    // VCPU 0 has PCPU 1, which VCPU 1 prefers.
    for kind in KINDS {
        let mut lab = Lab::new(kind, Settings::default(), 2);
        lab.domain(false, &[(hog(), Some(1))], true, Settings::default()).expect("it is admitted");
        lab.domain(false, &[(hog(), None)], true, prefers("1")).expect("it is admitted");
        lab.run(MS);
        assert_eq!((lab.running(0), lab.running(1)), (Some(VcpuId(1)), Some(VcpuId(0))), "{kind}");
    }
}

#[test]
fn credit2_moves_who_runs_elsewhere_when_a_preferred_pcpu_idles() {
    // VCPU 0 leaves PCPU 1 at 3 ms. VCPU 1 decides anew when its slice of 2 ms ends, at 4 ms.
    let mut lab = Lab::new("credit2", Settings::default(), 2);
    lab.domain(false, &[(vec![Act::Compute(3 * MS)], Some(1))], false, Settings::default())
        .expect("admitted");
    lab.domain(false, &[(hog(), None)], true, prefers("1")).expect("it is admitted");
    lab.run(6 * MS);
    lab.assert_ran(MS, "0@1: 0-3, 1@0: 0-4, 1@1: 4-6");
}

#[test]
fn credit_takes_work_that_prefers_the_pcpu_before_work_that_waits_longer() {
    // VCPUs 2 and 4 wait for PCPU 0 in this order when PCPU 1 becomes free.
    for (preference, first) in [(prefers("1"), VcpuId(4)), (Settings::default(), VcpuId(2))] {
        let mut lab = Lab::new("credit", Settings::default(), 2);
        lab.hog(Settings::default());
        lab.domain(false, &[(vec![Act::Compute(MS)], Some(1))], false, Settings::default())
            .expect("admitted");
        lab.hog(Settings::default());
        lab.domain(false, &[(vec![Act::Sleep(1_000 * MS)], None)], false, Settings::default())
            .expect("admitted");
        lab.hog(preference);
        lab.run(2 * MS);
        assert_eq!(lab.running(1), Some(first));
    }
}

#[test]
fn a_preference_can_change_and_what_is_none_is_refused() {
    for kind in KINDS {
        let mut lab = Lab::new(kind, Settings::default(), 2);
        let dom = lab.domain(false, &[(vec![Act::Compute(MS), Act::Sleep(MS)], None)], true, prefers("0"));
        let dom = dom.expect("it is admitted");
        lab.run(MS);
        lab.call(|policy, now_ns, orders| {
            let refused = policy.adjust(now_ns, dom, &mut prefers("2"), orders);
            assert!(matches!(refused, Err(PolicyError::BadValue { .. })), "{kind}: {refused:?}");
            policy.adjust(now_ns, dom, &mut prefers("1"), orders).expect("it is sound");
        });
        lab.run(3 * MS);
        assert_eq!(lab.stretches(), [ran(0, 0, 0, MS), ran(1, 0, 2 * MS, 3 * MS)], "{kind}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// A preference never leaves a PCPU idle for which a VCPU waits, and never overrides a pin (the
    /// laboratory checks that).
    #[test]
    fn a_preference_wastes_nothing(
        vcpus in prop::collection::vec((1u64..9, 0u64..9, 0u32..3, proptest::option::weighted(0.2, 0u32..3)), 1..9),
    ) {
        for kind in KINDS {
            let mut lab = Lab::new(kind, Settings::default(), 3);
            for (run, rest, preferred, pin) in &vcpus {
                let mut script = vec![Act::Compute(run * MS)];
                script.extend((*rest > 0).then_some(Act::Sleep(rest * MS)));
                let preference = prefers(&preferred.to_string());
                lab.domain(false, &[(script, *pin)], true, preference).expect("it is admitted");
            }
            for step in 1..200 {
                lab.run(step * MS / 2);
                prop_assert_eq!(lab.wasted(), Vec::<PcpuId>::new(), "{} at {} ns", kind, lab.now_ns);
            }
        }
    }
}
