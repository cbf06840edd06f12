//! SEDF: schedules computed by hand, and its properties.

use crate::lab::{Act, Lab, Stretch, ran, within};
use crate::mix::{mixes, small_slices};
use paceline_policy::{DomId, MILLISECOND as MS, PcpuId, PolicyError, Setting, Settings};
use proptest::prelude::*;

fn share(period_ns: u64, slice_ns: u64, extra: bool) -> Settings {
    let settings = Settings::default().with("period", Setting::Nanos(period_ns));
    settings.with("slice", Setting::Nanos(slice_ns)).with("extra", Setting::Flag(extra))
}

fn lab(pcpus: u32) -> Lab {
    Lab::new("sedf", Settings::default(), pcpus)
}

fn one(lab: &mut Lab, script: Vec<Act>, pin: u32, settings: Settings) -> DomId {
    lab.domain(false, &[(script, Some(pin))], false, settings).expect("it is admitted")
}

#[test]
fn the_earliest_deadline_runs_first_and_nobody_gets_more_than_the_slice() {
    let mut lab = lab(1);
    lab.hog(share(10 * MS, 4 * MS, false));
    lab.hog(share(20 * MS, 10 * MS, false));
    lab.run(40 * MS);
    // Deadlines: the first every 10 ms, the second every 20 ms. At 10 and at 30 both have the same one: the
    // one that came first continues.
    lab.assert_ran(MS, "0: 0-4, 1: 4-14, 0: 14-18, 0: 20-24, 1: 24-34, 0: 34-38");
}

#[test]
fn dom0_has_three_quarters_and_the_rest_goes_round_in_turns() {
    let mut lab = lab(1);
    let hog = (vec![Act::Compute(1_000 * MS)], None);
    lab.domain(true, &[hog], true, Settings::default()).expect("it is admitted");
    lab.hogs(2);
    lab.run(20 * MS);
    // 15 ms for DOM0; then turns of 0.5 ms: the guests have waited for them since 0, DOM0 since 15.
    let turn = |number: u64, vcpu| ran(0, vcpu, 15 * MS + number * MS / 2, 15 * MS + (number + 1) * MS / 2);
    let turns = (0..10).map(|number| turn(number, [1, 2, 0][number as usize % 3]));
    let expected: Vec<Stretch> = std::iter::once(ran(0, 0, 0, 15 * MS)).chain(turns).collect();
    assert_eq!(lab.stretches(), expected);
}

#[test]
fn who_blocks_shortly_is_compensated_first_in_extra_time() {
    let mut lab = lab(1);
    let blocks = vec![Act::Compute(MS), Act::Sleep(MS), Act::Compute(1_000 * MS)];
    one(&mut lab, blocks, 0, share(10 * MS, 4 * MS, true));
    lab.hog(Settings::default());
    lab.run(14 * MS);
    // The first has lost 3 ms of its slice when it wakes at 2; the next period begins at 10. It takes a turn
    // at once, for the loss, and another one because it has had no extra time: when it woke the other had
    // begun its second turn at 0.5 ms. From 3 on both have had 1 ms and alternate; at 10 the first, in
    // its turn, has its new slice.
    let mut expected = vec![ran(0, 0, 0, MS), ran(0, 1, MS, 2 * MS), ran(0, 0, 2 * MS, 3 * MS)];
    for number in 0..7 {
        let at_ns = (3 + number) * MS;
        expected.push(ran(0, 1, at_ns, at_ns + MS / 2));
        expected.push(ran(0, 0, at_ns + MS / 2, at_ns + MS));
    }
    expected.last_mut().expect("there are some").to_ns = 14 * MS;
    assert_eq!(lab.stretches(), expected);
}

#[test]
fn who_blocks_past_the_deadline_begins_a_new_period() {
    let mut lab = lab(1);
    let blocks = vec![Act::Compute(MS), Act::Sleep(14 * MS), Act::Compute(1_000 * MS)];
    one(&mut lab, blocks, 0, share(10 * MS, 4 * MS, false));
    lab.run(30 * MS);
    // Asleep from 1 to 15, past the deadline at 10: periods begin at 15 and 25.
    lab.assert_ran(MS, "0: 0-1, 0: 15-19, 0: 25-29");
}

#[test]
fn no_pcpu_promises_more_than_it_has() {
    let mut lab = lab(2);
    // The second finds no room beside the first on PCPU 0 and goes to PCPU 1, the third none at all.
    lab.hog(share(10 * MS, 6 * MS, false));
    lab.hog(share(10 * MS, 7 * MS, false));
    let hogs = |pin| [(vec![Act::Compute(1_000 * MS)], pin)];
    let refused = lab.domain(false, &hogs(None), true, share(20 * MS, 9 * MS, true));
    // 60 % + 45 % is nearer to fitting than 70 % + 45 %.
    assert_eq!(refused, Err(PolicyError::Oversubscribed { dom: DomId(2), pcpu: PcpuId(0), percent: 105 }));
    let refused = lab.domain(false, &hogs(Some(1)), true, share(10 * MS, 10 * MS, true));
    assert_eq!(refused, Err(PolicyError::Oversubscribed { dom: DomId(2), pcpu: PcpuId(1), percent: 170 }));
    assert_eq!(lab.policy.dump(0).len(), 2);
    // The refused domain has left no promise behind: 40 % still fit.
    lab.domain(false, &hogs(Some(0)), true, share(10 * MS, 4 * MS, false)).expect("it is admitted");
    let long_slice = lab.domain(false, &hogs(None), true, share(10 * MS, 11 * MS, true));
    assert!(matches!(long_slice, Err(PolicyError::BadValue { key, .. }) if key == "slice"));
    let nothing = lab.domain(false, &hogs(None), true, share(10 * MS, 0, false));
    assert!(matches!(nothing, Err(PolicyError::BadValue { key, .. }) if key == "extra"));
}

