//! RTDS: schedules computed by hand after Xen's `rt.c`, and its properties: budgets are met in every period
//! while they fit, deadlines order who runs, and extra time takes only what is left over.

use crate::lab::{Act, Lab, ran, within};
use paceline_policy::{MILLISECOND as MS, PcpuId, PolicyError, Setting, Settings};
use proptest::prelude::*;

fn terms(period_ns: u64, budget_ns: u64, extra: bool) -> Settings {
    let settings = Settings::default().with("period", Setting::Nanos(period_ns));
    settings.with("budget", Setting::Nanos(budget_ns)).with("extratime", Setting::Flag(extra))
}

#[test]
fn the_earlier_deadline_runs_first_and_budgets_are_kept() {
    // VCPU 0: 2 ms in 5, VCPU 1: 4 ms in 10. 0 ms: deadlines 5 and 10: VCPU 0 until 2, VCPU 1 until 6? At 5
    // VCPU 0 has a new deadline of 10, which is equal: VCPU 1 is not preempted, and has its 4 at 6. Then
    // VCPU 0 until 8. Idle until 10.
    let mut lab = Lab::new("rtds", Settings::default(), 1);
    lab.hog(terms(5 * MS, 2 * MS, false));
    lab.hog(terms(10 * MS, 4 * MS, false));
    lab.run(20 * MS);
    let period = |at: u64| {
        [ran(0, 0, at, at + 2 * MS), ran(0, 1, at + 2 * MS, at + 6 * MS), ran(0, 0, at + 6 * MS, at + 8 * MS)]
    };
    assert_eq!(lab.stretches(), [period(0), period(10 * MS)].concat());
}

#[test]
fn extra_time_comes_after_all_budgets() {
    // VCPU 0 has 2 ms in 10 and extra time, VCPU 1 has 3 ms in 20 and none. Deadlines 10 and 20. VCPU 0 until
    // 2, then level 1: VCPU 1 until 5, then VCPU 0 alone, in budgets of 2 ms, until VCPU 1's next period
    // begins at 20, where VCPU 0 has the earlier deadline.
    let mut lab = Lab::new("rtds", Settings::default(), 1);
    lab.hog(terms(10 * MS, 2 * MS, true));
    lab.hog(terms(20 * MS, 3 * MS, false));
    lab.run(30 * MS);
    lab.assert_ran(MS, "0: 0-2, 1: 2-5, 0: 5-22, 1: 22-25, 0: 25-30");
}

#[test]
fn who_sleeps_keeps_its_budget_until_the_period_ends_and_no_longer() {
    // VCPU 0: 2 ms in 10, awake at 9 for 4 ms. It has 1 ms of the first period, then 2 of the second: until
    // 12. It is done at 21.
    let mut lab = Lab::new("rtds", Settings::default(), 1);
    let script = vec![Act::Sleep(9 * MS), Act::Compute(4 * MS)];
    lab.domain(false, &[(script, None)], false, terms(10 * MS, 2 * MS, false)).expect("it is admitted");
    lab.run(30 * MS);
    lab.assert_ran(MS, "0: 9-12, 0: 20-21");
}

#[test]
fn a_preempted_vcpu_goes_on_where_a_later_deadline_runs() {
    // Deadlines 30, 20 on two PCPUs; at 1 ms VCPU 2 wakes with 10 and preempts the later one. Its 1 ms is
    // over at 2.
    let mut lab = Lab::new("rtds", Settings::default(), 2);
    lab.hog(terms(30 * MS, 20 * MS, false));
    lab.hog(terms(20 * MS, 10 * MS, false));
    let script = vec![Act::Sleep(MS), Act::Compute(MS)];
    lab.domain(false, &[(script, None)], false, terms(10 * MS, 5 * MS, false)).expect("it is admitted");
    lab.run(3 * MS);
    lab.assert_ran(MS, "0@0: 0-1, 2@0: 1-2, 0@0: 2-3, 1@1: 0-3");
}

