//! The credit scheduler: schedules computed by hand, and its properties: shares by weight, caps, work
//! conservation, boost.

use crate::lab::{Act, Lab};
use crate::mix::scripts;
use paceline_policy::{
    DomId, MILLISECOND as MS, Orders, PcpuId, PolicyError, Setting, Settings, VcpuId, build,
};
use proptest::prelude::*;

fn domain(weight: u64, cap: u64) -> Settings {
    Settings::default().with("weight", Setting::Count(weight)).with("cap", Setting::Count(cap))
}

/// What each of several hogs gets of `pcpus` PCPUs by its weight when none can use more than one: a hog that
/// would get more gets one, and the others share the rest.
fn fair(weights: &[u64], pcpus: u32) -> Vec<f64> {
    let mut share = vec![0.0; weights.len()];
    let mut left: Vec<usize> = (0..weights.len()).collect();
    let mut free = f64::from(pcpus).min(weights.len() as f64);
    loop {
        let total: u64 = left.iter().map(|hog| weights[*hog]).sum();
        let (whole, rest): (Vec<usize>, Vec<usize>) =
            left.iter().partition(|hog| weights[**hog] as f64 / total as f64 * free >= 1.0);
        whole.iter().for_each(|hog| share[*hog] = 1.0);
        free -= whole.len() as f64;
        if whole.is_empty() {
            rest.iter().for_each(|hog| share[*hog] = weights[*hog] as f64 / total as f64 * free);
            return share;
        }
        left = rest;
    }
}

#[test]
fn three_ticks_each_and_credits_by_weight() {
    // Weights 2 : 1 on one PCPU. Ticks charge 100 credits, an accounting hands out 300 to those who are
    // active. 30 ms: VCPU 0 was charged 3 x 100; only its domain is active: +300 = 0, UNDER. Its slice
    // ends; VCPU 1 is first. 60 ms: VCPU 1 was charged 300. Both are active, so VCPU 0 gets 200 and has
    // 200, VCPU 1 gets 100 and has -200: OVER. 90 ms: VCPU 0 has 200 - 300 + 200 = 100, VCPU 1 has -100:
    // still OVER. VCPU 0 goes on. 120 ms: VCPU 0 has 100 - 300 + 200 = 0, VCPU 1 has 0: both UNDER, and
    // VCPU 1 has waited longer. 150 ms: VCPU 0 has 200, VCPU 1 has 0 - 300 + 100 = -200: as at 60 ms.
    let mut lab = Lab::new("credit", Settings::default(), 1);
    lab.hog(domain(512, 0));
    lab.hog(domain(256, 0));
    lab.run(60 * MS);
    assert_eq!((lab.key(0, "credit"), lab.key(1, "credit")), (200, -200));
    lab.run(90 * MS);
    assert_eq!((lab.key(0, "credit"), lab.key(1, "credit")), (100, -100));
    lab.run(210 * MS);
    lab.assert_ran(MS, "0: 0-30, 1: 30-60, 0: 60-120, 1: 120-150, 0: 150-210");
}

#[test]
fn what_one_domain_cannot_use_goes_to_the_others() {
    // Weights 3 : 1 on two PCPUs, one VCPU each: 600 credits an accounting, of which VCPU 0 can use 300. VCPU
    // 1 became active last and is the head of the list, so at 30 ms it only gets its 150 and has -150.
    // VCPU 0 goes to the head. 60 ms: 600 and the debt of 150 are 750. VCPU 0 may have 300 + 3/4 x 150 =
    // 412.5 of its 562.5. The 150 left over make 750 + 150 x 4 = 1350, of which VCPU 1 has a quarter:
    // 337.5. It has -150 - 300 + 337.5 = -112.5.
    let mut lab = Lab::new("credit", Settings::default(), 2);
    lab.hog(domain(768, 0));
    lab.hog(domain(256, 0));
    lab.run(30 * MS);
    assert_eq!((lab.key(0, "credit"), lab.key(1, "credit")), (0, -150));
    lab.run(60 * MS);
    assert_eq!((lab.key(0, "credit"), lab.key(1, "credit")), (112, -112));
}

