//! PSX+ by hand, and what it promises.

use crate::lab::{Act, Lab, ran};
use crate::watch::{Decision, Dice, World, key, live, watched};
use paceline_policy::{DomId, MICROSECOND as US, MILLISECOND as MS, Setting, Settings, VcpuId};

fn lab(pcpus: u32) -> Lab {
    Lab::new("psx-plus", Settings::default(), pcpus)
}

fn report(lab: &mut Lab, vcpu: u32, lvt_ns: u64) {
    lab.tell(|policy, now_ns, orders| policy.lvt(now_ns, VcpuId(vcpu), lvt_ns, orders));
}

fn simulate(lab: &mut Lab, vcpu: u32, lvt_ns: u64) {
    report(lab, vcpu, lvt_ns);
    lab.tell(|policy, now_ns, orders| policy.mode(now_ns, VcpuId(vcpu), true, orders));
}

fn pending(lab: &mut Lab, dom: u32, messages: u32) {
    lab.tell(|policy, now_ns, orders| policy.pending(now_ns, DomId(dom), messages, orders));
}

fn waiting(lab: &mut Lab, vcpu: u32, waits: bool) {
    lab.tell(|policy, now_ns, orders| policy.waiting(now_ns, VcpuId(vcpu), waits, orders));
}

/// Classes first, then the order in a class.
fn assert_first(decision: &Decision) {
    for other in decision.waiting() {
        let chosen = decision.chosen().unwrap_or_else(|| panic!("{} idles, {other:?} waits", decision.pcpu));
        let place = |own| (key(own, "class"), key(own, "order"));
        assert!(place(other) >= place(chosen), "{chosen:?} was picked, {other:?} waits");
        // LVT, and what it has risen by since it was reported.
        let rise = key(other, "order") - key(other, "lvt");
        assert!(key(other, "class") != 2 || rise >= 0, "{other:?} is put before what it has reported");
    }
}

#[test]
fn a_message_puts_a_waiter_back_at_once() {
    let mut lab = lab(1);
    for vcpu in 0..3 {
        lab.hog(Settings::default());
        simulate(&mut lab, vcpu, 10 + u64::from(vcpu));
    }
    // The least runs until it waits; so does the second; the third works on.
    lab.run(50 * US);
    waiting(&mut lab, 0, true);
    lab.run(80 * US);
    waiting(&mut lab, 1, true);
    lab.run(100 * US);
    // A message for the first: it has the least LVT and preempts. It takes 20 us, then it waits again, and the third is back.
    pending(&mut lab, 0, 1);
    lab.run(120 * US);
    pending(&mut lab, 0, 0);
    waiting(&mut lab, 0, true);
    lab.run(200 * US);
    let expected = [
        ran(0, 0, 0, 50 * US),
        ran(0, 1, 50 * US, 80 * US),
        ran(0, 2, 80 * US, 100 * US),
        ran(0, 0, 100 * US, 120 * US),
        ran(0, 2, 120 * US, 200 * US),
    ];
    assert_eq!(lab.stretches(), expected);
}

#[test]
fn without_progress_for_the_patience_others_go_first_in_turn() {
    let mut lab = Lab::new("psx-plus", Settings::default().with("patience", Setting::Nanos(200 * US)), 1);
    for vcpu in 0..3 {
        lab.hog(Settings::default());
        simulate(&mut lab, vcpu, 10 + u64::from(vcpu));
    }
    // A report that is no progress does not count; one that is, does.
    lab.run(100 * US);
    report(&mut lab, 0, 10);
    lab.run(350 * US);
    report(&mut lab, 1, 12);
    // The first stops at 200. The second has 50 us without progress at 400, when its slice is over; the third has the same
    // LVT, so it is behind that, which runs for its patience; then the second for the rest of its own. Now all wait: who
    // ran longest ago is first, for a tick of 300 us each.
    lab.run(2_000 * US);
    let expected = [
        ran(0, 0, 0, 200 * US),
        ran(0, 1, 200 * US, 400 * US),
        ran(0, 2, 400 * US, 600 * US),
        ran(0, 1, 600 * US, 750 * US),
        ran(0, 0, 750 * US, 1_050 * US),
        ran(0, 2, 1_050 * US, 1_350 * US),
        ran(0, 1, 1_350 * US, 1_650 * US),
        ran(0, 0, 1_650 * US, 1_950 * US),
        ran(0, 2, 1_950 * US, 2_000 * US),
    ];
    assert_eq!(lab.stretches(), expected);
}

#[test]
fn a_yield_demotes_unless_a_message_is_pending() {
    for (messages, first_ns) in [(0, 50 * US), (1, 250 * US)] {
        let mut lab = lab(1);
        let polls = vec![Act::Compute(50 * US), Act::Yield];
        lab.domain(false, &[(polls, None)], true, Settings::default()).expect("it is admitted");
        lab.hog(Settings::default());
        simulate(&mut lab, 0, 10);
        simulate(&mut lab, 1, 20);
        pending(&mut lab, 0, messages);
        lab.run(250 * US);
        assert_eq!(lab.ran_ns(0), first_ns);
    }
}

