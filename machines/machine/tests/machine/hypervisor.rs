//! What the hypervisor's work costs, where VCPUs are pinned, and the calls that policies and observers get.

use paceline_machine::{DomainReport, DomainSpec, Ended, Observer, Wait, run_observed};
use paceline_policy::Setting;

use crate::lab::{MS, US, domain, hog, host, pinned, ran, two_hosts, watched};
use crate::script::{Act, Script};

const BLOCK: Act = Act::Receive(Wait::Block);

#[test]
fn a_decision_and_a_switch_come_before_the_vcpu_goes_on() {
    let mut spec = host(1);
    (spec.costs.decision_ns, spec.costs.switch_ns) = (US, 2 * US);
    spec.domains.push(domain("guest", &[&[Act::Compute(100 * US)]]));
    let ran = ran(spec);
    assert_eq!(Script::of(&ran, 0).began_ns, [3 * US, 103 * US]);
    let host = &ran.report.hosts[0];
    assert_eq!((host.decisions, host.switches, host.migrations), (2, 1, 0));
    assert_eq!((host.overhead_ns, host.busy_ns), (3 * US, 103 * US));
    assert_eq!((ran.report.domains[0].ran_ns, ran.report.domains[0].waited_ns), (103 * US, 0));
}

#[test]
fn slices_that_end_cost_a_switch_only_when_somebody_else_is_next() {
    let work = [Act::Compute(25 * MS)];
    let mut spec = host(1);
    (spec.costs.decision_ns, spec.costs.switch_ns) = (US, 2 * US);
    spec.domains.push(domain("alone", &[&work]));
    // The slice ends twice: a decision each time, and no switch.
    let alone = ran(spec);
    assert_eq!(Script::done_ns(&alone, 0), 25 * MS + 5 * US);
    assert_eq!((alone.report.hosts[0].switches, alone.report.domains[0].preemptions), (1, 0));

    let mut spec = host(1);
    (spec.costs.decision_ns, spec.costs.switch_ns) = (US, 2 * US);
    spec.domains.push(domain("one", &[&work]));
    spec.domains.push(domain("two", &[&work]));
    let two = ran(spec);
    // Each slice of 10 ms loses 3 us. At 40 ms both have 5 ms and 6 us left, and lose 3 us more before they
    // get there.
    assert_eq!(Script::done_ns(&two, 0), 45 * MS + 9 * US);
    assert_eq!(Script::done_ns(&two, 1), 50 * MS + 18 * US);
    let host = &two.report.hosts[0];
    assert_eq!((host.switches, host.overhead_ns), (6, 18 * US));
    let [one, other] = [0, 1].map(|domain: usize| &two.report.domains[domain]);
    assert_eq!((one.preemptions, other.preemptions), (2, 2));
    assert_eq!((one.waited_ns, other.waited_ns), (20 * MS, 25 * MS + 9 * US));
}

#[test]
fn a_vcpu_that_goes_on_elsewhere_pays_for_a_cold_cache() {
    let mut spec = host(2);
    spec.costs.migration_ns = 4 * US;
    spec.domains
        .push(domain("guest", &[&[Act::Compute(10 * US), Act::Sleep(10 * US), Act::Compute(10 * US)]]));
    spec.domains.push(DomainSpec { arrives_ns: 15 * US, ..hog(0, 0) });
    let (ran, watch) = watched(spec);
    assert_eq!(watch.of(1), [(0, 0, 10 * US), (1, 20 * US, 34 * US)]);
    assert_eq!((ran.report.hosts[0].migrations, ran.report.hosts[0].overhead_ns), (1, 4 * US));
}

#[test]
fn a_decision_while_the_hypervisor_is_at_work_does_not_cut_that_short() {
    let mut spec = host(1);
    (spec.costs.decision_ns, spec.costs.switch_ns) = (US, 4 * US);
    // A slice is over after 4 us, when 1 us of the switch is left; that and the next decision take until 6.
    spec.hosts[0].policy.settings.set("slice", Setting::Nanos(4 * US));
    spec.domains.push(domain("guest", &[&[Act::Compute(US)]]));
    let ran = ran(spec);
    assert_eq!(Script::of(&ran, 0).began_ns, [6 * US, 7 * US]);
    assert_eq!(ran.report.hosts[0].overhead_ns, 6 * US);
    assert_eq!(ran.report.hosts[0].busy_ns, 7 * US);
}

