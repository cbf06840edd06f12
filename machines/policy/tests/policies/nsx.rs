//! NSX: schedules computed by hand, and its properties.

use crate::lab::{Act, Lab, ran};
use crate::watch::{Dice, World, key, live, watched};
use paceline_policy::{Host, MICROSECOND as US, MILLISECOND as MS, PolicyError, Setting, Settings, build};

fn settings() -> Settings {
    Settings::default().with("tick", Setting::Nanos(100 * US))
}

fn asleep() -> Vec<Act> {
    vec![Act::Sleep(1_000_000 * MS)]
}

#[test]
fn whoever_runs_at_a_tick_is_charged_all_of_it() {
    let mut lab = Lab::new("nsx", settings(), 1);
    let between = vec![Act::Sleep(10 * US), Act::Compute(80 * US), Act::Sleep(110 * US)];
    let across = vec![Act::Sleep(90 * US), Act::Compute(20 * US), Act::Sleep(90 * US)];
    for script in [between, across] {
        lab.guest(script);
    }
    lab.run(1_000 * US);
    // 10-90, 210-290, ...: five times 80 us, never at a tick. 90-110, 290-310, ...: five times 20 us, each
    // over a tick.
    assert_eq!([lab.ran_ns(0), lab.ran_ns(1)], [400 * US, 100 * US]);
    assert_eq!([lab.key(0, "lvt") as u64, lab.key(1, "lvt") as u64], [0, 500 * US]);
}

#[test]
fn dom0_has_slices_of_its_own_length() {
    let mut lab = Lab::new("nsx", settings().with("dom0_ticks", Setting::Count(4)), 1);
    let works = vec![Act::Compute(1_000 * MS)];
    lab.dom0(works);
    lab.hog(Settings::default());
    lab.run(2_400 * US);
    // DOM0 has used four ticks (400 us); the guest catches up tick by tick; at equal LVTs the one that did
    // not run last is next. At 1 ms DOM0 (400) is put at the guest's 400, where it was, and at 2 ms at
    // 800.
    lab.assert_ran(MS, "0: 0-0.4, 1: 0.4-0.8, 0: 0.8-1.2, 1: 1.2-1.6, 0: 1.6-2, 1: 2-2.4");
}

#[test]
fn dom0_is_put_back_to_the_simulated_time() {
    let mut lab = Lab::new("nsx", settings().with("dom0_ticks", Setting::Count(4)), 1);
    let works = vec![Act::Compute(1_000 * MS)];
    lab.dom0(works);
    lab.hogs(3);
    lab.run(1_500 * US);
    // DOM0 has 400 us after its first slice. The guests take turns, two ticks each; at 1 ms, when the last
    // one's second tick is not charged yet, the least of them has 100 us. DOM0 is put there, below the
    // two with 200 us, and is next.
    let dom0: Vec<_> = lab.stretches().into_iter().filter(|stretch| stretch.vcpu == 0).collect();
    assert_eq!(dom0, [ran(0, 0, 0, 400 * US), ran(0, 0, 1_000 * US, 1_400 * US)]);
}

