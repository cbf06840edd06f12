//! A gas station: cars share two pumps and one tank, which a truck fills when little is left in it.
use paceline_kernel::Time;
use paceline_network::{Constant, HostId};
use paceline_processes::resources::Spec;
use paceline_processes::{Container, Measured, Process, Report, Resource, RunError, Simulation, WaitError};

const STATION: HostId = HostId(0);
const FULL: f64 = 200.0;

async fn car(cx: Process<()>, pumps: Resource, tank: Container) -> Result<(), WaitError> {
    let liters = 25 + cx.draw(|rng| rng.below(21));
    let _pump = pumps.request(&cx).await?;
    tank.get(&cx, liters as f64).await?;
    cx.hold(Time::millis(500 * liters)).await
}

async fn control(cx: Process<()>, tank: Container) -> Result<(), WaitError> {
    loop {
        if tank.levels(&cx).await?.level < 0.25 * FULL {
            cx.hold(Time::secs(300)).await?;
            tank.put(&cx, FULL - tank.levels(&cx).await?.level).await?;
        }
        cx.hold(Time::secs(10)).await?;
    }
}

async fn source(cx: Process<()>, pumps: Resource, tank: Container) -> Result<(), WaitError> {
    loop {
        cx.hold(Time::secs(30 + cx.draw(|rng| rng.below(271)))).await?;
        cx.spawn("car", STATION, move |cx| async move { car(cx, pumps, tank).await.unwrap() }).await?;
    }
}

/// So many seconds; the statistics have the names `pumps` and `tank`.
pub fn run(seconds: u64, seed: u64) -> Result<Report, RunError> {
    let simulation = Simulation::new(Constant::new(0.0), &[(1e9, 1)]).seed(seed);
    let mut simulation = simulation.until(Time::secs(seconds));
    let pumps = simulation.make(STATION, Spec::resource(2).named("pumps"));
    let tank = simulation.make(STATION, Spec::container(FULL, FULL).named("tank"));
    simulation.spawn("control", STATION, async move |cx| control(cx, tank).await.unwrap());
    simulation.spawn("source", STATION, async move |cx| source(cx, pumps, tank).await.unwrap());
    simulation.run()
}

fn main() -> Result<(), RunError> {
    let report = run(100_000, 42)?;
    for name in ["pumps", "tank"] {
        let statistics = report.resource(name).expect("it has a name");
        let (mean, waits) = (statistics.mean_level.unwrap_or(0.0), &statistics.waits);
        println!(
            "{name}: {mean:.2} on average, {} waits of {:.1} s",
            waits.count(),
            waits.mean_s().unwrap_or(0.0)
        );
    }
    Ok(())
}
