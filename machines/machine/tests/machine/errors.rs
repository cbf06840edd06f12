//! What can be wrong with a machine, and what people read then.

use paceline_machine::{DomainSpec, LinkSpec, MachineError, MachineSpec, Wait, Waiting, run};
use paceline_policy::Setting;

use crate::lab::{MS, US, domain, hog, host, ran, two_hosts};
use crate::script::{Act, repeated};

const BLOCK: Act = Act::Receive(Wait::Block);

/// A machine with one guest that computes, changed by `change`; gives out what is wrong with it.
#[track_caller]
fn error_of(change: impl FnOnce(&mut MachineSpec)) -> String {
    let mut spec = two_hosts(2);
    spec.domains.push(domain("guest", &[&[Act::Compute(MS)]]));
    change(&mut spec);
    run(spec).map(|ran| ran.report).expect_err("something is wrong").to_string()
}

#[test]
fn hosts_that_cannot_be() {
    assert_eq!(error_of(|spec| spec.hosts.clear()), "the number of hosts cannot be 0; allowed: at least 1");
    assert_eq!(error_of(|spec| spec.hosts[0].pcpus = 0), "PCPUs of host cannot be 0; allowed: at least 1");
    assert_eq!(
        error_of(|spec| (spec.hosts[1].pcpus, spec.hosts[1].smt) = (3, true)),
        "PCPUs of other, which are siblings, cannot be 3; allowed: an even number"
    );
    assert_eq!(
        error_of(|spec| spec.hosts[0].dom0_vcpus = 0),
        "VCPUs of the privileged domain of host cannot be 0; allowed: at least 1"
    );
    assert_eq!(
        error_of(|spec| spec.hosts[0].dom0_pins = vec![2]),
        "a pin of the privileged domain of host cannot be 2; allowed: PCPUs 0 to 1 of host"
    );
    assert_eq!(
        error_of(|spec| spec.hosts[0].dom0_pins = vec![0, 1]),
        "pins of the privileged domain of host cannot be 2; allowed: at most one for each of 1 VCPUs"
    );
}

#[test]
fn links_that_cannot_be() {
    let link = |from, to, bits_per_second| LinkSpec { from, to, latency_ns: 0, bits_per_second };
    assert_eq!(
        error_of(|spec| spec.links.push(link(0, 2, 1))),
        "an end of a link cannot be host 2; allowed: hosts 0 to 1"
    );
    assert_eq!(
        error_of(|spec| spec.links[0] = link(1, 1, 1)),
        "a link cannot be 1 to 1 at 1 bit/s; allowed: between two hosts, at 1 bit/s at least"
    );
    assert_eq!(
        error_of(|spec| spec.links[0] = link(0, 1, 0)),
        "a link cannot be 0 to 1 at 0 bit/s; allowed: between two hosts, at 1 bit/s at least"
    );
    assert_eq!(
        error_of(|spec| spec.links.push(link(1, 0, 1))),
        "a second link between other and host cannot be there; allowed: one at most"
    );
}

#[test]
fn costs_that_cannot_be() {
    assert_eq!(error_of(|spec| spec.costs.smt_permille = 0), "smt_permille cannot be 0; allowed: 1 to 1000");
    assert_eq!(
        error_of(|spec| spec.costs.smt_permille = 1_001),
        "smt_permille cannot be 1001; allowed: 1 to 1000"
    );
    assert_eq!(error_of(|spec| spec.costs.ring_slots = 0), "ring_slots cannot be 0; allowed: at least 1");
    assert_eq!(
        error_of(|spec| spec.costs.guest_quantum_ns = 0),
        "guest_quantum_ns cannot be 0; allowed: at least 1"
    );
}

#[test]
fn domains_that_cannot_be() {
    assert_eq!(error_of(|spec| spec.domains[0].host = 2), "the host of guest cannot be 2; allowed: 0 to 1");
    assert_eq!(error_of(|spec| spec.domains[0].vcpus = 0), "VCPUs of guest cannot be 0; allowed: at least 1");
    assert_eq!(
        error_of(|spec| spec.domains[0].processes.clear()),
        "processes of guest cannot be 0; allowed: at least 1"
    );
    assert_eq!(
        error_of(|spec| (spec.domains[0].arrives_ns, spec.domains[0].leaves_ns) = (5, Some(5))),
        "the time at which guest leaves cannot be 5; allowed: after it arrives"
    );
    assert_eq!(
        error_of(|spec| (spec.domains[0].vcpus, spec.domains[0].pins) = (3, vec![0, 1, 7])),
        "a pin of guest cannot be 7; allowed: PCPUs 0 to 1 of host"
    );
}

