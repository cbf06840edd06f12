//! Messages, blocking and begun, on their way and without another side.

use paceline_processes::{Activity, Process};

use super::super::{Body, State, World, outcome, secs};

const LIMIT_S: f64 = 8.0;

pub(super) fn rows() -> Vec<State> {
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
    let detached = [
        "p ok@5.5, v ok@9",
        "p ok@5.5, v ok@9",
        "p ok@5.5, v ok@14",
        "p ok@5.5",
        "p ok@5.5",
        "p late@7.5",
        "p ok@5.5, v ok@12",
    ];
    vec![
        pair!(
            "send, no receiver yet",
            |cx, world| outcome(&cx.send("box", 7, 1.0).await),
            receives!(2.5),
            meets
        ),
        pair!(
            "send, on its way",
            |cx, world| outcome(&cx.send("box", 7, 1.0).await),
            receives!(1.5),
            flows(stays)
        ),
        pair!(
            "send_within, on its way",
            |cx, world| outcome(&cx.send_within("box", 7, 1.0, secs(LIMIT_S)).await),
            receives!(1.5),
            flows("p host off@2, v late@11")
        ),
        alone!(
            "send_within, nobody",
            |cx, world| outcome(&cx.send_within("box", 7, 1.0, secs(3.0)).await),
            nobody_comes
        ),
        pair!("receive, no sender yet", |cx, world| outcome(&cx.receive("box").await), sends!(2.5), meets),
        pair!(
            "receive, on its way",
            |cx, world| outcome(&cx.receive("box").await),
            sends!(1.5),
            flows(stays)
        ),
        pair!(
            "receive_within, on its way",
            |cx, world| outcome(&cx.receive_within("box", secs(LIMIT_S)).await),
            sends!(1.5),
            flows("p host off@2, v late@11")
        ),
        alone!(
            "receive_within, nobody",
            |cx, world| outcome(&cx.receive_within("box", secs(3.0)).await),
            nobody_comes
        ),
        pair!(
            "start_send, wait, on its way",
            |cx, world| outcome(&cx.start_send("box", 7, 1.0).wait(&cx).await),
            receives!(1.5),
            flows(stays)
        ),
        pair!(
            "start_send, wait, no receiver yet",
            |cx, world| outcome(&cx.start_send("box", 7, 1.0).wait(&cx).await),
            receives!(2.5),
            meets
        ),
        pair!(
            "start_receive, wait, on its way",
            |cx, world| outcome(&cx.start_receive("box").wait(&cx).await),
            sends!(1.5),
            flows(stays)
        ),
        pair!(
            "start_receive, wait_any, no sender yet",
            |cx, world| {
                let (mut one, mut never) = (cx.start_receive("box"), cx.start_receive("never"));
                outcome(&Activity::wait_any(&cx, &mut [&mut never, &mut one]).await)
            },
            sends!(2.5),
            meets
        ),
        pair!(
            "start_receive, sleep, on its way",
            |cx, world| {
                let mut one = cx.start_receive("box");
                cx.sleep(secs(6.0)).await;
                outcome(&one.wait_within(&cx, secs(1.0)).await)
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
                    world.note(&cx, "v", outcome(&first));
                    outcome(&one.wait(&cx).await)
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
                outcome(&cx.send("desk", 7, 1.0).await)
            },
            body!(|cx, world| world.note(&cx, "p", outcome(&cx.receive("desk").await))),
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
            detached
        ),
        pair!(
            "start_receive detached, sleep",
            |cx, world| {
                cx.start_receive("box").detach();
                cx.sleep(secs(9.0)).await;
                "ok"
            },
            sends!(4.5),
            detached
        ),
    ]
}
