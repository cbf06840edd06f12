//! PSX: schedules computed by hand, and its properties.

use crate::lab::{Act, Lab, ran};
use crate::watch::{Dice, World, key, live, watched};
use paceline_policy::{MICROSECOND as US, MILLISECOND as MS, Setting, Settings, VcpuId};

fn lab(pcpus: u32) -> Lab {
    Lab::new("psx", Settings::default(), pcpus)
}

/// Puts an LVT on the page of a simulating guest.
fn report(lab: &mut Lab, vcpu: u32, lvt_ns: u64) {
    lab.call(|policy, now_ns, orders| {
        policy.mode(now_ns, VcpuId(vcpu), true, orders);
        policy.lvt(now_ns, VcpuId(vcpu), lvt_ns, orders);
    });
}

#[test]
fn normal_mode_is_round_robin_by_ticks_with_dom0_first() {
    let mut lab = lab(1);
    let driver = vec![Act::Sleep(500 * US), Act::Compute(200 * US), Act::Sleep(10 * MS)];
    lab.dom0(driver);
    lab.hogs(2);
    lab.run(1_500 * US);
    // Ticks at 300, 600, ... DOM0 (0) wakes at 500, goes before the second guest (1), and keeps the PCPU over
    // the tick at 600. At 700 the first guest is at the head; the second, preempted, is behind it.
    lab.assert_ran(MS, "1: 0-0.3, 2: 0.3-0.5, 0: 0.5-0.7, 1: 0.7-0.9, 2: 0.9-1.2, 1: 1.2-1.5");
}

#[test]
fn no_progress_flips_to_max_time_and_the_next_read_puts_it_back() {
    let mut lab = lab(1);
    lab.hogs(2);
    report(&mut lab, 0, 50);
    report(&mut lab, 1, 70);
    lab.run(300 * US);
    // First read of 0: 1 -> 50, so 1 (still at 1) runs; first read of 1: 70. 0 has the least, runs, and is
    // read again: 50 as before, so max_time.
    assert_eq!([lab.key(0, "sim_time"), lab.key(1, "sim_time")], [50, 1]);
    lab.run(600 * US);
    assert_eq!([lab.key(0, "sim_time"), lab.key(1, "sim_time")], [50, 70]);
    lab.run(900 * US);
    assert_eq!([lab.key(0, "sim_time"), lab.key(1, "sim_time")], [i64::MAX, 70]);
    // Now 1 runs and makes progress at every tick: the other stays at max_time for as long.
    for tick in 4..8 {
        report(&mut lab, 1, 70 + tick);
        lab.run(tick * 300 * US);
        assert_eq!([lab.key(0, "sim_time"), lab.key(1, "sim_time")], [i64::MAX, 70 + tick as i64]);
    }
    // No more: both at max_time, and the one that came first runs. Its next read restores it, so it is the
    // least and runs once more, before it flips again.
    lab.run(8 * 300 * US);
    assert_eq!([lab.key(0, "sim_time"), lab.key(1, "sim_time")], [i64::MAX, i64::MAX]);
    lab.run(9 * 300 * US);
    assert_eq!([lab.key(0, "sim_time"), lab.key(1, "sim_time")], [50, i64::MAX]);
    lab.run(12 * 300 * US);
    let expected = [(0, 1), (1, 2), (0, 3), (1, 8), (0, 10), (1, 12)];
    let mut from = 0;
    let expected = expected.map(|(vcpu, to)| {
        let stretch = ran(0, vcpu, from * 300 * US, to * 300 * US);
        from = to;
        stretch
    });
    assert_eq!(lab.stretches(), expected);
}

#[test]
fn a_vcpu_that_wakes_takes_the_pcpu_of_the_greatest_sim_time() {
    let mut lab = lab(2);
    lab.hogs(2);
    let late = vec![Act::Sleep(750 * US), Act::Compute(100 * US), Act::Sleep(MS)];
    lab.guest(late);
    // Progress at every tick: at 600 the first stands at 21, the second at 9; the third has never been read
    // and has 1.
    report(&mut lab, 0, 20);
    report(&mut lab, 1, 8);
    lab.run(300 * US);
    report(&mut lab, 0, 21);
    report(&mut lab, 1, 9);
    lab.run(900 * US);
    let third: Vec<_> = lab.stretches().into_iter().filter(|stretch| stretch.vcpu == 2).collect();
    assert_eq!(third, [ran(0, 2, 750 * US, 850 * US)]);
}

#[test]
fn simulation_mode_ends_when_the_last_switch_is_unset() {
    let mut lab = lab(1);
    lab.hogs(2);
    report(&mut lab, 0, 50);
    report(&mut lab, 1, 70);
    lab.run(3 * MS);
    let unset = |lab: &mut Lab, vcpu| {
        lab.mode(vcpu, false);
        lab.run(lab.now_ns + 2 * MS);
    };
    unset(&mut lab, 0);
    assert!([50, i64::MAX].contains(&lab.key(0, "sim_time")), "it goes on while one switch is set");
    unset(&mut lab, 1);
    assert_eq!([lab.key(0, "sim_time"), lab.key(1, "sim_time")], [1, 1]);
    report(&mut lab, 0, 50);
    lab.run(lab.now_ns + MS);
    let first = lab.policy.dump(lab.now_ns)[0].clone();
    assert_eq!(key(&first, "prior_sim_time"), 50);
    lab.remove(paceline_policy::DomId(0));
    assert_eq!(lab.key(1, "sim_time"), 1, "the switch of a domain that went counts no more");
}