#[test]
fn who_comes_after_a_domain_that_went_while_it_was_switched_to_pays_only_for_itself() {
    let mut spec = host(1);
    (spec.costs.decision_ns, spec.costs.switch_ns) = (US, 4 * US);
    spec.domains.push(DomainSpec { leaves_ns: Some(2 * US), ..domain("goes", &[&[Act::Compute(MS)]]) });
    spec.domains.push(DomainSpec { arrives_ns: 3 * US, ..domain("comes", &[&[Act::Compute(US)]]) });
    let ran = ran(spec);
    // From 0 to 2 for nothing, and from 3 to 8.
    assert_eq!(Script::of(&ran, 1).began_ns, [8 * US, 9 * US]);
    assert_eq!(ran.report.hosts[0].overhead_ns, 7 * US);
    assert_eq!(ran.report.domains[0].ran_ns, 2 * US);
}

#[test]
fn what_the_hypervisor_has_not_done_yet_when_the_run_ends_is_not_counted() {
    let mut spec = host(1);
    (spec.costs.decision_ns, spec.costs.switch_ns) = (US, 4 * US);
    spec.until_ns = Some(3 * US);
    spec.domains.push(domain("guest", &[&[Act::Compute(US)]]));
    let ran = ran(spec);
    assert_eq!(ran.report.hosts[0].overhead_ns, 3 * US);
    assert_eq!(ran.report.hosts[0].busy_ns, 3 * US);
}

#[test]
fn writing_to_the_shared_page_costs_time_and_is_seen() {
    let mut spec = host(2);
    spec.costs.page_write_ns = US;
    let acts = [
        Act::Lvt(7),
        Act::Compute(10 * US),
        Act::Waits(true),
        Act::Lvt(9),
        Act::Receive(Wait::Block),
        Act::Waits(false),
        Act::Simulates(false),
        Act::Send(1, 0),
        Act::Lvt(11),
        Act::Yield,
        Act::Lvt(12),
        Act::Sleep(10 * US),
    ];
    spec.domains.push(domain("guest", &[&acts, &[Act::Receive(Wait::Block)], &[Act::Send(0, 0)]]));
    let (ran, watch) = watched(spec);
    // 11 for the computation; 2 before it waits, until 13; the third process sends until 15; then 2 + 2 to
    // send, 1 to yield, and 1 before it sleeps.
    let began = &Script::of(&ran, 0).began_ns;
    assert_eq!(began[..3], [0, 0, 11 * US]);
    assert_eq!(Script::got_ns(&ran, 0), [15 * US]);
    assert_eq!(Script::done_ns(&ran, 0), (15 + 4 + 1 + 1 + 10) * US);
    let lvts = [(1, 0, 7), (1, 11 * US, 9), (1, 19 * US, 11), (1, 20 * US, 12)];
    assert_eq!(watch.lvts, lvts);
    assert_eq!(ran.report.domains[0].polled_ns, 0);
}

#[test]
fn vcpus_run_where_they_are_pinned_and_only_there() {
    let mut spec = host(4);
    (spec.hosts[0].dom0_vcpus, spec.hosts[0].dom0_pins) = (2, vec![0, 3]);
    let work = [Act::Compute(30 * MS)];
    spec.domains.push(DomainSpec { vcpus: 3, pins: vec![2, 1], ..domain("guest", &[&work, &work, &work]) });
    spec.domains.push(pinned("talks", 0, 2, &[Act::Send(4, 0), Act::Compute(30 * MS)]));
    spec.domains.push(pinned("hears", 0, 1, &[Act::Receive(Wait::Block), Act::Compute(30 * MS)]));
    let (_, watch) = watched(spec);
    for (vcpu, pcpu) in [(1, 3), (2, 2), (3, 1), (5, 2), (6, 1)] {
        let mut stretches_of = watch.stretches.iter().filter(|stretch| stretch.vcpu == vcpu);
        assert!(stretches_of.clone().count() > 0, "VCPU {vcpu}");
        assert!(stretches_of.all(|stretch| stretch.pcpu == pcpu), "VCPU {vcpu}");
    }
}

