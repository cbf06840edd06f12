//! Rounding to ticks does not add up: a series of steps ends when the sum of their exact times is over,
//! whatever the steps are and whichever process does them. The numbers are hand calculations; SimGrid 3.32
//! says 0.000001333333 s for a thousand execute(4) at 3 Gf, and 0.000333333 s for 1e6 execute(1).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use paceline_kernel::Time;
use paceline_network::{Constant, FlowModel, Flows, HostId, Network, read};
use paceline_processes::{Activity, ContextKind, Process, Report, Rounds, Simulation};

/// Hosts of 3 Gf: 4 flops take 4/3 ns there. Messages take this many seconds.
fn world(cores: u32, message_s: f64) -> Simulation<u32, Constant> {
    Simulation::new(Constant::new(message_s), &[(3e9, cores); 4])
}

const A: HostId = HostId(0);

/// When a world of one process ends, in nanoseconds.
fn ends_ns<F: Future<Output = ()> + Send + 'static>(
    body: impl FnOnce(Process<u32>) -> F + Send + 'static,
) -> u64 {
    let mut world = world(1, 0.0);
    world.spawn("alone", A, body);
    world.run().unwrap_or_else(|error| panic!("{error}")).end_time.as_nanos()
}

const TIMES: u64 = 1000;

#[test]
fn steps_of_one_process_add_up_to_their_sum() {
    let compute = |flops: f64| {
        ends_ns(async move |cx| {
            for _ in 0..TIMES {
                cx.compute(flops).await.unwrap();
            }
        })
    };
    assert_eq!((compute(4.0), compute(1.0), compute(5.0)), (1333, 333, 1667));
    assert_eq!((compute(0.0), compute(1.5), compute(4e3)), (0, 500, 1_333_333));
    let activity = ends_ns(async |cx| {
        for _ in 0..TIMES {
            cx.start_compute(4.0).wait(&cx).await.unwrap();
        }
    });
    let sleeping = ends_ns(async |cx| {
        for _ in 0..TIMES {
            cx.compute(4.0).await.unwrap();
            cx.sleep(Time::nanos(1)).await;
            cx.yield_now().await;
        }
    });
    let overlapping = ends_ns(async |cx| {
        for _ in 0..TIMES {
            // On one core: 0.5 and 4.5 flops more by turns.
            let (mut long, mut short) = (cx.start_compute(4.0), cx.start_compute(1.0));
            Activity::wait_all(&cx, &mut [&mut short, &mut long]).await.unwrap();
        }
    });
    let limited = ends_ns(async |cx| {
        for _ in 0..TIMES {
            cx.compute(4.0).await.unwrap();
            assert!(cx.receive_within("nobody", Time::nanos(2)).await.is_err());
        }
    });
    assert_eq!((activity, sleeping, overlapping, limited), (1333, 2333, 1667, 3333));
}

#[test]
fn what_is_over_while_its_process_does_something_else_counts_from_its_own_end() {
    let mut world = world(2, 0.0);
    world.spawn("both", A, async |cx: Process<u32>| {
        for _ in 0..TIMES {
            let mut long = cx.start_compute(4.0);
            cx.compute(3.2).await.unwrap();
            // It ended in the same tick or in the next, 0.27 ns later.
            long.wait(&cx).await.unwrap();
        }
    });
    assert_eq!(world.run().unwrap().end_time, Time::nanos(1333));
}

#[test]
fn processes_that_share_cores_lose_and_win_nothing() {
    for (processes, cores, right_ns) in [(2u32, 1u32, 2667), (3, 1, 4000), (3, 2, 2000), (7, 3, 3111)] {
        let mut world = world(cores, 0.0);
        let first = Arc::new(AtomicU64::new(u64::MAX));
        for _ in 0..processes {
            let first = Arc::clone(&first);
            world.spawn("one of some", A, async move |cx: Process<u32>| {
                for _ in 0..TIMES {
                    cx.compute(4.0).await.unwrap();
                }
                first.fetch_min(cx.now().as_nanos(), Ordering::Relaxed);
            });
        }
        let end_ns = world.run().unwrap().end_time.as_nanos();
        let first_ns = first.load(Ordering::Relaxed);
        assert!(
            end_ns.abs_diff(right_ns) <= 1 && first_ns.abs_diff(right_ns) <= 1,
            "{processes}: {first_ns} {end_ns}"
        );
    }
    // Computations of different lengths on one core: all work is done when the core has done it.
    let mut world = world(1, 0.0);
    for flops in [4.0, 5.0, 7.0] {
        world.spawn("one of three", A, async move |cx: Process<u32>| {
            for _ in 0..TIMES {
                cx.compute(flops).await.unwrap();
            }
        });
    }
    assert_eq!(world.run().unwrap().end_time.as_nanos(), 5333);
}