#[test]
fn what_is_just_allowed_runs() {
    let mut spec = two_hosts(2);
    (spec.costs.smt_permille, spec.costs.ring_slots, spec.costs.guest_quantum_ns) = (1, 1, 1);
    spec.hosts[0].smt = true;
    spec.hosts[0].dom0_pins = vec![1];
    spec.links[0].bits_per_second = 1;
    spec.hosts.push(spec.hosts[0].clone());
    for from in 0..2 {
        spec.links.push(LinkSpec { from, to: 2, ..spec.links[0] });
    }
    let mut guest = domain("guest", &[&[Act::Compute(10)], &[Act::Compute(10)]]);
    (guest.vcpus, guest.pins, guest.host, guest.arrives_ns, guest.leaves_ns) = (2, vec![1, 1], 1, 5, Some(6));
    spec.domains.push(guest);
    assert_eq!(ran(spec).report.at_ns, 6);
}

#[test]
fn what_a_policy_refuses_is_reported_with_the_place() {
    assert_eq!(
        error_of(|spec| spec.hosts[1].policy.settings.set("slcie", Setting::Nanos(1))),
        "other: round-robin has no setting `slcie`; allowed: slice"
    );
    let unknown = error_of(|spec| spec.hosts[0].policy.kind = "fifo".into());
    assert!(unknown.starts_with("host: there is no policy \"fifo\"; allowed: round-robin"), "{unknown}");
    assert_eq!(
        error_of(|spec| spec.hosts[0].dom0_settings.set("weight", Setting::Count(1))),
        "host: domain 0 has no setting `weight`; allowed: none"
    );
    assert_eq!(
        error_of(|spec| spec.domains[0].settings.set("weight", Setting::Count(1))),
        "guest: domain 2 has no setting `weight`; allowed: none"
    );
}

#[test]
fn messages_that_lead_nowhere() {
    assert_eq!(
        error_of(|spec| spec.domains.push(domain("lost", &[&[Act::Send(2, 0)]]))),
        "a process of lost sends to process 2; there are 2"
    );
    assert_eq!(
        error_of(|spec| {
            spec.links.clear();
            spec.domains.push(domain("far", &[&[Act::Send(0, 0)]]));
            spec.domains[1].host = 1;
        }),
        "a process of far sends to a process of guest, but no link joins their hosts"
    );
}

#[test]
fn links_lead_to_the_next_host_and_no_further() {
    let joined = |from: u32, to: u32| {
        let mut spec = two_hosts(1);
        spec.hosts.push(spec.hosts[0].clone());
        spec.links.push(LinkSpec { from: 2, to: 1, ..spec.links[0] });
        spec.domains.push(domain("from", &[&[Act::Send(1, 0)]]));
        spec.domains.push(domain("to", &[&[BLOCK]]));
        (spec.domains[0].host, spec.domains[1].host) = (from, to);
        run(spec).is_ok()
    };
    for (from, to) in [(0, 1), (1, 0), (1, 2), (2, 1)] {
        assert!(joined(from, to), "{from} to {to}");
    }
    assert!(!joined(0, 2) && !joined(2, 0));
}

fn waiting(domain: &str, process: u32, waits_for: &str) -> Waiting {
    Waiting { domain: domain.into(), process, waits_for: waits_for.into() }
}

#[test]
fn a_deadlock_names_those_who_wait_and_nobody_else() {
    for wait in [Wait::Block, Wait::Poll, Wait::PollThenYield(7 * US), Wait::PollThenBlock(7 * US)] {
        let mut spec = host(2);
        spec.domains.push(domain("one", &[&[Act::Compute(MS)], &[Act::Receive(wait)]]));
        spec.domains.push(domain("two", &[&[Act::Receive(wait), Act::Receive(wait)], &[Act::Send(2, 0)]]));
        let load = domain("load", &[&[BLOCK]]);
        spec.domains.push(paceline_machine::DomainSpec { background: true, ..load });
        let error = run(spec).map(|ran| ran.report).expect_err("nobody can go on");
        let MachineError::Deadlock { at_ns, waiting: stuck } = &error else { panic!("{error}") };
        assert!(*at_ns >= MS, "{wait:?} at {at_ns}");
        let [one, two] = ["a message, with 0 taken", "a message, with 1 taken"];
        assert_eq!(*stuck, [waiting("one", 1, one), waiting("two", 0, two)], "{wait:?}");
        let expected = "ns: process 1 of one waits for a message, with 0 taken; process 0 of two waits for a message, with 1 taken";
        assert!(error.to_string().starts_with("deadlock at "), "{error}");
        assert!(error.to_string().ends_with(expected), "{error}");
    }
}

