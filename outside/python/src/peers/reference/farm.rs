//! Tasks that are sent to workers: a program in Rust whose text is that of `tests/test_peers.py`.

use paceline_kernel::Time;
use paceline_network::{FlowModel, HostId, read};
use paceline_processes::{Process, RequestError, Simulation};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

/// A computation of so many flops and its number, or none where there is nothing more to do.
type Work = Option<(f64, u64)>;

async fn master(cx: Process<Work>, tasks: u64, workers: u32) {
    for task in 0..tasks {
        let flops = 1e6 + cx.draw(|rng| rng.exponential(5e7));
        let worker = cx.draw(|rng| rng.below(u64::from(workers)));
        if cx
            .send_within(&*format!("worker-{worker}"), Some((flops, task)), 1e6, Time::secs(1))
            .await
            .is_err()
        {
            cx.record(1000 + task);
        }
    }
    for worker in 0..workers {
        cx.send(&*format!("worker-{worker}"), None, 0.0).await.expect("workers wait for work");
    }
}

async fn helper(cx: Process<Work>, flops: f64) {
    cx.compute(flops).await.expect("the host stays on");
    cx.send_detached("done", None, 100.0);
}

async fn worker(cx: Process<Work>, number: u32) {
    loop {
        let (flops, task) = match cx.receive(&*format!("worker-{number}")).await {
            Ok(Some(work)) => work,
            Ok(None) => return,
            // The master has given up in the middle of the transfer.
            Err(_) => {
                cx.record(3);
                continue;
            }
        };
        if task.is_multiple_of(3) {
            let other = HostId(cx.draw(|rng| rng.below(4)) as u32);
            let spawned = cx.spawn("helper", other, move |cx| helper(cx, flops)).await.expect("hosts are on");
            if cx.join_within(spawned, Time::millis(500)).await == Err(RequestError::TimedOut) {
                cx.kill(spawned);
                cx.yield_now().await;
            }
        } else {
            cx.compute(flops).await.expect("the host stays on");
        }
        cx.record(task);
        cx.sleep(Time::millis(10)).await;
    }
}

async fn counter(cx: Process<Work>) {
    cx.daemonize();
    loop {
        match cx.receive_within("done", Time::secs(1)).await {
            Ok(_) => cx.record(7),
            Err(_) => cx.sleep_until(cx.now() + Time::millis(1500)).await,
        }
    }
}

/// Runs it on the platform of this text; the digest, and the simulated seconds at the end.
#[pyfunction]
pub fn run_reference_peers(platform: &str, tasks: u64, workers: u32, seed: u64) -> PyResult<(String, f64)> {
    let platform = read("platform.xml", platform, &mut |_| Err(String::new()))
        .map_err(|error| PyValueError::new_err(error.to_string()))?;
    let mut simulation = Simulation::on_platform(&platform, FlowModel::LV08).seed(seed);
    simulation.spawn("master", HostId(0), move |cx| master(cx, tasks, workers));
    for number in 0..workers {
        simulation.spawn("worker", HostId(number % 4), move |cx| worker(cx, number));
    }
    simulation.spawn("counter", HostId(1), counter);
    let report = simulation.run().map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
    Ok((report.digest.to_string(), report.end_time.as_secs_f64()))
}
