//! Master and workers, as in SimGrid's tutorial: the master deals computations to the workers, one after the
//! other in turn, and sends each a stop when all are dealt. `docs/processes.md` shows the two programs side
//! by side.
//!
//! `cargo run -p paceline --features processes --example master_workers [TASKS FLOPS BYTES WORKERS]`

use paceline::processes::prelude::*;

/// A computation of so many flops, or none where there is nothing more to do.
type Work = Option<f64>;

async fn master(cx: Process<Work>, tasks: u32, flops: f64, bytes: f64, workers: u32) {
    println!("Got {workers} workers and {tasks} tasks to process");
    for task in 0..tasks {
        let worker = format!("worker-{}", task % workers);
        println!("Sending task {task} of {tasks} to mailbox '{worker}'");
        cx.send(&*worker, Some(flops), bytes).await.expect("workers wait for work");
    }
    println!("All tasks have been dispatched. Request all workers to stop.");
    for worker in 0..workers {
        cx.send(&*format!("worker-{worker}"), None, 0.0).await.expect("workers wait for work");
    }
}

async fn worker(cx: Process<Work>, number: u32) {
    let mailbox = format!("worker-{number}");
    while let Some(flops) = cx.receive(&*mailbox).await.expect("the master sends until it says stop") {
        cx.compute(flops).await.expect("the host stays on");
    }
    println!("[{}] {} exiting now.", cx.now(), cx.name());
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut argument = |default: f64| arguments.next().map_or(Ok(default), |text| text.parse::<f64>());
    let (tasks, flops, bytes) = (argument(20.0)? as u32, argument(50e6)?, argument(1e6)?);
    let workers = (argument(4.0)? as u32).max(1);

    let text = format!(
        r#"<platform version="4.1">
             <cluster id="cluster" prefix="node-" suffix="" radical="0-{workers}" speed="98.095Mf" bw="41.279125MBps" lat="59.904us"/>
           </platform>"#
    );
    let platform = read("cluster.xml", &text, &mut |_| Err("there are no other files".into()))?;
    let mut simulation = Simulation::on_platform(&platform, FlowModel::LV08);
    simulation.spawn("master", HostId(0), move |cx| master(cx, tasks, flops, bytes, workers));
    for number in 0..workers {
        simulation.spawn("worker", HostId(number + 1), move |cx| worker(cx, number));
    }
    let report = simulation.run()?;
    println!("Simulation is over at {}", report.end_time);
    Ok(())
}
