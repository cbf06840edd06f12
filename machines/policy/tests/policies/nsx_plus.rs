//! NSX+: schedules computed by hand, and its properties.

use crate::lab::{Act, Lab, ran};
use crate::watch::{Dice, World, key, live, watched};
use paceline_policy::{MICROSECOND as US, MILLISECOND as MS, PcpuId, Setting, Settings, Standing, VcpuId};

/// Half a tick.
const LEAD: u64 = 100 * US;

/// For how long a VCPU may go on after it has sent, although its turn is over.
const SPAN: u64 = 50 * US;

fn settings() -> Settings {
    Settings::default().with("tick", Setting::Nanos(2 * LEAD))
}

fn lab(pcpus: u32) -> Lab {
    Lab::new("nsx-plus", settings(), pcpus)
}

#[test]
fn who_runs_goes_on_until_it_is_a_lead_ahead() {
    let mut two = lab(1);
    let mut three = lab(1);
    two.hog(Settings::default());
    two.hog(Settings::default());
    (0..3).for_each(|_| _ = three.hog(Settings::default()));
    two.run(900 * US);
    three.run(1_000 * US);
    // LVTs are 100 and 0; then the second may reach 200, the first 300, and so on.
    two.assert_ran(US, "0: 0-100, 1: 100-300, 0: 300-500, 1: 500-700, 0: 700-900");
    // LVTs are 100, 0, 0; then 100, 100, 0; the third is a lead behind both, so it may reach 200; then the
    // first, beside two at 100 and 200, may reach 200; the second, the last at 100, may reach 300; the
    // third, at 200 for longer than the first, 300; the first 400.
    three.assert_ran(US, "0: 0-100, 1: 100-200, 2: 200-400, 0: 400-500, 1: 500-700, 2: 700-800, 0: 800-1000");
}

#[test]
fn who_wakes_leaps_to_simulated_time_and_interrupts_nobody_within_a_lead() {
    let mut lab = lab(1);
    lab.hog(Settings::default());
    lab.guest(vec![Act::Sleep(1_000 * US), Act::Compute(50 * US), Act::Sleep(MS)]);
    lab.run(1_300 * US);
    lab.assert_ran(US, "0: 0-1100, 1: 1100-1150, 0: 1150-1300");
    let lvts: Vec<_> =
        lab.policy.dump(lab.now_ns).iter().map(|standing| key(standing, "lvt") as u64 / US).collect();
    assert_eq!(lvts, [1_250, 1_050]);
}

#[test]
fn who_wakes_comes_behind_those_of_its_time() {
    let mut lab = lab(1);
    lab.hogs(2);
    lab.guest(vec![Act::Sleep(290 * US), Act::Compute(50 * US), Act::Sleep(MS)]);
    lab.run(400 * US);
    // At 290 us the first has 100 us and waits, the second 190 us. The third leaps to 100 us. It is not a
    // lead behind, so the second goes on until it is a lead ahead, at 300; then the first, which came
    // first, up to 200 us, and then the third.
    lab.assert_ran(US, "0: 0-100, 1: 100-300, 0: 300-400");
    lab.run(450 * US);
    assert_eq!(lab.running(0), Some(VcpuId(1)), "the third has been, and sleeps");
    assert_eq!(lab.ran_ns(2), 50 * US);
}

#[test]
fn who_wakes_a_lead_behind_preempts() {
    let mut lab = lab(2);
    let pinned = |pcpu| (vec![Act::Compute(1_000 * MS)], Some(pcpu));
    lab.domain(false, &[pinned(0), pinned(1), pinned(1)], true, Settings::default()).expect("it is admitted");
    lab.guest(vec![Act::Sleep(1_000 * US), Act::Compute(50 * US), Act::Sleep(MS)]);
    lab.run(1_200 * US);
    // The two that share a PCPU have 500 us each when the last one wakes; the one with its own has 1,000 us.
    let last: Vec<_> = lab.stretches().into_iter().filter(|stretch| stretch.vcpu == 3).collect();
    assert_eq!(last, [ran(0, 3, 1_000 * US, 1_050 * US)]);
}

#[test]
fn dom0_preempts_when_it_wakes_and_accedes_when_it_has_had_its_ticks() {
    let mut lab = lab(1);
    let driver = vec![Act::Sleep(250 * US), Act::Compute(120 * US), Act::Sleep(MS)];
    lab.dom0(driver);
    lab.hog(Settings::default());
    lab.run(500 * US);
    lab.assert_ran(US, "1: 0-250, 0: 250-370, 1: 370-500");
}

