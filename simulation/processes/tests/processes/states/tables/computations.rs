//! Computations, however they were begun and are waited for.

use paceline_processes::{Activity, Process};

use super::super::{Body, State, World, outcome, secs};

pub(super) fn rows() -> Vec<State> {
    let ten = ["v ok@10", "v ok@12", "v ok@22", "", "", "", "v ok@13"];
    let eleven = ["v ok@11", "v ok@12", "v ok@22", "", "", "", "v ok@14"];
    let limit_11 = ["v ok@10", "v late@11", "v late@14", "", "", "", "v ok@13"];
    vec![
        alone!("compute", |cx, world| outcome(&cx.compute(10e9).await), ten),
        alone!("start_compute, wait", |cx, world| outcome(&cx.start_compute(10e9).wait(&cx).await), ten),
        alone!(
            "start_compute, wait_within",
            |cx, world| outcome(&cx.start_compute(10e9).wait_within(&cx, secs(11.0)).await),
            limit_11
        ),
        alone!(
            "start_compute, wait_within, wait",
            |cx, world| {
                let mut work = cx.start_compute(10e9);
                let first = work.wait_within(&cx, secs(3.0)).await;
                world.note(&cx, "v", outcome(&first));
                outcome(&work.wait(&cx).await)
            },
            ["v late@3, v ok@10", "v late@4, v ok@12", "v late@14, v ok@22", "", "", "", "v late@6, v ok@13"]
        ),
        alone!(
            "start_compute, wait_any",
            |cx, world| {
                let (mut work, mut never) = (cx.start_compute(10e9), cx.start_receive("never"));
                outcome(&Activity::wait_any(&cx, &mut [&mut never, &mut work]).await)
            },
            ten
        ),
        alone!(
            "start_compute, wait_any_within",
            |cx, world| {
                let (mut work, mut never) = (cx.start_compute(10e9), cx.start_receive("never"));
                outcome(&Activity::wait_any_within(&cx, &mut [&mut never, &mut work], secs(11.0)).await)
            },
            limit_11
        ),
        alone!(
            "start_compute, wait_all",
            |cx, world| {
                let (mut one, mut other) = (cx.start_compute(10e9), cx.start_compute(5e9));
                outcome(&Activity::wait_all(&cx, &mut [&mut one, &mut other]).await)
            },
            ten
        ),
        alone!(
            "start_compute, sleep, wait",
            |cx, world| {
                let mut work = cx.start_compute(10e9);
                cx.sleep(secs(11.0)).await;
                outcome(&work.wait(&cx).await)
            },
            eleven
        ),
        alone!(
            "start_compute, receive_within, wait",
            |cx, world| {
                let mut work = cx.start_compute(10e9);
                assert!(cx.receive_within("never", secs(11.0)).await.is_err());
                outcome(&work.wait(&cx).await)
            },
            eleven
        ),
        alone!(
            "start_compute, compute, wait",
            |cx, world| {
                let mut work = cx.start_compute(10e9);
                cx.compute(11e9).await.unwrap();
                outcome(&work.wait(&cx).await)
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
                outcome(&cx.compute(10e9).await)
            },
            ["v ok@12", "v ok@14", "v ok@24", "", "", "", "v ok@15"]
        ),
        alone!(
            "a computation started in the instant of the interruption",
            |cx, world| {
                cx.sleep(secs(2.0)).await;
                outcome(&cx.start_compute(10e9).wait(&cx).await)
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
