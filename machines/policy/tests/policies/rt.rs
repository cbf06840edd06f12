//! RT-Xen's servers: schedules computed by hand, and their properties: never more than the budget, the
//! highest priority first.

use crate::lab::{Act, Lab, within};
use crate::mix::scripts;
use paceline_policy::{MICROSECOND as US, MILLISECOND as MS, PolicyError, Setting, Settings, VcpuId};
use proptest::prelude::*;

const KINDS: [&str; 4] = ["rt-deferrable", "rt-periodic", "rt-polling", "rt-sporadic"];

fn server(priority: u64, budget_ns: u64, period_ns: u64) -> Settings {
    let settings = Settings::default().with("priority", Setting::Count(priority));
    settings.with("budget", Setting::Nanos(budget_ns)).with("period", Setting::Nanos(period_ns))
}

/// VCPU 0 with this script, priority 1, 2 ms in 5; VCPU 1 always computes, with priority 2 and its budget in
/// 10 ms.
fn two(kind: &str, script: Vec<Act>, budget_ns: u64) -> Lab {
    let mut lab = Lab::new(kind, Settings::default(), 1);
    lab.domain(false, &[(script, None)], false, server(1, 2 * MS, 5 * MS)).expect("it is admitted");
    lab.hog(server(2, budget_ns, 10 * MS));
    lab
}

#[test]
fn a_deferrable_server_keeps_its_budget() {
    // VCPU 0 wakes at 4 with 2 left and preempts. At 5, with 1 left, it has 2 again: until 7, two budgets in
    // a row. VCPU 1 has 6 - 4 left: until 9. Neither has any until 10.
    let mut lab = two("rt-deferrable", vec![Act::Sleep(4 * MS), Act::Compute(4 * MS)], 6 * MS);
    lab.run(13 * MS);
    lab.assert_ran(MS, "1: 0-4, 0: 4-7, 1: 7-9, 0: 10-11, 1: 11-13");
}

#[test]
fn a_periodic_server_idles_its_budget_away() {
    // VCPU 0 sleeps until 1, and the PCPU idles for it; 1 is left. It is done at 6, and idles until 7. From
    // then on it sleeps, and takes 2 of every 5 all the same. VCPU 1 has what is left: 3 of every 5.
    let mut lab = two("rt-periodic", vec![Act::Sleep(MS), Act::Compute(2 * MS)], 6 * MS);
    lab.run(19 * MS);
    lab.assert_ran(MS, "0: 1-2, 1: 2-5, 0: 5-6, 1: 7-10, 1: 12-15, 1: 17-19");
}

#[test]
fn a_polling_server_loses_its_budget() {
    // Nobody is awake when the first period begins: VCPU 0 has its first budget at 5, VCPU 1 at 10. VCPU 0 is
    // done at 12 and asleep at 15. It wakes at 16 and waits until 20.
    let script =
        vec![Act::Sleep(4 * MS), Act::Compute(4 * MS), Act::Sleep(4 * MS), Act::Compute(MS), Act::Sleep(MS)];
    let mut lab = two("rt-polling", script, 6 * MS);
    lab.run(29 * MS);
    lab.assert_ran(MS, "0: 5-7, 0: 10-12, 1: 12-18, 0: 20-21, 1: 21-27");
}

#[test]
fn a_sporadic_server_gets_back_what_it_used() {
    // VCPU 0 uses 2 from 4 on, replenished at 9. It uses 1 from 9 on, replenished at 14, and sleeps until 11,
    // when it has 1, replenished at 16. So it has 1 at 14 (replenished at 19), and at 16.
    let script = vec![Act::Sleep(4 * MS), Act::Compute(3 * MS), Act::Sleep(MS), Act::Compute(3 * MS)];
    let mut lab = two("rt-sporadic", script, 10 * MS);
    lab.run(18 * MS);
    lab.assert_ran(MS, "1: 0-4, 0: 4-6, 1: 6-9, 0: 9-10, 1: 10-11, 0: 11-12, 1: 12-14, 0: 14-15, 1: 15-16, 0: 16-17, 1: 17-18");
}

#[test]
fn equals_wait_their_turn_and_yield_to_each_other() {
    let mut lab = Lab::new("rt-deferrable", Settings::default(), 1);
    let script = vec![Act::Compute(MS), Act::Yield];
    lab.domain(false, &[(script, None)], true, server(1, 5 * MS, 20 * MS)).expect("it is admitted");
    lab.hog(server(1, 5 * MS, 20 * MS));
    lab.run(12 * MS);
    lab.assert_ran(MS, "0: 0-1, 1: 1-6, 0: 6-10");
}

#[test]
fn terms_can_change_and_budgets_fit_periods() {
    let mut lab = Lab::new("rt-deferrable", Settings::default(), 1);
    let first = lab.hog(server(1, 2 * MS, 10 * MS));
    let second = lab.hog(server(2, 10 * MS, 10 * MS));
    lab.run(MS);
    lab.call(|policy, now_ns, orders| {
        let refused = policy.adjust(now_ns, first, &mut server(1, 11 * MS, 10 * MS), orders);
        assert!(matches!(&refused, Err(PolicyError::BadValue { key, .. }) if key == "budget"), "{refused:?}");
        policy.adjust(now_ns, first, &mut server(3, 3 * MS, 10 * MS), orders).expect("it is sound");
    });
    // It has 2 left, but VCPU 1 goes first now, and has 10 ms in every 10.
    lab.run(30 * MS);
    assert_eq!(lab.ran_ns(0), MS);
    lab.remove(second);
    lab.run(33 * MS);
    assert_eq!(lab.running(0), None);
    assert_eq!(lab.ran_ns(0), 4 * MS);
}

