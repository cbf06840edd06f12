//! All else that a process does or waits for.

use paceline_network::HostId;
use paceline_processes::Process;

use super::super::{Body, State, World, outcome, secs};

pub(super) fn rows() -> Vec<State> {
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
            |cx, world| outcome(&cx.join(*world.peer.get().unwrap()).await),
            body!(|cx, world| cx.sleep(secs(2.5)).await),
            ["v ok@2.5", "v ok@4", "v ok@14", "", "", "", "v ok@3"]
        ),
        pair!(
            "join_within",
            |cx, world| outcome(&cx.join_within(*world.peer.get().unwrap(), secs(3.0)).await),
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
                let (number, next) = (cx.id().0, paceline_processes::ProcessId(cx.id().0 + 1));
                assert_eq!(number + 1, next.0);
                world.note(&cx, "p", outcome(&cx.join(next).await));
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
                let notes = world.clone();
                let child = async move |cx: Process<u32>| {
                    cx.compute(10e9).await.unwrap();
                    notes.note(&cx, "c", "ok");
                };
                let child = cx.spawn("child", HostId(2), child).await.unwrap();
                outcome(&cx.join(child).await)
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
