//! Siblings that share a core: the speed of one changes exactly when the other one starts and stops.

use paceline_machine::{DomainSpec, MachineSpec, Siblings, Wait};

use crate::lab::{MS, US, domain, host, pinned, ran, watched};
use crate::script::{Act, Script};

fn siblings(pcpus: u32) -> MachineSpec {
    let mut spec = host(pcpus);
    spec.hosts[0].smt = true;
    spec
}

#[test]
fn a_core_is_shared_for_as_long_as_both_siblings_work() {
    let mut spec = siblings(2);
    spec.domains.push(pinned("long", 0, 0, &[Act::Compute(100 * US)]));
    spec.domains.push(pinned("short", 0, 1, &[Act::Sleep(40 * US), Act::Compute(20 * US)]));
    let ran = ran(spec);
    // Half a core each from 40 to 80; the long one has 40 us left then.
    assert_eq!(Script::done_ns(&ran, 1), 80 * US);
    assert_eq!(Script::done_ns(&ran, 0), 120 * US);
    assert_eq!(ran.report.domains[0].ran_ns, 120 * US);
}

#[test]
fn pcpus_of_other_cores_are_no_siblings() {
    let mut spec = siblings(4);
    spec.domains.push(pinned("long", 0, 1, &[Act::Compute(100 * US)]));
    spec.domains.push(pinned("short", 0, 2, &[Act::Compute(100 * US)]));
    let apart = ran(spec);
    assert_eq!((Script::done_ns(&apart, 0), Script::done_ns(&apart, 1)), (100 * US, 100 * US));
    // Nor are those of a host without siblings.
    let mut spec = host(2);
    spec.domains.push(pinned("long", 0, 0, &[Act::Compute(100 * US)]));
    spec.domains.push(pinned("short", 0, 1, &[Act::Compute(100 * US)]));
    assert_eq!(ran(spec).report.at_ns, 100 * US);
}

#[test]
fn siblings_of_the_second_host_are_counted_from_its_first_pcpu() {
    let mut spec = siblings(1);
    spec.hosts[0].smt = false;
    spec.hosts.push(siblings(2).hosts.remove(0));
    spec.domains.push(pinned("first host", 0, 0, &[Act::Compute(100 * US)]));
    spec.domains.push(pinned("long", 1, 0, &[Act::Compute(100 * US)]));
    spec.domains.push(pinned("short", 1, 1, &[Act::Compute(50 * US)]));
    let ran = ran(spec);
    let done: Vec<_> = (0..3).map(|process| Script::done_ns(&ran, process)).collect();
    assert_eq!(done, [100 * US, 150 * US, 100 * US]);
}

#[test]
fn a_sibling_that_polls_slows_the_other_one_and_one_that_blocks_does_not() {
    let done_ns = |wait: Wait| {
        let mut spec = siblings(4);
        spec.hosts[0].dom0_pins = vec![2];
        spec.domains.push(pinned("works", 0, 0, &[Act::Compute(100 * US), Act::Send(1, 0)]));
        spec.domains.push(pinned("waits", 0, 1, &[Act::Receive(wait)]));
        let ran = ran(spec);
        (Script::done_ns(&ran, 0), ran.report.domains[1].polled_ns)
    };
    assert_eq!(done_ns(Wait::Block), (110 * US, 0));
    // 110 us of work at half speed; polling goes on until the packet is in the ring, 40 us later.
    assert_eq!(done_ns(Wait::Poll), (220 * US, 260 * US));
}

#[test]
fn the_privileged_domain_and_the_kernels_of_guests_share_cores_too() {
    let mut spec = siblings(4);
    spec.hosts[0].dom0_pins = vec![1];
    spec.domains.push(pinned("works", 0, 0, &[Act::Compute(100 * US)]));
    spec.domains.push(pinned("from", 0, 2, &[Act::Send(2, 0)]));
    spec.domains.push(pinned("to", 0, 3, &[Act::Receive(Wait::Block)]));
    let ran = ran(spec);
    // The packet is carried at half speed from 10 to 90, 80 us in which 40 us of the work are done.
    assert_eq!(Script::done_ns(&ran, 0), 140 * US);
    assert_eq!(Script::got_ns(&ran, 2), [110 * US]);
}

#[test]
fn work_that_does_not_divide_evenly_is_done_in_full() {
    let mut spec = siblings(2);
    spec.costs.smt_permille = 333;
    // The sibling comes and goes a thousand times.
    let bursts: Vec<Act> = [Act::Compute(7), Act::Sleep(13)].repeat(1_000);
    spec.domains.push(pinned("long", 0, 0, &[Act::Compute(MS)]));
    spec.domains.push(pinned("bursts", 0, 1, &bursts));
    let (ran, watch) = watched(spec);
    // A burst takes 7 / 0.333 = 21.02, that is 22 ns; the long one is not robbed of more than 1 ns each time.
    assert_eq!(Script::done_ns(&ran, 1), 35 * 1_000);
    let shared: u64 = watch.of(2).iter().map(|(_, from_ns, to_ns)| to_ns - from_ns).sum();
    assert_eq!(shared, 22 * 1_000);
    let exact = MS + shared * 667 / 1_000;
    assert!((exact..exact + 2_000).contains(&Script::done_ns(&ran, 0)));
}

#[test]
fn siblings_that_stand_apart_share_a_core_and_neighbours_do_not() {
    let times = |pins: [u32; 2]| {
        let mut spec = siblings(6);
        spec.hosts[0].siblings = Siblings::Apart;
        for pin in pins {
            spec.domains.push(pinned("works", 0, pin, &[Act::Compute(100 * US)]));
        }
        ran(spec).report.at_ns
    };
    for [one, other] in [[0, 3], [1, 4], [5, 2]] {
        assert_eq!(times([one, other]), 200 * US, "{one} and {other}");
    }
    for [one, other] in [[0, 1], [2, 3], [4, 5], [0, 5]] {
        assert_eq!(times([one, other]), 100 * US, "{one} and {other}");
    }
}

#[test]
fn whoever_shares_a_core_with_whom_all_work_is_done_at_the_speed_that_siblings_have() {
    // Two cores, four threads of equal work without pins: all PCPUs are busy to the end.
    for numbering in [Siblings::Adjacent, Siblings::Apart] {
        for permille in [500, 600, 625, 1_000] {
            let mut spec = siblings(4);
            spec.hosts[0].siblings = numbering;
            spec.costs.smt_permille = permille;
            let work = [Act::Compute(3 * MS)];
            let domain = domain("threads", &[&work[..]; 4]);
            spec.domains.push(DomainSpec { threads: true, vcpus: 4, ..domain });
            let took_ns = ran(spec).report.at_ns;
            assert_eq!(took_ns, (3 * MS * 1_000).div_ceil(permille), "{numbering:?}, {permille}");
        }
    }
}
