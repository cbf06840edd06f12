//! Rings that are full, and links that bring more than a guest takes.

use paceline_machine::Wait;
use paceline_policy::Setting;

use crate::lab::{MS, US, domain, hog, host, pinned, ran, two_hosts};
use crate::script::{Act, Script, repeated};

const POLL: Act = Act::Receive(Wait::Poll);

#[test]
fn a_full_ring_stalls_its_sender_until_the_privileged_domain_has_carried_a_packet() {
    let mut spec = host(3);
    spec.costs.ring_slots = 2;
    spec.hosts[0].dom0_pins = vec![1];
    spec.domains.push(pinned("from", 0, 0, &[Act::Send(1, 0); 4]));
    spec.domains.push(pinned("to", 0, 2, &[Act::Receive(Wait::Block); 4]));
    spec.domains.push(hog(0, 1));
    let ran = ran(spec);
    // Two are in the ring at 20; the third is paid for at 30 and waits until the first one has left, at 10
    // 040. The fourth is paid for at 10 050 and waits until 10 080.
    assert_eq!(Script::of(&ran, 0).began_ns, [0, 10 * US, 20 * US, 10_040 * US, 10_080 * US]);
    assert_eq!(Script::got_ns(&ran, 1), [10_060, 10_100, 10_140, 10_180].map(|at| at * US));
    // It did not burn its PCPU meanwhile.
    assert_eq!(ran.report.domains[0].ran_ns, 40 * US);
}

#[test]
fn processes_of_a_guest_stall_one_by_one() {
    let mut spec = host(3);
    spec.costs.ring_slots = 1;
    spec.hosts[0].dom0_pins = vec![1];
    let sends = [Act::Send(2, 0)];
    spec.domains.push(domain("from", &[&sends, &sends]));
    spec.domains[0].pins = vec![0];
    spec.domains.push(pinned("to", 0, 2, &[Act::Receive(Wait::Block); 2]));
    spec.domains.push(hog(0, 1));
    let ran = ran(spec);
    assert_eq!((Script::done_ns(&ran, 0), Script::done_ns(&ran, 1)), (10 * US, 10_040 * US));
    // The privileged domain found nothing more to do at 10 040, and its rival has begun another slice.
    assert_eq!(Script::got_ns(&ran, 2), [10_060 * US, 20_100 * US]);
}

#[test]
fn a_full_ring_to_a_guest_holds_the_back_end_up() {
    let mut spec = host(3);
    spec.costs.ring_slots = 2;
    spec.hosts[0].dom0_pins = vec![1];
    spec.domains.push(pinned("from", 0, 0, &[Act::Send(1, 0); 4]));
    // It polls when it has its PCPU, so as not to lose it again.
    spec.domains.push(pinned("to", 0, 2, &[Act::Compute(US), Act::Sleep(US), POLL, POLL, POLL, POLL]));
    spec.domains.push(hog(0, 2));
    let ran = ran(spec);
    // The first two are in the ring at 50 and 90; nothing more is carried until the receiver has its PCPU, at
    // 10 001. It takes the first one in, and the third one is carried meanwhile, from 10 001 to 10 041,
    // and then the fourth, to 10 081. The process goes on when nothing is in the ring.
    let taken = [10_061, 10_061, 10_061, 10_101];
    assert_eq!(Script::got_ns(&ran, 1), taken.map(|at| at * US));
    assert_eq!(ran.report.hosts[0].dom0_ns, 160 * US);
    // At 90 the sender's ring holds the third and the fourth.
    assert_eq!(Script::done_ns(&ran, 0), 90 * US);
}

#[test]
fn a_guest_that_is_held_up_holds_up_who_sends_to_it_and_nobody_else() {
    let mut spec = host(5);
    spec.costs.ring_slots = 1;
    spec.hosts[0].dom0_pins = vec![1];
    spec.domains.push(pinned("to slow", 0, 0, &[Act::Send(2, 0); 3]));
    spec.domains.push(pinned("to fast", 0, 3, &[Act::Send(3, 0); 3]));
    spec.domains.push(pinned("slow", 0, 2, &[Act::Compute(US), Act::Sleep(US), POLL, POLL, POLL]));
    spec.domains.push(pinned("fast", 0, 4, &[Act::Receive(Wait::Block); 3]));
    spec.domains.push(hog(0, 2));
    let ran = ran(spec);
    assert!(Script::got_ns(&ran, 2)[0] > 10 * MS);
    assert!(Script::done_ns(&ran, 0) > 10 * MS);
    assert!(Script::done_ns(&ran, 3) < MS);
}