#[test]
fn the_timers_gather_and_raise_lvts() {
    let settings =
        settings().with("adjust", Setting::Nanos(2 * MS)).with("adjust_all", Setting::Nanos(5 * MS));
    let mut lab = Lab::new("nsx", settings, 2);
    let hog = vec![Act::Compute(1_000 * MS)];
    let short = vec![Act::Compute(1_000 * US), Act::Sleep(1_000 * MS)];
    lab.domain(false, &[(hog, Some(0)), (asleep(), None)], true, Settings::default())
        .expect("it is admitted");
    lab.domain(false, &[(short, Some(1))], true, Settings::default()).expect("it is admitted");
    lab.dom0(asleep());
    // A timer that goes off together with a tick is first: at 1 ms the hog has been charged 9 ticks.
    lab.run(1_950 * US);
    assert_eq!([0, 2].map(|vcpu| lab.key(vcpu, "dom_lvt") as u64), [900 * US, 900 * US]);
    assert_eq!([0, 1, 2, 3].map(|vcpu| lab.key(vcpu, "lvt") as u64), [1_900 * US, 0, 1_000 * US, 900 * US]);
    // At 2 ms the sleeper is raised to its domain's LVT; sys_lvt is the other domain's, and DOM0 is there.
    lab.run(2_050 * US);
    assert_eq!(
        [0, 1, 2, 3].map(|vcpu| lab.key(vcpu, "lvt") as u64),
        [2_000 * US, 1_900 * US, 1_000 * US, 1_000 * US]
    );
    assert_eq!(lab.key(3, "sys_lvt") as u64, 1_000 * US);
    // A newcomer starts there, and changes nobody's LVT.
    lab.guest(asleep());
    assert_eq!(
        [0, 1, 2, 4].map(|vcpu| lab.key(vcpu, "lvt") as u64),
        [2_000 * US, 1_900 * US, 1_000 * US, 1_000 * US]
    );
    // At 5 ms two domains lag by 39 ticks, more than 10: all guests are raised to the greatest; DOM0 follows
    // with sys_lvt.
    lab.run(5_050 * US);
    assert_eq!(
        [0, 1, 2, 4].map(|vcpu| lab.key(vcpu, "lvt") as u64),
        [5_000 * US, 4_900 * US, 4_900 * US, 4_900 * US]
    );
    lab.run(6_050 * US);
    assert_eq!(lab.key(3, "lvt") as u64, 4_900 * US);
}

#[test]
fn lags_up_to_the_greatest_difference_stay() {
    for (max_diff_ticks, lvt_ns) in [(29, 1_000 * US), (28, 3_900 * US)] {
        let max = Setting::Count(max_diff_ticks);
        let settings = settings().with("adjust_all", Setting::Nanos(5 * MS)).with("max_diff_ticks", max);
        let mut lab = Lab::new("nsx", settings, 1);
        lab.hog(Settings::default());
        let short = vec![Act::Compute(1_000 * US), Act::Sleep(1_000 * MS)];
        lab.guest(short);
        // They take turns until both have run ten ticks at 2 ms. At 5 ms the first has been charged 29 more.
        lab.run(5_050 * US);
        assert_eq!([0, 1].map(|vcpu| lab.key(vcpu, "lvt") as u64), [4_000 * US, lvt_ns]);
    }
}

#[test]
fn who_wakes_takes_its_own_pcpu_if_its_lvt_is_less() {
    let mut lab = Lab::new("nsx", settings(), 2);
    let pinned = |pcpu| (vec![Act::Compute(1_000 * MS)], Some(pcpu));
    lab.domain(false, &[pinned(0), pinned(1)], true, Settings::default()).expect("it is admitted");
    let late = vec![Act::Sleep(550 * US), Act::Compute(100 * US), Act::Sleep(100 * MS)];
    lab.guest(late);
    lab.run(1_000 * US);
    // At 0 it preempts PCPU 0 at 550 us, is charged at 600 and, still the least, goes on to 650.
    let third: Vec<_> = lab.stretches().into_iter().filter(|stretch| stretch.vcpu == 2).collect();
    assert_eq!(third, [ran(0, 2, 550 * US, 650 * US)]);
    assert_eq!(lab.key(2, "lvt") as u64, 100 * US);
    lab.migrate(2, 1, false);
    lab.run(110 * MS);
    // It wakes at 101.2 ms where it was moved to.
    let last = lab.stretches().into_iter().rfind(|stretch| stretch.vcpu == 2);
    assert_eq!(last.map(|stretch| stretch.pcpu), Some(1));
}

#[test]
fn who_is_interrupted_finishes_its_tick_before_its_equals() {
    let mut lab = Lab::new("nsx", settings(), 1);
    lab.hogs(2);
    let late = vec![Act::Sleep(430 * US), Act::Compute(20 * US), Act::Sleep(100 * MS)];
    lab.guest(late);
    lab.run(600 * US);
    // At 400 us both hogs have used two ticks, and it is 0's turn. The third, at 0, takes the PCPU for 20 us.
    let expected = [
        ran(0, 0, 400 * US, 430 * US),
        ran(0, 2, 430 * US, 450 * US),
        ran(0, 0, 450 * US, 500 * US),
        ran(0, 1, 500 * US, 600 * US),
    ];
    assert_eq!(lab.stretches()[4..], expected);
}

