//! A world on federates comes to the same as on one core, whatever its processes do that they may.

use std::sync::Arc;

use paceline_kernel::{Rng, Time};
use paceline_network::{Constant, FlowModel, Flows, HostId, Network, Platform, read};
use paceline_processes::{
    Activity, ContextKind, EndedBy, OnPanic, Process, Report, RequestError, RunError, Simulation,
};

const HOSTS: u32 = 16;

fn cluster() -> Platform {
    let text = r#"<platform version="4.1">
        <cluster id="c" prefix="h" suffix="" radical="0-15" speed="1Gf" bw="1MBps" lat="2ms" bb_bw="3MBps" bb_lat="1ms"/>
    </platform>"#;
    read("cluster.xml", text, &mut |_| Err("there are no other files".into())).expect("it is well-formed")
}

/// Where process `number` gets its messages.
fn mailbox(number: u32) -> u64 {
    u64::from(number)
}

/// A process that does what it draws: sends to anybody in every way, receives in every way, computes, has
/// children and daemons, is stopped and goes on, switches its host off.
async fn wild(cx: Process<u64>, number: u32, others: u32, steps: u32, ends: bool, blocks: bool) {
    let mut early = Vec::new();
    for step in 0..steps {
        let what = cx.draw(|rng| rng.below(16));
        let (to, bytes) = cx.draw(|rng| (rng.below(u64::from(others)), rng.below(200_000) as f64));
        let payload = u64::from(number) << 32 | u64::from(step);
        let span = Time::micros(cx.draw(|rng| 1 + rng.below(20) * 500));
        match what {
            0 | 1 => cx.send_detached(to, payload, bytes),
            2 => cx.record(u64::from(cx.send(to, payload, bytes).await.is_ok())),
            3 => match cx.send_within(to, payload, bytes, span).await {
                Err(RequestError::TimedOut) => cx.record(cx.now().as_nanos()),
                other => assert_eq!(other, Ok(())),
            },
            4 => early.push(cx.start_send(to, payload, bytes)),
            5 | 6 => match cx.receive_within(mailbox(number), span).await {
                Ok(payload) => cx.record(payload),
                Err(failure) => assert_eq!(failure, RequestError::TimedOut),
            },
            7 => {
                let mut mail = cx.start_receive(mailbox(number));
                let mut work = cx.start_compute(1e6);
                let first = Activity::wait_any_within(&cx, &mut [&mut mail, &mut work], span).await;
                cx.record(first.map_or(77, |place| place as u64));
            }
            8 => cx.compute(cx.draw(|rng| rng.below(4_000_000)) as f64).await.expect("its host is on"),
            9 => {
                let child = cx.spawn("child", cx.host(), async move |cx: Process<u64>| {
                    cx.sleep(span).await;
                    cx.send_detached(to, 7, bytes);
                });
                let child = child.await.expect("its host is on");
                match cx.draw(|rng| rng.below(4)) {
                    0 => cx.join(child).await.expect("there is such a process"),
                    1 => cx.kill(child),
                    2 => {
                        cx.suspend(child);
                        cx.sleep(span).await;
                        cx.resume(child);
                    }
                    _ => {}
                }
            }
            10 => {
                for mut activity in early.drain(..) {
                    cx.record(u64::from(activity.wait(&cx).await.is_ok()));
                }
            }
            11 => early.drain(..).for_each(paceline_processes::Activity::detach),
            12 => match blocks {
                true => cx.block_on(cx.sleep(span)),
                false => cx.sleep(span).await,
            },
            13 => cx.yield_now().await,
            _ => cx.sleep(span).await,
        }
    }
    if !ends {
        loop {
            cx.record(cx.receive(mailbox(number)).await.unwrap_or(0));
        }
    }
}

fn world<N: Network>(network: N, seed: u64, context: ContextKind) -> Simulation<u64, N> {
    let blocks = context != ContextKind::Future;
    let mut rng = Rng::new(seed, 1);
    let mut simulation = Simulation::new(network, &[(1e9, 2); HOSTS as usize]).seed(seed).context(context);
    let processes = 40;
    for number in 0..processes {
        let host = HostId(rng.below(u64::from(HOSTS)) as u32);
        let (steps, daemon) = (rng.below(60) as u32, rng.chance(0.2));
        simulation.place(mailbox(number), host);
        simulation.spawn("wild", host, move |cx: Process<u64>| async move {
            if daemon {
                cx.daemonize();
            }
            wild(cx, number, processes, steps, !daemon, blocks).await;
        });
    }
    simulation
}

