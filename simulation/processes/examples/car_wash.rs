//! A car wash with two machines: four cars come at once, then another about every seven minutes.
use paceline_kernel::Time;
use paceline_network::{Constant, HostId};
use paceline_processes::resources::Spec;
use paceline_processes::{Process, Report, Resource, RunError, Simulation, WaitError};
use paceline_results::Output;

const WASH: HostId = HostId(0);
const MINUTE: u64 = 60;

async fn car(cx: Process<()>, machines: Resource) -> Result<(), WaitError> {
    let _machine = machines.request(&cx).await?;
    cx.hold(Time::secs(5 * MINUTE)).await?;
    cx.tally("dirt_off_percent", 50.0 + cx.draw(|rng| rng.below(50)) as f64);
    Ok(())
}

async fn source(cx: Process<()>, machines: Resource) -> Result<(), WaitError> {
    for number in 0.. {
        cx.spawn("car", WASH, move |cx| async move { car(cx, machines).await.unwrap() }).await?;
        if number >= 3 {
            cx.hold(Time::secs((5 + cx.draw(|rng| rng.below(5))) * MINUTE)).await?;
        }
    }
    Ok(())
}

/// So many minutes; the statistics have the name `machines`.
pub fn run(minutes: u64, seed: u64) -> Result<Report, RunError> {
    let simulation = Simulation::new(Constant::new(0.0), &[(1e9, 1)]).seed(seed);
    let mut simulation = simulation.until(Time::secs(minutes * MINUTE));
    simulation.measure([Output::tally("dirt_off_percent")]);
    let machines = simulation.make(WASH, Spec::resource(2).named("machines"));
    simulation.spawn("source", WASH, move |cx| async move { source(cx, machines).await.unwrap() });
    simulation.run()
}

fn main() -> Result<(), RunError> {
    let report = run(20, 42)?;
    let machines = report.resource("machines").expect("it has a name");
    println!("machines are busy {:.1} % of the time", 100.0 * machines.utilisation.unwrap_or(0.0));
    println!("{:.1} % of the dirt is off", report.outputs.mean("dirt_off_percent").unwrap_or(0.0));
    Ok(())
}
