//! The farm: whatever fails, each task is done exactly once; without failures the run takes exactly the
//! expected time; and the result does not depend on the way it is run.

use std::sync::Arc;

use paceline_kernel::{Rng, Time};
use paceline_models::farm::{Failing, Farm, FarmError, Message, Outcome};
use paceline_network::{Constant, FlowModel, Flows};
use paceline_processes::{ContextKind, EndedBy, Report, Rounds, Simulation};

const LATENCY_S: f64 = 0.25;

/// The way a farm is run.
#[derive(Clone, Copy)]
struct Way {
    seed: u64,
    hosts: u32,
    threads: usize,
    context: ContextKind,
}

fn run(farm: &Farm, way: Way) -> (Report, Arc<Outcome>) {
    let hosts = vec![(1e9, 2); way.hosts as usize];
    let world: Simulation<Message, _> = Simulation::new(Constant::new(LATENCY_S), &hosts);
    let world = world.seed(way.seed).until(Time::secs(100_000)).rounds(Rounds::Always);
    let mut world = world.threads(way.threads).context(way.context);
    let outcome = farm.spawn(&mut world, way.hosts).unwrap();
    (world.run().unwrap_or_else(|error| panic!("{error}")), outcome)
}

/// A farm drawn from `seed`: hosts that fail seldom or in the middle of every second task; time limits that
/// workers meet or miss.
fn drawn(seed: u64) -> (Farm, Way) {
    let mut rng = Rng::new(seed, 41);
    let mut span = |from: u64, to: u64| Time::millis(from + rng.below(to - from));
    let failing = Failing { between_failures: span(5_000, 100_000), repair: span(500, 50_000) };
    let limit = span(3_000, 60_000);
    let farm = Farm {
        workers: 1 + rng.below(12) as u32,
        tasks: 1 + rng.below(150) as u32,
        flops: 4e9 * rng.unit(),
        limit,
        failing: Some(failing),
        ..Farm::default()
    };
    let way = Way { seed, hosts: 2 + rng.below(12) as u32, threads: 1, context: ContextKind::Future };
    (farm, way)
}

#[test]
fn whatever_fails_each_task_is_done_once() {
    let (mut again, mut twice, mut lost) = (0, 0, Time::ZERO);
    for seed in 0..200 {
        let (farm, way) = drawn(seed);
        let (report, outcome) = run(&farm, way);
        assert_eq!(report.ended_by, EndedBy::Processes, "seed {seed}: {farm:?}");
        let results: Vec<Time> = outcome.results().into_iter().flatten().collect();
        assert_eq!(
            (results.len() as u32, report.outputs.count("tasks_done")),
            (farm.tasks, farm.tasks.into()),
            "seed {seed}"
        );
        assert_eq!(results.iter().max(), Some(&report.end_time), "it ends with the last result");
        again += report.outputs.count("tasks_reassigned");
        twice += report.outputs.count("duplicate_results");
        lost = lost.saturating_add(Time::nanos(report.outputs.count("lost_computing_ns")));
        // No worker computes faster than its host.
        let computed_s = f64::from(farm.tasks) * farm.flops / 1e9;
        assert!(report.end_time.as_secs_f64() * f64::from(farm.workers) >= computed_s, "seed {seed}");
    }
    assert!(
        again > 1000 && twice > 100 && lost > Time::secs(1000),
        "{again}, {twice}, {lost}: too little fails"
    );
}

#[test]
fn without_failures_it_ends_when_it_must() {
    for (workers, tasks) in [(1, 1), (1, 7), (4, 4), (4, 5), (10, 5), (10, 95), (200, 1000)] {
        let farm = Farm { workers, tasks, flops: 3e9, ..Farm::default() };
        let way = Way { seed: 1, hosts: workers + 1, threads: 1, context: ContextKind::Future };
        let (report, _) = run(&farm, way);
        // A worker reports that it is idle; then, for each of its tasks: transfer, computation, and transfer
        // of the result.
        let turns = f64::from(tasks.div_ceil(workers));
        let seconds = LATENCY_S + turns * (LATENCY_S + 3.0 + LATENCY_S);
        assert_eq!(report.end_time, Time::from_secs_f64(seconds), "{tasks} tasks for {workers} workers");
        assert_eq!(
            report.counts.messages,
            u64::from(workers + 2 * tasks),
            "{tasks} tasks for {workers} workers"
        );
        let failed = ["tasks_reassigned", "duplicate_results", "host_failures"];
        assert_eq!(failed.map(|name| report.outputs.count(name)), [0; 3]);
    }
}

