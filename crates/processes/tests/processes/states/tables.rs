//! The rows of the table: what a victim and its peer do, and the right log under each fate.

use paceline_network::HostId;
use paceline_processes::{Activity, Process};

use super::{Body, State, World, secs, told};

const LIMIT_S: f64 = 8.0;

/// What a process does, as a function.
macro_rules! body {
    (|$cx:ident, $world:ident| $code:expr) => {{
        let body: Body = |$cx: Process<u32>, $world: World| {
            Box::pin(async move {
                let _ = &$world;
                $code
            })
        };
        body
    }};
}

fn nobody() -> Body {
    body!(|cx, _world| drop(cx))
}

/// A peer that receives at this time, for 3 s.
macro_rules! receives {
    ($at:expr) => {
        body!(|cx, world| {
            cx.sleep(secs($at)).await;
            let got = cx.receive_within("box", secs(3.0)).await;
            world.note(&cx, "p", told(&got));
        })
    };
}

/// A peer that sends at this time, for 3 s.
macro_rules! sends {
    ($at:expr) => {
        body!(|cx, world| {
            cx.sleep(secs($at)).await;
            let sent = cx.send_within("box", 1, 1.0, secs(3.0)).await;
            world.note(&cx, "p", told(&sent));
        })
    };
}

/// A row in which the peer does nothing, and the victim only what `$code` says, which gives what it notes.
macro_rules! alone {
    ($name:expr, |$cx:ident, $world:ident| $code:expr, $right:expr) => {
        State {
            name: $name,
            victim: body!(|$cx, $world| {
                let what = $code;
                $world.note(&$cx, "v", what);
            }),
            peer: nobody(),
            right: $right,
        }
    };
}

macro_rules! pair {
    ($name:expr, |$cx:ident, $world:ident| $code:expr, $peer:expr, $right:expr) => {
        State { peer: $peer, ..alone!($name, |$cx, $world| $code, $right) }
    };
}

pub(super) fn states() -> Vec<State> {
    [computations(), messages(), objects(), others()].into_iter().flatten().collect()
}

fn computations() -> Vec<State> {
    let ten = ["v ok@10", "v ok@12", "v ok@22", "", "", "", "v ok@13"];
    let eleven = ["v ok@11", "v ok@12", "v ok@22", "", "", "", "v ok@14"];
    let limit_11 = ["v ok@10", "v late@11", "v late@14", "", "", "", "v ok@13"];
    vec![
        alone!("compute", |cx, world| told(&cx.compute(10e9).await), ten),
        alone!("start_compute, wait", |cx, world| told(&cx.start_compute(10e9).wait(&cx).await), ten),
        alone!(
            "start_compute, wait_within",
            |cx, world| told(&cx.start_compute(10e9).wait_within(&cx, secs(11.0)).await),
            limit_11
        ),
        alone!(
            "start_compute, wait_within, wait",
            |cx, world| {
                let mut work = cx.start_compute(10e9);
                let first = work.wait_within(&cx, secs(3.0)).await;
                world.note(&cx, "v", told(&first));
                told(&work.wait(&cx).await)
            },
            ["v late@3, v ok@10", "v late@4, v ok@12", "v late@14, v ok@22", "", "", "", "v late@6, v ok@13"]
        ),
        alone!(
            "start_compute, wait_any",
            |cx, world| {
                let (mut work, mut never) = (cx.start_compute(10e9), cx.start_receive("never"));
                told(&Activity::wait_any(&cx, &mut [&mut never, &mut work]).await)
            },
            ten
        ),
        alone!(
            "start_compute, wait_any_within",
            |cx, world| {
                let (mut work, mut never) = (cx.start_compute(10e9), cx.start_receive("never"));
                told(&Activity::wait_any_within(&cx, &mut [&mut never, &mut work], secs(11.0)).await)
            },
            limit_11
        ),
        alone!(
            "start_compute, wait_all",
            |cx, world| {
                let (mut one, mut other) = (cx.start_compute(10e9), cx.start_compute(5e9));
                told(&Activity::wait_all(&cx, &mut [&mut one, &mut other]).await)
            },
            ten
        ),
        alone!(
            "start_compute, sleep, wait",
            |cx, world| {
                let mut work = cx.start_compute(10e9);
                cx.sleep(secs(11.0)).await;
                told(&work.wait(&cx).await)
            },
            eleven
        ),
        alone!(
            "start_compute, receive_within, wait",
            |cx, world| {
                let mut work = cx.start_compute(10e9);
                assert!(cx.receive_within("never", secs(11.0)).await.is_err());
                told(&work.wait(&cx).await)
            },
            eleven
        ),
        alone!(
            "start_compute, compute, wait",
            |cx, world| {
                let mut work = cx.start_compute(10e9);
                cx.compute(11e9).await.unwrap();
                told(&work.wait(&cx).await)
            },
            ["v ok@11", "v ok@13", "v ok@23", "", "", "", "v ok@14"]
        ),
        alone!(
            "start_compute, test",
            |cx, world| {
                let work = cx.start_compute(10e9);
                while !work.test(&cx).await {
                    cx.sleep(secs(1.0)).await;
                }
                "ok"
            },
            ten
        ),
        alone!(
            "a computation begun in the instant of the interruption",
            |cx, world| {
                cx.sleep(secs(2.0)).await;
                told(&cx.compute(10e9).await)
            },
            ["v ok@12", "v ok@14", "v ok@24", "", "", "", "v ok@15"]
        ),
        alone!(
            "a computation started in the instant of the interruption",
            |cx, world| {
                cx.sleep(secs(2.0)).await;
                told(&cx.start_compute(10e9).wait(&cx).await)
            },
            ["v ok@12", "v ok@14", "v ok@24", "", "", "", "v ok@15"]
        ),
        alone!(
            "a computation that ends in the instant of the interruption",
            |cx, world| {
                cx.compute(2e9).await.unwrap();
                cx.sleep(secs(1.0)).await;
                "ok"
            },
            ["v ok@3", "v ok@4", "v ok@14", "", "", "", "v ok@6"]
        ),
    ]
}

