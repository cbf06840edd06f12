//! Domains that come and go while others run, with messages under way.

use paceline_machine::{DomainSpec, Ended, MachineError, Wait, run};

use crate::lab::{MS, US, domain, hog, host, pinned, ran, two_hosts, watched};
use crate::script::{Act, Script, repeated};

const BLOCK: Act = Act::Receive(Wait::Block);

#[test]
fn a_domain_begins_when_it_comes() {
    let mut spec = host(1);
    spec.domains.push(domain("first", &[&[Act::Compute(3 * MS)]]));
    spec.domains.push(DomainSpec { arrives_ns: MS, ..domain("late", &[&[Act::Compute(MS)]]) });
    let (ran, watch) = watched(spec);
    assert_eq!(watch.of(2), [(0, 3 * MS, 4 * MS)]);
    assert_eq!((ran.report.domains[1].waited_ns, ran.report.domains[1].done_ns), (2 * MS, Some(4 * MS)));
}

#[test]
fn a_run_goes_on_until_the_last_domain_has_come_and_gone() {
    let mut spec = host(1);
    spec.domains.push(DomainSpec { arrives_ns: 50 * MS, ..domain("late", &[&[Act::Compute(MS)]]) });
    assert_eq!(ran(spec).report.at_ns, 51 * MS);
}

#[test]
fn a_domain_that_goes_leaves_its_pcpu_at_once() {
    let mut spec = host(1);
    let mut guest = domain("goes", &[&[Act::Compute(100 * MS)], &[Act::Compute(100 * MS)]]);
    (guest.vcpus, guest.leaves_ns) = (2, Some(4 * MS));
    spec.domains.push(guest);
    spec.domains.push(domain("stays", &[&[Act::Compute(10 * MS)]]));
    let (ran, watch) = watched(spec);
    assert_eq!(watch.of(1), [(0, 0, 4 * MS)]);
    assert_eq!(watch.of(2), [(0, 4 * MS, 14 * MS)]);
    // One of its VCPUs waited from the start; neither was preempted, and it was never done.
    let gone = &ran.report.domains[0];
    assert_eq!((gone.done_ns, gone.ran_ns, gone.waited_ns, gone.preemptions), (None, 4 * MS, 4 * MS, 0));
}

#[test]
fn a_run_is_over_when_the_last_of_the_foreground_has_gone() {
    let mut spec = host(2);
    let mut guest = domain("goes", &[&[BLOCK], &[Act::Compute(100 * MS)]]);
    guest.leaves_ns = Some(4 * MS);
    spec.domains.push(guest);
    spec.domains.push(hog(0, 1));
    let report = ran(spec).report;
    assert_eq!((report.ended, report.at_ns), (Ended::Done, 4 * MS));
}

#[test]
fn waiting_for_nothing_until_the_domain_goes_is_no_deadlock() {
    let mut spec = host(1);
    spec.domains.push(DomainSpec { leaves_ns: Some(4 * MS), ..domain("serves", &[&[BLOCK]]) });
    spec.domains.push(domain("works", &[&[Act::Compute(MS)]]));
    assert_eq!(ran(spec).report.at_ns, 4 * MS);
}

