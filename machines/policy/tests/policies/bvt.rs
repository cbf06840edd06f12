//! Borrowed virtual time: schedules computed by hand, and its properties: shares by weight, warps with
//! limits, work conservation.

use crate::lab::{Act, Lab};
use crate::mix::scripts;
use paceline_policy::{MICROSECOND as US, MILLISECOND as MS, PcpuId, Setting, Settings, VcpuId};
use proptest::prelude::*;

fn advance(advance: u64) -> Settings {
    Settings::default().with("mcu_advance", Setting::Count(advance))
}

fn warp(warp_ns: u64, limit_ns: u64, unwarp_ns: u64) -> Settings {
    let settings = Settings::default().with("warp", Setting::Nanos(warp_ns));
    settings.with("warp_limit", Setting::Nanos(limit_ns)).with("unwarp", Setting::Nanos(unwarp_ns))
}

#[test]
fn half_the_advance_is_twice_the_share() {
    // Virtual time in ms x advance; the allowance is 5 ms. Both begin with 0. VCPU 1 woke second, when VCPU 0
    // had run for no time; VCPU 0 then went to the end of the queue, behind it.
    // 0 ms: VCPU 1 for 5 + (0 - 0) / 20. 5 ms: it has 100. VCPU 0 for 5 + 100 / 10 = 15. 20 ms: 150 to 100.
    // VCPU 1 for 5 + 50 / 20 = 7.5. 27.5 ms: 150 to 250. VCPU 0 for 15. 42.5 ms: 300 to 250. VCPU 1 for
    // 7.5. So 15 : 7.5 from here on.
    let mut lab = Lab::new("bvt", Settings::default(), 1);
    lab.hog(advance(10));
    lab.hog(advance(20));
    lab.run(50 * MS);
    lab.assert_ran(MS, "1: 0-5, 0: 5-20, 1: 20-27.5, 0: 27.5-42.5, 1: 42.5-50");
}

#[test]
fn a_warp_ends_at_its_limit() {
    // 10 ms: VCPU 0 has 100; VCPU 1 wakes with SVT 100, warped by 20 ms x 10: EVT -100. It preempts, for at
    // most the limit of 4 ms. 14 ms: it has 140, and its warp rests. VCPU 0 for 5 + (140 - 100) / 10 = 9.
    // 23 ms: 190 to 140: VCPU 1 does its last 2.
    let script = vec![Act::Sleep(10 * MS), Act::Compute(6 * MS)];
    let mut lab = Lab::new("bvt", Settings::default(), 1);
    lab.hog(advance(10));
    lab.domain(false, &[(script, None)], false, warp(20 * MS, 4 * MS, 30 * MS)).expect("it is admitted");
    lab.run(30 * MS);
    lab.assert_ran(MS, "0: 0-10, 1: 10-14, 0: 14-23, 1: 23-25, 0: 25-30");
}

#[test]
fn a_warp_comes_back_after_its_rest() {
    // As above until 14 ms; but 3 ms later, while it waits with 140, it is warped again: EVT -60 to VCPU 0's
    // 130.
    let script = vec![Act::Sleep(10 * MS), Act::Compute(6 * MS)];
    let mut lab = Lab::new("bvt", Settings::default(), 1);
    lab.hog(advance(10));
    lab.domain(false, &[(script, None)], false, warp(20 * MS, 4 * MS, 3 * MS)).expect("it is admitted");
    lab.run(30 * MS);
    lab.assert_ran(MS, "0: 0-10, 1: 10-14, 0: 14-17, 1: 17-19, 0: 19-30");
}

#[test]
fn who_sleeps_saves_nothing_up() {
    let script = vec![Act::Sleep(1_000 * MS), Act::Compute(1_000_000 * MS)];
    let mut lab = Lab::new("bvt", Settings::default(), 1);
    lab.hog(advance(10));
    lab.domain(false, &[(script, None)], false, advance(10)).expect("it is admitted");
    lab.run(1_100 * MS);
    assert!(lab.ran_ns(1).abs_diff(50 * MS) <= 5 * MS, "{} ns", lab.ran_ns(1));
}