#[test]
fn the_second_host_has_pcpus_and_vcpus_of_its_own() {
    let mut spec = two_hosts(2);
    spec.domains.push(pinned("here", 0, 1, &[Act::Compute(MS)]));
    spec.domains.push(pinned("there", 1, 1, &[Act::Compute(MS)]));
    let (ran, watch) = watched(spec);
    assert_eq!(watch.of(2), [(1, 0, MS)]);
    assert_eq!(watch.of(3), [(3, 0, MS)]);
    assert_eq!(ran.report.hosts.iter().map(|host| host.busy_ns).collect::<Vec<_>>(), [MS, MS]);
}

#[test]
fn the_horizon_ends_the_run_and_books_what_was_under_way() {
    let mut spec = host(1);
    spec.until_ns = Some(25 * MS);
    spec.domains.push(domain("one", &[&[Act::Compute(100 * MS)]]));
    spec.domains.push(domain("two", &[&[Act::Receive(Wait::Poll), BLOCK]]));
    let (ran, watch) = watched(spec);
    assert_eq!((ran.report.ended, ran.report.at_ns), (Ended::Horizon, 25 * MS));
    let expected = |name: &str, ran_ns, polled_ns, preemptions| DomainReport {
        name: name.into(),
        done_ns: None,
        ran_ns,
        polled_ns,
        waited_ns: 25 * MS - ran_ns,
        preemptions,
    };
    assert_eq!(ran.report.domains, [expected("one", 15 * MS, 0, 1), expected("two", 10 * MS, 10 * MS, 1)]);
    assert_eq!(watch.of(1), [(0, 0, 10 * MS), (0, 20 * MS, 25 * MS)]);
}

#[test]
fn what_happens_at_the_horizon_still_happens() {
    for (until_ns, ended) in [(MS - 1, Ended::Horizon), (MS, Ended::Done)] {
        let mut spec = host(1);
        spec.until_ns = Some(until_ns);
        spec.domains.push(domain("guest", &[&[Act::Compute(MS)]]));
        let report = ran(spec).report;
        assert_eq!((report.ended, report.at_ns), (ended, until_ns));
    }
}

#[test]
fn shares_are_reported_by_jains_index() {
    let mut spec = host(2);
    spec.domains.push(domain("one", &[&[Act::Compute(MS)]]));
    spec.domains.push(domain("two", &[&[Act::Compute(3 * MS)]]));
    let report = ran(spec).report;
    // (1 + 3)^2 / (2 * (1 + 9)) = 0.8.
    assert!((report.unfairness() - 0.2).abs() < 1e-12);
    assert_eq!(report.waiting_share(), 0.0);
}

#[test]
fn digests_tell_other_schedules_apart() {
    let digest = |work_ns: u64, pin: u32| {
        let mut spec = host(2);
        spec.domains.push(pinned("guest", 0, pin, &[Act::Compute(work_ns)]));
        ran(spec).report.digest
    };
    let digests = [digest(MS, 0), digest(MS, 1), digest(MS + 1, 0)];
    assert!(digests[0] != digests[1] && digests[0] != digests[2] && digests[1] != digests[2]);
    assert_eq!(digest(MS, 0), digests[0]);
}

#[test]
fn an_observer_that_wants_to_know_nothing_needs_no_code() {
    struct Nobody;
    impl Observer for Nobody {}
    let mut spec = host(2);
    spec.domains.push(domain("guest", &[&[Act::Lvt(1), Act::Send(1, 0)], &[BLOCK]]));
    assert_eq!(run_observed(spec, &mut Nobody).expect("it runs").report.at_ns, 2 * US);
}