#[test]
fn who_wakes_is_boosted_until_a_tick_finds_it() {
    // VCPU 1 wakes at 0 behind VCPU 0, both BOOST. The tick at 10 ms ends VCPU 0's boost, but there is no
    // decision until 30 ms. VCPU 1 then computes 4 ms at a time, between ticks, and sleeps 9 ms: it wakes
    // at 43 ms while VCPU 0 runs (UNDER; found by ticks) and goes first at once. It wakes again at 56 ms
    // and computes until 60 ms, where the tick still finds it: at its next wake it has been charged 100
    // and is active, but got 300 / 2 at that accounting, and is UNDER: boosted again.
    let script = vec![Act::Compute(4 * MS), Act::Sleep(9 * MS)];
    let mut lab = Lab::new("credit", Settings::default(), 1);
    lab.hog(Settings::default());
    lab.guest(script);
    lab.run(71 * MS);
    lab.assert_ran(MS, "0: 0-30, 1: 30-34, 0: 34-43, 1: 43-47, 0: 47-56, 1: 56-60, 0: 60-69, 1: 69-71");
    assert_eq!(lab.key(1, "class"), 1);
}

#[test]
fn without_boost_who_wakes_waits_for_the_end_of_the_slice() {
    let script = vec![Act::Compute(4 * MS), Act::Sleep(9 * MS)];
    let mut lab = Lab::new("credit", Settings::default().with("boost", Setting::Flag(false)), 1);
    lab.hog(Settings::default());
    lab.guest(script);
    lab.run(68 * MS);
    lab.assert_ran(MS, "0: 0-30, 1: 30-34, 0: 34-64, 1: 64-68");
}

#[test]
fn sampling_charges_a_whole_tick_and_exact_accounting_the_time_run() {
    // VCPU 1 computes from 39.5 ms to 40.5 ms. A tick finds it running: that is 100 credits. The time run is
    // worth 10.
    for (accounting, credit) in [("sampled", -100), ("exact", -10)] {
        let settings = Settings::default().with("accounting", Setting::Word(accounting.into()));
        let mut lab = Lab::new("credit", settings, 1);
        lab.hog(Settings::default());
        let script = vec![Act::Sleep(79 * MS / 2), Act::Compute(MS)];
        lab.domain(false, &[(script, None)], false, Settings::default()).expect("it is admitted");
        lab.run(45 * MS);
        assert_eq!(lab.ran_ns(1), MS);
        assert_eq!(lab.key(1, "credit"), credit, "{accounting}");
    }
}

#[test]
fn who_sleeps_at_every_tick_is_never_charged() {
    // It sleeps over the tick. No tick finds it, so it stays UNDER and wakes boosted: it has 9 ms of every
    // 10, but for the first 30 ms, which the other has, boosted likewise, because it woke first.
    let script = vec![Act::Sleep(MS / 2), Act::Compute(9 * MS), Act::Sleep(MS / 2)];
    let mut lab = Lab::new("credit", Settings::default(), 1);
    lab.guest(script);
    lab.hog(Settings::default());
    lab.run(1_000 * MS);
    assert_eq!((lab.ran_ns(0), lab.ran_ns(1)), (873 * MS, 127 * MS));
}

#[test]
fn a_tick_of_thirty_microseconds_makes_a_slice_of_ninety() {
    let us = 1_000;
    let mut lab = Lab::new("credit", Settings::default().with("tick", Setting::Nanos(30 * us)), 1);
    lab.hogs(2);
    lab.run(180 * us);
    lab.assert_ran(us, "0: 0-90, 1: 90-180");
}

#[test]
fn ratelimit_holds_off_preemption() {
    let script = vec![Act::Compute(MS), Act::Sleep(9 * MS)];
    let settings = Settings::default().with("ratelimit", Setting::Nanos(3 * MS));
    let mut lab = Lab::new("credit", settings, 1);
    lab.guest(script);
    lab.hog(Settings::default());
    lab.call(|policy, now_ns, orders| policy.sleep(now_ns, VcpuId(1), orders));
    lab.run(9 * MS);
    // VCPU 1 begins 1 ms before VCPU 0 wakes, and keeps the PCPU until 12 ms.
    lab.call(|policy, now_ns, orders| policy.wake(now_ns, VcpuId(1), orders));
    lab.run(13 * MS);
    lab.assert_ran(MS, "0: 0-1, 1: 9-12, 0: 12-13");
}