#[test]
fn what_one_process_leaves_over_is_carried_to_who_waits_for_it() {
    /// Two processes that take turns, `how` they notify each other: each does half of the steps.
    async fn turns(cx: Process<u32>, how: usize) {
        let (mine, others) = (cx.semaphore(1), cx.semaphore(0));
        let (ping, pong, lock) = (cx.queue(), cx.queue(), cx.mutex());
        let half = |begins: bool| {
            async move |cx: Process<u32>| {
                let (wait, wake) = if begins { (mine, others) } else { (others, mine) };
                let (get, put) = if begins { (pong, ping) } else { (ping, pong) };
                let (inbox, outbox) = if begins { ("pong", "ping") } else { ("ping", "pong") };
                for step in 0..TIMES / 2 {
                    let first = begins && step == 0;
                    match how {
                        0 => wait.acquire(&cx).await.unwrap(),
                        1 if !first => drop(get.get(&cx).await.unwrap()),
                        2 if !first => drop(cx.receive(inbox).await.unwrap()),
                        _ => {}
                    }
                    let held = if how == 3 { Some(lock.lock(&cx).await.unwrap()) } else { None };
                    cx.compute(4.0).await.unwrap();
                    drop(held);
                    let last = !begins && step + 1 == TIMES / 2;
                    match how {
                        0 => wake.release(&cx),
                        1 if !last => put.put(&cx, 1),
                        2 if !last => cx.send(outbox, 1, 0.0).await.unwrap(),
                        _ => {}
                    }
                }
            }
        };
        let one = cx.spawn("one", HostId(1), half(true)).await.unwrap();
        let two = cx.spawn("two", HostId(2), half(false)).await.unwrap();
        cx.join(one).await.unwrap();
        cx.join(two).await.unwrap();
    }
    for how in 0..4 {
        assert_eq!(ends_ns(move |cx| turns(cx, how)), 1333, "way {how}");
    }
    let children = ends_ns(async |cx| {
        for _ in 0..TIMES {
            let child = async |cx: Process<u32>| cx.compute(4.0).await.unwrap();
            let child = cx.spawn("child", HostId(1), child).await.unwrap();
            cx.join(child).await.unwrap();
        }
    });
    assert_eq!(children, 1333);
    let stopped = ends_ns(async |cx| {
        let worker = async |cx: Process<u32>| {
            for _ in 0..TIMES {
                cx.compute(40.0).await.unwrap();
                cx.suspend_itself().await;
            }
        };
        let worker = cx.spawn("worker", HostId(1), worker).await.unwrap();
        for _ in 0..TIMES {
            // In the middle of a computation it stands still for a while.
            cx.compute(20.0).await.unwrap();
            cx.suspend(worker);
            cx.compute(2.0).await.unwrap();
            cx.resume(worker);
            cx.compute(30.0).await.unwrap();
            cx.resume(worker);
        }
    });
    // 52 flops for each step of the boss; the worker is done with the last 40 of its own within them.
    assert!(stopped.abs_diff(17_333) <= 1, "{stopped}");
}

#[test]
fn the_later_of_those_who_meet_counts() {
    let mut world = world(1, 0.0);
    world.spawn("first", A, async |cx: Process<u32>| {
        let barrier = cx.barrier(3);
        for flops in [3.3, 4.2, 3.9] {
            let one = async move |cx: Process<u32>| {
                for _ in 0..TIMES {
                    cx.compute(flops).await.unwrap();
                    barrier.wait(&cx).await.unwrap();
                }
            };
            cx.spawn("one", HostId(flops as u32 % 3 + 1), one).await.unwrap();
        }
    });
    // 3.3 and 3.9 share a host: 6.6 flops until the first is done, 7.2 for both.
    assert_eq!(world.run().unwrap().end_time, Time::nanos(2400));
    for (sender, receiver) in [(4.0, 3.2), (3.2, 4.0)] {
        let mut world = self::world(1, 0.0);
        world.spawn("sends", A, async move |cx: Process<u32>| {
            for _ in 0..TIMES {
                cx.compute(sender).await.unwrap();
                cx.send("box", 1, 1.0).await.unwrap();
            }
        });
        world.spawn("receives", HostId(1), async move |cx: Process<u32>| {
            for _ in 0..TIMES {
                cx.compute(receiver).await.unwrap();
                cx.receive("box").await.unwrap();
            }
        });
        assert_eq!(world.run().unwrap().end_time, Time::nanos(1333), "{sender} {receiver}");
    }
}

#[test]
fn who_sleeps_until_a_time_is_on_time() {
    let end = ends_ns(async |cx| {
        for round in 1..=TIMES {
            cx.compute(4.0).await.unwrap();
            assert_eq!(cx.now().as_nanos(), 10 * (round - 1) + 1, "4/3 ns after the beginning of the period");
            cx.sleep_until(Time::nanos(10 * round)).await;
            cx.sleep_until(Time::nanos(10 * round - 5)).await;
        }
    });
    assert_eq!(end, 10 * TIMES);
}

