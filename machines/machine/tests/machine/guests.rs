//! The scheduler of a guest: its processes on its VCPUs, by quanta, and the VCPUs it wakes for them.

use paceline_machine::{DomainSpec, Wait, run};

use crate::lab::{MS, US, domain, hog, host, ran, watched};
use crate::script::{Act, Script};

const BLOCK: Act = Act::Receive(Wait::Block);

#[test]
fn three_processes_share_two_vcpus_by_quanta() {
    let mut spec = host(2);
    let work = [Act::Compute(1_800 * US)];
    spec.domains.push(DomainSpec { vcpus: 2, ..domain("guest", &[&work, &work, &work]) });
    let (ran, watch) = watched(spec);
    // The first and the second run; at 1 ms the third takes the place of the first, which takes that of the
    // second. At 1.8 ms the first is done and the second goes on, done at 2.6 ms; the third has its
    // second turn at 2 ms, alone.
    let done: Vec<_> = (0..3).map(|process| Script::done_ns(&ran, process)).collect();
    assert_eq!(done, [1_800 * US, 2_600 * US, 2_800 * US]);
    assert_eq!(watch.of(1), [(0, 0, 2_800 * US), (1, 0, 2_600 * US)]);
}

#[test]
fn who_has_the_guest_for_itself_needs_no_quantum_and_no_switch() {
    let mut spec = host(1);
    spec.costs.guest_switch_ns = 7 * US;
    spec.domains.push(domain("guest", &[&[Act::Compute(5 * MS), Act::Sleep(MS), Act::Compute(5 * MS)]]));
    let ran = ran(spec);
    assert_eq!(Script::done_ns(&ran, 0), 11 * MS);
}

#[test]
fn switching_between_processes_costs_the_guest_time() {
    let mut spec = host(1);
    spec.costs.guest_switch_ns = 7 * US;
    let work = [Act::Compute(1_500 * US)];
    spec.domains.push(domain("guest", &[&work, &work]));
    let ran = ran(spec);
    // At the quantum of each, and when the first is done; the second is not switched to when it runs on
    // alone.
    assert_eq!(Script::done_ns(&ran, 0), 1_000 * US + 7 * US + 1_000 * US + 7 * US + 500 * US);
    assert_eq!(Script::done_ns(&ran, 1), 3_021 * US);
}

#[test]
fn a_process_that_goes_on_where_it_ran_last_is_not_switched_to() {
    let mut spec = host(1);
    spec.costs.guest_switch_ns = 7 * US;
    let rests = [Act::Compute(MS / 2), Act::Sleep(10 * MS), Act::Compute(MS / 2)];
    spec.domains.push(domain("guest", &[&rests, &[Act::Compute(MS)]]));
    let ran = ran(spec);
    // Switches: to the second at 0.5 ms, and back at 10.5; none in between and none at the start.
    assert_eq!(Script::done_ns(&ran, 1), MS / 2 + 7 * US + MS);
    assert_eq!(Script::done_ns(&ran, 0), 10 * MS + MS / 2 + 7 * US + MS / 2);
}

#[test]
fn processes_that_become_ready_together_wake_a_vcpu_each() {
    let mut spec = host(3);
    let sleeper = [Act::Sleep(100 * US), Act::Compute(MS)];
    spec.domains.push(DomainSpec { vcpus: 3, ..domain("guest", &[&sleeper, &sleeper, &sleeper]) });
    let ran = ran(spec);
    for process in 0..3 {
        assert_eq!(Script::done_ns(&ran, process), 1_100 * US);
    }
}

#[test]
fn a_vcpu_that_waits_for_a_pcpu_takes_only_one_process_with_it() {
    // The first VCPU of the guest is kept waiting; two processes become ready, and the second VCPU sleeps on
    // a free PCPU.
    let mut spec = host(2);
    let sleeper = |span: u64| [Act::Sleep(span), Act::Compute(900 * US)];
    let mut guest = domain("guest", &[&sleeper(100 * US), &sleeper(200 * US)]);
    (guest.vcpus, guest.pins) = (2, vec![0, 1]);
    spec.domains.push(guest);
    spec.domains.push(hog(0, 0));
    let ran = ran(spec);
    // It is woken for the second and begins with the first, which has been ready for longer.
    assert_eq!(Script::done_ns(&ran, 0), 1_100 * US);
    assert_eq!(Script::done_ns(&ran, 1), 2_000 * US);
}

#[test]
fn two_messages_wake_two_processes_on_two_vcpus() {
    let mut spec = host(4);
    let mut guest = domain("guest", &[&[BLOCK, Act::Compute(MS)], &[BLOCK, Act::Compute(MS)]]);
    guest.vcpus = 2;
    spec.domains.push(guest);
    spec.domains.push(domain("from", &[&[Act::Send(0, 0), Act::Send(1, 0)]]));
    let ran = ran(spec);
    // Taken in from 50 to 70 and from 90 to 110, by the first VCPU: it leaves its process for 20 us then.
    assert_eq!(Script::got_ns(&ran, 0), [70 * US]);
    assert_eq!(Script::got_ns(&ran, 1), [110 * US]);
    assert_eq!(Script::done_ns(&ran, 0), 1_090 * US);
    assert_eq!(Script::done_ns(&ran, 1), 1_110 * US);
}