#[test]
fn dom0_goes_first_but_for_shares() {
    // 10 % of a period of 10 ms, two VCPUs on a PCPU: 500 us each. Due with 1,000 + 500 us to go.
    let settings =
        Settings::default().with("period", Setting::Nanos(10 * MS)).with("share_percent", Setting::Count(10));
    let mut lab = Lab::new("psx-plus", settings, 1);
    // The first period begins before anybody is awake.
    let works = vec![Act::Sleep(5 * MS), Act::Compute(1_000 * MS)];
    lab.domain(true, &[(works.clone(), None)], true, Settings::default()).expect("it is admitted");
    lab.domain(false, &[(works, None)], true, Settings::default()).expect("it is admitted");
    simulate(&mut lab, 1, 10);
    lab.run(30 * MS);
    let expected = [
        ran(0, 0, 5 * MS, 18_500 * US),
        ran(0, 1, 18_500 * US, 19_000 * US),
        ran(0, 0, 19 * MS, 28_500 * US),
        ran(0, 1, 28_500 * US, 29_000 * US),
        ran(0, 0, 29 * MS, 30 * MS),
    ];
    assert_eq!(lab.stretches(), expected);
}

#[test]
fn without_a_simulation_who_ran_longest_ago_is_first() {
    let mut lab = lab(1);
    lab.hog(Settings::default());
    lab.hog(Settings::default());
    let late = vec![Act::Sleep(350 * US), Act::Compute(50 * US), Act::Sleep(10 * MS)];
    lab.domain(false, &[(late, None)], true, Settings::default()).expect("it is admitted");
    for vcpu in 0..3 {
        lab.tell(|policy, now_ns, orders| policy.mode(now_ns, VcpuId(vcpu), false, orders));
    }
    lab.run(1_000 * US);
    // The first to say so gives way to those who have not yet.
    let expected = [
        ran(0, 1, 0, 300 * US),
        ran(0, 0, 300 * US, 600 * US),
        ran(0, 2, 600 * US, 650 * US),
        ran(0, 1, 650 * US, 950 * US),
        ran(0, 0, 950 * US, 1_000 * US),
    ];
    assert_eq!(lab.stretches(), expected);
}

#[test]
fn newcomers_go_first_until_they_say_what_they_are() {
    let settings = Settings::default().with("period", Setting::Nanos(MS));
    let mut lab = Lab::new("psx-plus", settings, 1);
    let works = |after_ns| vec![Act::Sleep(after_ns), Act::Compute(1_000 * MS)];
    lab.hog(Settings::default());
    simulate(&mut lab, 0, 10);
    // Always at work: it sets no flag, and reports all the time.
    let busy_until = |lab: &mut Lab, until_ns: u64| {
        while lab.now_ns < until_ns {
            let next_ns = (lab.now_ns + 50 * US).min(until_ns);
            lab.run(next_ns);
            let lvt_ns = lab.now_ns;
            report(lab, 0, lvt_ns);
        }
    };
    lab.domain(false, &[(works(100 * US), None)], true, Settings::default()).expect("it is admitted");
    busy_until(&mut lab, 400 * US);
    assert_eq!(lab.ran_ns(1), 300 * US, "it preempts, and stays for its first slice");
    // It says nothing: after a period of CPU time it has no more than its share, 5 % of a half.
    busy_until(&mut lab, 10 * MS);
    assert!((MS..=MS + 10 * 25 * US).contains(&lab.ran_ns(1)), "{}", lab.ran_ns(1));
}

/// Federates whose LVT stands still for a whole window, as it does where windows are run LP by LP.
#[test]
fn windows_are_run_abreast_whoever_has_reported_the_least() {
    let mut lab = lab(2);
    for vcpu in 0..3 {
        lab.hog(Settings::default());
        simulate(&mut lab, vcpu, 1_000_000 + u64::from(vcpu));
        waiting(&mut lab, vcpu, false);
    }
    // The first window, one after the other: nothing is known of them. Then all report.
    lab.run(5 * MS);
    waiting(&mut lab, 0, true);
    waiting(&mut lab, 1, true);
    lab.run(10 * MS);
    for vcpu in 0..3 {
        waiting(&mut lab, vcpu, false);
        report(&mut lab, vcpu, 2_000_000 + u64::from(vcpu));
    }
    let before = [0, 1, 2].map(|vcpu| lab.ran_ns(vcpu));
    lab.run(16 * MS);
    for vcpu in 0..3 {
        let ran_ns = lab.ran_ns(vcpu) - before[vcpu as usize];
        assert!(ran_ns.abs_diff(4 * MS) <= 600 * US, "VCPU {vcpu}: {ran_ns} of 4 ms");
    }
}