#[test]
fn with_rereads_max_time_is_temporary_even_if_others_make_progress() {
    // The ticks at which VCPU 0 runs, while 1 reports progress at every tick.
    let ran_at = |rereads| {
        let mut lab = Lab::new("psx", Settings::default().with("rereads", Setting::Count(rereads)), 1);
        lab.hog(Settings::default());
        lab.hog(Settings::default());
        report(&mut lab, 0, 50);
        for tick in 0..20 {
            report(&mut lab, 1, 70 + tick);
            lab.run(tick * 300 * US);
        }
        lab.stretches()
            .iter()
            .filter(|stretch| stretch.vcpu == 0)
            .flat_map(|stretch| stretch.from_ns / (300 * US)..stretch.to_ns / (300 * US))
            .collect::<Vec<_>>()
    };
    // It runs in tick 0 and, after 1 has, in 2; it is read at ticks 1 and 3, and as the value is the same, is
    // at max_time from there. With 4 it is read again at 7 and runs; is read at 8, flips, is read at 12.
    assert_eq!(ran_at(0), [0, 2]);
    assert_eq!(ran_at(4), [0, 2, 7, 12, 17]);
}

#[test]
fn with_reads_at_enqueue_a_yield_is_read() {
    let polls = vec![Act::Compute(10 * US), Act::Yield];
    let mut switches = Vec::new();
    for reads in ["tick", "enqueue"] {
        let mut lab = Lab::new("psx", Settings::default().with("reads", Setting::Word(reads.into())), 1);
        lab.guest(polls.clone());
        lab.hog(Settings::default());
        report(&mut lab, 0, 50);
        report(&mut lab, 1, 70);
        lab.run(1_500 * US);
        let ran_ns = lab.ran_ns(0);
        report(&mut lab, 1, 71);
        lab.run(1_800 * US);
        switches.push((ran_ns, lab.policy.dump(lab.now_ns)[0].keys[0].1));
    }
    // With reads at ticks only, a VCPU that polls and yields with the least time keeps the PCPU until its
    // page is read; with reads at every enqueue a yield gives it up.
    assert!(switches[1].0 < switches[0].0, "{switches:?}");
}

#[test]
fn a_decision_reports_the_pages_it_looked_at() {
    let (sender, receiver) = std::sync::mpsc::channel();
    let mut lab = watched("psx", Settings::default(), 1, move |decision| {
        sender.send(decision.pick.examined).expect("the test listens");
    });
    lab.domain(true, &[(vec![Act::Compute(450 * US)], None)], false, Settings::default())
        .expect("it is admitted");
    lab.hog(Settings::default());
    lab.run(MS);
    let examined: Vec<_> = receiver.try_iter().collect();
    // Start; tick of DOM0; DOM0 sleeps; ticks of the guest at 600 and 900.
    assert_eq!(examined, [0, 0, 0, 1, 1]);
}

#[test]
fn who_is_moved_and_pinned_runs_there_by_its_sim_time() {
    let mut lab = lab(2);
    lab.hogs(3);
    lab.run(100 * US);
    lab.migrate(2, 1, true);
    lab.run(100 * MS);
    assert!(lab.stretches().iter().all(|stretch| stretch.vcpu != 2 || stretch.pcpu == 1));
    assert!(lab.ran_ns(2) > 30 * MS);
}

#[test]
fn federates_that_only_poll_are_served_in_turn() {
    let mut lab = lab(3);
    for vcpu in 0..10 {
        lab.hog(Settings::default());
        report(&mut lab, vcpu, 100 - u64::from(vcpu));
    }
    lab.run(20 * MS);
    let before: Vec<_> = (0..10).map(|vcpu| lab.ran_ns(vcpu)).collect();
    lab.run(320 * MS);
    // Each service is two ticks: at max_time, then at its own. 300 ms on 3 PCPUs are 1000 + 1000 + 1000 ticks
    // for 10.
    for vcpu in 0..10 {
        let ticks = (lab.ran_ns(vcpu) - before[vcpu as usize]) / (300 * US);
        assert!((296..=304).contains(&ticks), "VCPU {vcpu}: {ticks}");
    }
}

#[test]
fn the_least_sim_time_at_every_decision() {
    for seed in 0..150 {
        let mut dice = Dice(seed);
        let pcpus = 1 + dice.below(4) as u32;
        let reads = ["tick", "enqueue"][dice.below(2) as usize];
        let settings = Settings::default().with("reads", Setting::Word(reads.into()));
        let settings = settings.with("rereads", Setting::Count(dice.below(5)));
        let lab = watched("psx", settings, pcpus, |decision| decision.assert_least("sim_time"));
        live(lab, &mut dice, World { pcpus, dom0: true, pins: seed % 3 == 0 });
    }
}

#[test]
fn nobody_runs_while_a_lesser_sim_time_waits() {
    for seed in 0..100 {
        let mut dice = Dice(seed);
        let pcpus = 1 + dice.below(4) as u32;
        let mut lab = lab(pcpus);
        for vcpu in 0..1 + dice.below(12) as u32 {
            let script = vec![Act::Compute(US + dice.below(MS)), Act::Sleep(US + dice.below(MS))];
            lab.guest(script);
            report(&mut lab, vcpu, dice.below(1_000));
        }
        for _ in 0..60 {
            lab.run(lab.now_ns + 1 + dice.below(MS));
            let dump = lab.policy.dump(lab.now_ns);
            let (run, wait): (Vec<_>, Vec<_>) = dump
                .iter()
                .filter(|standing| standing.awake)
                .partition(|standing| standing.runs_on.is_some());
            let greatest = run.iter().map(|standing| key(standing, "sim_time")).max();
            let least = wait.iter().map(|standing| key(standing, "sim_time")).min();
            assert!(least.is_none_or(|least| Some(least) >= greatest), "seed {seed}: {dump:?}");
        }
    }
}