#[test]
fn packets_from_a_link_stay_in_order_when_the_ring_of_their_guest_is_full() {
    let mut spec = two_hosts(4);
    spec.costs.ring_slots = 1;
    // Two guests of the other host keep its privileged domain busy, while one of this host sends to a third,
    // which is often kept from taking its packets in.
    spec.hosts[1].policy.settings.set("slice", Setting::Nanos(100 * US));
    spec.domains.push(domain("from", &[&[Act::Send(1, 0); 40]]));
    let mut to = domain("to", &[&[Act::Receive(Wait::Block); 40]]);
    to.host = 1;
    to.pins = vec![0];
    spec.domains.push(to);
    spec.domains.push(hog(1, 0));
    for (process, other) in [(3, 4), (4, 3)] {
        let mut busy = domain("busy", &[]);
        busy.processes.push(repeated(&[Act::Send(other, 0), Act::Compute(process as u64 * 7 * US)]));
        (busy.host, busy.background) = (1, true);
        spec.domains.push(busy);
    }
    let ran = ran(spec);
    let numbers: Vec<_> = Script::of(&ran, 1).got.iter().map(|got| got.number).collect();
    assert_eq!(numbers, (0..40).collect::<Vec<_>>());
}

#[test]
fn a_guest_that_asks_for_it_is_reported_that_its_packets_have_left() {
    let mut spec = host(3);
    spec.costs.response_ns = 3 * US;
    spec.hosts[0].dom0_pins = vec![1];
    // It is asleep when the first packet leaves, and computes when the other two do.
    let sender =
        [Act::Send(1, 0), Act::Sleep(90 * US), Act::Send(1, 0), Act::Send(1, 0), Act::Compute(200 * US)];
    spec.domains.push(pinned("from", 0, 0, &sender));
    spec.domains.push(pinned("to", 0, 2, &[Act::Receive(Wait::Block); 3]));
    let ran = ran(spec);
    // In the ring at 10, 110 and 120; left at 50, 150 and 190, each time with an event of its own.
    assert_eq!(Script::got_ns(&ran, 1), [70, 170, 210].map(|at| at * US));
    assert_eq!(Script::of(&ran, 0).began_ns.last(), Some(&(326 * US)));
    assert_eq!(ran.report.domains[0].ran_ns, (10 + 3 + 20 + 200 + 2 * 3) * US);
}

#[test]
fn packets_that_leave_while_a_guest_does_not_run_are_one_event() {
    let mut spec = host(3);
    spec.costs.response_ns = 3 * US;
    spec.hosts[0].dom0_pins = vec![1];
    spec.domains.push(pinned("from", 0, 0, &[Act::Send(1, 0), Act::Send(1, 0), Act::Compute(20_000 * US)]));
    spec.domains.push(pinned("to", 0, 2, &[Act::Receive(Wait::Block); 2]));
    // It has the sender's PCPU from 10 000 to 20 000, and the privileged domain's from 0 to 10 000.
    spec.domains.push(hog(0, 0));
    spec.domains.push(hog(0, 1));
    let ran = ran(spec);
    assert_eq!(ran.report.domains[0].ran_ns, (20 + 20_000 + 3) * US);
}

#[test]
fn packets_that_are_taken_up_in_a_row_are_come_to_once() {
    // Three packets, each of which has left before the next is sent; and the same beside a hog on the
    // privileged domain's PCPU, which keeps it from them until 10 ms. It has carried them at 10.07, 10.11
    // and 10.15 ms then. The receiver is at the first until 10.12 ms, and finds the second; to the third
    // it comes anew.
    let sender =
        [Act::Send(1, 0), Act::Compute(190 * US), Act::Send(1, 0), Act::Compute(190 * US), Act::Send(1, 0)];
    for (rival, carries, takes, got) in
        [(false, 3, 3, [130, 330, 530]), (true, 1, 2, [10_140, 10_140, 10_200])]
    {
        let mut spec = host(3);
        spec.costs.event_ns = 30 * US;
        spec.hosts[0].dom0_pins = vec![1];
        spec.domains.push(pinned("from", 0, 0, &sender));
        spec.domains.push(pinned("to", 0, 2, &[Act::Receive(Wait::Block); 3]));
        if rival {
            spec.domains.push(hog(0, 1));
        }
        let ran = ran(spec);
        assert_eq!(ran.report.hosts[0].dom0_ns, (carries * 30 + 3 * 40) * US);
        assert_eq!(Script::got_ns(&ran, 1), got.map(|at| at * US));
        assert_eq!(ran.report.domains[1].ran_ns, (takes * 30 + 3 * 20) * US);
    }
}
