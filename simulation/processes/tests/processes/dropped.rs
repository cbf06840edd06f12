//! What the other side sees of whatever is completed by being dropped: a message that nobody received was not
//! sent, and one that nobody sent was not received. Only who detaches an activity says that it is to proceed
//! without him.

use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::task::Poll;

use paceline_kernel::Time;
use paceline_processes::{OnPanic, Process, ProcessId, RequestError, RunError};

use super::{HERE, THERE, run, secs, world};

/// How the victim's half of a message comes to its end, at 2 s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    TimeLimit,
    FutureDropped,
    BlockedAndKilled,
    BlockedHostOff,
    ActivityDropped,
    ActivityCancelled,
    ActivityDroppedAfterItsTimeLimit,
    ProcessEnded,
    ProcessPanicked,
    Killed,
    KilledWhileSuspended,
    HostOff,
    Detached,
    DetachedAndHostOff,
}

const ENDS: [End; 14] = [
    End::TimeLimit,
    End::FutureDropped,
    End::BlockedAndKilled,
    End::BlockedHostOff,
    End::ActivityDropped,
    End::ActivityCancelled,
    End::ActivityDroppedAfterItsTimeLimit,
    End::ProcessEnded,
    End::ProcessPanicked,
    End::Killed,
    End::KilledWhileSuspended,
    End::HostOff,
    End::Detached,
    End::DetachedAndHostOff,
];

async fn victim(cx: Process<u32>, end: End, sends: bool) {
    let blocks = async |limit: Option<Time>| match (sends, limit) {
        (true, None) => cx.send("box", 7, 1.0).await.map(drop),
        (true, Some(limit)) => cx.send_within("box", 7, 1.0, limit).await,
        (false, None) => cx.receive("box").await.map(drop),
        (false, Some(limit)) => cx.receive_within("box", limit).await.map(drop),
    };
    let begins = || if sends { cx.start_send("box", 7, 1.0) } else { cx.start_receive("box") };
    match end {
        End::TimeLimit => assert_eq!(blocks(Some(secs(2))).await, Err(RequestError::TimedOut)),
        End::FutureDropped => {
            let mut wait = Box::pin(blocks(None));
            poll_fn(|context| {
                assert!(wait.as_mut().poll(context).is_pending());
                Poll::Ready(())
            })
            .await;
            // In the turn in which it began: nobody can have come.
            drop(wait);
            cx.sleep(secs(9)).await;
        }
        End::BlockedAndKilled | End::BlockedHostOff => unreachable!("{:?}", blocks(None).await),
        End::ActivityDropped => {
            let activity = begins();
            cx.sleep(secs(2)).await;
            drop(activity);
            cx.sleep(secs(9)).await;
        }
        End::ActivityCancelled => {
            let activity = begins();
            cx.sleep(secs(2)).await;
            activity.cancel();
            cx.compute(1e9).await.unwrap();
        }
        End::ActivityDroppedAfterItsTimeLimit => {
            assert_eq!(begins().wait_within(&cx, secs(2)).await, Err(RequestError::TimedOut));
            cx.sleep(secs(9)).await;
        }
        End::ProcessEnded => {
            let _held = begins();
            cx.sleep(secs(2)).await;
        }
        End::ProcessPanicked => {
            let _held = begins();
            cx.sleep(secs(2)).await;
            panic!("with an activity open");
        }
        End::Killed | End::KilledWhileSuspended | End::HostOff => {
            let _held = begins();
            cx.sleep(secs(99)).await;
        }
        End::Detached | End::DetachedAndHostOff => begins().detach(),
    }
}

async fn fate(cx: Process<u32>, end: End, victim: ProcessId) {
    cx.sleep(secs(1)).await;
    if end == End::KilledWhileSuspended {
        cx.suspend(victim);
    }
    cx.sleep(secs(1)).await;
    match end {
        End::BlockedAndKilled | End::Killed | End::KilledWhileSuspended => cx.kill(victim),
        End::BlockedHostOff | End::HostOff | End::DetachedAndHostOff => cx.switch_off(THERE),
        _ => {}
    }
}

#[test]
fn the_other_side_sees_no_message_and_no_success_that_there_was_not() {
    for (end, sends, flows) in ENDS.into_iter().flat_map(|end| {
        [(true, true), (true, false), (false, true), (false, false)].map(|(sends, flows)| (end, sends, flows))
    }) {
        let mut world = world().on_panic(OnPanic::Process);
        let saw = Arc::new(Mutex::new(None));
        let shared = Arc::clone(&saw);
        let other = world.spawn("victim", THERE, move |cx| victim(cx, end, sends));
        world.spawn("peer", HERE, async move |cx: Process<u32>| {
            cx.sleep(Time::millis(if flows { 1500 } else { 2500 })).await;
            let result = match sends {
                true => cx.receive_within("box", secs(3)).await.map(drop),
                false => cx.send_within("box", 8, 1.0, secs(3)).await,
            };
            *shared.lock().unwrap() = Some((result, cx.now().as_nanos() / 100_000_000));
        });
        world.spawn("fate", HERE, move |cx| fate(cx, end, other));
        let report = run(world);
        let late = (Err(RequestError::TimedOut), 55);
        let right = match (end, flows) {
            (End::Detached, true) => (Ok(()), 25),
            (End::Detached, false) => (Ok(()), 35),
            // It was begun and dropped in one turn, before its peer came.
            (End::FutureDropped, true) => (Err(RequestError::TimedOut), 45),
            (End::BlockedHostOff | End::HostOff | End::DetachedAndHostOff, true) => {
                (Err(RequestError::HostOff), 20)
            }
            (_, true) => (Err(RequestError::GivenUp), 20),
            (_, false) => late,
        };
        let saw = saw.lock().unwrap().take().expect("it has seen something");
        assert_eq!(saw, right, "{end:?}, the victim sends: {sends}, it flows: {flows}");
        let got = u64::from(right.0.is_ok());
        assert_eq!((report.counts.messages, report.unreceived), (got, vec![]), "{end:?} {sends} {flows}");
    }
}

