//! What each thing that a process can do means: when who goes on, and with what. An assertion that fails
//! within a process ends the run, which the test then does not survive.

mod batches;
mod digest;
mod dropped;
mod exact;
mod federates;
mod measured;
mod profiles;
mod rounding;
mod rounds;
mod states;
mod threads;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use paceline_kernel::Time;
use paceline_network::{Constant, FlowModel, Flows, HostId, read};
use paceline_processes::{Activity, EndedBy, OnPanic, Process, ProcessId, Report, RequestError, Simulation};

const HERE: HostId = HostId(0);
const THERE: HostId = HostId(1);

/// Two hosts with two cores of 1 Gf each; every message takes one second.
fn world() -> Simulation<u32, Constant> {
    Simulation::new(Constant::new(1.0), &[(1e9, 2), (1e9, 2)])
}

fn secs(s: u64) -> Time {
    Time::secs(s)
}

/// Runs to the end, and says so.
fn run(world: Simulation<u32, Constant>) -> Report {
    world.run().unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn a_message_flows_once_both_sides_are_there() {
    let mut world = world();
    world.spawn("late", THERE, async |cx: Process<u32>| {
        cx.sleep(secs(3)).await;
        assert_eq!((cx.receive("box").await, cx.now()), (Ok(7), secs(4)));
        assert_eq!((cx.receive("box").await, cx.now()), (Ok(8), secs(5)), "it waited in the mailbox");
    });
    world.spawn("early", HERE, async |cx: Process<u32>| {
        assert_eq!((cx.send("box", 7, 1.0).await, cx.now()), (Ok(()), secs(4)));
        cx.send_detached("box", 8, 1.0);
        assert_eq!(cx.now(), secs(4), "that takes no time");
    });
    let report = run(world);
    assert_eq!((report.end_time, report.counts.messages, report.ended_by), (secs(5), 2, EndedBy::Processes));
}

#[test]
fn time_limits_end_a_wait_and_the_other_side_waits_on() {
    let mut world = world();
    world.spawn("receiver", THERE, async |cx: Process<u32>| {
        assert_eq!(cx.receive_within("box", secs(2)).await, Err(RequestError::TimedOut));
        assert_eq!(cx.now(), secs(2));
        assert_eq!((cx.receive("box").await, cx.now()), (Ok(1), secs(4)), "only the second wait was served");
        // The message is on its way when the time is over: its sender learns of that.
        assert_eq!(cx.receive_within("box", Time::millis(500)).await, Err(RequestError::TimedOut));
    });
    world.spawn("sender", HERE, async |cx: Process<u32>| {
        cx.sleep(secs(3)).await;
        cx.send("box", 1, 1.0).await.unwrap();
        assert_eq!(cx.send("box", 2, 1.0).await, Err(RequestError::GivenUp));
        assert_eq!(cx.now(), Time::millis(4500));
        assert_eq!(cx.send_within("nobody", 3, 1.0, secs(1)).await, Err(RequestError::TimedOut));
    });
    let report = run(world);
    assert!(report.unreceived.is_empty(), "what was given up is in no mailbox");
}

#[test]
fn activities_go_on_while_their_process_does_something_else() {
    let mut world = world();
    world.spawn("sender", HERE, async |cx: Process<u32>| {
        let mut first = cx.start_send("a", 1, 1.0);
        let mut second = cx.start_send("b", 2, 1.0);
        cx.compute(1e9).await.unwrap();
        assert_eq!(cx.now(), secs(1));
        Activity::wait_all(&cx, &mut [&mut first, &mut second]).await.unwrap();
        assert_eq!((first.wait(&cx).await, second.wait(&cx).await), (Ok(None), Ok(None)));
        assert_eq!(cx.now(), secs(6));
    });
    world.spawn("receiver", THERE, async |cx: Process<u32>| {
        cx.sleep(secs(5)).await;
        let (mut a, mut b) = (cx.start_receive("a"), cx.start_receive("b"));
        let mut never = cx.start_receive("never");
        assert!(!a.test(&cx).await);
        assert_eq!(
            Activity::wait_any_within(&cx, &mut [&mut never], Time::millis(1)).await,
            Err(RequestError::TimedOut)
        );
        assert_eq!(
            Activity::wait_any(&cx, &mut [&mut never, &mut b, &mut a]).await,
            Ok(2),
            "that which ended first"
        );
        assert_eq!((a.wait(&cx).await, b.wait(&cx).await), (Ok(Some(1)), Ok(Some(2))));
        never.cancel();
    });
    run(world);
}

#[test]
fn a_detached_activity_outlives_its_process() {
    let mut world = world();
    world.spawn("short", HERE, async |cx: Process<u32>| {
        cx.start_send("box", 4, 1.0).detach();
        cx.start_send("gone", 5, 1.0);
        cx.start_compute(3e9).detach();
    });
    world.spawn("receiver", HERE, async |cx: Process<u32>| {
        cx.sleep(secs(1)).await;
        assert_eq!((cx.receive("box").await, cx.now()), (Ok(4), secs(2)));
        assert_eq!(
            cx.receive_within("gone", secs(1)).await,
            Err(RequestError::TimedOut),
            "dropped, it was cancelled"
        );
        // One core of two computes what was detached, at the start.
        cx.compute(1e9).await.unwrap();
        assert_eq!(cx.now(), secs(4));
    });
    run(world);
}

#[test]
fn an_activity_belongs_to_the_process_that_began_it() {
    let mut world = world();
    world.spawn("owner", HERE, async |cx: Process<u32>| {
        let mut mine = cx.start_compute(1e9);
        let thief = async move |other: Process<u32>| {
            assert_eq!(mine.wait(&other).await, Err(RequestError::Unknown));
            assert_eq!(Activity::wait_all(&other, &mut [&mut mine]).await, Err(RequestError::Unknown));
        };
        let thief = cx.spawn("thief", HERE, thief).await.unwrap();
        cx.join(thief).await.unwrap();
        assert_eq!(cx.now(), secs(0));
    });
    run(world);
}

#[test]
fn computations_share_a_host_and_stand_still_while_their_process_is_suspended() {
    let mut world = world();
    let slow = world.spawn("slow", HERE, async |cx: Process<u32>| {
        cx.compute(2e9).await.unwrap();
        assert_eq!(cx.now(), secs(5), "two seconds of work, three of rest");
    });
    world.spawn("boss", HERE, async move |cx: Process<u32>| {
        cx.sleep(secs(1)).await;
        cx.suspend(slow);
        cx.sleep(secs(3)).await;
        cx.resume(slow);
    });
    world.spawn("itself", THERE, async |cx: Process<u32>| {
        let id = cx.id();
        let friend = async move |cx: Process<u32>| {
            cx.sleep(secs(2)).await;
            cx.resume(id);
        };
        cx.spawn("friend", THERE, friend).await.unwrap();
        cx.suspend_itself().await;
        assert_eq!(cx.now(), secs(2));
    });
    run(world);
}

#[test]
fn who_is_killed_runs_no_more_and_lets_go_what_it_holds() {
    let mut world = world();
    let ends = Arc::new(Mutex::new(Vec::new()));
    let hooks = Arc::clone(&ends);
    world.spawn("keeper", HERE, async move |cx: Process<u32>| {
        let lock = cx.mutex();
        let victim = async move |cx: Process<u32>| {
            for number in [1, 2] {
                let ends = Arc::clone(&hooks);
                cx.on_exit(move || ends.lock().unwrap().push(number));
            }
            let _held = lock.lock(&cx).await.unwrap();
            let _sends = cx.send("box", 1, 1.0).await;
            unreachable!("it was killed while it waited");
        };
        let victim = cx.spawn("victim", HERE, victim).await.unwrap();
        cx.sleep(secs(1)).await;
        assert!(lock.try_lock(&cx).await.is_none());
        cx.kill(victim);
        cx.kill(victim);
        cx.join(victim).await.unwrap();
        let _held = lock.lock(&cx).await.unwrap();
        assert_eq!(cx.now(), secs(1));
        assert_eq!(
            cx.receive_within("box", secs(1)).await,
            Err(RequestError::TimedOut),
            "its message is gone"
        );
    });
    run(world);
    assert_eq!(*ends.lock().unwrap(), [2, 1], "hooks, the latest first");
}

#[test]
fn a_host_that_goes_takes_its_processes_and_messages_and_some_come_back() {
    let mut world = world();
    let starts = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&starts);
    world.spawn_restarting("service", THERE, move |cx: Process<u32>| {
        let counted = Arc::clone(&counted);
        async move {
            counted.fetch_add(1, Ordering::Relaxed);
            while cx.receive("service").await != Ok(0) {}
        }
    });
    world.spawn("gone", THERE, async |cx: Process<u32>| {
        cx.sleep(secs(100)).await;
        unreachable!("its host was switched off");
    });
    world.spawn("fate", HERE, async |cx: Process<u32>| {
        let mut lost = cx.start_send("service", 1, 1.0);
        cx.sleep(Time::millis(500)).await;
        cx.switch_off(THERE);
        assert_eq!(lost.wait(&cx).await, Err(RequestError::HostOff));
        assert_eq!(cx.spawn("late", THERE, async |_| ()).await, Err(RequestError::HostOff));
        assert_eq!(cx.spawn("nowhere", HostId(9), async |_| ()).await, Err(RequestError::Unknown));
        cx.sleep(secs(1)).await;
        cx.switch_on(THERE);
        cx.send("service", 0, 1.0).await.unwrap();
        assert_eq!(cx.now(), Time::millis(2500));
    });
    assert_eq!(run(world).end_time, Time::millis(2500));
    assert_eq!(starts.load(Ordering::Relaxed), 2);
}

