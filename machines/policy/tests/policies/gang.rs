//! Gang scheduling: schedules computed by hand, and its properties.

use crate::lab::{Act, Lab, Stretch, ran};
use crate::mix::mixes;
use paceline_policy::{DomId, MILLISECOND as MS, PolicyError, Setting, Settings};
use proptest::prelude::*;

fn slot() -> Settings {
    Settings::default().with("slot", Setting::Nanos(10 * MS))
}

/// A domain of VCPUs that always compute.
fn hogs(lab: &mut Lab, vcpus: usize, settings: Settings) -> Result<DomId, PolicyError> {
    lab.domain(false, &vec![(vec![Act::Compute(1_000_000 * MS)], None); vcpus], true, settings)
}

fn gang(number: u64) -> Settings {
    Settings::default().with("gang", Setting::Count(number))
}

/// In the order of time, then of PCPUs.
fn sorted(lab: &Lab) -> Vec<Stretch> {
    let mut stretches = lab.stretches();
    stretches.sort_by_key(|stretch| (stretch.from_ns, stretch.pcpu));
    stretches
}

#[test]
fn rows_take_turns_and_small_gangs_share_one() {
    let mut lab = Lab::new("gang", slot(), 2);
    for vcpus in [2, 1, 1, 2] {
        hogs(&mut lab, vcpus, Settings::default()).expect("it is admitted");
    }
    lab.run(40 * MS);
    // Rows: domain 0 (VCPUs 0, 1); domains 1 and 2 (VCPUs 2 and 3); domain 3 (VCPUs 4 and 5).
    let slot = |number: u64, pcpu, vcpu| ran(pcpu, vcpu, number * 10 * MS, (number + 1) * 10 * MS);
    let rows = [(0, 0, 1), (1, 2, 3), (2, 4, 5), (3, 0, 1)];
    let expected = rows.map(|(number, left, right)| [slot(number, 0, left), slot(number, 1, right)]);
    assert_eq!(sorted(&lab), expected.concat());
}

#[test]
fn an_alternate_runs_while_the_owner_of_the_slot_sleeps() {
    let mut lab = Lab::new("gang", slot(), 2);
    let always = vec![Act::Compute(30 * MS)];
    let blocks = vec![Act::Compute(4 * MS), Act::Sleep(3 * MS)];
    lab.domain(false, &[(always, None), (blocks, None)], true, Settings::default()).expect("it is admitted");
    hogs(&mut lab, 2, Settings::default()).expect("it is admitted");
    lab.run(30 * MS);
    let right: Vec<_> = sorted(&lab).into_iter().filter(|stretch| stretch.pcpu == 1).collect();
    let expected = [
        // Asleep from 4 to 7; 3 ms of the next 4 ms until the slot ends.
        ran(1, 1, 0, 4 * MS),
        ran(1, 3, 4 * MS, 7 * MS),
        ran(1, 1, 7 * MS, 10 * MS),
        ran(1, 3, 10 * MS, 20 * MS),
        // The last 1 ms; asleep from 21 to 24; asleep again from 28 on.
        ran(1, 1, 20 * MS, 21 * MS),
        ran(1, 3, 21 * MS, 24 * MS),
        ran(1, 1, 24 * MS, 28 * MS),
        ran(1, 3, 28 * MS, 30 * MS),
    ];
    assert_eq!(right, expected);
}

#[test]
fn domains_of_one_number_run_at_the_same_time() {
    let mut lab = Lab::new("gang", slot(), 2);
    hogs(&mut lab, 1, gang(7)).expect("it is admitted");
    hogs(&mut lab, 1, Settings::default()).expect("it is admitted");
    lab.run(5 * MS);
    // The first two share a row, where there is no room for the third: its gang gets a row of its own.
    hogs(&mut lab, 1, gang(7)).expect("it is admitted");
    lab.run(100 * MS);
    let third: u64 = lab.ran_ns(2);
    assert_eq!((lab.ran_ns(0), lab.ran_ns(1), third), (100 * MS, 50 * MS, 50 * MS));
    // Out of the gang, it can share the row of the second domain; but the first has a cell in that row, too.
    let leave = |policy: &mut dyn paceline_policy::Policy, now_ns, orders: &mut _| {
        policy.adjust(now_ns, DomId(2), &mut gang(8), orders).expect("it may leave");
    };
    lab.call(leave);
    lab.run(200 * MS);
    assert!(lab.ran_ns(2) >= third + 40 * MS);
    assert_eq!(lab.ran_ns(0) + lab.ran_ns(1) + lab.ran_ns(2), 400 * MS);
}

#[test]
fn who_has_to_give_way_to_a_pin_moves_at_once() {
    let mut lab = Lab::new("gang", slot(), 2);
    hogs(&mut lab, 1, gang(7)).expect("it is admitted");
    lab.run(4 * MS);
    let pinned = [(vec![Act::Compute(1_000 * MS)], Some(0))];
    lab.domain(false, &pinned, true, gang(7)).expect("it is admitted");
    lab.run(10 * MS);
    let expected = [ran(0, 0, 0, 4 * MS), ran(0, 1, 4 * MS, 10 * MS), ran(1, 0, 4 * MS, 10 * MS)];
    assert_eq!(sorted(&lab), expected);
}