/// Polls a wait until it is open, lets its answer come, and drops the wait without looking at it.
async fn drops_what_it_is_given<T>(wait: impl Future<Output = T>) {
    let (mut wait, mut polls) = (Box::pin(wait), 0);
    poll_fn(|context| {
        polls += 1;
        if polls > 1 {
            return Poll::Ready(());
        }
        assert!(wait.as_mut().poll(context).is_pending());
        Poll::Pending
    })
    .await;
}

#[test]
fn what_was_given_to_who_did_not_take_it_goes_to_the_next() {
    let mut world = world();
    world.spawn("all", HERE, async |cx: Process<u32>| {
        let (permits, lock, queue) = (cx.semaphore(1), cx.mutex(), cx.queue());
        queue.put(&cx, 1);
        queue.put(&cx, 2);
        // At once, and after a wait.
        drops_what_it_is_given(permits.acquire(&cx)).await;
        drops_what_it_is_given(lock.lock(&cx)).await;
        drops_what_it_is_given(queue.get(&cx)).await;
        let late = async move |cx: Process<u32>| {
            permits.acquire(&cx).await.unwrap();
            let held = lock.lock(&cx).await.unwrap();
            assert_eq!((queue.get(&cx).await, cx.now()), (Ok(1), secs(0)), "in their order");
            cx.sleep(secs(1)).await;
            permits.release(&cx);
            drop(held);
            queue.put(&cx, 3);
        };
        cx.spawn("late", HERE, late).await.unwrap();
        cx.sleep(Time::millis(1)).await;
        assert_eq!(queue.get(&cx).await, Ok(2));
        let fickle = async move |cx: Process<u32>| drops_what_it_is_given(permits.acquire(&cx)).await;
        cx.spawn("fickle", HERE, fickle).await.unwrap();
        let fickle = async move |cx: Process<u32>| drops_what_it_is_given(lock.lock(&cx)).await;
        cx.spawn("fickle", HERE, fickle).await.unwrap();
        let fickle = async move |cx: Process<u32>| drops_what_it_is_given(queue.get(&cx)).await;
        cx.spawn("fickle", HERE, fickle).await.unwrap();
        cx.sleep(Time::millis(1)).await;
        permits.acquire(&cx).await.unwrap();
        let _held = lock.lock(&cx).await.unwrap();
        assert_eq!((queue.get(&cx).await, cx.now()), (Ok(3), secs(1)));
    });
    run(world);
}

#[test]
fn what_was_given_to_who_is_killed_before_it_takes_it_goes_to_the_next() {
    let mut world = world();
    world.spawn("all", HERE, async |cx: Process<u32>| {
        let (permits, lock, queue) = (cx.semaphore(0), cx.mutex(), cx.queue());
        let held = lock.lock(&cx).await.unwrap();
        let mut victims = Vec::new();
        for way in 0..3 {
            let victim = async move |cx: Process<u32>| match way {
                0 => permits.acquire(&cx).await.unwrap(),
                1 => drop(lock.lock(&cx).await.unwrap()),
                _ => drop(queue.get(&cx).await.unwrap()),
            };
            victims.push(cx.spawn("victim", HERE, victim).await.unwrap());
        }
        cx.sleep(secs(1)).await;
        // In one turn: they are given it, and are no more.
        permits.release(&cx);
        drop(held);
        queue.put(&cx, 5);
        victims.into_iter().for_each(|victim| cx.kill(victim));
        permits.acquire(&cx).await.unwrap();
        let _held = lock.lock(&cx).await.unwrap();
        assert_eq!((queue.get(&cx).await, cx.now()), (Ok(5), secs(1)));
    });
    run(world);
}

#[test]
fn a_wait_that_is_dropped_is_over() {
    let mut world = world();
    world.spawn("fickle", HERE, async |cx: Process<u32>| {
        let mut wait = Box::pin(cx.receive("box"));
        let mut polled = false;
        poll_fn(|context| {
            if polled {
                return Poll::Ready(());
            }
            polled = true;
            assert!(wait.as_mut().poll(context).is_pending());
            Poll::Ready(())
        })
        .await;
        drop(wait);
        cx.sleep(secs(1)).await;
        assert_eq!(cx.receive("box").await, Ok(5), "the first wait did not swallow it");
    });
    world.spawn("sender", HERE, async |cx: Process<u32>| {
        cx.sleep(Time::millis(100)).await;
        cx.send("box", 5, 1.0).await.unwrap();
    });
    run(world);
    let mut greedy = self::world();
    greedy.spawn("greedy", HERE, async |cx: Process<u32>| {
        let (mut one, mut two) = (Box::pin(cx.receive("a")), Box::pin(cx.receive("b")));
        poll_fn(|context| {
            assert!(one.as_mut().poll(context).is_pending());
            two.as_mut().poll(context).map(drop)
        })
        .await;
    });
    assert!(
        matches!(greedy.run(), Err(RunError::Panic { note, .. }) if note.message.contains("one thing at a time"))
    );
}