/// The cluster with hosts and links that follow profiles: their speeds change, they go, they come back.
fn uneasy_cluster() -> Platform {
    let text = r#"<platform version="4.1">
        <cluster id="c" prefix="h" suffix="" radical="0-15" speed="1Gf" core="2" bw="1MBps" lat="2ms" bb_bw="3MBps" bb_lat="1ms"/>
        <trace id="nights" periodicity="0.02">0.005 0.5
            0.015 1.0</trace>
        <trace id="outages" periodicity="0.05">0.02 0
            0.035 1</trace>
        <trace id="one outage">0.03 0
            0.2 1</trace>
        <trace id="crowds" periodicity="0.04">0.01 2e5
            0.03 1e6</trace>
        <trace_connect kind="SPEED" trace="nights" element="h1"/>
        <trace_connect kind="SPEED" trace="nights" element="h9"/>
        <trace_connect kind="HOST_AVAIL" trace="outages" element="h3"/>
        <trace_connect kind="HOST_AVAIL" trace="outages" element="h10"/>
        <trace_connect kind="HOST_AVAIL" trace="one outage" element="h14"/>
        <trace_connect kind="BANDWIDTH" trace="crowds" element="c_link_5_UP"/>
    </platform>"#;
    read("uneasy.xml", text, &mut |_| Err("there are no other files".into())).expect("it is well-formed")
}

/// A world on that cluster, with processes that start again with their host, and messages to hosts that are
/// off.
fn uneasy<N: Network>(platform: &Platform, network: N, seed: u64) -> Simulation<u64, N> {
    let mut rng = Rng::new(seed, 2);
    let mut simulation =
        Simulation::with_hosts_of(platform, network).seed(seed).until(Time::millis(400 + 37 * seed));
    let processes = 40;
    for number in 0..processes {
        let host = HostId(rng.below(u64::from(HOSTS)) as u32);
        let (steps, restarts) = (rng.below(60) as u32, rng.chance(0.5));
        simulation.place(mailbox(number), host);
        let run = move |cx: Process<u64>| wild(cx, number, processes, steps, true, false);
        match restarts {
            true => simulation.spawn_restarting("wild", host, run),
            false => simulation.spawn("wild", host, run),
        };
    }
    simulation
}

#[test]
fn hosts_and_links_that_follow_profiles_do_so_on_any_number_of_federates() {
    let platform = uneasy_cluster();
    for seed in 0..8 {
        let flows = || Flows::new(&platform, FlowModel::CM02);
        let constant = || Constant::new(0.0013);
        let plain = uneasy(&platform, flows(), seed).run().expect("it ends");
        let other = uneasy(&platform, constant(), seed).run().expect("it ends");
        assert!(plain.counts.processes > 40, "some have come back: {}", plain.counts.processes);
        for (federates, threads) in [(1, 1), (4, 2), (16, 8)] {
            let dealt = uneasy(&platform, flows(), seed).federates(federates).threads(threads);
            assert_eq!(
                facts(&dealt.run().unwrap()),
                facts(&plain),
                "flows, seed {seed}, {federates} federates"
            );
            let dealt = uneasy(&platform, constant(), seed).federates(federates).threads(threads);
            assert_eq!(facts(&dealt.run().unwrap()), facts(&other), "seed {seed}, {federates} federates");
        }
    }
}

fn facts(report: &Report) -> impl PartialEq + std::fmt::Debug + use<> {
    let counts = (report.counts.messages, report.counts.steps, report.counts.processes);
    (report.digest, report.end_time, report.ended_by, counts, report.unreceived.clone())
}

/// Runs a world on one core, and on federates in many ways.
fn compare<N: Network + Clone + Send + Sync>(network: N, seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let plain = facts(&world(network.clone(), seed, ContextKind::Future).run().expect("it ends"));
        for (federates, threads) in [(1, 1), (2, 2), (4, 1), (4, 2), (4, 8), (16, 2)] {
            let simulation =
                world(network.clone(), seed, ContextKind::Future).federates(federates).threads(threads);
            let report = simulation.run().expect("it ends");
            assert_eq!(facts(&report), plain, "seed {seed}, {federates} federates, {threads} threads");
            assert_eq!(report.federates, federates);
        }
    }
}

