//! Ways to wait for a message, and who burns how much with them.

use paceline_machine::{DomainSpec, MachineSpec, Wait};

use crate::lab::{MS, US, domain, hog, host, pinned, ran, watched};
use crate::script::{Act, Script};

const POLL_YIELD: Wait = Wait::PollThenYield(50 * US);
const POLL_BLOCK: Wait = Wait::PollThenBlock(50 * US);

/// When a message without bytes that is sent at 100 us comes, and for how long its receiver has polled and
/// run.
fn waits(mut spec: MachineSpec, wait: Wait) -> [u64; 3] {
    spec.domains.insert(0, pinned("to", 0, 0, &[Act::Receive(wait)]));
    let ran = ran(spec);
    let domain = &ran.report.domains[0];
    [Script::got_ns(&ran, 0)[0], domain.polled_ns, domain.ran_ns].map(|span_ns| span_ns / US)
}

#[test]
fn alone_on_its_pcpu_every_waiter_hears_at_once() {
    let spec = || {
        let mut spec = host(3);
        spec.hosts[0].dom0_pins = vec![1];
        spec.domains.push(pinned("from", 0, 2, &[Act::Compute(90 * US), Act::Send(0, 0)]));
        spec
    };
    // The packet is in the ring at 140 and has been taken in at 160.
    assert_eq!(waits(spec(), Wait::Block), [160, 0, 20]);
    assert_eq!(waits(spec(), Wait::Poll), [160, 140, 160]);
    assert_eq!(waits(spec(), POLL_YIELD), [160, 140, 160]);
    assert_eq!(waits(spec(), POLL_BLOCK), [160, 50, 70]);
}

#[test]
fn beside_competing_load_it_matters_who_gives_the_pcpu_away() {
    let spec = || {
        let mut spec = host(3);
        spec.hosts[0].dom0_pins = vec![1];
        spec.domains.push(pinned("from", 0, 2, &[Act::Compute(90 * US), Act::Send(0, 0)]));
        spec.domains.push(hog(0, 0));
        spec
    };
    assert_eq!(waits(spec(), Wait::Block), [10_020, 0, 20]);
    assert_eq!(waits(spec(), Wait::Poll), [160, 140, 160]);
    assert_eq!(waits(spec(), POLL_YIELD), [10_070, 50, 70]);
    assert_eq!(waits(spec(), POLL_BLOCK), [10_070, 50, 70]);
}

#[test]
fn on_one_pcpu_a_waiter_stands_in_its_own_way() {
    let spec = || {
        let mut spec = host(1);
        spec.domains.push(domain("from", &[&[Act::Compute(90 * US), Act::Send(0, 0)]]));
        spec
    };
    assert_eq!(waits(spec(), Wait::Block), [160, 0, 20]);
    // It polls for two slices: before the sender gets the PCPU, and before the privileged domain does.
    assert_eq!(waits(spec(), Wait::Poll), [20_160, 20_000, 20_020]);
    // It polls for 50 us before each of the two.
    assert_eq!(waits(spec(), POLL_YIELD), [260, 100, 120]);
    assert_eq!(waits(spec(), POLL_BLOCK), [210, 50, 70]);
}

#[test]
fn who_polls_lets_other_processes_of_its_guest_run_by_quanta() {
    let waits = |wait: Wait| {
        let mut spec = host(2);
        // The other process of the guest sends after 1.5 ms of work.
        spec.domains
            .push(domain("guest", &[&[Act::Receive(wait)], &[Act::Compute(1_498 * US), Act::Send(0, 0)]]));
        let ran = ran(spec);
        let domain = &ran.report.domains[0];
        [Script::got_ns(&ran, 0)[0], domain.polled_ns, domain.ran_ns].map(|span_ns| span_ns / US)
    };
    assert_eq!(waits(Wait::Block), [1_500, 0, 1_500]);
    // A quantum of 1 ms each time before the other one has its turn; that one needs two turns.
    assert_eq!(waits(Wait::Poll), [3_500, 2_000, 3_500]);
    assert_eq!(waits(POLL_YIELD), [1_600, 100, 1_600]);
    assert_eq!(waits(POLL_BLOCK), [1_550, 50, 1_550]);
}

#[test]
fn a_process_that_polls_hears_from_one_on_another_vcpu_at_once() {
    let mut spec = host(3);
    let mut guest =
        domain("guest", &[&[Act::Receive(Wait::Poll)], &[Act::Compute(98 * US), Act::Send(0, 0)]]);
    guest.vcpus = 2;
    spec.domains.push(guest);
    let ran = ran(spec);
    assert_eq!(Script::got_ns(&ran, 0), [100 * US]);
    assert_eq!(ran.report.domains[0].polled_ns, 100 * US);
    assert_eq!(ran.report.waiting_share(), 0.5);
}

#[test]
fn a_message_that_is_there_is_not_waited_for() {
    for wait in [Wait::Poll, Wait::Block, POLL_YIELD, POLL_BLOCK] {
        let mut spec = host(3);
        spec.domains.push(domain("from", &[&[Act::Send(1, 0)]]));
        spec.domains.push(domain("to", &[&[Act::Compute(MS), Act::Peek(wait), Act::Receive(wait)]]));
        let ran = ran(spec);
        assert_eq!(Script::of(&ran, 1).began_ns, [0, 1_020, 1_020, 1_020].map(|at| at * US));
        assert_eq!(ran.report.domains[1].polled_ns, 0);
    }
}

#[test]
fn polling_time_is_counted_on_across_preemption() {
    let mut spec = host(3);
    spec.hosts[0].dom0_pins = vec![1];
    let patience = 15 * MS;
    spec.domains.push(pinned("to", 0, 0, &[Act::Receive(Wait::PollThenBlock(patience))]));
    spec.domains.push(pinned("from", 0, 2, &[Act::Sleep(100 * MS), Act::Send(0, 0)]));
    spec.domains.push(hog(0, 0));
    let (ran, watch) = watched(spec);
    // A slice of 10 ms, and 5 ms of the next one.
    let first: Vec<_> = watch.of(1).into_iter().take(2).collect();
    assert_eq!(first, [(0, 0, 10 * MS), (0, 20 * MS, 25 * MS)]);
    assert_eq!(ran.report.domains[0].polled_ns, patience);
    assert_eq!(ran.report.domains[0].preemptions, 1);
}

#[test]
fn op_yield_lets_others_go_first() {
    // Other processes of the guest, before other VCPUs.
    let mut spec = host(1);
    let turns = [Act::Compute(100 * US), Act::Yield, Act::Compute(100 * US)];
    spec.domains.push(domain("guest", &[&turns, &turns]));
    spec.domains.push(DomainSpec { background: true, ..domain("rival", &[&[Act::Compute(MS)]]) });
    let (first, watch) = watched(spec);
    assert_eq!(Script::of(&first, 0).began_ns, [0, 100, 200, 300].map(|at| at * US));
    assert_eq!(Script::of(&first, 1).began_ns, [100, 200, 300, 400].map(|at| at * US));
    assert_eq!(watch.of(1), [(0, 0, 400 * US)]);
    // Other VCPUs, where there is no other process.
    let mut spec = host(1);
    spec.domains.push(domain("guest", &[&turns]));
    spec.domains.push(domain("rival", &[&[Act::Compute(MS)]]));
    let second = ran(spec);
    assert_eq!(Script::of(&second, 0).began_ns, [0, 100, 1_100, 1_200].map(|at| at * US));
}