#[test]
fn a_budget_beyond_the_period_is_refused_and_new_terms_hold_from_the_next_period() {
    let mut lab = Lab::new("rtds", Settings::default(), 1);
    let first = lab.hog(terms(10 * MS, 2 * MS, false));
    lab.run(MS);
    lab.call(|policy, now_ns, orders| {
        let refused = policy.adjust(now_ns, first, &mut terms(10 * MS, 11 * MS, false), orders);
        assert!(matches!(&refused, Err(PolicyError::BadValue { key, .. }) if key == "budget"), "{refused:?}");
        policy.adjust(now_ns, first, &mut terms(10 * MS, 5 * MS, false), orders).expect("it is sound");
    });
    lab.run(20 * MS);
    lab.assert_ran(MS, "0: 0-2, 0: 10-15");
}

#[test]
fn a_pinned_vcpu_waits_for_its_pcpu() {
    let mut lab = Lab::new("rtds", Settings::default(), 2);
    let hog = || vec![Act::Compute(1_000 * MS)];
    lab.domain(false, &[(hog(), Some(1)), (hog(), Some(1))], true, terms(10 * MS, 5 * MS, false))
        .expect("admitted");
    lab.run(10 * MS);
    lab.assert_ran(MS, "0@1: 0-5, 1@1: 5-10");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// On one PCPU EDF meets every deadline while the budgets fit (Liu and Layland, 1973): each hog gets
    /// exactly its budget in each period, or at least that with extra time, which wastes nothing.
    #[test]
    fn budgets_that_fit_are_met_in_every_period(
        servers in prop::collection::vec((1u64..=10, 1u64..=10), 1..6),
        extra in any::<bool>(),
    ) {
        let utilization: f64 = servers.iter().map(|(budget, ten)| *budget as f64 / (10 * ten) as f64).sum();
        prop_assume!(utilization <= 1.0);
        let mut lab = Lab::new("rtds", Settings::default(), 1);
        for (budget, tens) in &servers {
            lab.hog(terms(10 * tens * MS, budget * MS, extra));
        }
        let end_ns = 1_000 * MS;
        lab.run(end_ns);
        let stretches = lab.stretches();
        for (vcpu, (budget, tens)) in (0..).zip(&servers) {
            let period_ns = 10 * tens * MS;
            for period in 0..end_ns / period_ns {
                let ran_ns = within(&stretches, vcpu, period * period_ns, (period + 1) * period_ns);
                let met = if extra { ran_ns >= budget * MS } else { ran_ns == budget * MS };
                prop_assert!(met, "VCPU {vcpu} has {ran_ns} ns of {budget} ms in period {period}");
            }
        }
        let total_ns: u64 = (0..servers.len() as u32).map(|vcpu| lab.ran_ns(vcpu)).sum();
        prop_assert!(!extra || total_ns == end_ns, "extra time leaves nothing idle");
    }

    /// With extra time no PCPU idles while a VCPU waits that may run there; without it nobody gets more than
    /// the budget of each period.
    #[test]
    fn nothing_is_wasted_with_extra_time_and_nothing_given_without(
        servers in prop::collection::vec((1u64..=10, 1u64..=20, 1u64..=20, proptest::option::weighted(0.2, 0u32..3)), 1..10),
        extra in any::<bool>(),
    ) {
        let mut lab = Lab::new("rtds", Settings::default(), 3);
        for (budget, run, rest, pin) in &servers {
            let script = vec![Act::Compute(run * MS), Act::Sleep(rest * MS)];
            lab.domain(false, &[(script, *pin)], true, terms(10 * MS, budget * MS, extra)).expect("it is admitted");
        }
        for step in 1..=200 {
            lab.run(step * MS / 2);
            if extra {
                prop_assert_eq!(lab.wasted(), Vec::<PcpuId>::new(), "at {} ns", lab.now_ns);
            }
        }
        if !extra {
            let stretches = lab.stretches();
            for (vcpu, (budget, ..)) in (0..).zip(&servers) {
                for period in 0..10 {
                    let ran_ns = within(&stretches, vcpu, period * 10 * MS, (period + 1) * 10 * MS);
                    prop_assert!(ran_ns <= budget * MS, "VCPU {vcpu} has {ran_ns} ns in period {period}");
                }
            }
        }
    }
}
