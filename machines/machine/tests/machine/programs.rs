//! Guest programs on the whole machine: what they need when they are alone, when they share PCPUs, and when
//! one is missing.

use paceline_machine::guests::class::Class;
use paceline_machine::guests::hog::Hog;
use paceline_machine::guests::mpi::{Mpi, tally};
use paceline_machine::guests::rounds::{Outcome, Pacing, outcome};
use paceline_machine::guests::{ep, lu, rounds};
use paceline_machine::{
    DomainSpec, Ended, Guest, HostSpec, LinkSpec, MachineError, MachineSpec, Op, ProcessId, Program, Ran,
    Wait, run,
};

const FIRST: ProcessId = ProcessId(0);

/// Hosts with so many PCPUs each and gigabit links between all of them; the privileged domain is on PCPU 0 of
/// each.
fn hosts(count: u32, pcpus: u32) -> MachineSpec {
    let mut spec = MachineSpec::default();
    for to in 0..count {
        let mut host = HostSpec::new(format!("host{to}"), pcpus, "round-robin");
        host.dom0_pins = vec![0];
        spec.hosts.push(host);
        let link = |from| LinkSpec { from, to, latency_ns: 30_000, bits_per_second: 1_000_000_000 };
        spec.links.extend((0..to).map(link));
    }
    spec
}

/// Adds one domain a program, on one host after the other in turn, pinned to PCPU `pin(place)`.
fn add(spec: &mut MachineSpec, programs: Vec<Box<dyn Program>>, pin: impl Fn(u32) -> u32) {
    let hosts = spec.hosts.len() as u32;
    for (place, program) in (0..).zip(programs) {
        let mut domain = DomainSpec::new(format!("rank{place}"), place % hosts, vec![program]);
        domain.pins = vec![pin(place)];
        spec.domains.push(domain);
    }
}

/// A hog on `host`, pinned to PCPU `pin`.
fn add_hog(spec: &mut MachineSpec, host: u32, pin: u32, hog: Hog) {
    let mut domain = DomainSpec::new("hog", host, vec![Box::new(hog)]);
    (domain.background, domain.pins) = (true, vec![pin]);
    spec.domains.push(domain);
}

fn ran(spec: MachineSpec) -> Ran {
    let ran = run(spec).expect("it runs to its end");
    assert_eq!(ran.report.ended, Ended::Done);
    ran
}

/// LU class S on PCPUs of its own, two hosts.
fn lu_on(wait: Wait, processes: u32) -> Ran {
    let settings =
        lu::Settings { mpi: Mpi { wait, ..Mpi::default() }, ..lu::Settings::new(Class::S, processes) };
    let mut spec = hosts(2, 1 + processes.div_ceil(2));
    add(&mut spec, lu::programs(&settings, FIRST).expect("a power of two"), |place| 1 + place / 2);
    ran(spec)
}

/// Messages, bytes and CPU time of all processes.
fn sent(ran: &Ran) -> [u64; 3] {
    let tallies = ran.programs.iter().map(|program| tally(&**program).expect("a process of an MPI program"));
    tallies.fold([0; 3], |[messages, bytes, time], tally| {
        [messages + tally.messages, bytes + tally.bytes, time + tally.computed_ns]
    })
}

#[test]
fn lu_takes_its_share_of_the_time_and_that_of_messages() {
    let alone = lu_on(Wait::Poll, 1);
    let [messages, _, time] = sent(&alone);
    assert_eq!(messages, 0);
    assert!((1.0..1.001).contains(&(alone.report.at_ns as f64 / time as f64)), "{:?}", alone.report);
    let four = lu_on(Wait::Poll, 4);
    assert!(four.report.at_ns > sent(&four)[2] / 4, "waves and messages take time");
}

#[test]
fn how_processes_wait_does_not_change_what_they_do() {
    let waits = [Wait::Poll, Wait::PollThenYield(50_000), Wait::PollThenBlock(50_000), Wait::Block];
    let all = waits.map(|wait| lu_on(wait, 4));
    for other in &all {
        assert_eq!(sent(&all[0]), sent(other));
    }
    let polled = all.map(|ran| ran.report.domains.iter().map(|domain| domain.polled_ns).sum::<u64>());
    assert!(polled[0] > polled[2] && polled[2] > 0 && polled[3] == 0, "{polled:?}");
}

