//! Flexible co-scheduling: the classes, and schedules computed by hand that follow from them.

use crate::lab::{Act, Lab, ran};
use paceline_policy::{MILLISECOND as MS, Setting, Settings};
use proptest::prelude::*;

fn lab(pcpus: u32, evaluate: u64) -> Lab {
    let settings = Settings::default().with("slot", Setting::Nanos(10 * MS));
    Lab::new("flexible", settings.with("evaluate", Setting::Count(evaluate)), pcpus)
}

/// Runs for `millis` milliseconds; in each of them a message comes for each of `doms` and is taken.
fn with_messages(lab: &mut Lab, doms: &[u32], millis: u64) {
    for _ in 0..millis {
        for dom in doms {
            lab.pending(*dom, 1);
            lab.pending(*dom, 0);
        }
        lab.run(lab.now_ns + MS);
    }
}

/// By VCPU: 0 for F, 1 for DC, 2 for CS.
fn classes(lab: &Lab) -> Vec<i64> {
    let class = |(name, class): &(&str, i64)| (*name == "class").then_some(*class);
    let standings = lab.policy.dump(lab.now_ns);
    standings
        .iter()
        .map(|standing| standing.keys.iter().find_map(class).expect("everybody has one"))
        .collect()
}

#[test]
fn classes_come_from_use_and_messages_and_decide_who_fills_the_gaps() {
    let mut lab = lab(1, 1);
    // VCPU 0 computes and communicates, 1 computes, 2 communicates and computes for a quarter of its time.
    lab.guest(vec![Act::Compute(1_000 * MS)]);
    lab.guest(vec![Act::Compute(1_000 * MS)]);
    lab.guest(vec![Act::Compute(MS), Act::Sleep(3 * MS)]);
    assert_eq!(classes(&lab), [2, 2, 2]);
    with_messages(&mut lab, &[0, 2], 60);
    assert_eq!(classes(&lab), [2, 1, 0]);
    // Row by row from 60 on. 2 runs for 1 ms of every 4 ms, in the gaps. There are none in the slot of 0,
    // which is CS, nor in that of 1, which is first in its own slot.
    with_messages(&mut lab, &[0, 2], 30);
    let slots = |from_ms: u64| {
        let from_ns = from_ms * MS;
        let stretches = lab.stretches();
        let within =
            stretches.iter().filter(|stretch| stretch.to_ns > from_ns && stretch.from_ns < from_ns + 10 * MS);
        let mut vcpus: Vec<u32> = within.map(|stretch| stretch.vcpu).collect();
        vcpus.sort_unstable();
        vcpus.dedup();
        vcpus
    };
    // In the slot of 2 the gaps are filled by 1, which is DC, and not by 0.
    assert_eq!((slots(60), slots(70), slots(80)), (vec![0], vec![1], vec![1, 2]));
}

#[test]
fn only_the_use_of_its_own_slots_counts() {
    let mut lab = lab(1, 1);
    // Each runs for 1 ms of every 3 ms, in both slots alike: over half of a slot in all, a third of its own.
    for _ in 0..2 {
        lab.guest(vec![Act::Compute(MS), Act::Sleep(2 * MS)]);
    }
    with_messages(&mut lab, &[0, 1], 41);
    assert!(lab.ran_ns(0) >= 12 * MS);
    assert_eq!(classes(&lab), [0, 0]);
}

#[test]
fn a_frustrated_one_that_only_waits_is_set_aside_until_a_message_comes() {
    let mut lab = lab(1, 1);
    lab.guest(vec![Act::Compute(1_000 * MS)]);
    lab.guest(vec![Act::Compute(1_000 * MS)]);
    lab.pending(0, 20);
    lab.waiting(0, true);
    lab.run(23 * MS);
    lab.pending(0, 21);
    lab.run(40 * MS);
    // In its first slot VCPU 0 is CS, and spins. It only waited: it is F from 10 on, and set aside in its
    // slot from 20 on until the message comes.
    let expected = [ran(0, 0, 0, 10 * MS), ran(0, 1, 10 * MS, 23 * MS), ran(0, 0, 23 * MS, 30 * MS)];
    assert_eq!(lab.stretches()[..3], expected);
}

#[test]
fn who_yields_comes_back_in_the_next_slot_unless_it_is_cs() {
    let stretches = |messages: u32| {
        let mut lab = lab(1, 1);
        lab.guest(vec![Act::Compute(7 * MS), Act::Yield]);
        lab.guest(vec![Act::Compute(1_000 * MS)]);
        for _ in 0..40 {
            lab.pending(0, messages);
            lab.pending(0, 0);
            lab.run(lab.now_ns + MS);
        }
        lab.stretches()
    };
    let slots = [ran(0, 0, 0, 10 * MS), ran(0, 1, 10 * MS, 20 * MS), ran(0, 0, 20 * MS, 30 * MS)];
    assert_eq!(stretches(1)[..3], slots);
    // Without messages it is DC from 10 on. It has computed for 3 ms of its second 7 ms then.
    let slots = [ran(0, 0, 0, 10 * MS), ran(0, 1, 10 * MS, 20 * MS), ran(0, 0, 20 * MS, 24 * MS)];
    assert_eq!(stretches(0)[..3], slots);
    assert_eq!(stretches(0)[3], ran(0, 1, 24 * MS, 40 * MS));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn nobody_starves(
        pcpus in 1_u32..4,
        domains in prop::collection::vec((1_usize..4, 0_u32..3, any::<bool>()), 1..6),
        evaluate in 1_u64..4,
    ) {
        let mut lab = lab(pcpus, evaluate);
        let mut vcpus = 0;
        for (size, _, yields) in &domains {
            let script = if *yields { vec![Act::Compute(3 * MS), Act::Yield] } else { vec![Act::Compute(1_000_000 * MS)] };
            let scripts = vec![(script, None); (*size).min(pcpus as usize)];
            vcpus += scripts.len() as u32;
            lab.domain(false, &scripts, true, Settings::default()).expect("it is admitted");
        }
        let rows = domains.len() as u64;
        for _ in 0..rows * 100 {
            for (dom, (_, messages, _)) in domains.iter().enumerate() {
                lab.pending(dom as u32, *messages);
                lab.pending(dom as u32, 0);
            }
            lab.run(lab.now_ns + MS);
        }
        // Ten slots each, of which one that yields has at least the 3 ms before it does so, or what was left
        // of them.
        for vcpu in 0..vcpus {
            prop_assert!(lab.ran_ns(vcpu) >= 15 * MS, "{vcpu}: {}", lab.ran_ns(vcpu));
        }
    }
}