#[test]
fn a_limit_needs_a_rest_and_settings_can_change() {
    let mut lab = Lab::new("bvt", Settings::default(), 1);
    let first = lab.hog(advance(10));
    lab.hog(advance(10));
    lab.run(1_000 * MS);
    let before_ns = lab.ran_ns(0);
    lab.call(|policy, now_ns, orders| {
        assert!(policy.adjust(now_ns, first, &mut warp(MS, MS, 0), orders).is_err());
        policy.adjust(now_ns, first, &mut advance(40), orders).expect("it is sound");
    });
    lab.run(11_000 * MS);
    assert!((lab.ran_ns(0) - before_ns).abs_diff(2_000 * MS) <= 10 * MS);
    lab.remove(first);
    lab.run(11_001 * MS);
    assert_eq!(lab.running(0), Some(VcpuId(1)));
    assert_eq!(lab.policy.dump(lab.now_ns).len(), 1);
}

fn domain_settings() -> impl Strategy<Value = Settings> {
    let span = || 1u64..20_000;
    prop_oneof![
        (1u64..40).prop_map(advance),
        (span(), span(), span()).prop_map(|(by, limit, rest)| warp(by * US, limit * US, rest * US)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn hogs_share_by_advance(advances in prop::collection::vec(1u64..=20, 2..20), pcpus in 1u32..=4) {
        let part = |advanced: u64| 1.0 / advanced as f64;
        let total: f64 = advances.iter().map(|advanced| part(*advanced)).sum();
        let due_ns = |advanced: u64| (10_000 * MS * u64::from(pcpus)) as f64 * part(advanced) / total;
        // A VCPU whose share is (nearly) all of a PCPU cannot make up for time that it waited.
        prop_assume!(pcpus == 1 || advances.iter().all(|advanced| due_ns(*advanced) <= (6_000 * MS) as f64));
        let mut lab = Lab::new("bvt", Settings::default(), pcpus);
        advances.iter().for_each(|advanced| { lab.hog(advance(*advanced)); });
        lab.run(10_000 * MS);
        for (vcpu, advanced) in advances.iter().enumerate() {
            let wrong_ns = (lab.ran_ns(vcpu as u32) as f64 - due_ns(*advanced)).abs();
            prop_assert!(wrong_ns <= (100 * MS) as f64, "VCPU {vcpu} of {advances:?} on {pcpus}: {wrong_ns} ns");
        }
    }

    #[test]
    fn nobody_waits_beside_an_idle_pcpu_and_nobody_starves(
        (pcpus, all) in (1u32..=4).prop_flat_map(|pcpus| (Just(pcpus), prop::collection::vec((scripts(pcpus, 20_000), domain_settings()), 1..10))),
    ) {
        let mut lab = Lab::new("bvt", Settings::default(), pcpus);
        let count = all.len() as u32;
        for (script, settings) in all {
            lab.domain(false, &[script], true, settings).expect("it is admitted");
        }
        for step in 1..600 {
            lab.run(step * 1_700 * US);
            prop_assert_eq!(lab.wasted(), Vec::<PcpuId>::new(), "at {} ns", lab.now_ns);
        }
        prop_assert!((0..count).all(|vcpu| lab.ran_ns(vcpu) > 0));
    }

    #[test]
    fn the_allowance_bounds_who_is_ahead(advances in prop::collection::vec(1u64..=20, 2..8), until in 1u64..1_000_000) {
        // On one PCPU, the VCPU that runs is ahead of the least of the others by at most 5 ms of its own CPU
        // time.
        let mut lab = Lab::new("bvt", Settings::default(), 1);
        advances.iter().for_each(|advanced| { lab.hog(advance(*advanced)); });
        lab.run(until * US);
        let avt = |vcpu: u32| lab.ran_ns(vcpu) * advances[vcpu as usize];
        let least = (0..advances.len() as u32).map(avt).min().expect("there are some");
        for (vcpu, advanced) in advances.iter().enumerate() {
            prop_assert!(avt(vcpu as u32) - least <= 5 * MS * advanced, "VCPU {vcpu} of {advances:?}");
        }
    }
}