#[test]
fn shares_can_be_changed_and_domains_moved_and_removed() {
    let mut lab = lab(2);
    lab.hog(share(10 * MS, 5 * MS, false));
    one(&mut lab, vec![Act::Compute(1_000 * MS)], 0, share(10 * MS, 5 * MS, false));
    lab.run(100 * MS);
    assert_eq!((lab.ran_ns(0), lab.ran_ns(1)), (50 * MS, 50 * MS));
    let adjust = |lab: &mut Lab, settings: Settings| {
        let mut answer = Ok(());
        lab.call(|policy, now_ns, orders| {
            answer = policy.adjust(now_ns, DomId(0), &mut settings.clone(), orders);
        });
        answer
    };
    let more = Settings::default().with("slice", Setting::Nanos(6 * MS));
    assert!(matches!(adjust(&mut lab, more), Err(PolicyError::Oversubscribed { percent: 110, .. })));
    adjust(&mut lab, Settings::default().with("slice", Setting::Nanos(2 * MS))).expect("it fits");
    lab.run(200 * MS);
    assert_eq!((lab.ran_ns(0), lab.ran_ns(1)), (70 * MS, 100 * MS));
    // Alone on the other PCPU it has no more than its slice either. It is moved while it waits for its next
    // period.
    lab.run(205 * MS);
    lab.migrate(0, 1, false);
    lab.run(300 * MS);
    assert_eq!((lab.ran_ns(0), lab.ran_ns(1)), (90 * MS, 150 * MS));
    assert!(
        lab.stretches()
            .iter()
            .all(|stretch| (stretch.vcpu == 0 && stretch.from_ns > 205 * MS) == (stretch.pcpu == 1))
    );
    lab.remove(DomId(1));
    lab.hog(share(10 * MS, 10 * MS, false));
    lab.run(400 * MS);
    assert_eq!(lab.ran_ns(2), 100 * MS);
}

#[test]
fn a_yield_in_extra_time_gives_the_whole_turn_away() {
    let mut lab = lab(1);
    let yields = vec![Act::Compute(MS / 10), Act::Yield];
    lab.guest(yields);
    lab.hog(Settings::default());
    lab.run(600 * MS);
    // In turn 0.1 ms and 0.5 ms.
    assert_eq!((lab.ran_ns(0), lab.ran_ns(1)), (100 * MS, 500 * MS));
}

/// Periods and slices that fill at most one PCPU.
fn slices() -> impl Strategy<Value = Vec<(u64, u64)>> {
    let wishes = prop::collection::vec((2_000_000_u64..100_000_000, 1_u64..100), 1..8);
    wishes.prop_map(|wishes| {
        let sum: u64 = wishes.iter().map(|(_, part)| part).sum();
        wishes.into_iter().map(|(period_ns, part)| (period_ns, period_ns * part / sum.max(100))).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_slice_is_given_in_every_period(slices in slices(), extra in any::<bool>()) {
        let mut lab = lab(1);
        for (period_ns, slice_ns) in &slices {
            lab.hog(share(*period_ns, (*slice_ns).max(1_000), extra));
        }
        lab.run(10_000 * MS);
        let stretches = lab.stretches();
        for (vcpu, (period_ns, slice_ns)) in slices.iter().enumerate() {
            for number in 0..10_000 * MS / period_ns {
                let from_ns = number * period_ns;
                let own_ns = within(&stretches, vcpu as u32, from_ns, from_ns + period_ns);
                prop_assert!(own_ns >= *slice_ns, "{vcpu}: {own_ns} of {slice_ns} ns");
            }
            // Without extra time, no more than that: the share is right to 1 % over 10 s.
            let due_ns = 10_000 * MS / period_ns * slice_ns;
            let most_ns = due_ns + due_ns / 100 + slice_ns;
            prop_assert!(extra || lab.ran_ns(vcpu as u32) <= most_ns);
        }
    }

    #[test]
    fn extra_time_is_split_evenly(guests in 2_u32..12, slice_ms in 1_u64..10) {
        let mut lab = lab(1);
        lab.hog(share(10 * MS, slice_ms * MS, false));
        lab.hogs(guests);
        lab.run(10_000 * MS);
        let due_ns = 10_000 * MS * (10 - slice_ms) / 10 / u64::from(guests);
        for vcpu in 1..=guests {
            prop_assert!(lab.ran_ns(vcpu).abs_diff(due_ns) <= due_ns / 100, "{} of {due_ns}", lab.ran_ns(vcpu));
        }
    }

    #[test]
    fn no_pcpu_idles_while_somebody_wants_it_and_same_calls_give_same_answers(mix in mixes(small_slices)) {
        let watch = |lab: &Lab| assert!(lab.wasted().is_empty());
        let first = mix.play("sedf", &Settings::default(), watch).stretches();
        prop_assert_eq!(first, mix.play("sedf", &Settings::default(), watch).stretches());
    }
}