/// A period of 10 ms of which 10 % are shared out, beside `dom0` hogs of DOM0; the first period is over.
fn shares(pcpus: u32, dom0: usize, guests: &[Option<u32>], tick_ns: u64) -> Lab {
    let settings = Settings::default()
        .with("period", Setting::Nanos(10 * MS))
        .with("share_percent", Setting::Count(10))
        .with("tick", Setting::Nanos(tick_ns));
    let mut lab = Lab::new("psx-plus", settings, pcpus);
    let works = vec![Act::Compute(1_000_000 * MS)];
    lab.domain(true, &vec![(works.clone(), None); dom0], true, Settings::default()).expect("it is admitted");
    for pin in guests {
        lab.domain(false, &[(works.clone(), *pin)], true, Settings::default()).expect("it is admitted");
    }
    lab.run(10 * MS);
    lab
}

#[test]
fn shares_of_many_on_one_pcpu_are_what_it_can_give() {
    // Five on one of four PCPUs, with DOM0 on all: 1 ms / 5 each, not 1 ms * 4 / 9, which would be all for two of them.
    let mut lab = shares(4, 4, &[Some(0); 5], 300 * US);
    let before = [4, 5, 6, 7, 8].map(|vcpu| lab.ran_ns(vcpu));
    lab.run(20 * MS);
    let got = [4, 5, 6, 7, 8].map(|vcpu| lab.ran_ns(vcpu) - before[vcpu as usize - 4]);
    assert_eq!(got, [200 * US; 5]);
}

#[test]
fn the_due_do_not_hold_up_those_pinned() {
    // Two PCPUs, 14 VCPUs: 1 ms / 7 each, due with eight shares to go. The six without a pin would take three shares on
    // both PCPUs; then six shares for those pinned to one would be too late.
    let mut guests = vec![None; 6];
    guests.extend([Some(0); 6]);
    let mut lab = shares(2, 2, &guests, 300 * US);
    let before: Vec<_> = (0..14).map(|vcpu| lab.ran_ns(vcpu)).collect();
    lab.run(20 * MS);
    for vcpu in 0..14 {
        assert!(lab.ran_ns(vcpu) - before[vcpu as usize] >= MS / 7, "VCPU {vcpu}");
    }
}

#[test]
fn who_runs_when_its_share_falls_due_stops_when_it_has_it() {
    let settings = Settings::default()
        .with("period", Setting::Nanos(10 * MS))
        .with("share_percent", Setting::Count(10))
        .with("tick", Setting::Nanos(5 * MS));
    let mut lab = Lab::new("psx-plus", settings, 1);
    let most = vec![Act::Sleep(1), Act::Compute(8_400 * US), Act::Sleep(1_600 * US - 1)];
    lab.domain(true, &[(most, None)], true, Settings::default()).expect("it is admitted");
    lab.hog(Settings::default());
    lab.hog(Settings::default());
    lab.run(10 * MS);
    // Two hogs awake when the period begins: 500 us each, due from 8.5 ms on. The first to run starts at 18.4 ms with 5 ms.
    let before = [1, 2].map(|vcpu| lab.ran_ns(vcpu));
    lab.run(20 * MS);
    let got = [1, 2].map(|vcpu| lab.ran_ns(vcpu) - before[vcpu as usize - 1]);
    assert!(got.iter().all(|got_ns| *got_ns >= 500 * US), "{got:?}");
}

/// What guests may do: VCPU 2 repeats 0, 3 creeps and gets messages, 4 claims to be far ahead, 5 never reports, 64 and 65 do
/// not simulate.
#[test]
fn nobody_starves_beside_liars_and_silent_guests() {
    let period_ns = 20 * MS;
    let percent = 10;
    let settings = Settings::default()
        .with("period", Setting::Nanos(period_ns))
        .with("share_percent", Setting::Count(percent));
    let mut lab = watched("psx-plus", settings, 4, assert_first);
    let works = || (vec![Act::Compute(1_000_000 * MS)], None);
    lab.domain(true, &[works(), works()], true, Settings::default()).expect("it is admitted");
    for _ in 2..66 {
        lab.hog(Settings::default());
    }
    for vcpu in 2..64 {
        simulate(&mut lab, vcpu, 1_000);
    }
    lab.run(period_ns);
    // (n / M) = 66 / 4.
    let share_ns = period_ns * percent / 100 * 4 / 66;
    let mut dice = Dice(3);
    for period in 1..12 {
        let before: Vec<_> = (0..66).map(|vcpu| lab.ran_ns(vcpu)).collect();
        for step in 1..=40 {
            lab.run(period * period_ns + step * period_ns / 40);
            report(&mut lab, 2, 0);
            report(&mut lab, 3, 1_000 + period * 40 + step);
            report(&mut lab, 4, u64::MAX);
            let honest = 6 + dice.below(50) as u32;
            report(&mut lab, honest, 1_000 + 1_000 * (period * 40 + step));
            pending(&mut lab, 3, (step % 3) as u32);
        }
        for vcpu in 0..66 {
            let got_ns = lab.ran_ns(vcpu) - before[vcpu as usize];
            assert!(got_ns >= share_ns, "VCPU {vcpu} got {got_ns} of {share_ns} in period {period}");
        }
    }
}