#[test]
fn a_cap_parks_even_when_nobody_else_runs() {
    for (cap, pcpus) in [(20, 1), (50, 1), (80, 2), (150, 2)] {
        let hog = || (vec![Act::Compute(1_000_000 * MS)], None);
        let mut lab = Lab::new("credit", Settings::default(), pcpus);
        lab.domain(false, &[hog(), hog()], true, domain(256, cap)).expect("it is admitted");
        lab.run(10_000 * MS);
        let ran_ns = lab.ran_ns(0) + lab.ran_ns(1);
        let wrong_ns = ran_ns.abs_diff(cap * 100 * MS);
        assert!(wrong_ns <= 100 * MS, "cap {cap} on {pcpus}: {ran_ns} ns");
    }
}

#[test]
fn who_wakes_while_parked_stays_parked() {
    let script = vec![Act::Compute(23 * MS), Act::Sleep(MS)];
    let mut lab = Lab::new("credit", Settings::default(), 1);
    lab.domain(false, &[(script, None)], true, domain(256, 20)).expect("it is admitted");
    let mut parked_awake = 0;
    for step in 1..1_000 {
        lab.run(step * 10 * MS);
        let parked = lab.key(0, "parked") == 1;
        assert!(!(parked && lab.running(0).is_some()), "at {} ns", lab.now_ns);
        parked_awake += u32::from(parked && lab.policy.dump(lab.now_ns)[0].awake);
    }
    assert!(parked_awake > 100);
    assert!(lab.ran_ns(0) <= 2_200 * MS, "{} ns", lab.ran_ns(0));
}

#[test]
fn shares_follow_weights_that_change() {
    let mut lab = Lab::new("credit", Settings::default(), 1);
    let first = lab.hog(domain(256, 0));
    lab.hog(domain(256, 0));
    lab.run(10_000 * MS);
    assert!(lab.ran_ns(0).abs_diff(5_000 * MS) <= 100 * MS);
    let before_ns = lab.ran_ns(0);
    lab.call(|policy, now_ns, orders| {
        let mut settings = Settings::default().with("weight", Setting::Count(768));
        policy.adjust(now_ns, first, &mut settings, orders).expect("it is sound");
    });
    lab.run(20_000 * MS);
    assert!((lab.ran_ns(0) - before_ns).abs_diff(7_500 * MS) <= 100 * MS);
    lab.remove(first);
    let before_ns = lab.ran_ns(1);
    lab.run(21_000 * MS);
    assert_eq!(lab.ran_ns(1) - before_ns, 1_000 * MS);
}

#[test]
fn a_pinned_vcpu_waits_for_its_pcpu_and_whom_it_drives_away_moves() {
    // VCPU 0 runs on PCPU 0; VCPU 1, pinned there, wakes at 12 ms, preempts, and VCPU 0 is taken over by the
    // idle PCPU.
    let script = vec![Act::Sleep(12 * MS), Act::Compute(50 * MS)];
    let mut lab = Lab::new("credit", Settings::default(), 2);
    lab.hog(Settings::default());
    lab.domain(false, &[(script, Some(0))], true, Settings::default()).expect("it is admitted");
    lab.run(20 * MS);
    lab.assert_ran(MS, "0@0: 0-12, 1@0: 12-20, 0@1: 12-20");
}

#[test]
fn settings_that_cannot_be_are_refused_and_change_nothing() {
    let host = paceline_policy::Host { pcpus: 1 };
    let mut ratelimit = Settings::default().with("ratelimit", Setting::Nanos(31 * MS));
    assert!(matches!(build("credit", &mut ratelimit, host), Err(PolicyError::BadValue { .. })));
    let mut policy = build("credit", &mut Settings::default(), host).expect("it is sound");
    let domain = paceline_policy::NewDomain {
        dom: DomId(0),
        privileged: false,
        vcpus: vec![VcpuId(0)],
        pins: vec![None],
    };
    for (key, value) in [("weight", 0), ("weight", 65_536), ("wieght", 1)] {
        let mut settings = Settings::default().with(key, Setting::Count(value));
        assert!(policy.add(0, &domain, &mut settings, &mut Orders::default()).is_err());
    }
    assert!(policy.dump(0).is_empty());
}