#[test]
fn messages_add_up_to_the_sum_of_what_they_take() {
    /// Messages one after the other, with a little work after each.
    fn spawn<N: Network>(world: &mut Simulation<u32, N>, flops: f64) {
        world.spawn("sends", A, async move |cx: Process<u32>| {
            for number in 0..TIMES {
                cx.send("box", number as u32, 4.0).await.unwrap();
                cx.compute(flops).await.unwrap();
            }
        });
        world.spawn("receives", HostId(1), async |cx: Process<u32>| {
            for _ in 0..TIMES {
                cx.receive("box").await.unwrap();
            }
        });
    }
    for (message_s, flops, right_ns) in
        [(4e-9 / 3.0, 0.0, 1333), (5e-9 / 3.0, 0.0, 1667), (4e-9 / 3.0, 1.0, 1667)]
    {
        let mut plain = world(1, message_s);
        spawn(&mut plain, flops);
        assert_eq!(plain.run().unwrap().end_time, Time::nanos(right_ns), "{message_s} {flops}");
        let mut placed = world(1, message_s);
        placed.place("box", HostId(1));
        spawn(&mut placed, flops);
        assert_eq!(placed.run().unwrap().end_time, Time::nanos(right_ns), "{message_s} {flops}, at a host");
    }
    let text = r#"<platform version="4.1"><zone id="z" routing="Full">
        <host id="a" speed="3Gf"/> <host id="b" speed="3Gf"/> <link id="l" bandwidth="3GBps" latency="LATENCY"/>
        <route src="a" dst="b"><link_ctn id="l"/></route> </zone></platform>"#;
    // 4 bytes at 3 GB/s, of which acknowledgements take a twentieth, and the way.
    for (latency, flops, right_ns) in
        [("0s", 0.0, 1400), ("0.666666666667ns", 1.0, 2400), ("10ns", 4.0, 12_733)]
    {
        let text = text.replace("LATENCY", latency);
        let platform = read("two.xml", &text, &mut |_| Err("there are no other files".into())).unwrap();
        for at_host in [false, true] {
            let mut world = Simulation::with_hosts_of(&platform, Flows::new(&platform, FlowModel::CM02));
            if at_host {
                world.place("box", HostId(1));
            }
            spawn(&mut world, flops);
            let end_ns = world.run().unwrap().end_time.as_nanos();
            assert!(end_ns.abs_diff(right_ns) <= 1, "{latency}, {flops}, at a host: {at_host}: {end_ns}");
        }
    }
}

#[test]
fn a_speed_that_changes_changes_only_what_is_left() {
    // A third of the speed in the second half of each microsecond: 1500 + 500 flops.
    let text = r#"<platform version="4.1"><zone id="z" routing="Full"><host id="a" speed="3Gf"/></zone>
        <trace id="t" periodicity="0.000001">0.0 1.0
            0.0000005 0.333333333333333333</trace>
        <trace_connect kind="SPEED" trace="t" element="a"/></platform>"#;
    let platform = read("one.xml", text, &mut |_| Err("there are no other files".into())).unwrap();
    let mut world: Simulation<u32, _> = Simulation::with_hosts_of(&platform, Constant::new(0.0));
    world.spawn("worker", A, async |cx: Process<u32>| {
        for _ in 0..5000 {
            cx.compute(4.0).await.unwrap();
        }
    });
    // 20,000 flops, 2000 in a microsecond.
    let end_ns = world.run().unwrap().end_time.as_nanos();
    assert!(end_ns.abs_diff(10_000) <= 1, "{end_ns}");
}

#[test]
fn parts_of_ticks_are_the_same_on_any_threads_rounds_and_federates() {
    /// Every host has processes that compute, sleep and send to the next host.
    fn ring(messages: u32) -> Simulation<u32, Constant> {
        let mut world = world(2, 7e-9 / 3.0 + 4e-9);
        for host in 0..4u32 {
            world.place(u64::from(host), HostId(host));
            for number in 0..3u32 {
                world.spawn("one", HostId(host), async move |cx: Process<u32>| {
                    for step in 0..messages {
                        cx.compute(f64::from(1 + (step * 7 + number * 3 + host) % 11)).await.unwrap();
                        cx.send(u64::from((host + 1) % 4), step, 0.0).await.unwrap();
                        cx.receive(u64::from(host)).await.unwrap();
                    }
                });
            }
        }
        world
    }
    let facts = |report: Report| (report.digest, report.end_time, report.counts.steps);
    let plain = facts(ring(300).run().unwrap());
    for (federates, threads) in [(1, 1), (2, 2), (4, 1), (4, 3)] {
        assert_eq!(
            facts(ring(300).federates(federates).threads(threads).run().unwrap()),
            plain,
            "{federates} {threads}"
        );
    }
    for (threads, rounds, context) in [
        (2, Rounds::Always, ContextKind::Future),
        (3, Rounds::Auto, ContextKind::Coroutine),
        (2, Rounds::Always, ContextKind::Thread),
    ] {
        let world = ring(300).threads(threads).rounds(rounds).context(context);
        assert_eq!(facts(world.run().unwrap()), plain, "{threads} {rounds:?} {context:?}");
    }
}