#[test]
fn semaphores_condition_variables_barriers_and_queues_keep_the_order_of_coming() {
    let mut world = world();
    world.spawn("all", HERE, async |cx: Process<u32>| {
        let (permits, lock, changed) = (cx.semaphore(1), cx.mutex(), cx.condition());
        let (barrier, queue) = (cx.barrier(3), cx.queue());
        let mut children: Vec<ProcessId> = Vec::new();
        for number in 0..3u32 {
            let child = async move |cx: Process<u32>| {
                permits.acquire(&cx).await.unwrap();
                assert_eq!(cx.now(), secs(u64::from(number)), "one after the other");
                cx.sleep(secs(1)).await;
                permits.release(&cx);
                let last = barrier.wait(&cx).await.unwrap();
                assert_eq!((last, cx.now()), (number == 2, secs(3)));
                let mut held = lock.lock(&cx).await.unwrap();
                if number == 0 {
                    assert_eq!(changed.wait_within(&mut held, secs(1)).await, Err(RequestError::TimedOut));
                    assert_eq!(cx.now(), secs(4));
                } else {
                    changed.wait(&mut held).await.unwrap();
                    assert_eq!(cx.now(), secs(5));
                }
                drop(held);
                queue.put(&cx, number);
            };
            children.push(cx.spawn("child", HERE, child).await.unwrap());
        }
        assert_eq!(permits.acquire_within(&cx, secs(1)).await, Err(RequestError::TimedOut));
        cx.sleep(secs(4)).await;
        changed.notify_all(&cx);
        for child in children {
            cx.join(child).await.unwrap();
        }
        let mut got = Vec::new();
        for _ in 0..3 {
            got.push(queue.get(&cx).await.unwrap());
        }
        assert_eq!(got, [0, 1, 2]);
        assert_eq!(queue.get_within(&cx, secs(1)).await, Err(RequestError::TimedOut));
        assert_eq!(changed_is_no_queue(&cx).await, Err(RequestError::Unknown));
    });
    run(world);
}