#[test]
fn on_a_constant_network_the_result_is_the_same_on_any_number_of_federates() {
    compare(Constant::new(0.0011), 0..12);
}

#[test]
fn on_a_flow_network_the_result_is_the_same_on_any_number_of_federates() {
    let platform = cluster();
    compare(Flows::new(&platform, FlowModel::CM02), 0..6);
    compare(Flows::new(&platform, FlowModel::LV08), 6..12);
}

#[test]
fn processes_with_stacks_of_their_own_come_to_the_same_on_federates() {
    let latency = || Constant::new(0.002);
    for seed in 5..8 {
        let plain = facts(&world(latency(), seed, ContextKind::Future).run().expect("it ends"));
        for context in [ContextKind::Coroutine, ContextKind::Thread] {
            for (federates, threads) in [(1, 1), (4, 2), (16, 8)] {
                let simulation = world(latency(), seed, context).federates(federates);
                let report = simulation.threads(threads).run().expect("it ends");
                assert_eq!(facts(&report), plain, "{context:?}, {federates} federates, {threads} threads");
            }
        }
    }
}

/// Hosts 0 and 1, with a mailbox `there` at host 1.
fn pair<P: Send + 'static>() -> Simulation<P, Constant> {
    let mut simulation = Simulation::new(Constant::new(1.0), &[(1e9, 1); 2]);
    simulation.place("there", HostId(1));
    simulation
}

#[test]
fn a_run_ends_with_the_last_process_that_is_no_daemon_and_what_daemons_do_later_does_not_count() {
    let build = || {
        let mut simulation = pair::<()>();
        simulation.spawn("ticks", HostId(1), async |cx: Process<()>| {
            cx.daemonize();
            loop {
                cx.sleep(Time::millis(1)).await;
                cx.record(1);
            }
        });
        simulation.spawn("sleeps", HostId(0), async |cx: Process<()>| cx.sleep(Time::millis(2500)).await);
        simulation
    };
    let plain = build().run().unwrap();
    assert_eq!((plain.end_time, plain.ended_by), (Time::millis(2500), EndedBy::Processes));
    for threads in [1, 2] {
        assert_eq!(facts(&build().federates(2).threads(threads).run().unwrap()), facts(&plain));
    }
}

#[test]
fn what_happens_after_the_end_is_not_told() {
    let build = || {
        let mut simulation = pair::<()>();
        simulation.spawn("panics", HostId(1), async |cx: Process<()>| {
            cx.daemonize();
            // In the window of the end before it, and before all others in it.
            cx.sleep(Time::millis(2450)).await;
            cx.sleep(Time::millis(250)).await;
            panic!("too late");
        });
        simulation.spawn("sends", HostId(0), async |cx: Process<()>| {
            // In a window of its own, which ends before the message comes.
            cx.sleep(Time::millis(1000)).await;
            cx.sleep(Time::millis(600)).await;
            cx.send_detached("there", (), 0.0);
            cx.sleep(Time::millis(900)).await;
        });
        simulation
    };
    let plain = build().run().unwrap();
    assert_eq!((plain.end_time, &plain.unreceived), (Time::millis(2500), &vec![]));
    for (threads, on_panic) in [(1, OnPanic::Run), (2, OnPanic::Run), (1, OnPanic::Process)] {
        let dealt = build().on_panic(on_panic).federates(2).threads(threads).run().unwrap();
        assert_eq!((facts(&dealt), dealt.panicked), (facts(&plain), vec![]));
    }
}

#[test]
fn a_run_on_federates_ends_at_the_horizon_or_in_a_deadlock_as_any_other() {
    let build = || {
        let mut simulation = pair::<u32>();
        simulation.spawn("asks", HostId(0), async |cx: Process<u32>| {
            cx.send_detached("there", 1, 0.0);
            cx.sleep(Time::secs(10)).await;
        });
        simulation.spawn(
            "waits",
            HostId(1),
            async |cx: Process<u32>| {
                while cx.receive("there").await.is_ok() {}
            },
        );
        simulation
    };
    let until = Time::secs(4);
    let report = build().until(until).federates(2).run().unwrap();
    assert_eq!((report.end_time, report.ended_by), (until, EndedBy::Horizon));
    assert_eq!(facts(&report), facts(&build().until(until).run().unwrap()));
    let message = |error: RunError| error.to_string();
    let deadlock = message(build().federates(2).threads(2).run().unwrap_err());
    assert_eq!(deadlock, message(build().run().unwrap_err()));
    assert!(deadlock.contains("`waits` on host 1 waits for a message in mailbox `there`"), "{deadlock}");
}