#[test]
fn everybody_gets_the_share_of_every_period() {
    for seed in 0..60 {
        let mut dice = Dice(seed);
        let pcpus = 1 + dice.below(4);
        let percent = 1 + dice.below(50);
        let period_ns = MS + dice.below(20 * MS);
        let settings = Settings::default()
            .with("period", Setting::Nanos(period_ns))
            .with("share_percent", Setting::Count(percent))
            .with("tick", Setting::Nanos(10 * US + dice.below(MS)));
        let mut lab = watched("psx-plus", settings, pcpus as u32, assert_first);
        // Hogs are awake always; others come and go beside them.
        let hogs = 1 + dice.below(20) as u32;
        let mut pinned = vec![0; pcpus as usize];
        for _ in 0..hogs {
            let pin = (dice.below(3) == 0).then(|| dice.below(pcpus) as u32);
            pin.into_iter().for_each(|pin| pinned[pin as usize] += 1);
            let script = vec![Act::Compute(1_000_000 * MS)];
            lab.domain(dice.below(9) == 0, &[(script, pin)], true, Settings::default())
                .expect("it is admitted");
        }
        let others = dice.below(10) as u32;
        for _ in 0..others {
            let script = vec![
                Act::Compute(US + dice.below(MS)),
                Act::Yield,
                Act::Compute(US),
                Act::Sleep(dice.below(MS)),
            ];
            lab.domain(false, &[(script, None)], true, Settings::default()).expect("it is admitted");
        }
        lab.run(period_ns);
        // At least what they would have with all awake.
        let most = pinned.into_iter().max().unwrap_or(0).max(1);
        let part_ns = period_ns * percent / 100;
        let share_ns = (part_ns * pcpus / u64::from(hogs + others)).min(part_ns / most);
        for period in 1..6 {
            let before: Vec<_> = (0..hogs).map(|vcpu| lab.ran_ns(vcpu)).collect();
            while lab.now_ns < (period + 1) * period_ns {
                let until_ns = lab.now_ns + 1 + dice.below(period_ns / 5);
                lab.run(until_ns.min((period + 1) * period_ns));
                let vcpu = dice.below(u64::from(hogs + others)) as u32;
                match dice.below(5) {
                    0 => simulate(&mut lab, vcpu, dice.below(100)),
                    1 => report(&mut lab, vcpu, [0, u64::MAX][dice.below(2) as usize]),
                    2 => pending(&mut lab, vcpu, dice.below(3) as u32),
                    3 => waiting(&mut lab, vcpu, dice.below(2) == 0),
                    _ => report(&mut lab, vcpu, dice.below(100_000)),
                }
            }
            for vcpu in 0..hogs {
                let got_ns = lab.ran_ns(vcpu) - before[vcpu as usize];
                assert!(got_ns >= share_ns, "seed {seed}: VCPU {vcpu} got {got_ns} of {share_ns}");
            }
        }
    }
}

#[test]
fn the_first_of_the_order_at_every_decision() {
    for seed in 0..150 {
        let mut dice = Dice(seed);
        let world = World { pcpus: 1 + dice.below(4) as u32, dom0: true, pins: seed % 3 == 0 };
        live(watched("psx-plus", Settings::default(), world.pcpus, assert_first), &mut dice, world);
    }
}

#[test]
fn federates_that_only_wait_are_served_in_turn() {
    let mut lab = lab(3);
    for vcpu in 0..10 {
        lab.hog(Settings::default());
        simulate(&mut lab, vcpu, 100 - u64::from(vcpu));
    }
    lab.run(20 * MS);
    let before: Vec<_> = (0..10).map(|vcpu| lab.ran_ns(vcpu)).collect();
    lab.run(320 * MS);
    // 300 ms on 3 PCPUs for 10.
    for vcpu in 0..10 {
        let ticks = (lab.ran_ns(vcpu) - before[vcpu as usize]) / (300 * US);
        assert!((298..=302).contains(&ticks), "VCPU {vcpu}: {ticks}");
    }
}

#[test]
fn same_calls_same_answers() {
    let world = World { pcpus: 3, dom0: true, pins: true };
    let run = || live(lab(3), &mut Dice(7), world);
    assert_eq!(run(), run());
}