async fn changed_is_no_queue(cx: &Process<u32>) -> Result<(), RequestError> {
    cx.join(ProcessId(1_000_000)).await
}

#[test]
fn a_run_ends_with_the_last_process_that_is_no_daemon_or_at_the_horizon() {
    let forever = async |cx: Process<u32>| {
        cx.daemonize();
        loop {
            cx.sleep(secs(1)).await;
        }
    };
    let mut short = world();
    short.spawn("daemon", HERE, forever);
    short.spawn("work", HERE, async |cx: Process<u32>| cx.sleep(Time::millis(2500)).await);
    let report = run(short);
    assert_eq!((report.end_time, report.ended_by), (Time::millis(2500), EndedBy::Processes));
    let mut long = world().until(secs(10));
    long.spawn("work", HERE, async |cx: Process<u32>| {
        cx.send_detached("nowhere", 1, 1.0);
        cx.sleep(secs(1000)).await;
    });
    let report = run(long);
    assert_eq!((report.end_time, report.ended_by), (secs(10), EndedBy::Horizon));
    assert_eq!(report.unreceived, [("nowhere".into(), 1)]);
}

#[test]
fn what_ends_a_run_is_reported_by_process_and_time() {
    let error_of = |world: Simulation<u32, Constant>| world.run().unwrap_err().to_string();
    let mut stuck = world();
    stuck.spawn("waits", HERE, async |cx: Process<u32>| {
        cx.sleep(secs(2)).await;
        let _ = cx.receive("box").await;
    });
    assert_eq!(
        error_of(stuck),
        "deadlock at 2s; waiting: 1 process\n  process 0 `waits` on host 0 waits for a message in \
         mailbox `box`"
    );
    let panics = async |cx: Process<u32>| {
        cx.sleep(secs(1)).await;
        panic!("no more of {}", 7);
    };
    let mut bad = world();
    bad.spawn("bad", HERE, panics);
    assert_eq!(error_of(bad), "process 0 `bad` on host 0 panicked at 1s: no more of 7");
    let mut one = world().on_panic(OnPanic::Process);
    one.spawn("bad", HERE, panics);
    one.spawn("good", HERE, async |cx: Process<u32>| cx.sleep(secs(3)).await);
    let report = run(one);
    assert_eq!((report.end_time, report.panicked), (secs(3), vec![(ProcessId(0), "no more of 7".into())]));
    let mut strays = world();
    strays.spawn("strays", HERE, async |_| std::future::pending().await);
    assert!(error_of(strays).starts_with("process 0 `strays` waits at 0s for a future of something else"));
    let mut nowhere = world();
    nowhere.spawn("x", HostId(2), async |_| ());
    assert_eq!(error_of(nowhere), "process `x` cannot run on host 2; there are 2 hosts, from 0");
}

