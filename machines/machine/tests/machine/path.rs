//! The path of a message, hop by hop (co-scheduling thesis, sections 3.1.4 and 4.2.1).

use paceline_machine::{DomainSpec, Wait};

use crate::lab::{US, domain, hog, host, pinned, ran, two_hosts, watched};
use crate::script::{Act, Got, Script};

const BLOCK: Act = Act::Receive(Wait::Block);

#[test]
fn a_message_needs_the_sender_the_privileged_domain_and_the_receiver() {
    let mut spec = host(3);
    spec.domains.push(domain("from", &[&[Act::Compute(100 * US), Act::Send(1, 1_000)]]));
    spec.domains.push(domain("to", &[&[BLOCK]]));
    let (ran, watch) = watched(spec);
    // 100 of computing, 10 + 1 of sending, 40 + 1 in the back-end, 20 + 1 of taking in.
    assert_eq!(Script::of(&ran, 0).began_ns, [0, 100 * US, 111 * US]);
    assert_eq!(Script::of(&ran, 1).got, [Got { at_ns: 173 * US, from: 0, number: 0, bytes: 1_000 }]);
    let busy = |dom: u32| -> Vec<_> { watch.of(dom).iter().map(|(_, from, to)| (*from, *to)).collect() };
    assert_eq!(busy(1), [(0, 111 * US)]);
    assert_eq!(busy(0), [(111 * US, 152 * US)]);
    assert_eq!(busy(2), [(152 * US, 173 * US)]);
    assert_eq!(watch.messages, [(1, 2, 111 * US, 173 * US)]);
    assert_eq!(ran.report.at_ns, 173 * US);
    let host = &ran.report.hosts[0];
    assert_eq!((host.packets, host.dom0_ns, host.busy_ns, host.overhead_ns), (1, 41 * US, 173 * US, 0));
    assert_eq!(
        (ran.report.domains[0].done_ns, ran.report.domains[1].done_ns),
        (Some(111 * US), Some(173 * US))
    );
}

#[test]
fn a_message_between_hosts_passes_two_privileged_domains_two_nics_and_the_link() {
    let mut spec = two_hosts(2);
    spec.domains.push(domain("from", &[&[Act::Compute(100 * US), Act::Send(1, 1_000)]]));
    spec.domains.push(pinned("to", 1, 0, &[BLOCK]));
    let (ran, watch) = watched(spec);
    assert_eq!(Script::got_ns(&ran, 1), [282 * US]);
    let busy = |dom: u32| -> Vec<_> { watch.of(dom).iter().map(|(_, from, to)| (*from, *to)).collect() };
    // 40 + 5 + 1 on both hosts; 8 on the wire and 50 of latency.
    assert_eq!(busy(0), [(111 * US, 157 * US)]);
    assert_eq!(busy(1), [(215 * US, 261 * US)]);
    assert_eq!(busy(3), [(261 * US, 282 * US)]);
    assert!(watch.stretches.iter().all(|stretch| (stretch.pcpu >= 2) == (stretch.dom % 2 == 1)));
    assert_eq!((ran.report.hosts[0].packets, ran.report.hosts[1].packets), (1, 1));
}

#[test]
fn packets_follow_each_other_on_the_wire_and_overtake_nobody() {
    let mut spec = two_hosts(4);
    // 8 us a byte: the wire is slower than the privileged domain.
    spec.links[0].bits_per_second = 1_000_000;
    spec.domains.push(domain("from", &[&[Act::Send(1, 100), Act::Send(1, 10), Act::Send(1, 0)]]));
    spec.domains.push(DomainSpec { host: 1, ..domain("to", &[&[BLOCK, BLOCK, BLOCK]]) });
    let ran = ran(spec);
    // On the wire from 55.2 to 855.2; the second 10 bytes until 935.2, where the third has long been waiting.
    let left = [855_200, 935_200, 935_200].map(|at_ns| at_ns + 50 * US);
    // The first two come 80 apart: nobody waits at the privileged domain; the third waits for the second.
    let there = [left[0] + 45_100, left[1] + 45_010, left[1] + 45_010 + 45_000];
    let taken = [there[0] + 20_100, there[1] + 20_010, there[2] + 20_000];
    assert_eq!(Script::got_ns(&ran, 1), taken);
    assert_eq!(Script::of(&ran, 1).got.iter().map(|got| got.number).collect::<Vec<_>>(), [0, 1, 2]);
}

#[test]
fn the_two_ways_of_a_link_do_not_share_its_bandwidth() {
    let mut spec = two_hosts(2);
    spec.links[0].bits_per_second = 1_000_000;
    for host in 0..2 {
        let acts = [Act::Send(1 - host, 100), BLOCK];
        spec.domains.push(pinned("end", host, 0, &acts));
    }
    let ran = ran(spec);
    // 10.1 + 45.1, 800 on the wire, 50, then 45.1 + 20.1: the same both ways.
    assert_eq!(Script::got_ns(&ran, 0), [970_400]);
    assert_eq!(Script::got_ns(&ran, 1), [970_400]);
}

/// A question and its answer between two hosts, 1000 bytes each, every station on a PCPU of its own. Who else
/// has something to run at these stations runs there from the start. Gives out when question and answer were
/// taken.
fn round_trip(rivals: &[(u32, u32)]) -> [u64; 2] {
    let mut spec = two_hosts(2);
    for host in &mut spec.hosts {
        host.dom0_pins = vec![1];
    }
    spec.domains.push(pinned("asks", 0, 0, &[Act::Compute(100 * US), Act::Send(1, 1_000), BLOCK]));
    spec.domains.push(pinned("answers", 1, 0, &[BLOCK, Act::Send(0, 1_000)]));
    spec.domains.extend(rivals.iter().map(|(host, pcpu)| hog(*host, *pcpu)));
    let ran = ran(spec);
    [Script::got_ns(&ran, 1)[0], Script::got_ns(&ran, 0)[0]]
}

