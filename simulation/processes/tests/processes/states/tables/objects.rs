//! Shared objects: what a process waits for, and what it holds.

use paceline_processes::Process;

use super::super::{Body, State, World, outcome, secs};

pub(super) fn rows() -> Vec<State> {
    let late_twice = [
        "v ok@2.5, p late@3.5, p late@5",
        "p late@3.5, v ok@4, p late@5",
        "p late@3.5, p late@5, v ok@14",
        "p ok@3.5, p late@5",
        "p late@3.5, p ok@5",
        "p ok@3.5, p late@5",
        "v ok@3, p late@3.5, p late@5",
    ];
    vec![
        pair!(
            "semaphore",
            |cx, world| outcome(&world.objects().0.acquire(&cx).await),
            body!(|cx, world| {
                let permits = world.objects().0;
                cx.sleep(secs(2.5)).await;
                permits.release(&cx);
                for at in [3.5, 5.0] {
                    cx.sleep_until(secs(at)).await;
                    world.note(&cx, "p", outcome(&permits.acquire_within(&cx, secs(0.0)).await));
                }
            }),
            late_twice
        ),
        alone!(
            "semaphore, acquire_within",
            |cx, world| outcome(&world.objects().0.acquire_within(&cx, secs(3.0)).await),
            ["v late@3", "v late@4", "v late@14", "", "", "", "v late@6"]
        ),
        pair!(
            "mutex",
            |cx, world| {
                let lock = world.objects().1;
                cx.yield_now().await;
                let held = lock.lock(&cx).await;
                world.note(&cx, "v", outcome(&held));
                cx.sleep(secs(20.0)).await;
                "ends"
            },
            body!(|cx, world| {
                let lock = world.objects().1;
                let held = lock.lock(&cx).await.unwrap();
                cx.sleep(secs(2.5)).await;
                drop(held);
                for at in [3.5, 5.0] {
                    cx.sleep_until(secs(at)).await;
                    let free = lock.try_lock(&cx).await.is_some();
                    world.note(&cx, "p", if free { "ok" } else { "no" });
                }
            }),
            [
                "v ok@2.5, p no@3.5, p no@5, v ends@22.5",
                "p no@3.5, v ok@4, p no@5, v ends@24",
                "p no@3.5, p no@5, v ok@14, v ends@34",
                "p ok@3.5, p ok@5",
                "p no@3.5, p ok@5",
                "p ok@3.5, p ok@5",
                "v ok@3, p no@3.5, p no@5, v ends@23"
            ]
        ),
        pair!(
            "a mutex that it holds",
            |cx, world| {
                let _held = world.objects().1.lock(&cx).await.unwrap();
                cx.sleep(secs(10.0)).await;
                "ok"
            },
            body!(|cx, world| {
                cx.sleep(secs(1.0)).await;
                let held = world.objects().1.lock(&cx).await;
                world.note(&cx, "p", outcome(&held));
            }),
            [
                "p ok@10, v ok@10",
                "p ok@10, v ok@10",
                "p ok@14, v ok@14",
                "p ok@2",
                "p ok@4",
                "p ok@2",
                "p ok@2, v ok@13"
            ]
        ),
        pair!(
            "condition",
            |cx, world| {
                let (_, lock, condition, ..) = world.objects();
                let mut held = lock.lock(&cx).await.unwrap();
                let noticed = condition.wait_within(&mut held, secs(5.0)).await;
                world.note(&cx, "v", outcome(&noticed));
                cx.sleep(secs(20.0)).await;
                "ends"
            },
            body!(|cx, world| {
                let (_, lock, condition, ..) = world.objects();
                cx.sleep(secs(2.5)).await;
                condition.notify_one(&cx);
                cx.sleep_until(secs(4.5)).await;
                let free = lock.try_lock(&cx).await.is_some();
                world.note(&cx, "p", if free { "ok" } else { "no" });
            }),
            [
                "v ok@2.5, p no@4.5, v ends@22.5",
                "v ok@4, p no@4.5, v ends@24",
                "p no@4.5, v ok@14, v ends@34",
                "p ok@4.5",
                "p ok@4.5",
                "p ok@4.5",
                "p ok@4.5, v late@8, v ends@28"
            ]
        ),
        pair!(
            "barrier",
            |cx, world| {
                assert!(world.objects().3.wait(&cx).await.is_ok());
                "ok"
            },
            body!(|cx, world| {
                cx.sleep(secs(2.5)).await;
                world.note(&cx, "p", outcome(&world.objects().3.wait(&cx).await));
            }),
            [
                "p ok@2.5, v ok@2.5",
                "p ok@2.5, v ok@4",
                "p ok@2.5, v ok@14",
                "deadlock",
                "p ok@2.5",
                "deadlock",
                "p ok@3, v ok@3"
            ]
        ),
        pair!(
            "queue",
            |cx, world| outcome(&world.objects().4.get(&cx).await),
            body!(|cx, world| {
                let queue = world.objects().4;
                cx.sleep(secs(2.5)).await;
                queue.put(&cx, 5);
                for at in [3.5, 5.0] {
                    cx.sleep_until(secs(at)).await;
                    world.note(&cx, "p", outcome(&queue.get_within(&cx, secs(0.0)).await));
                }
            }),
            late_twice
        ),
    ]
}