#[test]
fn a_deadlock_names_eight_and_counts_the_rest() {
    let mut spec = host(1);
    spec.domains.push(domain("guest", &[&[BLOCK][..]; 11]));
    let error = run(spec).map(|ran| ran.report).expect_err("nobody can go on").to_string();
    assert!(error.contains("process 7 of guest waits"));
    assert!(!error.contains("process 8 of guest waits"));
    assert!(error.ends_with("; and 3 more"), "{error}");
}

#[test]
fn competing_load_does_not_hide_a_deadlock() {
    let mut spec = host(3);
    spec.domains.push(domain("stuck", &[&[Act::Compute(MS), BLOCK], &[BLOCK]]));
    spec.domains.push(hog(0, 1));
    // Load that always has a message under way.
    for to in [4, 3] {
        let mut load = domain("load", &[]);
        load.processes.push(repeated(&[Act::Send(to, 0), BLOCK]));
        load.background = true;
        spec.domains.push(load);
    }
    // A message that has come is not under way any more.
    spec.domains.push(domain("once", &[&[Act::Send(1, 0)]]));
    spec.until_ns = Some(100 * MS);
    match run(spec).map(|ran| ran.report) {
        Err(MachineError::Deadlock { at_ns, waiting: stuck }) => {
            assert_eq!(stuck, [waiting("stuck", 0, "a message, with 0 taken")]);
            assert!((MS..2 * MS).contains(&at_ns), "found at {at_ns}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn no_deadlock_while_somebody_sleeps_stalls_or_is_still_to_come() {
    let mut spec = host(3);
    spec.costs.ring_slots = 1;
    spec.domains.push(domain("waits", &[&[BLOCK; 4]]));
    spec.domains
        .push(domain("sleeps", &[&[Act::Sleep(5 * MS), Act::Send(0, 0), Act::Send(0, 0), Act::Send(0, 0)]]));
    spec.domains.push(DomainSpec { arrives_ns: 10 * MS, ..domain("comes", &[&[Act::Send(0, 0)]]) });
    assert_eq!(ran(spec).report.at_ns, 10 * MS + 70 * US);
}

#[test]
fn a_process_that_never_needs_time_is_named() {
    let endless: [&[Act]; 5] = [
        &[Act::Compute(0)],
        &[Act::Lvt(1), Act::Compute(0)],
        // It leaves its message where it is, and waits for it again.
        &[Act::Peek(Wait::Block)],
        &[Act::Yield],
        &[Act::Sleep(0)],
    ];
    for acts in endless {
        let mut spec = host(1);
        spec.costs.loopback_ns = 0;
        let mut guest = domain("endless", &[&[Act::Send(1, 0)]]);
        guest.processes.push(repeated(acts));
        guest.arrives_ns = 3 * MS;
        spec.domains.push(guest);
        let error = run(spec).map(|ran| ran.report).expect_err("it never ends").to_string();
        assert_eq!(
            error, "process 1 of endless runs forever at 3000000 ns: none of its operations takes time",
            "{acts:?}"
        );
    }
}

#[test]
fn processes_that_keep_each_other_busy_in_no_time_are_found() {
    let mut spec = host(2);
    spec.costs.loopback_ns = 0;
    let mut guest = domain("endless", &[]);
    guest.processes.push(repeated(&[Act::Send(1, 0), BLOCK]));
    guest.processes.push(repeated(&[BLOCK, Act::Send(0, 0)]));
    guest.vcpus = 2;
    spec.domains.push(guest);
    let error = run(spec).map(|ran| ran.report).expect_err("it never ends");
    assert!(matches!(error, MachineError::Endless { at_ns: 0, .. }), "{error}");
}

#[test]
fn absurd_spans_of_time_reach_the_horizon() {
    let absurd = u64::MAX - 1;
    for acts in [
        &[Act::Compute(absurd)][..],
        &[Act::Compute(5), Act::Sleep(absurd)],
        &[Act::Lvt(absurd), Act::Receive(Wait::PollThenBlock(absurd))],
        &[Act::Receive(Wait::PollThenYield(absurd))],
        &[Act::Sleep(MS), Act::Send(1, u32::MAX)],
    ] {
        let mut spec = two_hosts(2);
        spec.until_ns = Some(100 * MS);
        spec.domains.push(domain("absurd", &[acts, &[Act::Compute(absurd)]]));
        spec.domains.push(DomainSpec { host: 1, ..domain("other", &[&[Act::Compute(absurd)]]) });
        assert_eq!(ran(spec).report.at_ns, 100 * MS, "{acts:?}");
    }
}

#[test]
fn a_machine_with_nobody_to_wait_for_is_done_at_once() {
    let mut spec = host(1);
    spec.domains.push(hog(0, 0));
    assert_eq!(ran(spec).report.at_ns, 0);
}
