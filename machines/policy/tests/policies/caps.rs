//! Caps of credit2: schedules computed by hand after Xen's `credit2.c`, and the property that a domain gets
//! its cap and no more.

use crate::lab::{Act, Lab, ran};
use paceline_policy::{MICROSECOND as US, MILLISECOND as MS, PolicyError, Setting, Settings};
use proptest::prelude::*;

fn cap(percent: u64) -> Settings {
    Settings::default().with("cap", Setting::Count(percent))
}

fn hog() -> (Vec<Act>, Option<u32>) {
    (vec![Act::Compute(1_000_000 * MS)], None)
}

#[test]
fn a_budget_in_every_period_and_a_pcpu_that_idles_after_it() {
    let mut lab = Lab::new("credit2", Settings::default(), 1);
    lab.hog(cap(50));
    lab.run(30 * MS);
    assert_eq!(lab.stretches(), [0, 10, 20].map(|at| ran(0, 0, at * MS, (at + 5) * MS)));
    assert_eq!(lab.policy.dump(lab.now_ns)[0].keys[2], ("parked", 0), "it has budget again at 30 ms");

    let mut lab = Lab::new("credit2", Settings::default().with("cap_period", Setting::Nanos(4 * MS)), 1);
    lab.hog(cap(50));
    lab.run(8 * MS);
    lab.assert_ran(MS, "0: 0-2, 0: 4-6");
}

#[test]
fn vcpus_share_the_budget_and_take_what_others_give_back() {
    // 5 ms in 10 for two VCPUs, 2.5 ms at once. VCPU 0 sleeps after 1 ms and gives 1.5 back. VCPU 1 takes
    // them at 2.5 ms, and has none at 4.
    let mut lab = Lab::new("credit2", Settings::default(), 2);
    let short = (vec![Act::Compute(MS), Act::Sleep(1_000 * MS)], None);
    lab.domain(false, &[short, hog()], false, cap(50)).expect("it is admitted");
    lab.run(16 * MS);
    lab.assert_ran(MS, "0@0: 0-1, 1@1: 0-4, 1@1: 10-15");
}

#[test]
fn what_is_run_beyond_the_budget_is_missing_later() {
    // 0.1 ms in 10, but no slice is shorter than 0.5: it lacks 0.4 at 0.5 ms, and has 0.1 again at 50 ms.
    let mut lab = Lab::new("credit2", Settings::default(), 1);
    lab.hog(cap(1));
    lab.run(60 * MS);
    lab.assert_ran(MS, "0: 0-0.5, 0: 50-50.5");
}

#[test]
fn caps_come_and_go_and_are_at_most_all_of_a_domains_vcpus() {
    let mut lab = Lab::new("credit2", Settings::default(), 1);
    let refused = lab.domain(false, &[hog(), hog()], true, cap(201));
    assert!(matches!(&refused, Err(PolicyError::BadValue { key, .. }) if key == "cap"), "{refused:?}");
    let dom = lab.hog(Settings::default());
    let set = |lab: &mut Lab, percent| {
        lab.call(|policy, now_ns, orders| {
            policy.adjust(now_ns, dom, &mut cap(percent), orders).expect("it is sound");
        });
    };
    lab.run(3 * MS);
    set(&mut lab, 20);
    lab.run(20 * MS);
    set(&mut lab, 0);
    lab.run(30 * MS);
    // The first period begins with the cap: from 3 to 13 ms and on to 23; the cap is taken away at 20.
    lab.assert_ran(MS, "0: 0-5, 0: 13-15, 0: 20-30");
    set(&mut lab, 10);
    lab.remove(dom);
    lab.run(60 * MS);
    assert_eq!(lab.running(0), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// With a PCPU for every VCPU, a domain of hogs has exactly its cap over whole periods, but for half a
    /// millisecond a VCPU.
    #[test]
    fn a_domain_of_hogs_gets_its_cap(domains in prop::collection::vec((1usize..=3, 1u64..=300), 1..4)) {
        let vcpus: usize = domains.iter().map(|(vcpus, _)| vcpus).sum();
        let mut lab = Lab::new("credit2", Settings::default(), vcpus as u32);
        let domains: Vec<_> = domains.iter().map(|(vcpus, cap)| (*vcpus, cap % (100 * *vcpus as u64) + 1)).collect();
        for (vcpus, percent) in &domains {
            lab.domain(false, &vec![hog(); *vcpus], true, cap(*percent)).expect("it is admitted");
        }
        lab.run(1_000 * MS);
        let mut first = 0;
        for (vcpus, percent) in &domains {
            let ran_ns: u64 = (first..first + *vcpus as u32).map(|vcpu| lab.ran_ns(vcpu)).sum();
            let due_ns = 10 * percent * MS;
            let most_off_ns = *vcpus as u64 * 500 * US;
            prop_assert!(ran_ns.abs_diff(due_ns) <= most_off_ns, "{percent} % of {vcpus} VCPUs: {ran_ns} ns");
            first += *vcpus as u32;
        }
    }

    /// Beside others no domain gets more than its cap, and what the capped leave the uncapped take.
    #[test]
    fn nobody_exceeds_its_cap_and_the_rest_is_used(caps in prop::collection::vec(1u64..=100, 1..6)) {
        let mut lab = Lab::new("credit2", Settings::default(), 2);
        for percent in &caps {
            lab.hog(cap(*percent));
        }
        lab.hog(Settings::default());
        lab.hog(Settings::default());
        lab.run(1_000 * MS);
        for (vcpu, percent) in (0..).zip(&caps) {
            prop_assert!(lab.ran_ns(vcpu) <= 10 * percent * MS + 500 * US, "VCPU {vcpu}: {} ns", lab.ran_ns(vcpu));
        }
        let total_ns: u64 = (0..caps.len() as u32 + 2).map(|vcpu| lab.ran_ns(vcpu)).sum();
        prop_assert_eq!(total_ns, 2_000 * MS);
    }
}