#[test]
fn time_that_is_lost_is_what_was_computed_when_a_host_failed() {
    let failing = Failing { between_failures: Time::secs(8), repair: Time::secs(1) };
    let farm = Farm {
        workers: 1,
        tasks: 50,
        flops: 5e9,
        failing: Some(failing),
        limit: Time::secs(10_000),
        ..Farm::default()
    };
    let (report, _) = run(&farm, Way { seed: 5, hosts: 2, threads: 1, context: ContextKind::Future });
    // One worker: the busy time is 5 s for each task done, plus the lost part of each failed computation.
    let lost = Time::nanos(report.outputs.count("lost_computing_ns"));
    let (busy_s, end_s) = (50.0 * 5.0 + lost.as_secs_f64(), report.end_time.as_secs_f64());
    let failures = report.outputs.count("host_failures") as f64;
    assert!(failures > 20.0 && lost > Time::secs(40), "{failures} failures, {lost} lost");
    assert!(busy_s + 50.0 * 2.0 * LATENCY_S <= end_s, "{busy_s} s of {end_s} s");
    // The rest is repairs of 1 s each, and a few messages after each of them.
    assert!(end_s - busy_s < 50.0 * 2.0 * LATENCY_S + failures * 3.0, "{busy_s} s of {end_s} s");
}

#[test]
fn messages_that_a_link_loses_are_sent_again() {
    // The link to one of two workers is off for 0.3 s of every 3.7 s; a task is transferred in 1 s and
    // computed in 2 s.
    let change = |k: u32| format!("{} 0\n{} 1\n", 3.0 + 3.7 * f64::from(k), 3.3 + 3.7 * f64::from(k));
    let times: String = (0..200).map(change).collect();
    let platform = format!(
        r#"<platform version="4.1"><zone id="z" routing="Full">
          <host id="m" speed="1Gf"/> <host id="a" speed="1Gf"/> <host id="b" speed="1Gf"/>
          <link id="bad" bandwidth="10MBps"/> <link id="good" bandwidth="10MBps"/>
          <route src="m" dst="a"><link_ctn id="bad"/></route> <route src="m" dst="b"><link_ctn id="good"/></route>
        </zone><trace id="t">{times}</trace><trace_connect kind="LINK_AVAIL" trace="t" element="bad"/></platform>"#
    );
    let platform = paceline_network::read("f.xml", &platform, &mut |_| Err("no other files".into())).unwrap();
    let farm =
        Farm { workers: 2, tasks: 40, flops: 2e9, bytes: 10e6, limit: Time::secs(1000), ..Farm::default() };
    let network = Flows::new(&platform, FlowModel::CM02);
    let mut world = Simulation::new(network, &[(1e9, 1); 3]).until(Time::secs(2000));
    farm.spawn(&mut world, 3).unwrap();
    let report = world.run().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((report.outputs.count("tasks_done"), report.ended_by), (40, EndedBy::Processes));
    let again = report.outputs.count("tasks_reassigned");
    assert!(again > 2, "{again} tasks were lost on their way");
    // Both workers contribute: one alone would take 120 s.
    assert!((Time::secs(60)..Time::secs(110)).contains(&report.end_time), "{}", report.end_time);
}

#[test]
fn threads_and_contexts_change_nothing() {
    for seed in 500..512 {
        let (farm, way) = drawn(seed);
        let facts = |way: Way| {
            let (report, outcome) = run(&farm, way);
            let counts = ["tasks_reassigned", "host_failures", "lost_computing_ns"];
            (report.digest, outcome.results(), counts.map(|name| report.outputs.count(name)))
        };
        let reference = facts(way);
        for threads in [2, 8] {
            assert_eq!(facts(Way { threads, ..way }), reference, "seed {seed}, {threads} threads");
        }
        if farm.tasks < 60 {
            assert_eq!(facts(Way { context: ContextKind::Thread, ..way }), reference, "seed {seed}");
        }
    }
}

#[test]
fn a_master_beside_its_workers_is_refused() {
    let mut world: Simulation<Message, _> = Simulation::new(Constant::new(0.0), &[(1e9, 1)]);
    let refused = Farm::default().spawn(&mut world, 1).err();
    assert_eq!(refused, Some(FarmError::Hosts(1)));
    assert!(FarmError::Hosts(1).to_string().contains("at least 2 are needed"));
}