#[test]
fn what_is_given_up_on_its_way_leaves_its_bandwidth_to_others() {
    let text = r#"<platform version="4.1"><zone id="z" routing="Full">
        <host id="a" speed="1Gf"/> <host id="b" speed="1Gf"/> <link id="l" bandwidth="100Bps"/>
        <route src="a" dst="b"><link_ctn id="l"/></route>
    </zone></platform>"#;
    let platform = read("two.xml", text, &mut |_| Err("there are no other files".into())).unwrap();
    let model = FlowModel { cross_traffic: 0.0, ..FlowModel::CM02 };
    let mut world = Simulation::<u32, _>::new(Flows::new(&platform, model), &[(1e9, 1), (1e9, 1)]);
    world.spawn("two", HERE, async |cx: Process<u32>| {
        let (given_up, mut kept) = (cx.start_send("a", 1, 1000.0), cx.start_send("b", 2, 1000.0));
        cx.sleep(secs(10)).await;
        given_up.cancel();
        kept.wait(&cx).await.unwrap();
        // Half of it in ten seconds, the other half in five.
        assert_eq!(cx.now(), secs(15));
    });
    world.spawn("receiver", THERE, async |cx: Process<u32>| {
        let (mut a, mut b) = (cx.start_receive("a"), cx.start_receive("b"));
        assert_eq!(a.wait(&cx).await, Err(RequestError::GivenUp));
        assert_eq!(b.wait(&cx).await, Ok(Some(2)));
    });
    world.run().unwrap_or_else(|error| panic!("{error}"));
}