#[test]
fn ep_takes_its_share_alone_and_twice_that_beside_hogs() {
    let settings = ep::Settings { pair_ps: 10_000, ..ep::Settings::new(Class::S, 4) };
    let time = |with_hogs| {
        let mut spec = hosts(2, 3);
        add(&mut spec, ep::programs(&settings, FIRST).expect("four processes"), |place| 1 + place / 2);
        for (host, pin) in [(0, 1), (0, 2), (1, 1), (1, 2)] {
            if with_hogs {
                add_hog(&mut spec, host, pin, Hog::new(1_000_000, 0));
            }
        }
        ran(spec).report.at_ns as f64
    };
    let share = f64::from(1 << 24) * 10.0 / 4.0;
    let (alone, beside) = (time(false), time(true));
    assert!((1.0..1.05).contains(&(alone / share)), "{} times its share alone", alone / share);
    assert!((1.8..3.0).contains(&(beside / alone)), "{} times as long beside hogs", beside / alone);
}

#[test]
fn hogs_that_sleep_leave_the_rest_to_others() {
    let mut spec = hosts(1, 2);
    add_hog(&mut spec, 0, 1, Hog::new(1_000_000, 0));
    add_hog(&mut spec, 0, 1, Hog::new(1_000_000, 3_000_000));
    // The run lasts as long as there is something to wait for.
    add(&mut spec, vec![Box::new(Hog::new(1_000_000, 0))], |_| 0);
    spec.until_ns = Some(1_000_000_000);
    let report = run(spec).expect("it runs until its time is over").report;
    assert_eq!(report.ended, Ended::Horizon);
    let [busy, idle] = [0, 1].map(|domain| report.domains[domain].ran_ns);
    assert!((1..=250_000_000).contains(&idle) && busy > 700_000_000, "{busy} and {idle} ns");
}

/// A hundred rounds on PCPUs that the privileged domain, A, B and C share in turn.
fn rounds_on(pcpus: u32, pacing: Pacing, seed: u64) -> Outcome {
    let settings = rounds::Settings { rounds: 100, pacing, seed, ..rounds::Settings::default() };
    let mut spec = hosts(1, pcpus);
    add(&mut spec, rounds::programs(&settings, FIRST), |place| (place + 1) % pcpus);
    let outcome = outcome(&*ran(spec).programs[2]).expect("rank 2 of the rounds").clone();
    assert_eq!(outcome.ended_ns.len(), 100);
    outcome
}

#[test]
fn detours_take_longer_where_everybody_has_a_pcpu() {
    for pacing in Pacing::ALL {
        for seed in 0..3 {
            assert_eq!(rounds_on(4, pacing, seed).overtaken, 0, "{}", pacing.name());
        }
    }
}

#[test]
fn seeds_alone_make_rounds_differ() {
    for pacing in Pacing::ALL {
        assert_eq!(rounds_on(2, pacing, 1), rounds_on(2, pacing, 1), "{}", pacing.name());
        assert_ne!(rounds_on(2, pacing, 1).ended_ns, rounds_on(2, pacing, 2).ended_ns, "{}", pacing.name());
    }
}

/// A process that is done at once.
#[derive(Debug)]
struct Missing;

impl Program for Missing {
    fn next(&mut self, _guest: &mut Guest<'_>) -> Op {
        Op::Done
    }

    fn waits_for(&self) -> String {
        "nothing".into()
    }
}

#[test]
fn a_missing_rank_is_named() {
    for wait in [Wait::Poll, Wait::Block] {
        let settings = lu::Settings { mpi: Mpi { wait, ..Mpi::default() }, ..lu::Settings::new(Class::S, 2) };
        let mut programs = lu::programs(&settings, FIRST).expect("a power of two");
        programs[1] = Box::new(Missing);
        let mut spec = hosts(1, 4);
        add(&mut spec, programs, |place| 1 + place);
        match run(spec) {
            Err(MachineError::Deadlock { waiting, .. }) => {
                assert_eq!(waiting.len(), 1);
                assert_eq!(waiting[0].waits_for, "a message of rank 1, which is process 1");
            }
            other => panic!("{other:?}"),
        }
    }
}