fn messages() -> Vec<State> {
    let flows_out = [
        "p ok@2.5, v ok@2.5",
        "p ok@2.5, v ok@4",
        "p ok@2.5, v ok@14",
        "p given up@2",
        "p ok@2.5",
        "p host off@2",
    ];
    let [none, till4, till14, kill, both, off] = flows_out;
    let flows = |again| [none, till4, till14, kill, both, off, again];
    let meets = [
        "p ok@3.5, v ok@3.5",
        "p ok@3.5, v ok@4",
        "p ok@3.5, v ok@14",
        "p late@5.5",
        "p ok@3.5",
        "p late@5.5",
        "p ok@4, v ok@4",
    ];
    let nobody_comes = ["v late@3", "v late@4", "v late@14", "", "", "", "v late@6"];
    let stays = "p host off@2, deadlock";
    vec![
        pair!(
            "send, no receiver yet",
            |cx, world| told(&cx.send("box", 7, 1.0).await),
            receives!(2.5),
            meets
        ),
        pair!(
            "send, on its way",
            |cx, world| told(&cx.send("box", 7, 1.0).await),
            receives!(1.5),
            flows(stays)
        ),
        pair!(
            "send_within, on its way",
            |cx, world| told(&cx.send_within("box", 7, 1.0, secs(LIMIT_S)).await),
            receives!(1.5),
            flows("p host off@2, v late@11")
        ),
        alone!(
            "send_within, nobody",
            |cx, world| told(&cx.send_within("box", 7, 1.0, secs(3.0)).await),
            nobody_comes
        ),
        pair!("receive, no sender yet", |cx, world| told(&cx.receive("box").await), sends!(2.5), meets),
        pair!("receive, on its way", |cx, world| told(&cx.receive("box").await), sends!(1.5), flows(stays)),
        pair!(
            "receive_within, on its way",
            |cx, world| told(&cx.receive_within("box", secs(LIMIT_S)).await),
            sends!(1.5),
            flows("p host off@2, v late@11")
        ),
        alone!(
            "receive_within, nobody",
            |cx, world| told(&cx.receive_within("box", secs(3.0)).await),
            nobody_comes
        ),
        pair!(
            "start_send, wait, on its way",
            |cx, world| told(&cx.start_send("box", 7, 1.0).wait(&cx).await),
            receives!(1.5),
            flows(stays)
        ),
        pair!(
            "start_send, wait, no receiver yet",
            |cx, world| told(&cx.start_send("box", 7, 1.0).wait(&cx).await),
            receives!(2.5),
            meets
        ),
        pair!(
            "start_receive, wait, on its way",
            |cx, world| told(&cx.start_receive("box").wait(&cx).await),
            sends!(1.5),
            flows(stays)
        ),
        pair!(
            "start_receive, wait_any, no sender yet",
            |cx, world| {
                let (mut one, mut never) = (cx.start_receive("box"), cx.start_receive("never"));
                told(&Activity::wait_any(&cx, &mut [&mut never, &mut one]).await)
            },
            sends!(2.5),
            meets
        ),
        pair!(
            "start_receive, sleep, on its way",
            |cx, world| {
                let mut one = cx.start_receive("box");
                cx.sleep(secs(6.0)).await;
                told(&one.wait_within(&cx, secs(1.0)).await)
            },
            sends!(1.5),
            [
                "p ok@2.5, v ok@6",
                "p ok@2.5, v ok@6",
                "p ok@2.5, v ok@14",
                "p given up@2",
                "p ok@2.5",
                "p host off@2",
                "p host off@2, v late@10"
            ]
        ),
        pair!(
            "start_receive, wait_within, wait",
            |cx, world| {
                let mut one = cx.start_receive("box");
                let first = one.wait_within(&cx, secs(3.0)).await;
                if first.is_err() {
                    world.note(&cx, "v", told(&first));
                    told(&one.wait(&cx).await)
                } else {
                    "ok"
                }
            },
            sends!(4.5),
            [
                "v late@3, p ok@5.5, v ok@5.5",
                "v late@4, p ok@5.5, v ok@5.5",
                "p ok@5.5, v late@14, v ok@14",
                "p late@7.5",
                "p late@7.5",
                "p late@7.5",
                "p ok@5.5, v ok@5.5"
            ]
        ),
        pair!(
            "send to a mailbox at a host",
            |cx, world| {
                cx.sleep(secs(1.5)).await;
                told(&cx.send("desk", 7, 1.0).await)
            },
            body!(|cx, world| world.note(&cx, "p", told(&cx.receive("desk").await))),
            [
                "p ok@2.5, v ok@2.5",
                "p ok@2.5, v ok@4",
                "p ok@2.5, v ok@14",
                "p ok@2.5",
                "p ok@2.5",
                "p ok@2.5",
                "p ok@2.5, v ok@5.5"
            ]
        ),
        pair!(
            "send_detached, sleep",
            |cx, world| {
                cx.send_detached("box", 7, 1.0);
                cx.sleep(secs(9.0)).await;
                "ok"
            },
            receives!(4.5),
            [
                "p ok@5.5, v ok@9",
                "p ok@5.5, v ok@9",
                "p ok@5.5, v ok@14",
                "p ok@5.5",
                "p ok@5.5",
                "p late@7.5",
                "p ok@5.5, v ok@12"
            ]
        ),
        pair!(
            "start_receive detached, sleep",
            |cx, world| {
                cx.start_receive("box").detach();
                cx.sleep(secs(9.0)).await;
                "ok"
            },
            sends!(4.5),
            [
                "p ok@5.5, v ok@9",
                "p ok@5.5, v ok@9",
                "p ok@5.5, v ok@14",
                "p ok@5.5",
                "p ok@5.5",
                "p late@7.5",
                "p ok@5.5, v ok@12"
            ]
        ),
    ]
}