#[test]
fn dom0_gets_dom0_ticks_to_one() {
    let mut lab = lab(1);
    let works = vec![Act::Compute(1_000 * MS)];
    lab.dom0(works);
    lab.hog(Settings::default());
    lab.run(2_000 * US);
    // DOM0 counts a quarter, and comes a lead early: it runs until it is at 200, 400, ...; the guest too.
    lab.assert_ran(US, "0: 0-800, 1: 800-1000, 0: 1000-1800, 1: 1800-2000");
}

#[test]
fn who_dom0_preempts_keeps_its_place() {
    let mut lab = lab(1);
    let mut driver =
        vec![Act::Sleep(250 * US), Act::Compute(20 * US), Act::Sleep(80 * US), Act::Compute(20 * US)];
    driver.extend([Act::Sleep(20 * US), Act::Compute(10 * US), Act::Sleep(MS)]);
    lab.dom0(driver);
    lab.hogs(2);
    lab.run(600 * US);
    // At 250 us, DOM0 comes: the second has 150 us, counts as having 50 because it makes room within its
    // turn, and goes on before the first's 100 us. At 350 it has 230 us, counts as having 130, and the
    // first is next. At 390 that has 120 us, counts as having 20, and goes on until it counts as having
    // 100 us more than the second's 130 us.
    let then = "0: 350-370, 1: 370-390, 0: 390-400, 1: 400-600";
    lab.assert_ran(US, &format!("1: 0-100, 2: 100-250, 0: 250-270, 2: 270-350, {then}"));
}

#[test]
fn dom0_accedes_in_time_even_beside_clocks_far_ahead() {
    let mut lab = lab(2);
    let works = || vec![Act::Compute(1_000 * MS)];
    let slow = [(works(), Some(1)), (works(), Some(1)), (works(), Some(0))];
    lab.domain(false, &slow, true, Settings::default()).expect("it is admitted");
    let driver = vec![Act::Sleep(1_000 * US), Act::Compute(1_000 * MS)];
    lab.domain(true, &[(driver, Some(0))], true, Settings::default()).expect("it is admitted");
    let late = vec![Act::Sleep(1_100 * US), Act::Compute(50 * US), Act::Sleep(1_000 * MS)];
    lab.domain(false, &[(late, Some(0))], true, Settings::default()).expect("it is admitted");
    lab.run(5 * MS);
    // DOM0 has its PCPU from 1,000 us on; the VCPU that then waits there has 1,000 us, twice simulated time.
    // Two leads, four times as long for DOM0, are 800 us; then it is more than a lead after the one that
    // woke with 550 us.
    let late = lab.stretches().into_iter().find(|stretch| stretch.vcpu == 4);
    assert_eq!(late, Some(ran(0, 4, 1_800 * US, 1_850 * US)));
}

#[test]
fn dom0_is_charged_to_the_nanosecond() {
    let mut lab = lab(1);
    let driver = vec![Act::Compute(7), Act::Sleep(3)];
    lab.dom0(driver);
    lab.run(40 * US);
    assert_eq!(lab.key(0, "lvt") as u64, lab.ran_ns(0) / 4);
}

#[test]
fn dom0_alone_does_not_fall_behind() {
    let mut lab = lab(1);
    let works = vec![Act::Compute(1_000 * MS)];
    lab.dom0(works);
    lab.guest(vec![Act::Sleep(100 * MS), Act::Compute(1_000 * MS)]);
    lab.run(110 * MS);
    // It is not charged for the 100 ms in which no other VCPU waited.
    assert!(lab.ran_ns(1) <= 10 * MS / 5 + 4 * LEAD, "{}", lab.ran_ns(1));
}

#[test]
fn who_yields_leaps_behind_the_least_that_waits() {
    let mut lab = lab(1);
    lab.guest(vec![Act::Compute(10 * US), Act::Yield]);
    lab.hog(Settings::default());
    lab.run(240 * US);
    // 10 and 0; the hog may reach 110. The first, at 20, leaps to 110; the hog may reach 210.
    lab.assert_ran(US, "0: 0-10, 1: 10-120, 0: 120-130, 1: 130-230, 0: 230-240");
}

fn may_run(pins: &[Option<u32>], vcpu: VcpuId, pcpu: PcpuId) -> bool {
    pins[vcpu.index()].is_none_or(|pin| PcpuId(pin) == pcpu)
}

