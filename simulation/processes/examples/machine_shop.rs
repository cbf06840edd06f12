//! Ten machines that make parts and break down, and one repairman who has other work besides: a machine that
//! breaks is more urgent, and takes him away from it.
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use paceline_kernel::Time;
use paceline_network::{Constant, HostId};
use paceline_processes::resources::Spec;
use paceline_processes::{Process, Report, Resource, RunError, Simulation, WaitError};

const SHOP: HostId = HostId(0);
const HALF_AN_HOUR: Time = Time::secs(30 * 60);

fn minutes(minutes: f64) -> Time {
    Time::from_secs_f64(60.0 * minutes.max(0.0))
}

async fn machine(cx: Process<()>, repairman: Resource, parts: Arc<AtomicU64>) -> Result<(), WaitError> {
    loop {
        let mut left = minutes(cx.draw(|rng| rng.normal(10.0, 2.0)));
        loop {
            // Failures have no memory: the next may be drawn at any time.
            let works = minutes(cx.draw(|rng| rng.exponential(300.0))).min(left);
            cx.hold(works).await?;
            left = left - works;
            if left == Time::ZERO {
                break;
            }
            repairman.serve(&cx, HALF_AN_HOUR).priority(1).preempting().await?;
        }
        parts.fetch_add(1, Relaxed);
    }
}

async fn other_work(cx: Process<()>, repairman: Resource) -> Result<(), WaitError> {
    loop {
        repairman.serve(&cx, HALF_AN_HOUR).priority(2).await?;
    }
}

/// So many weeks: statistics with the name `repairman`, and the parts that were made.
pub fn run(weeks: u64, seed: u64) -> Result<(Report, u64), RunError> {
    let simulation = Simulation::<(), _>::new(Constant::new(0.0), &[(1e9, 1)]).seed(seed);
    let mut simulation = simulation.until(Time::secs(weeks * 7 * 24 * 3600));
    let (repairman, parts) = (simulation.make(SHOP, Spec::resource(1).named("repairman")), Arc::default());
    for _ in 0..10 {
        let parts = Arc::clone(&parts);
        simulation.spawn("machine", SHOP, async move |cx| machine(cx, repairman, parts).await.unwrap());
    }
    simulation.spawn("work", SHOP, async move |cx| other_work(cx, repairman).await.unwrap());
    let report = simulation.run()?;
    Ok((report, parts.load(Relaxed)))
}

fn main() -> Result<(), RunError> {
    let (report, parts) = run(4, 42)?;
    let repairman = report.resource("repairman").expect("he has a name");
    println!("10 machines made {parts} parts in 4 weeks");
    println!("other work was set aside {} times", repairman.counts.preempted);
    println!("repairs and other work waited {:.1} min", repairman.waits.mean_s().unwrap_or(0.0) / 60.0);
    Ok(())
}