#[test]
fn a_gang_has_a_pcpu_for_each_of_its_vcpus() {
    for kind in ["gang", "flexible"] {
        let mut lab = Lab::new(kind, slot(), 2);
        let refused =
            |policy, vcpus, dom| PolicyError::TooManyVcpus { dom: DomId(dom), vcpus, policy, pcpus: 2 };
        assert_eq!(hogs(&mut lab, 3, Settings::default()), Err(refused(kind, 3, 0)));
        hogs(&mut lab, 2, gang(1)).expect("it is admitted");
        assert_eq!(hogs(&mut lab, 1, gang(1)), Err(refused(kind, 3, 1)));
        let same = [(vec![Act::Compute(MS)], Some(0)), (vec![Act::Compute(MS)], Some(0))];
        let refused = lab.domain(false, &same, true, Settings::default());
        assert!(matches!(refused, Err(PolicyError::BadValue { key, .. }) if key == "pin"));
        assert_eq!(lab.policy.dump(0).len(), 2);
    }
}

#[test]
fn a_vcpu_can_be_moved_and_a_domain_removed() {
    let mut lab = Lab::new("gang", slot(), 2);
    for _ in 0..3 {
        hogs(&mut lab, 1, Settings::default()).expect("it is admitted");
    }
    // The third waits on PCPU 0, in the second row; from now on it has PCPU 1.
    lab.run(5 * MS);
    lab.migrate(2, 1, true);
    lab.run(25 * MS);
    lab.remove(DomId(1));
    lab.run(45 * MS);
    // Slots: 10 to 20 the second row, 20 to 30 the first one: until 25, when the second domain goes, and its
    // PCPU is free.
    let right: Vec<_> = sorted(&lab).into_iter().filter(|stretch| stretch.pcpu == 1).collect();
    let expected = [
        ran(1, 1, 0, 10 * MS),
        ran(1, 2, 10 * MS, 20 * MS),
        ran(1, 1, 20 * MS, 25 * MS),
        ran(1, 2, 25 * MS, 45 * MS),
    ];
    assert_eq!(right, expected);
}

/// How long all of `vcpus` have run at once.
fn together_ns(stretches: &[Stretch], vcpus: &[u32]) -> u64 {
    let mut ends: Vec<u64> = stretches.iter().flat_map(|stretch| [stretch.from_ns, stretch.to_ns]).collect();
    ends.sort_unstable();
    ends.dedup();
    let all = |at_ns: u64| {
        let runs = |vcpu: &u32| {
            stretches
                .iter()
                .any(|stretch| stretch.vcpu == *vcpu && stretch.from_ns <= at_ns && at_ns < stretch.to_ns)
        };
        vcpus.iter().all(runs)
    };
    ends.windows(2).filter(|pair| all(pair[0])).map(|pair| pair[1] - pair[0]).sum()
}

fn no_settings() -> BoxedStrategy<Settings> {
    Just(Settings::default()).boxed()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn every_gang_has_its_slots_as_a_whole(pcpus in 2_u32..5, sizes in prop::collection::vec(1_usize..5, 1..7)) {
        let mut lab = Lab::new("gang", slot(), pcpus);
        let mut gangs = Vec::new();
        let mut vcpus = 0;
        for size in sizes.iter().map(|size| (*size).min(pcpus as usize)) {
            hogs(&mut lab, size, Settings::default()).expect("it is admitted");
            gangs.push((vcpus..vcpus + size as u32).collect::<Vec<_>>());
            vcpus += size as u32;
        }
        // There are never more rows than gangs: in as many slots as gangs, each gang has at least one for all
        // its VCPUs together.
        let cycle_ns = gangs.len() as u64 * 10 * MS;
        lab.run(10 * cycle_ns);
        let stretches = lab.stretches();
        for gang in &gangs {
            prop_assert!(together_ns(&stretches, gang) >= 10 * 10 * MS, "{gang:?}");
        }
    }

    #[test]
    fn no_pcpu_idles_while_one_of_its_own_waits(mix in mixes(no_settings), flexible in any::<bool>()) {
        let mut mix = mix;
        for (_, scripts, _) in &mut mix.domains {
            scripts.truncate(mix.pcpus as usize);
            scripts.iter_mut().zip(0..).for_each(|((_, pin), pcpu)| *pin = Some(pcpu));
        }
        let kind = if flexible { "flexible" } else { "gang" };
        let slot = Settings::default().with("slot", Setting::Nanos(3 * MS));
        let watch = |lab: &Lab| assert!(lab.wasted().is_empty(), "{kind}");
        let first = mix.play(kind, &slot, watch).stretches();
        prop_assert_eq!(first, mix.play(kind, &slot, watch).stretches());
    }
}