#[test]
fn staggered_ticks_are_spread_over_a_tick() {
    let mut lab = Lab::new("nsx", settings().with("stagger", Setting::Flag(true)), 2);
    lab.hogs(3);
    lab.run(10 * MS);
    for pcpu in 0..2 {
        let stretches: Vec<_> = lab.stretches().into_iter().filter(|stretch| stretch.pcpu == pcpu).collect();
        assert!(stretches.len() > 20, "{stretches:?}");
        for stretch in &stretches[1..] {
            assert_eq!(stretch.from_ns % (100 * US), u64::from(pcpu) * 50 * US);
        }
    }
}

#[test]
fn ticks_outside_the_paper_are_refused() {
    for tick_ns in [29 * US, 31 * MS] {
        let mut settings = Settings::default().with("tick", Setting::Nanos(tick_ns));
        let refused = build("nsx", &mut settings, Host { pcpus: 1 });
        assert!(matches!(refused, Err(PolicyError::BadValue { .. })));
    }
}

#[test]
fn lvts_of_those_who_always_run_stay_within_a_tick() {
    for seed in 0..60 {
        let mut dice = Dice(seed);
        let pcpus = 1 + dice.below(4) as u32;
        let hogs = u64::from(pcpus) + dice.below(10);
        let mut lab = Lab::new("nsx", settings(), pcpus);
        lab.hogs(hogs as u32);
        for _ in 0..40 {
            lab.run(lab.now_ns + dice.below(700 * US));
            let lvts: Vec<_> = (0..hogs as u32).map(|vcpu| lab.key(vcpu, "lvt") as u64).collect();
            let spread = lvts.iter().max().unwrap() - lvts.iter().min().unwrap();
            assert!(spread <= 100 * US, "{lvts:?}");
        }
    }
}

#[test]
fn the_least_lvt_at_every_decision() {
    for seed in 0..200 {
        let mut dice = Dice(seed);
        let world = World { pcpus: 1 + dice.below(4) as u32, dom0: seed % 2 == 0, pins: seed % 3 == 0 };
        let mut sys_lvt = 0;
        // DOM0's clock is set back and its slice is longer: it is compared by the LVT with which it was
        // picked.
        let name = if world.dom0 { "lvt_of_slice" } else { "lvt" };
        let settings = settings().with("dom0_ticks", Setting::Count(1 + dice.below(4)));
        let lab = watched("nsx", settings, world.pcpus, move |decision| {
            decision.assert_least(name);
            if let Some(chosen) = decision.chosen() {
                assert!(key(chosen, "sys_lvt") >= sys_lvt, "simulated time never falls");
                sys_lvt = key(chosen, "sys_lvt");
            }
        });
        live(lab, &mut dice, world);
    }
}

#[test]
fn who_comes_and_goes_changes_nothing_for_the_others() {
    let run = |visits: bool| {
        let mut lab = Lab::new("nsx", settings(), 2);
        for pcpu in 0..2 {
            let steady = vec![Act::Compute(130 * US), Act::Sleep(50 * US)];
            lab.domain(false, &[(steady, Some(pcpu))], true, Settings::default()).expect("it is admitted");
        }
        lab.run(7 * MS);
        if visits {
            let visitor = vec![Act::Sleep(50 * MS)];
            let dom = lab.guest(visitor);
            assert_eq!(lab.key(2, "lvt") as u64, lab.key(0, "sys_lvt") as u64);
            lab.run(12 * MS);
            lab.remove(dom);
        }
        lab.run(30 * MS);
        (lab.stretches(), lab.key(0, "lvt") as u64, lab.key(1, "lvt") as u64, lab.key(0, "sys_lvt") as u64)
    };
    assert_eq!(run(false), run(true));
}