#[test]
fn without_rivals_a_round_trip_takes_what_its_hops_cost() {
    // Sending 11, privileged domain 46, link 58, privileged domain 46, taking in 21: 182 each way.
    assert_eq!(round_trip(&[]), [282 * US, 464 * US]);
}

#[test]
fn delays_one_and_five_the_privileged_domain_of_the_first_host_waits_for_its_pcpu() {
    // The rival's slice ends at 10 ms. Its next one begins when the packet is through and delays the answer.
    let question = 10_000 + 46 + 58 + 46 + 21;
    let answer = 10_046 + 10_000 + 46 + 21;
    assert_eq!(round_trip(&[(0, 1)]), [question * US, answer * US]);
}

#[test]
fn delays_two_and_four_the_privileged_domain_of_the_second_host_waits_for_its_pcpu() {
    let question = 10_000 + 46 + 21;
    let answer = 10_046 + 10_000 + 46 + 58 + 46 + 21;
    assert_eq!(round_trip(&[(1, 1)]), [question * US, answer * US]);
}

#[test]
fn delay_three_the_receiver_waits_for_its_pcpu() {
    // The rival runs since the receiver blocked at once.
    let question = 10_000 + 21;
    assert_eq!(round_trip(&[(1, 0)]), [question * US, (question + 182) * US]);
}

#[test]
fn delay_six_who_asked_waits_for_its_pcpu() {
    // The rival runs since the question was sent, at 111.
    assert_eq!(round_trip(&[(0, 0)]), [282 * US, (111 + 10_000 + 21) * US]);
}

#[test]
fn all_six_delays_add_up() {
    // Way out: the privileged domain there gets its PCPU at 10 000, the other one, whose rival has begun a
    // second slice by then, at 20 000, and the receiver at 30 000. Way back: the rival there has run
    // since 20 046, and its first slice ends at 30 046; then the one whose rival has run since 10 046,
    // and since 111 at the end.
    let question = 30_000 + 21;
    let answer = 40_111 + 21;
    assert_eq!(round_trip(&[(0, 0), (0, 1), (1, 0), (1, 1)]), [question * US, answer * US]);
}

#[test]
fn an_interrupt_comes_in_the_middle_of_a_computation() {
    let mut spec = host(3);
    spec.domains.push(domain("from", &[&[Act::Compute(100 * US), Act::Send(1, 1_000)]]));
    spec.domains.push(domain("to", &[&[Act::Compute(1_000 * US), BLOCK]]));
    let ran = ran(spec);
    // Taken in from 152 to 173; the computation is over 21 later than it would be, and the message is there
    // already.
    assert_eq!(Script::of(&ran, 1).began_ns, [0, 1_021 * US, 1_021 * US]);
    assert_eq!(ran.report.domains[1].polled_ns, 0);
}

#[test]
fn several_packets_are_carried_and_taken_in_one_by_one() {
    let mut spec = host(3);
    spec.domains.push(domain("from", &[&[Act::Send(1, 0); 3]]));
    spec.domains.push(domain("to", &[&[BLOCK; 3]]));
    let ran = ran(spec);
    // Sent at 10, 20, 30; through the privileged domain at 50, 90, 130.
    assert_eq!(Script::got_ns(&ran, 1), [70 * US, 110 * US, 150 * US]);
}

#[test]
fn vcpus_of_the_privileged_domain_serve_guests_side_by_side() {
    let both_at = |dom0_vcpus: u32| {
        let mut spec = host(6);
        spec.hosts[0].dom0_vcpus = dom0_vcpus;
        for to in 2..4 {
            spec.domains.push(domain("from", &[&[Act::Send(to, 0)]]));
        }
        for _ in 2..4 {
            spec.domains.push(domain("to", &[&[BLOCK]]));
        }
        let ran = ran(spec);
        [Script::got_ns(&ran, 2)[0], Script::got_ns(&ran, 3)[0]]
    };
    assert_eq!(both_at(1), [70 * US, 110 * US]);
    assert_eq!(both_at(2), [70 * US, 70 * US]);
}

#[test]
fn guests_share_a_back_end_packet_by_packet() {
    let mut spec = host(5);
    spec.domains.push(domain("first", &[&[Act::Send(2, 0); 3]]));
    spec.domains.push(domain("second", &[&[Act::Compute(5 * US), Act::Send(3, 0)]]));
    spec.domains.push(domain("to first", &[&[BLOCK; 3]]));
    spec.domains.push(domain("to second", &[&[BLOCK]]));
    let ran = ran(spec);
    // The second guest's packet comes at 15, while the first one of the first guest is carried, and goes
    // next.
    assert_eq!(Script::got_ns(&ran, 3), [110 * US]);
    assert_eq!(Script::got_ns(&ran, 2), [70 * US, 150 * US, 190 * US]);
}

#[test]
fn a_message_within_a_guest_does_without_the_privileged_domain() {
    let mut spec = host(2);
    spec.domains.push(domain("guest", &[&[Act::Send(1, 1_000), Act::Send(0, 5), BLOCK], &[BLOCK]]));
    let (ran, watch) = watched(spec);
    assert_eq!(Script::of(&ran, 0).began_ns, [0, 2 * US, 4 * US, 4 * US]);
    assert_eq!(Script::got_ns(&ran, 1), [4 * US]);
    assert_eq!((ran.report.hosts[0].packets, ran.report.hosts[0].dom0_ns), (0, 0));
    // To itself and to the other, each known to the observer.
    assert_eq!(watch.messages, [(1, 1, 2 * US, 2 * US), (1, 1, 4 * US, 4 * US)]);
}
