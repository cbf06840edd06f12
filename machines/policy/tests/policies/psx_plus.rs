//! PSX+: schedules computed by hand; its properties are in `psx_plus_promises.rs`.

use crate::lab::{Act, Lab};
use paceline_policy::{MICROSECOND as US, MILLISECOND as MS, Setting, Settings, VcpuId};

pub fn lab(pcpus: u32) -> Lab {
    Lab::new("psx-plus", Settings::default(), pcpus)
}

/// Begins a simulation at an LVT. After a report alone the running VCPU continues for its tick; setting the
/// mode again causes a decision.
pub fn simulate(lab: &mut Lab, vcpu: u32, lvt_ns: u64) {
    lab.call(|policy, now_ns, orders| {
        policy.mode(now_ns, VcpuId(vcpu), true, orders);
        policy.lvt(now_ns, VcpuId(vcpu), lvt_ns, orders);
        policy.mode(now_ns, VcpuId(vcpu), true, orders);
    });
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
    lab.waiting(0, true);
    lab.run(80 * US);
    lab.waiting(1, true);
    lab.run(100 * US);
    // A message for the first: it has the least LVT and preempts. It takes 20 us, then it waits again, and
    // the third is back.
    lab.pending(0, 1);
    lab.run(120 * US);
    lab.pending(0, 0);
    lab.waiting(0, true);
    lab.run(200 * US);
    lab.assert_ran(US, "0: 0-50, 1: 50-80, 2: 80-100, 0: 100-120, 2: 120-200");
}

#[test]
fn without_progress_for_the_patience_others_go_first_in_turn() {
    let mut lab = Lab::new("psx-plus", Settings::default().with("patience", Setting::Nanos(200 * US)), 1);
    for vcpu in 0..3 {
        lab.hog(Settings::default());
        simulate(&mut lab, vcpu, 10 + u64::from(vcpu));
    }
    // A report without progress has no effect; one with progress has.
    lab.run(100 * US);
    lab.lvt(0, 10);
    lab.run(350 * US);
    lab.lvt(1, 12);
    // The first stops at 200. The second has 50 us without progress at 400, when its slice is over; the third
    // has the same LVT, so it is behind that, which runs for its patience; then the second for the rest
    // of its own. Now all wait: who ran longest ago is first, for a tick of 300 us each.
    lab.run(2_000 * US);
    lab.assert_ran(US, "0: 0-200, 1: 200-400, 2: 400-600, 1: 600-750, 0: 750-1050, 2: 1050-1350, 1: 1350-1650, 0: 1650-1950, 2: 1950-2000");
}

#[test]
fn a_second_simulation_makes_progress_from_where_it_begins() {
    let mut lab = lab(1);
    for vcpu in 0..2 {
        lab.hog(Settings::default());
        simulate(&mut lab, vcpu, 1_000_000 - u64::from(vcpu));
    }
    lab.run(100 * US);
    // The second one has run. Both begin a new simulation, far below. The one with the least LVT reports
    // every 100 us, so it is never taken for waiting, as it would be after 300 us without progress.
    lab.mode(0, false);
    lab.mode(1, false);
    simulate(&mut lab, 0, 10);
    simulate(&mut lab, 1, 20_000);
    for lvt in 1..20 {
        lab.run((100 + 100 * lvt) * US);
        lab.lvt(0, 10 + lvt);
    }
    lab.run(2_000 * US);
    assert_eq!(lab.ran_ns(0), 1_900 * US);
}

#[test]
fn a_second_simulation_that_sets_no_flag_has_the_usual_patience() {
    let mut lab = lab(1);
    lab.hogs(2);
    // The first simulation of VCPU 0 uses its flag. The second does not, and polls.
    simulate(&mut lab, 0, 5);
    lab.waiting(0, true);
    lab.waiting(0, false);
    lab.mode(0, false);
    simulate(&mut lab, 0, 0);
    simulate(&mut lab, 1, 10);
    for lvt in 1..=10 {
        lab.run(300 * lvt * US);
        lab.lvt(1, 10 + lvt);
    }
    assert_eq!(lab.ran_ns(0), 300 * US);
}