#[test]
fn of_several_failures_the_earliest_is_reported() {
    for (federates, threads) in [(1, 1), (4, 2), (16, 8)] {
        let mut simulation =
            Simulation::<(), _>::new(Constant::new(1.0), &[(1e9, 1); HOSTS as usize]).federates(federates);
        for number in 0..HOSTS {
            simulation.spawn(&format!("p{number}"), HostId(number), async move |cx: Process<()>| {
                cx.sleep(Time::millis(u64::from(1000 - number * 20))).await;
                panic!("at {}", cx.now());
            });
        }
        let error = simulation.threads(threads).run().unwrap_err().to_string();
        assert!(error.contains("process 15 `p15` on host 15 panicked at 0.7s: at 0.7s"), "{error}");
    }
}

#[test]
fn a_process_may_not_act_at_once_on_another_host() {
    type Act = fn(Process<()>, Arc<std::sync::Mutex<Option<paceline_processes::Queue>>>);
    let acts: [(Act, &str); 5] = [
        (|cx, _| drop(cx.start_receive("nowhere")), "used a mailbox that stands at no host"),
        (|cx, _| cx.send_detached("nowhere", (), 0.0), "used a mailbox that stands at no host"),
        (|cx, _| cx.switch_off(HostId(1)), "switched another host"),
        (|cx, queue| queue.lock().unwrap().unwrap().put(&cx, ()), "used an object of another host"),
        (|cx, _| cx.kill(paceline_processes::ProcessId(5)), "acted on a process on another host"),
    ];
    for (act, says) in acts {
        for federates in [1, 2] {
            let mut simulation = pair::<()>();
            let queue: Arc<std::sync::Mutex<_>> = Arc::default();
            let shared = Arc::clone(&queue);
            simulation.spawn("has", HostId(1), async move |cx: Process<()>| {
                *shared.lock().unwrap() = Some(cx.queue());
            });
            simulation.spawn("acts", HostId(0), async move |cx: Process<()>| {
                cx.sleep(Time::secs(3)).await;
                loop {
                    act(cx.clone(), Arc::clone(&queue));
                    cx.yield_now().await;
                }
            });
            let error = simulation.federates(federates).run().unwrap_err().to_string();
            assert!(error.contains(says) && error.contains("`acts` on host 0"), "{error}");
        }
    }
    let mut simulation = pair::<()>();
    simulation.spawn("listens", HostId(0), async |cx: Process<()>| {
        assert_eq!(cx.receive("there").await, Err(RequestError::Elsewhere));
    });
    simulation.run().unwrap();
}

#[test]
fn what_cannot_be_dealt_is_refused() {
    let message = |simulation: Simulation<(), Constant>| simulation.run().unwrap_err().to_string();
    assert_eq!(
        message(pair().federates(3)),
        "3 federates; allowed: from 1 to the number of hosts, which is 2"
    );
    let quick = Simulation::new(Constant::new(0.0), &[(1.0, 1); 2]).federates(2);
    assert!(message(quick).contains("messages between hosts take time"));
    let mut misplaced = pair();
    misplaced.place(7, HostId(2));
    assert_eq!(message(misplaced), "mailbox 7 cannot be at host 2; there are 2 hosts, from 0");
}

#[test]
fn one_that_panics_ends_alone_where_that_is_asked_for() {
    let build = || {
        let mut simulation = pair::<()>().on_panic(OnPanic::Process);
        simulation.spawn("panics", HostId(1), async |cx: Process<()>| {
            cx.sleep(Time::secs(1)).await;
            panic!("so");
        });
        simulation.spawn("goes on", HostId(0), async |cx: Process<()>| cx.sleep(Time::secs(5)).await);
        simulation
    };
    let report = build().federates(2).run().unwrap();
    assert_eq!((report.panicked.len(), report.end_time), (1, Time::secs(5)));
    assert_eq!(facts(&report), facts(&build().run().unwrap()));
}