#[test]
fn nobody_runs_a_tick_ahead_of_one_that_waits() {
    for seed in 0..150 {
        let mut dice = Dice(seed);
        let pcpus = 1 + dice.below(4);
        let mut lab = lab(pcpus as u32);
        let mut pins = Vec::new();
        let dom0 = dice.below(3);
        for vcpu in 0..dom0 + 1 + dice.below(12) {
            let pin = (seed % 3 == 0 && dice.below(3) == 0).then(|| dice.below(pcpus) as u32);
            let most = if vcpu < dom0 { 90 * US } else { 900 * US };
            let mut script = vec![Act::Compute(1 + dice.below(most)), Act::Sleep(1 + dice.below(900 * US))];
            if dice.below(3) == 0 {
                script.extend([Act::Compute(1 + dice.below(most)), Act::Yield]);
            }
            lab.domain(vcpu < dom0, &[(script, pin)], true, Settings::default()).expect("it is admitted");
            pins.push(pin);
        }
        let mut simulated = 0;
        // Half of the worlds with a DOM0 send without end.
        let sends = dom0 > 0 && seed % 2 == 0;
        let most_ns = 2 * LEAD + if sends { SPAN } else { 0 };
        for step in 0..200 {
            lab.run(lab.now_ns + 1 + dice.below(150 * US));
            if sends {
                lab.pending(0, step + 1);
            }
            let dump = lab.policy.dump(lab.now_ns);
            let awake = || dump.iter().filter(|standing| standing.awake);
            for standing in awake().filter(|standing| standing.vcpu.index() >= dom0 as usize) {
                let Some(pcpu) = standing.runs_on else { continue };
                let waits = |other: &&Standing| other.runs_on.is_none() && may_run(&pins, other.vcpu, pcpu);
                for other in awake().filter(waits) {
                    let ahead_ns = key(standing, "key") - key(other, "key");
                    assert!(ahead_ns <= most_ns as i64, "seed {seed}: {standing:?} runs, {other:?} waits");
                }
            }
            let least = awake()
                .filter(|standing| standing.vcpu.index() >= dom0 as usize)
                .map(|standing| key(standing, "lvt"))
                .min();
            assert!(least.is_none_or(|least| least >= simulated), "simulated time never falls");
            simulated = least.unwrap_or(simulated);
            assert!(lab.wasted().is_empty());
        }
    }
}

#[test]
fn nobody_starves() {
    for seed in 0..100 {
        let mut dice = Dice(seed);
        let pcpus = 1 + dice.below(4) as u32;
        let (dom0, hogs, others) = (dice.below(3), 1 + dice.below(10), dice.below(6));
        let mut lab = lab(pcpus);
        for vcpu in 0..dom0 + hogs + others {
            let script = match vcpu {
                // DOM0 and others that sleep for next to nothing, again and again, and hogs beside them.
                vcpu if vcpu < dom0 || vcpu >= dom0 + hogs => {
                    vec![Act::Compute(1 + dice.below(MS)), Act::Sleep(1 + dice.below(3 * US))]
                }
                _ => vec![Act::Compute(1_000_000 * MS)],
            };
            lab.domain(vcpu < dom0, &[(script, None)], true, Settings::default()).expect("it is admitted");
        }
        lab.run(200 * MS);
        let longest_ns = 4 * LEAD * (hogs + others - 1 + 4 * dom0);
        for vcpu in dom0..dom0 + hogs {
            let mut back_ns = 0;
            for stretch in lab.stretches().iter().filter(|stretch| u64::from(stretch.vcpu) == vcpu) {
                let waited_ns = stretch.from_ns.saturating_sub(back_ns);
                assert!(
                    waited_ns <= longest_ns,
                    "seed {seed}: VCPU {vcpu} waited {waited_ns} of {longest_ns}"
                );
                back_ns = back_ns.max(stretch.to_ns);
            }
            assert!(200 * MS - back_ns <= longest_ns);
        }
    }
}

#[test]
fn who_has_a_message_comes_early_and_stays_so_while_it_runs() {
    let mut lab = lab(1);
    lab.hogs(2);
    // The first waits with 100 us, the second may reach 200 us: at 150 it has 50 us and is not disturbed, at
    // 250 it has 150 us.
    lab.run(150 * US);
    lab.pending(0, 1);
    lab.run(160 * US);
    lab.pending(0, 0);
    lab.run(250 * US);
    lab.pending(0, 2);
    lab.run(260 * US);
    lab.pending(0, 0);
    // Asked again with 260 us, it is more than a lead ahead, but not of one that came early. It may reach 150
    // + 100 + 100 us.
    lab.run(410 * US);
    lab.call(|_, _, orders| orders.reschedule(PcpuId(0)));
    lab.run(900 * US);
    lab.assert_ran(US, "0: 0-100, 1: 100-250, 0: 250-500, 1: 500-800, 0: 800-900");
}