#[derive(Clone, Debug)]
struct Case {
    script: Vec<Act>,
    pin: Option<u32>,
    priority: u64,
    budget_ns: u64,
    period_ns: u64,
}

fn cases(pcpus: u32) -> impl Strategy<Value = Case> {
    (scripts(pcpus, 8_000), 1u64..5, 1u64..=100, 1u64..=100).prop_map(
        |((script, pin), priority, one, other)| Case {
            script,
            pin,
            priority,
            budget_ns: one.min(other) * 100 * US,
            period_ns: one.max(other) * 100 * US,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn never_more_than_the_budget_and_the_highest_priority_first(
        kind in prop::sample::select(&KINDS[..]),
        (pcpus, all) in (1u32..=3).prop_flat_map(|pcpus| (Just(pcpus), prop::collection::vec(cases(pcpus), 1..8))),
    ) {
        let mut lab = Lab::new(kind, Settings::default(), pcpus);
        for case in &all {
            let settings = server(case.priority, case.budget_ns, case.period_ns);
            lab.domain(false, &[(case.script.clone(), case.pin)], true, settings).expect("it is admitted");
        }
        for step in 1..150 {
            lab.run(step * 333 * US);
            let standings = lab.policy.dump(lab.now_ns);
            let key = |vcpu: usize, key: usize| standings[vcpu].keys[key].1;
            for (vcpu, case) in all.iter().enumerate() {
                let claims = (standings[vcpu].awake || kind == "rt-periodic") && key(vcpu, 1) > 0;
                if claims && key(vcpu, 2) < 0 {
                    for pcpu in (0..pcpus).filter(|pcpu| case.pin.is_none_or(|pin| pin == *pcpu)) {
                        let holder = (0..all.len()).find(|other| key(*other, 2) == i64::from(pcpu));
                        let higher = holder.is_some_and(|holder| all[holder].priority <= case.priority);
                        prop_assert!(higher, "VCPU {vcpu} waits for PCPU {pcpu} at {} ns", lab.now_ns);
                    }
                }
                if let Some(pcpu) = standings[vcpu].runs_on {
                    prop_assert_eq!(lab.running(pcpu.0), Some(VcpuId(vcpu as u32)));
                }
            }
        }
        let stretches = lab.stretches();
        for (vcpu, case) in all.iter().enumerate() {
            let vcpu = vcpu as u32;
            let period_ns = case.period_ns;
            let begins: Vec<u64> = if kind == "rt-sporadic" {
                let stretch = stretches.iter().filter(|stretch| stretch.vcpu == vcpu);
                stretch.flat_map(|stretch| [stretch.from_ns, stretch.to_ns.saturating_sub(period_ns)]).collect()
            } else {
                (0..lab.now_ns / period_ns).map(|period| period * period_ns).collect()
            };
            for from_ns in begins {
                let ran_ns = within(&stretches, vcpu, from_ns, from_ns + period_ns);
                prop_assert!(ran_ns <= case.budget_ns, "VCPU {vcpu} ran {ran_ns} ns from {from_ns} ns: {case:?}");
            }
        }
    }

    #[test]
    fn the_highest_gets_its_budget_in_every_period(
        kind in prop::sample::select(&KINDS[..]),
        case in cases(1),
        others in prop::collection::vec(cases(1), 1..6),
    ) {
        let mut lab = Lab::new(kind, Settings::default(), 1);
        lab.hog(server(0, case.budget_ns, case.period_ns));
        for case in others {
            let settings = server(case.priority, case.budget_ns, case.period_ns);
            lab.domain(false, &[(case.script, case.pin)], true, settings).expect("it is admitted");
        }
        lab.run(10 * case.period_ns);
        // A polling server has nothing in the period in which it wakes.
        let periods = if kind == "rt-polling" { 9 } else { 10 };
        prop_assert_eq!(lab.ran_ns(0), periods * case.budget_ns);
    }

    #[test]
    fn who_is_moved_keeps_its_pin_and_its_budget(kind in prop::sample::select(&KINDS[..]), at in 1u64..50) {
        let mut lab = Lab::new(kind, Settings::default(), 2);
        for _ in 0..3 {
            lab.hog(server(1, 5 * MS, 10 * MS));
        }
        lab.run(at * MS);
        let waits = (0..3).find(|vcpu| (0..2).all(|pcpu| lab.running(pcpu) != Some(VcpuId(*vcpu))));
        let waits = waits.expect("there are more VCPUs than PCPUs");
        lab.migrate(waits, 1, true);
        let before = lab.stretches().len();
        lab.run(200 * MS);
        prop_assert!(lab.stretches()[before..].iter().all(|stretch| stretch.vcpu != waits || stretch.pcpu == 1));
        prop_assert!(lab.ran_ns(waits) > 50 * MS);
    }
}