#[test]
fn who_has_nothing_to_do_waits_until_a_message_and_its_next_lvt_is_progress() {
    let mut lab = lab(1);
    lab.hogs(2);
    simulate(&mut lab, 0, 50);
    simulate(&mut lab, 1, 100);
    lab.run(100 * US);
    lab.lvt(0, u64::MAX);
    lab.run(200 * US);
    assert_eq!((lab.ran_ns(0), lab.ran_ns(1)), (100 * US, 100 * US));
    lab.pending(0, 1);
    // It makes progress below its LVT of the earlier simulation, so it is never taken for waiting.
    for lvt in 1..=10 {
        lab.run((200 + 200 * lvt) * US);
        lab.lvt(0, lvt);
    }
    assert_eq!((lab.ran_ns(0), lab.ran_ns(1)), (2_100 * US, 100 * US));
}

#[test]
fn a_yield_demotes_unless_a_message_is_pending() {
    for (messages, first_ns) in [(0, 50 * US), (1, 250 * US)] {
        let mut lab = lab(1);
        let polls = vec![Act::Compute(50 * US), Act::Yield];
        lab.guest(polls);
        lab.hog(Settings::default());
        simulate(&mut lab, 0, 10);
        simulate(&mut lab, 1, 20);
        lab.pending(0, messages);
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
    lab.dom0(works.clone());
    lab.guest(works);
    simulate(&mut lab, 1, 10);
    lab.run(30 * MS);
    lab.assert_ran(MS, "0: 5-18.5, 1: 18.5-19, 0: 19-28.5, 1: 28.5-29, 0: 29-30");
}

#[test]
fn without_a_simulation_who_ran_longest_ago_is_first() {
    let mut lab = lab(1);
    lab.hogs(2);
    let late = vec![Act::Sleep(350 * US), Act::Compute(50 * US), Act::Sleep(10 * MS)];
    lab.guest(late);
    for vcpu in 0..3 {
        lab.mode(vcpu, false);
    }
    lab.run(1_000 * US);
    // The first that says that it simulates gives way to those that have not yet said so.
    lab.assert_ran(US, "1: 0-300, 0: 300-600, 2: 600-650, 1: 650-950, 0: 950-1000");
}

#[test]
fn newcomers_go_first_until_they_say_what_they_are() {
    let settings = Settings::default().with("period", Setting::Nanos(MS));
    let mut lab = Lab::new("psx-plus", settings, 1);
    let works = |after_ns| vec![Act::Sleep(after_ns), Act::Compute(1_000 * MS)];
    lab.hog(Settings::default());
    simulate(&mut lab, 0, 10);
    // It always computes: it sets no flag, and reports all the time.
    let busy_until = |lab: &mut Lab, until_ns: u64| {
        while lab.now_ns < until_ns {
            let next_ns = (lab.now_ns + 50 * US).min(until_ns);
            lab.run(next_ns);
            let lvt_ns = lab.now_ns;
            lab.lvt(0, lvt_ns);
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
        lab.waiting(vcpu, false);
    }
    // In the first window they run one after the other, because nothing is known of them. Then all report.
    lab.run(5 * MS);
    lab.waiting(0, true);
    lab.waiting(1, true);
    lab.run(10 * MS);
    for vcpu in 0..3 {
        lab.waiting(vcpu, false);
        lab.lvt(vcpu, 2_000_000 + u64::from(vcpu));
    }
    let before = [0, 1, 2].map(|vcpu| lab.ran_ns(vcpu));
    lab.run(16 * MS);
    for vcpu in 0..3 {
        let ran_ns = lab.ran_ns(vcpu) - before[vcpu as usize];
        assert!(ran_ns.abs_diff(4 * MS) <= 600 * US, "VCPU {vcpu}: {ran_ns} of 4 ms");
    }
}
