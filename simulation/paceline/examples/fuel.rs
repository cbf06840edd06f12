//! Cars that take fuel from a tank until a truck fills it: `docs/coming-from-simpy.md` shows a container.
use paceline::processes::prelude::*;

async fn car(cx: Process<()>, number: u64, tank: Container) -> Result<(), WaitError> {
    cx.hold(Time::secs(number)).await?;
    let liters = 50 - 10 * number;
    tank.get(&cx, liters as f64).await?;
    println!("car {number} has {liters} liters at {}", cx.now());
    Ok(())
}

async fn truck(cx: Process<()>, tank: Container) -> Result<(), WaitError> {
    cx.hold(Time::secs(304)).await?;
    tank.put(&cx, 90.0).await
}

fn main() -> Result<(), RunError> {
    let mut simulation = Simulation::new(Constant::new(0.0), &[(1e9, 1)]);
    let tank = simulation.container(HostId(0), 110.0, 110.0);
    for number in 0..4 {
        simulation.spawn("car", HostId(0), async move |cx| car(cx, number, tank).await.unwrap());
    }
    simulation.spawn("truck", HostId(0), async move |cx| truck(cx, tank).await.unwrap());
    simulation.run()?;
    Ok(())
}