fn objects() -> Vec<State> {
    vec![
        pair!(
            "semaphore",
            |cx, world| told(&world.objects().0.acquire(&cx).await),
            body!(|cx, world| {
                let permits = world.objects().0;
                cx.sleep(secs(2.5)).await;
                permits.release(&cx);
                for at in [3.5, 5.0] {
                    cx.sleep_until(secs(at)).await;
                    world.note(&cx, "p", told(&permits.acquire_within(&cx, secs(0.0)).await));
                }
            }),
            [
                "v ok@2.5, p late@3.5, p late@5",
                "p late@3.5, v ok@4, p late@5",
                "p late@3.5, p late@5, v ok@14",
                "p ok@3.5, p late@5",
                "p late@3.5, p ok@5",
                "p ok@3.5, p late@5",
                "v ok@3, p late@3.5, p late@5"
            ]
        ),
        alone!(
            "semaphore, acquire_within",
            |cx, world| told(&world.objects().0.acquire_within(&cx, secs(3.0)).await),
            ["v late@3", "v late@4", "v late@14", "", "", "", "v late@6"]
        ),
        pair!(
            "mutex",
            |cx, world| {
                let lock = world.objects().1;
                cx.yield_now().await;
                let held = lock.lock(&cx).await;
                world.note(&cx, "v", told(&held));
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
                world.note(&cx, "p", told(&held));
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
                world.note(&cx, "v", told(&noticed));
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
                world.note(&cx, "p", told(&world.objects().3.wait(&cx).await));
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
            |cx, world| told(&world.objects().4.get(&cx).await),
            body!(|cx, world| {
                let queue = world.objects().4;
                cx.sleep(secs(2.5)).await;
                queue.put(&cx, 5);
                for at in [3.5, 5.0] {
                    cx.sleep_until(secs(at)).await;
                    world.note(&cx, "p", told(&queue.get_within(&cx, secs(0.0)).await));
                }
            }),
            [
                "v ok@2.5, p late@3.5, p late@5",
                "p late@3.5, v ok@4, p late@5",
                "p late@3.5, p late@5, v ok@14",
                "p ok@3.5, p late@5",
                "p late@3.5, p ok@5",
                "p ok@3.5, p late@5",
                "v ok@3, p late@3.5, p late@5"
            ]
        ),
    ]
}

fn others() -> Vec<State> {
    vec![
        alone!(
            "sleep",
            |cx, world| {
                cx.sleep(secs(10.0)).await;
                "ok"
            },
            ["v ok@10", "v ok@10", "v ok@14", "", "", "", "v ok@13"]
        ),
        alone!(
            "a sleep that ends in the instant of the interruption",
            |cx, world| {
                cx.sleep(secs(2.0)).await;
                cx.sleep(secs(1.0)).await;
                "ok"
            },
            ["v ok@3", "v ok@4", "v ok@14", "", "", "", "v ok@6"]
        ),
        pair!(
            "join",
            |cx, world| told(&cx.join(*world.peer.get().unwrap()).await),
            body!(|cx, world| cx.sleep(secs(2.5)).await),
            ["v ok@2.5", "v ok@4", "v ok@14", "", "", "", "v ok@3"]
        ),
        pair!(
            "join_within",
            |cx, world| told(&cx.join_within(*world.peer.get().unwrap(), secs(3.0)).await),
            body!(|cx, world| cx.sleep(secs(30.0)).await),
            ["v late@3", "v late@4", "v late@14", "", "", "", "v late@6"]
        ),
        pair!(
            "joined by its peer",
            |cx, world| {
                cx.sleep(secs(10.0)).await;
                "ok"
            },
            body!(|cx, world| {
                // It knows its number only by the peer's own.
                let (own, next) = (cx.id().0, paceline_processes::ProcessId(cx.id().0 + 1));
                assert_eq!(own + 1, next.0);
                world.note(&cx, "p", told(&cx.join(next).await));
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
        alone!(
            "suspended by itself",
            |cx, world| {
                cx.suspend_itself().await;
                "ok"
            },
            ["deadlock", "v ok@4", "v ok@14", "", "", "", "deadlock"]
        ),
        alone!(
            "ended",
            |cx, world| {
                cx.sleep(secs(1.0)).await;
                "ok"
            },
            ["v ok@1"; 7]
        ),
        alone!(
            "spawning, with a child on another host",
            |cx, world| {
                let own = world.clone();
                let child = async move |cx: Process<u32>| {
                    cx.compute(10e9).await.unwrap();
                    own.note(&cx, "c", "ok");
                };
                let child = cx.spawn("child", HostId(2), child).await.unwrap();
                told(&cx.join(child).await)
            },
            [
                "c ok@10, v ok@10",
                "c ok@10, v ok@10",
                "c ok@10, v ok@14",
                "c ok@10",
                "c ok@10",
                "c ok@10",
                "c ok@10, c ok@13, v ok@13"
            ]
        ),
    ]
}
