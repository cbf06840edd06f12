//! Random machines: what holds whatever runs on them, under every policy.

use std::collections::BTreeMap;

use paceline_machine::{Costs, Ended, MachineError, Ran, Report, Wait, run};
use paceline_policy::names;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use crate::lab::{MS, Watch, ran, watched_or_not};
use crate::plan::{Plan, orderly, wild};
use crate::script::{Act, Script};

/// Nobody is in two places, and no place has two; the sums are those of the report.
fn check_stretches(plan: &Plan, watch: &Watch, report: Option<&Report>) {
    let mut on_pcpu: BTreeMap<u32, Vec<(u64, u64)>> = BTreeMap::new();
    let mut of_vcpu: BTreeMap<u32, Vec<(u64, u64)>> = BTreeMap::new();
    let mut of_dom: BTreeMap<u32, u64> = BTreeMap::new();
    for stretch in &watch.stretches {
        assert!(stretch.from_ns < stretch.to_ns);
        on_pcpu.entry(stretch.pcpu).or_default().push((stretch.from_ns, stretch.to_ns));
        of_vcpu.entry(stretch.vcpu).or_default().push((stretch.from_ns, stretch.to_ns));
        *of_dom.entry(stretch.dom).or_default() += stretch.to_ns - stretch.from_ns;
    }
    for (place, mut stretches) in on_pcpu.into_iter().chain(of_vcpu) {
        stretches.sort_unstable();
        for pair in stretches.windows(2) {
            assert!(pair[0].1 <= pair[1].0, "{pair:?} on PCPU or of VCPU {place}");
        }
    }
    let Some(report) = report else { return };
    let sum = |dom: usize| of_dom.get(&(dom as u32)).copied().unwrap_or(0);
    let hosts = report.hosts.len();
    for (number, domain) in report.domains.iter().enumerate() {
        assert_eq!(domain.ran_ns, sum(hosts + number));
        assert!(domain.polled_ns <= domain.ran_ns);
    }
    for (number, host) in report.hosts.iter().enumerate() {
        let guests = (0..report.domains.len()).filter(|guest| plan.domains[*guest].host == number as u32);
        assert_eq!(host.dom0_ns, sum(number));
        assert_eq!(host.busy_ns, sum(number) + guests.map(|guest| sum(hosts + guest)).sum::<u64>());
        assert!(host.overhead_ns <= host.busy_ns && host.switches <= host.decisions);
    }
}

/// Messages of a pair of processes come in the order in which they were sent, none of them twice.
fn check_order(ran: &Ran) {
    for process in 0..ran.programs.len() {
        let mut last: BTreeMap<u32, u64> = BTreeMap::new();
        for got in &Script::of(ran, process).got {
            let before = last.insert(got.from, got.number);
            assert!(before.is_none_or(|before| before < got.number), "{got:?} after {before:?}");
        }
    }
}

/// CPU time that the guests and the privileged domains must have had, polling, events and the hypervisor
/// aside, by host; and how often they took up a packet, each time with an event of its own at most.
fn work_ns(plan: &Plan) -> Vec<(u64, u64)> {
    let costs: &Costs = &plan.costs;
    let copy_ns = |bytes: u32| u64::from(bytes) * costs.byte_ps / 1_000;
    let mut work_ns = vec![0; plan.hosts.len()];
    let mut taken = vec![0; plan.hosts.len()];
    for (process, acts) in plan.scripts.iter().enumerate() {
        let from = plan.domain_of(process as u32);
        let host = plan.domains[from].host as usize;
        let mut writes = 0;
        for act in acts {
            match *act {
                Act::Lvt(_) | Act::Waits(_) | Act::Simulates(_) => {
                    writes += costs.page_write_ns;
                    continue;
                }
                Act::Compute(span_ns) => work_ns[host] += span_ns,
                Act::Send(to, bytes) => {
                    let to = plan.domain_of(to);
                    let there = plan.domains[to].host as usize;
                    if from == to {
                        work_ns[host] += costs.loopback_ns;
                    } else {
                        work_ns[host] += costs.send_ns + copy_ns(bytes) + costs.backend_ns + copy_ns(bytes);
                        work_ns[there] += costs.receive_ns + copy_ns(bytes);
                        taken[host] += 1;
                        taken[there] += 1;
                    }
                    if there != host {
                        work_ns[host] += costs.nic_ns;
                        work_ns[there] += costs.backend_ns + costs.nic_ns + copy_ns(bytes);
                        taken[there] += 1;
                    }
                }
                _ => {}
            }
            work_ns[host] += std::mem::take(&mut writes);
        }
    }
    work_ns.into_iter().zip(taken).collect()
}

/// Policies under which who polls may for ever keep out those whom it waits for.
const STARVES: &[&str] = &["govindan", "flexible"];