#[test]
fn a_process_is_woken_on_the_vcpu_that_it_ran_on_last() {
    let mut spec = host(4);
    let rests = |span: u64| [Act::Compute(10 * US), Act::Sleep(span), Act::Compute(10 * US)];
    let mut guest = domain("guest", &[&rests(500 * US), &rests(300 * US), &rests(100 * US)]);
    (guest.vcpus, guest.pins) = (3, vec![0, 1, 2]);
    spec.domains.push(guest);
    let (_, watch) = watched(spec);
    let stretches: Vec<_> = watch.of(1).into_iter().skip(3).collect();
    let expected = [(2, 110, 120), (1, 310, 320), (0, 510, 520)];
    assert_eq!(stretches, expected.map(|(pcpu, from, to)| (pcpu, from * US, to * US)));
}

#[test]
fn processes_of_one_guest_take_turns_talking() {
    let mut spec = host(1);
    let asks = [Act::Compute(10 * US), Act::Send(1, 0), BLOCK, Act::Send(1, 0), BLOCK];
    spec.domains.push(domain("guest", &[&asks, &[BLOCK, Act::Send(0, 0), BLOCK, Act::Send(0, 0)]]));
    let ran = ran(spec);
    assert_eq!(Script::got_ns(&ran, 1), [12 * US, 16 * US]);
    assert_eq!(Script::got_ns(&ran, 0), [14 * US, 18 * US]);
}

#[test]
fn who_wakes_another_process_of_its_guest_shares_the_vcpu_with_it_from_then_on() {
    let mut spec = host(1);
    let wakes = [Act::Compute(MS / 2), Act::Send(1, 0), Act::Compute(3 * MS)];
    spec.domains.push(domain("guest", &[&wakes, &[BLOCK, Act::Compute(MS / 2)]]));
    let ran = ran(spec);
    // It has had 502 us of its quantum when the other one becomes ready, and goes on to the end of it.
    assert_eq!(Script::got_ns(&ran, 1), [MS]);
    assert_eq!(Script::done_ns(&ran, 1), MS + MS / 2);
    assert_eq!(Script::done_ns(&ran, 0), 4 * MS + 2 * US);
}

#[test]
fn who_wakes_another_process_and_yields_lets_it_go_first() {
    let mut spec = host(1);
    let wakes = [Act::Send(1, 0), Act::Yield, Act::Compute(MS / 2)];
    spec.domains.push(domain("guest", &[&wakes, &[BLOCK, Act::Compute(MS / 2)]]));
    spec.domains.push(DomainSpec { arrives_ns: US, ..hog(0, 0) });
    let ran = ran(spec);
    assert_eq!(Script::done_ns(&ran, 1), MS / 2 + 2 * US);
    assert_eq!(Script::done_ns(&ran, 0), MS + 2 * US);
}

#[test]
fn a_process_that_becomes_ready_has_a_quantum_cut_short_that_was_without_end() {
    let mut spec = host(1);
    spec.domains
        .push(domain("guest", &[&[Act::Compute(5 * MS)], &[Act::Sleep(1_300 * US), Act::Compute(900 * US)]]));
    let ran = ran(spec);
    // The second has its first turn at 1 ms and is ready again at 2.3 ms. Quanta are counted whether anybody
    // waits or not: the first has used up the one that began at 1 ms.
    assert_eq!(Script::done_ns(&ran, 1), 3_200 * US);
    assert_eq!(Script::done_ns(&ran, 0), 5_900 * US);
}

#[test]
fn interrupts_do_not_eat_up_quanta() {
    let mut spec = host(3);
    spec.hosts[0].dom0_pins = vec![1];
    let mut guest = domain("guest", &[&[Act::Compute(1_500 * US), BLOCK], &[Act::Compute(1_600 * US)]]);
    guest.pins = vec![0];
    spec.domains.push(guest);
    spec.domains.push(domain("from", &[&[Act::Compute(290 * US), Act::Send(0, 0)]]));
    let (ran, watch) = watched(spec);
    // Taken in from 340 to 360, within the first quantum.
    assert_eq!(Script::done_ns(&ran, 0), 2_520 * US);
    assert_eq!(Script::done_ns(&ran, 1), 3_120 * US);
    assert_eq!(watch.messages, [(2, 1, 300 * US, 360 * US)]);
}

#[test]
fn who_is_alone_has_a_new_quantum_when_the_old_one_is_over() {
    let mut spec = host(1);
    let works = [Act::Compute(600 * US), Act::Compute(600 * US), Act::Send(0, 0), Act::Compute(3 * MS)];
    spec.domains.push(domain("guest", &[&[BLOCK], &works]));
    // The second quantum began when the first was seen to be used up, at 1.2 ms.
    assert_eq!(Script::got_ns(&ran(spec), 0), [2_200 * US]);
}

#[test]
fn threads_keep_their_vcpus_and_share_none() {
    // Pinned to one PCPU each: the first thread has one for itself, and the others share one, though it is
    // busy and the first one is not.
    let mut spec = host(2);
    let work = [Act::Sleep(100 * US), Act::Compute(MS)];
    let guest = domain("guest", &[&[Act::Sleep(100 * US)], &work, &work]);
    spec.domains.push(DomainSpec { threads: true, vcpus: 3, pins: vec![0, 1, 1], ..guest });
    let ran = ran(spec);
    let done: Vec<_> = (0..3).map(|process| Script::done_ns(&ran, process)).collect();
    assert_eq!(done, [100 * US, 1_100 * US, 2_100 * US]);
}

#[test]
fn threads_without_a_vcpu_each_are_refused() {
    let mut spec = host(2);
    let guest = domain("guest", &[&[Act::Sleep(US)], &[Act::Sleep(US)]]);
    spec.domains.push(DomainSpec { threads: true, ..guest });
    let error = run(spec).expect_err("one VCPU is too few");
    assert!(error.to_string().contains("one for each of its 2 processes"), "{error}");
}