#[test]
fn a_deadlock_is_found_when_who_could_have_gone_has_gone() {
    let mut spec = host(1);
    spec.domains.push(DomainSpec { leaves_ns: Some(4 * MS), ..domain("goes", &[&[BLOCK]]) });
    spec.domains.push(domain("stays", &[&[BLOCK]]));
    match run(spec).map(|ran| ran.report) {
        Err(MachineError::Deadlock { at_ns, waiting }) => {
            assert_eq!(at_ns, 4 * MS);
            let who: Vec<_> = waiting.iter().map(|waiting| waiting.domain.as_str()).collect();
            assert_eq!(who, ["stays"]);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_sent_to_a_domain_before_it_comes_or_after_it_has_gone_is_lost() {
    let mut spec = host(3);
    let send = Act::Send(1, 0);
    spec.domains
        .push(domain("from", &[&[send, Act::Sleep(5 * MS), send, Act::Sleep(5 * MS), send, Act::Sleep(MS)]]));
    let mut to = domain("to", &[&[BLOCK, BLOCK]]);
    (to.arrives_ns, to.leaves_ns) = (MS, Some(8 * MS));
    spec.domains.push(to);
    let (ran, watch) = watched(spec);
    let got: Vec<_> = Script::of(&ran, 1).got.iter().map(|got| got.number).collect();
    assert_eq!(got, [1]);
    assert_eq!(watch.messages.len(), 1);
    assert_eq!(ran.report.hosts[0].packets, 3);
    assert_eq!(Script::done_ns(&ran, 0), 11 * MS + 30 * US);
}

#[test]
fn what_a_domain_has_sent_before_it_goes_still_arrives() {
    let mut spec = two_hosts(2);
    let mut from = domain("from", &[&[Act::Send(1, 0), Act::Compute(MS)]]);
    from.leaves_ns = Some(12 * US);
    spec.domains.push(from);
    spec.domains.push(pinned("to", 1, 0, &[BLOCK]));
    // 10, 45, 50 on the link, 45, 20.
    assert_eq!(Script::got_ns(&ran(spec), 1), [170 * US]);
}

#[test]
fn a_domain_goes_with_packets_in_every_place_and_nobody_is_left_stalled() {
    // At any instant of the exchange, the receiver goes; its senders, one on each host, still come to their
    // ends.
    for leaves_us in 1..400 {
        for dom0_vcpus in 1..3 {
            let mut spec = two_hosts(4);
            spec.costs.ring_slots = 1;
            spec.hosts.iter_mut().for_each(|host| host.dom0_vcpus = dom0_vcpus);
            let mut to =
                domain("to", &[&[Act::Compute(50 * US), Act::Sleep(50 * US), BLOCK, Act::Compute(MS)]]);
            to.leaves_ns = Some(leaves_us * US);
            spec.domains.push(to);
            let acts = [Act::Send(0, 0); 4];
            spec.domains.push(domain("one", &[&acts]));
            spec.domains.push(domain("two", &[&acts]));
            spec.domains.push(DomainSpec { host: 1, ..domain("other", &[&acts]) });
            spec.domains.push(DomainSpec { arrives_ns: US, ..domain("last", &[&[Act::Sleep(2 * MS)]]) });
            let ran = ran(spec);
            for sender in 1..4 {
                assert!(Script::done_ns(&ran, sender) < MS, "sender {sender}, gone at {leaves_us}");
            }
            // Every packet was carried, to the ring or away.
            assert_eq!(ran.report.hosts[0].packets, 12, "gone at {leaves_us} with {dom0_vcpus}");
            assert_eq!(ran.report.hosts[1].packets, 4);
        }
    }
}

#[test]
fn a_domain_goes_while_its_processes_are_in_every_stage() {
    for leaves_us in 1..200 {
        let mut spec = host(2);
        (spec.costs.ring_slots, spec.hosts[0].smt) = (1, true);
        (spec.costs.decision_ns, spec.costs.switch_ns, spec.costs.guest_switch_ns) = (US, 2 * US, 3 * US);
        let mut goes = domain("goes", &[]);
        for acts in [
            &[Act::Compute(13 * US), Act::Send(6, 0), Act::Lvt(5)][..],
            &[Act::Receive(Wait::PollThenYield(5 * US)), Act::Sleep(US)],
            &[Act::Send(0, 0), Act::Send(1, 0), BLOCK],
            &[Act::Yield, Act::Compute(US), Act::Send(2, 0)],
            &[Act::Send(6, 100), Act::Sleep(3 * US), Act::Waits(true)],
        ] {
            goes.processes.push(repeated(acts));
        }
        (goes.vcpus, goes.leaves_ns, goes.background) = (2, Some(leaves_us * US), true);
        spec.domains.push(goes);
        spec.domains.push(domain("stays", &[&[Act::Compute(300 * US)], &[Act::Compute(300 * US)]]));
        let (ran, watch) = watched(spec);
        assert!(watch.of(1).iter().all(|(_, _, to_ns)| *to_ns <= leaves_us * US));
        assert_eq!(ran.report.domains[0].done_ns, None);
    }
}

#[test]
fn done_processes_hear_nothing_and_hold_nobody_up() {
    let mut spec = host(3);
    spec.costs.ring_slots = 1;
    spec.domains.push(domain("from", &[&[Act::Send(1, 0); 5]]));
    spec.domains.push(domain("to", &[&[]]));
    let (ran, watch) = watched(spec);
    assert!(watch.messages.is_empty());
    assert_eq!(ran.report.domains[1].done_ns, Some(0));
    assert_eq!(Script::done_ns(&ran, 0), 170 * US);
}
