//! Properties of PSX+ that hold whatever guests report.

use crate::lab::{Act, Lab};
use crate::psx_plus::{lab, simulate};
use crate::watch::{Decision, Dice, World, key, live, watched};
use paceline_policy::{MICROSECOND as US, MILLISECOND as MS, Setting, Settings};

/// Checks that the VCPU that was picked comes first, by class and then by the order within the class.
fn assert_first(decision: &Decision) {
    for other in decision.waiting() {
        let chosen = decision.chosen().unwrap_or_else(|| panic!("{} idles, {other:?} waits", decision.pcpu));
        let place = |own| (key(own, "class"), key(own, "order"));
        assert!(place(other) >= place(chosen), "{chosen:?} was picked, {other:?} waits");
        // A federate's order is its LVT plus its estimated rise since the report.
        let rise = key(other, "order") - key(other, "lvt");
        assert!(key(other, "class") != 2 || rise >= 0, "{other:?} is put before what it has reported");
    }
}

/// Guests beside `dom0` hogs of DOM0, with a period of 10 ms of which 10 % are shares; the first period is
/// over.
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
    // Five on one of four PCPUs, with DOM0 on all: 1 ms / 5 each, not 1 ms * 4 / 9, which would be all for
    // two of them.
    let mut lab = shares(4, 4, &[Some(0); 5], 300 * US);
    let before = [4, 5, 6, 7, 8].map(|vcpu| lab.ran_ns(vcpu));
    lab.run(20 * MS);
    let got = [4, 5, 6, 7, 8].map(|vcpu| lab.ran_ns(vcpu) - before[vcpu as usize - 4]);
    assert_eq!(got, [200 * US; 5]);
}

#[test]
fn the_due_do_not_hold_up_those_pinned() {
    // Two PCPUs, 14 VCPUs: 1 ms / 7 each, due with eight shares to go. The six without a pin would take three
    // shares on both PCPUs; then six shares for those pinned to one would be too late.
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
    lab.dom0(most);
    lab.hogs(2);
    lab.run(10 * MS);
    // Two hogs awake when the period begins: 500 us each, due from 8.5 ms on. The first to run starts at 18.4
    // ms with 5 ms.
    let before = [1, 2].map(|vcpu| lab.ran_ns(vcpu));
    lab.run(20 * MS);
    let got = [1, 2].map(|vcpu| lab.ran_ns(vcpu) - before[vcpu as usize - 1]);
    assert!(got.iter().all(|got_ns| *got_ns >= 500 * US), "{got:?}");
}

/// What guests may do: VCPU 2 repeats 0, 3 creeps and gets messages, 4 claims to be far ahead, 5 never
/// reports, 64 and 65 do not simulate.
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
            lab.lvt(2, 0);
            lab.lvt(3, 1_000 + period * 40 + step);
            lab.lvt(4, u64::MAX);
            let honest = 6 + dice.below(50) as u32;
            lab.lvt(honest, 1_000 + 1_000 * (period * 40 + step));
            lab.pending(3, (step % 3) as u32);
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
            lab.guest(script);
        }
        lab.run(period_ns);
        // At least the share that they would have if all VCPUs were awake.
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
                    1 => lab.lvt(vcpu, [0, u64::MAX][dice.below(2) as usize]),
                    2 => lab.pending(vcpu, dice.below(3) as u32),
                    3 => lab.waiting(vcpu, dice.below(2) == 0),
                    _ => lab.lvt(vcpu, dice.below(100_000)),
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
