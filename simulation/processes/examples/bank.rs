//! A bank with one counter, whose customers lose patience: those who are not served within it leave.
use paceline_kernel::Time;
use paceline_network::{Constant, HostId};
use paceline_processes::resources::Spec;
use paceline_processes::{Process, Report, Resource, RunError, Simulation, WaitError};

const BANK: HostId = HostId(0);

async fn customer(cx: Process<()>, counter: Resource) -> Result<(), WaitError> {
    let patience = Time::from_secs_f64(1.0 + 2.0 * cx.draw(|rng| rng.unit()));
    let service = Time::from_secs_f64(cx.draw(|rng| rng.exponential(12.0)));
    counter.serve(&cx, service).within(patience).await.map(drop)
}

async fn source(cx: Process<()>, counter: Resource, customers: u32) -> Result<(), WaitError> {
    for _ in 0..customers {
        cx.spawn("customer", BANK, async move |cx| drop(customer(cx, counter).await)).await?;
        cx.hold(Time::from_secs_f64(cx.draw(|rng| rng.exponential(10.0)))).await?;
    }
    Ok(())
}

/// So many customers; the statistics have the name `counter`.
pub fn run(customers: u32, seed: u64) -> Result<Report, RunError> {
    let mut simulation = Simulation::new(Constant::new(0.0), &[(1e9, 1)]).seed(seed);
    let counter = simulation.make(BANK, Spec::resource(1).named("counter"));
    simulation.spawn("source", BANK, move |cx| async move { source(cx, counter, customers).await.unwrap() });
    simulation.run()
}

fn main() -> Result<(), RunError> {
    let report = run(1000, 42)?;
    let counter = report.resource("counter").expect("it has a name");
    println!("{} customers served, {} left", counter.counts.granted, counter.counts.reneged);
    println!("mean wait of those served: {:.3} s", counter.waits.mean_s().unwrap_or(0.0));
    Ok(())
}