/// Credits may be saved for 16 slices.
fn saving() -> Settings {
    Settings::default().with("saved_slices", Setting::Count(16))
}

/// The greatest difference, over all hogs, between a hog's share in twenty seconds and the share of its
/// weight, as a part of a PCPU; and which hog has it.
fn share_error(settings: Settings, exact: bool, weights: &[u64], pcpus: u32) -> (f64, usize) {
    let accounting = Setting::Word(if exact { "exact" } else { "sampled" }.into());
    let mut lab = Lab::new("credit", settings.with("accounting", accounting), pcpus);
    for weight in weights {
        lab.hog(domain(weight * 128, 0));
    }
    // Credits are handed out by weight only once all hogs are active.
    lab.run(10_000 * MS);
    let before: Vec<_> = (0..weights.len() as u32).map(|vcpu| lab.ran_ns(vcpu)).collect();
    lab.run(30_000 * MS);
    let share = |vcpu: usize| (lab.ran_ns(vcpu as u32) - before[vcpu]) as f64 / (20_000 * MS) as f64;
    let wrong = fair(weights, pcpus).into_iter().enumerate();
    let wrong = wrong.map(|(vcpu, due)| ((share(vcpu) - due).abs(), vcpu));
    wrong.max_by(|one, other| one.0.total_cmp(&other.0)).expect("there are some")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn equal_hogs_share_equally(hogs in 2usize..16, pcpus in 1u32..=4, exact: bool) {
        let (wrong, which) = share_error(Settings::default(), exact, &vec![2; hogs], pcpus);
        prop_assert!(wrong <= 0.01, "VCPU {which} of {hogs} on {pcpus}: {wrong}");
    }

    #[test]
    fn hogs_share_a_pcpu_by_weight(weights in prop::collection::vec(1u64..=8, 2..12), exact: bool) {
        let (wrong, which) = share_error(saving(), exact, &weights, 1);
        prop_assert!(wrong <= 0.01, "VCPU {which} of {weights:?}: {wrong}");
    }

    #[test]
    fn hogs_share_pcpus_by_weight(weights in prop::collection::vec(1u64..=4, 12..24), pcpus in 2u32..=4, exact: bool) {
        // A VCPU whose share is nearly all of a PCPU cannot make up for time that it waited.
        prop_assume!(fair(&weights, pcpus).iter().all(|share| *share <= 0.4));
        // A hog may be up to six slices ahead or behind when the twenty seconds begin or end, which are 0.9 %
        // of them.
        let (wrong, which) = share_error(saving(), exact, &weights, pcpus);
        prop_assert!(wrong <= 0.01, "VCPU {which} of {weights:?} on {pcpus}: {wrong}");
    }

    #[test]
    fn nobody_waits_beside_an_idle_pcpu(
        (pcpus, all) in (1u32..=4).prop_flat_map(|pcpus| (Just(pcpus), prop::collection::vec(scripts(pcpus, 40_000), 1..10))),
        ratelimit in prop_oneof![Just(0), Just(2 * MS)],
    ) {
        let mut lab = Lab::new("credit", Settings::default().with("ratelimit", Setting::Nanos(ratelimit)), pcpus);
        for script in all {
            lab.domain(false, &[script], true, Settings::default()).expect("it is admitted");
            prop_assert!(lab.wasted().is_empty());
        }
        for step in 1..400 {
            lab.run(step * 1_300_000);
            prop_assert_eq!(lab.wasted(), Vec::<PcpuId>::new(), "at {} ns", lab.now_ns);
        }
    }

    #[test]
    fn who_wakes_under_runs_at_once_where_nobody_is_boosted(hogs in 1u32..6, pcpus in 1u32..=3, at in 61u64..900) {
        // After 60 ms all hogs have been found by ticks. A VCPU that has never run is UNDER, and BOOST when
        // it wakes.
        let mut lab = Lab::new("credit", Settings::default(), pcpus);
        lab.hogs(hogs.max(pcpus));
        lab.run(60 * MS * u64::from(hogs));
        let at_ns = lab.now_ns + at * MS / 10;
        lab.run(at_ns);
        lab.hog(Settings::default());
        let woken = VcpuId(hogs.max(pcpus));
        prop_assert!((0..pcpus).any(|pcpu| lab.running(pcpu) == Some(woken)));
    }
}