/// DOM0, which sleeps all the time, and two that compute.
fn senders() -> Lab {
    let mut lab = lab(1);
    lab.dom0(vec![Act::Sleep(1_000 * MS)]);
    lab.hogs(2);
    lab
}

fn send(lab: &mut Lab, at_ns: u64, messages: u32) {
    lab.run(at_ns);
    lab.pending(0, messages);
}

#[test]
fn who_has_just_sent_goes_on_for_a_while() {
    let mut lab = senders();
    // The first is done at 100 us, the second sends at 290 us, and would be done at 300.
    send(&mut lab, 290 * US, 1);
    // DOM0 has taken the message: that is none.
    send(&mut lab, 295 * US, 0);
    lab.run(700 * US);
    // The second has 240 us at 340, and the first may reach 340 us.
    lab.assert_ran(US, "1: 0-100, 2: 100-340, 1: 340-580, 2: 580-700");
}

#[test]
fn what_was_sent_before_a_turn_or_long_before_its_end_does_not_lengthen_it() {
    let mut lab = senders();
    send(&mut lab, 40 * US, 1);
    send(&mut lab, 240 * US, 2);
    lab.run(600 * US);
    lab.assert_ran(US, "1: 0-100, 2: 100-300, 1: 300-500, 2: 500-600");
}

#[test]
fn who_sends_all_the_time_gives_way_too() {
    let mut lab = senders();
    (1..40).for_each(|number| send(&mut lab, 20 * US * u64::from(number), number));
    // 100 us and 50 more; then until 50 us after a lead behind the other's 150 us.
    lab.assert_ran(US, "1: 0-150, 2: 150-450, 1: 450-750, 2: 750-780");
}

#[test]
fn dom0_takes_the_pcpu_of_who_has_run_longest() {
    let mut lab = lab(2);
    let works = vec![Act::Compute(1_000 * MS)];
    let half = vec![Act::Compute(500 * US), Act::Sleep(1_000 * MS)];
    let short = vec![Act::Sleep(1_200 * US), Act::Compute(50 * US), Act::Sleep(1_000 * MS)];
    let guests = [(works.clone(), Some(0)), (works, Some(1)), (half, Some(1)), (short, Some(0))];
    lab.domain(false, &guests, true, Settings::default()).expect("it is admitted");
    let driver = vec![Act::Sleep(1_400 * US), Act::Compute(20 * US), Act::Sleep(1_000 * MS)];
    lab.dom0(driver);
    // A decision after which the same VCPU continues does not count as a new beginning.
    lab.run(1_300 * US);
    lab.call(|_, _, orders| orders.reschedule(PcpuId(1)));
    lab.run(2_000 * US);
    // The first is far ahead, but has run since 1,250 us, when it was interrupted; the second since 1,000 us.
    let dom0: Vec<_> = lab.stretches().into_iter().filter(|stretch| stretch.vcpu == 4).collect();
    assert_eq!(dom0, [ran(1, 4, 1_400 * US, 1_420 * US)]);
}

#[test]
fn the_least_at_every_switch() {
    for seed in 0..150 {
        let mut dice = Dice(seed);
        let world = World { pcpus: 1 + dice.below(4) as u32, dom0: true, pins: seed % 3 == 0 };
        let lab = watched("nsx-plus", settings(), world.pcpus, |decision| {
            for other in decision.waiting() {
                let chosen = decision.chosen().expect("nobody idles beside one that waits");
                assert!(key(chosen, "key") < key(other, "key") + LEAD as i64, "{chosen:?} before {other:?}");
            }
        });
        live(lab, &mut dice, world);
    }
}

#[test]
fn a_newcomer_starts_at_simulated_time() {
    let mut lab = lab(1);
    lab.hogs(2);
    lab.run(1_000 * US);
    let lvts = |lab: &Lab| {
        lab.policy.dump(lab.now_ns).iter().map(|standing| key(standing, "lvt")).collect::<Vec<_>>()
    };
    let before = lvts(&lab);
    lab.hog(Settings::default());
    let after = lvts(&lab);
    assert_eq!(after[..2], before[..]);
    assert_eq!(after[2], *before.iter().min().unwrap());
}