fn check_orderly(plan: &Plan, kind: &str) {
    let mut spec = plan.spec(kind);
    if STARVES.contains(&kind) {
        spec.until_ns = Some(200 * MS);
    }
    let (result, watch) = watched_or_not(spec);
    let ran = match result {
        Ok(ran) => ran,
        Err(MachineError::Policy { .. }) => return,
        Err(other) => panic!("{kind}: {other}"),
    };
    check_stretches(plan, &watch, Some(&ran.report));
    check_order(&ran);
    if STARVES.contains(&kind) && ran.report.ended == Ended::Horizon {
        return;
    }
    assert_eq!(ran.report.ended, Ended::Done, "{kind}");
    let mut expected = vec![0; plan.scripts.len()];
    let mut sent = 0;
    for acts in &plan.scripts {
        for act in acts {
            if let Act::Send(to, _) = act {
                expected[*to as usize] += 1;
                sent += 1;
            }
        }
    }
    assert_eq!(watch.messages.len(), sent, "{kind}");
    for (process, expected) in expected.into_iter().enumerate() {
        Script::done_ns(&ran, process);
        assert_eq!(Script::of(&ran, process).got.len(), expected, "{kind}: process {process}");
    }
    let work_ns = work_ns(plan);
    for (number, host) in ran.report.hosts.iter().enumerate() {
        let domains = ran.report.domains.iter().zip(&plan.domains);
        let polled =
            domains.filter(|(_, domain)| domain.host == number as u32).map(|(report, _)| report.polled_ns);
        let (work_ns, taken) = work_ns[number];
        let least = work_ns + host.overhead_ns + polled.sum::<u64>();
        let [expected, most] = [taken.min(1), taken].map(|events| least + events * plan.costs.event_ns);
        if plan.hosts[number].smt || plan.costs.guest_switch_ns > 0 {
            assert!(host.busy_ns + 1_000 >= expected, "{kind}: {} of {expected}", host.busy_ns);
        } else if taken > 1 && plan.costs.event_ns > 0 {
            let busy_ns = host.busy_ns;
            assert!((expected..=most).contains(&busy_ns), "{kind}: {busy_ns} of {expected} to {most}");
            assert_eq!((busy_ns - least) % plan.costs.event_ns, 0, "{kind}: an event is whole");
        } else {
            assert_eq!(host.busy_ns, expected, "{kind}: host {number}");
        }
    }
}

fn check_wild(plan: &Plan, kind: &str) {
    let (result, watch) = watched_or_not(plan.spec(kind));
    check_stretches(plan, &watch, result.as_ref().ok().map(|ran| &ran.report));
    // The same again, with nobody looking on.
    let again = run(plan.spec(kind));
    let (result, again) = match (result, again) {
        (Ok(ran), Ok(again)) => (ran, again),
        (Err(error), Err(again)) => return assert_eq!(error, again),
        (result, again) => panic!("{kind}: {:?} and {:?}", result.map(|_| ()), again.map(|_| ())),
    };
    assert_eq!(result.report, again.report, "{kind}");
    check_order(&result);
    for (process, program) in plan.scripts.iter().enumerate() {
        let script = Script::of(&result, process);
        assert_eq!(script.got, Script::of(&again, process).got);
        let domain = &plan.domains[plan.domain_of(process as u32)];
        if result.report.ended == Ended::Done && !domain.background && domain.leaves_ns.is_none() {
            assert_eq!(script.began_ns.len(), program.len() + 1, "{kind}: process {process} is not done");
        }
        if domain.arrives_ns == 0 && domain.leaves_ns.is_none() {
            // Nothing was lost on the way to who was there all the time.
            let mut next: BTreeMap<u32, u64> = BTreeMap::new();
            for got in &script.got {
                let next = next.entry(got.from).or_default();
                assert_eq!(got.number, *next, "{kind}: from {} to {process}", got.from);
                *next += 1;
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, rng_seed: RngSeed::Fixed(4), ..ProptestConfig::default() })]

    #[test]
    fn work_is_done_and_messages_come_once_and_in_order(plan in orderly()) {
        for kind in names() {
            check_orderly(&plan, kind);
        }
    }

    #[test]
    fn whatever_programs_do_runs_are_sound_and_the_same_again(plan in wild()) {
        for kind in names() {
            check_wild(&plan, kind);
        }
    }

    #[test]
    fn time_does_not_depend_on_how_a_lone_pair_waits(compute in 1..100_000u64, bytes in 0..2_000u32) {
        let at_ns = |wait: Wait| {
            let mut spec = crate::lab::host(3);
            spec.domains.push(crate::lab::domain("from", &[&[Act::Compute(compute), Act::Send(1, bytes)]]));
            spec.domains.push(crate::lab::domain("to", &[&[Act::Receive(wait)]]));
            ran(spec).report.at_ns
        };
        let blocks = at_ns(Wait::Block);
        for wait in [Wait::Poll, Wait::PollThenYield(compute), Wait::PollThenBlock(compute)] {
            prop_assert_eq!(at_ns(wait), blocks);
        }
    }
}
